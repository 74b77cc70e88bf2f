"""Jobs: pods that run until a given number of them has succeeded."""

# kubernetes: pkg/controller/job/job_controller.go, pkg/controller/ttlafterfinished

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, Pod, parse_time
from mooring.controllers import controlled_pods, job_status, owners, status_conditions
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import JOBS, PODS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.expectations import Expectations, in_batches
from mooring.controllers.job_pods import ended_at, numbered
from mooring.controllers.job_status import COMPLETE, FAILED, FINALIZER, SUSPENDED
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import FOREGROUND, Object

# job_controller.go: DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff
FIRST_BACKOFF, LAST_BACKOFF = 10.0, 600.0
# job_controller.go: MaxPodCreateDeletePerSync
BURST = 500
CONTROLLER = "kubernetes.io/job-controller"


class JobController(Controller):
    """The controller that runs the pods of each Job until enough succeeded or too many failed."""

    name = "job-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = self.watch(JOBS, itself)
        self._pods = self.watch(Pod, self._owner, self._size)
        owners.index_by_controller(self._pods)
        self._expectations = Expectations(self._pods, context.clock)

    def _owner(self, pod: Pod) -> Iterable[Key]:
        key = owners.controller_key(pod, "Job")
        if key is not None:
            yield key
        elif FINALIZER in pod.metadata.finalizers:
            yield from owners.keys_for(pod, "Job", self._jobs)

    def _size(self, key: Key) -> int:
        return owners.count(self.context.store(Pod), self._jobs.get(key[1], key[0]))

    async def reconcile(self, key: Key) -> float | None:
        """Count the pods that ended, start missing ones, and write the status."""
        job: CustomResource | None = self._jobs.get(key[1], key[0])
        if job is None:
            await self._release_orphans(key)
            return None
        if job.get("spec.managedBy", CONTROLLER) != CONTROLLER:
            return None
        old = job.raw.get("status") or {}
        mine: list[Pod] = await owners.claim(self.writer, job, PODS, self._pods)
        if job_status.finished(old):
            await self._release(mine)
            return await self._expire(job, old)
        status: Object = {**old, "conditions": list(old.get("conditions") or ())}
        self._note_suspension(job, status)
        again = None
        fulfilled = self._expectations.fulfilled(job.metadata.uid)
        over = job_status.decided(status) is not None or bool(job.metadata.deletion_timestamp)
        ended = job_status.count(job, status, mine, over=over)
        active = [pod for pod in mine if controlled_pods.is_active(pod)]
        terminating = [pod for pod in mine if pod.is_terminating and not pod.is_finished]
        self._decide(job, status, active)
        failure = None
        if fulfilled and not job.metadata.deletion_timestamp:
            again, failure = await self._manage(job, status, active, mine)
        await self._write_status(job, old, status, active, terminating)
        await self._release(ended)
        if failure is not None:
            raise failure
        return self._next_look(job, status, again)

    def _next_look(self, job: CustomResource, status: Object, again: float | None) -> float | None:
        deadline = job.get("spec.activeDeadlineSeconds")
        if deadline is None or not status.get("startTime") or job_status.decided(status):
            return again
        now = self.context.clock.wall_time()
        left: float = max(0.0, parse_time(status["startTime"]) + deadline - now)
        return left if again is None else min(left, again)

    # The state of a Job.

    def _note_suspension(self, job: CustomResource, status: Object) -> None:
        when = self.context.timestamp()
        known = status_conditions.find(status, SUSPENDED)
        if job.get("spec.suspend", False):
            if known is None or known["status"] != "True":
                made = status_conditions.make(
                    SUSPENDED, "True", "JobSuspended", "Job suspended", when
                )
                status_conditions.put(status, made)
                self.events.record(job, NORMAL, "Suspended", "Job suspended")
            status.pop("startTime", None)
            return
        if known is not None and known["status"] == "True":
            made = status_conditions.make(SUSPENDED, "False", "JobResumed", "Job resumed", when)
            status_conditions.put(status, made)
            self.events.record(job, NORMAL, "Resumed", "Job resumed")
        status.setdefault("startTime", when)

    def _decide(self, job: CustomResource, status: Object, active: list[Pod]) -> None:
        """Record how the Job will end, if that is certain now."""
        if job_status.decided(status) is not None:
            return
        spec = job.raw["spec"]
        now, when = self.context.clock.wall_time(), self.context.timestamp()
        failed = job_status.total(status, "failed")
        succeeded = job_status.total(status, "succeeded")
        completions = spec.get("completions")
        deadline = spec.get("activeDeadlineSeconds")
        if failed > spec.get("backoffLimit", 6):
            end, reason = FAILED, "BackoffLimitExceeded"
            text = "Job has reached the specified backoff limit"
        elif (
            deadline is not None
            and status.get("startTime")
            and parse_time(status["startTime"]) + deadline <= now
        ):
            end, reason = FAILED, "DeadlineExceeded"
            text = "Job was active longer than specified deadline"
        elif succeeded >= completions if completions is not None else succeeded > 0 and not active:
            end, reason = COMPLETE, "CompletionsReached"
            text = "Reached expected number of succeeded pods"
        else:
            return
        target = job_status.TARGETS[end]
        status_conditions.put(status, status_conditions.make(target, "True", reason, text, when))

    # Pods.

    async def _manage(
        self, job: CustomResource, status: Object, active: list[Pod], mine: list[Pod]
    ) -> tuple[float | None, Exception | None]:
        """Start and delete pods; return the seconds of backoff left, and the failure of a write."""
        decided = job_status.decided(status) is not None
        if decided or job.get("spec.suspend", False):
            return None, await self._end(job, active)
        wanted = self._wanted(job, status, active)
        excess = len(active) - wanted
        if excess > 0:
            going = controlled_pods.first_to_go(active)[:excess]
            return None, await self._end(job, going)
        wait = self._backoff(status, mine)
        if excess == 0 or wait > 0:
            return wait or None, None
        count = min(-excess, BURST)
        if job_status.is_indexed(job):
            numbers: list[int | None] = [*self._free_indexes(job, status, mine)[:count]]
        else:
            numbers = [None] * count
        calls = [lambda number=number: self._create(job, number) for number in numbers]
        return None, await in_batches(calls)  # type: ignore[arg-type]

    def _wanted(self, job: CustomResource, status: Object, active: list[Pod]) -> int:
        parallelism: int = job.get("spec.parallelism", 1)
        completions: int | None = job.get("spec.completions")
        succeeded = job_status.total(status, "succeeded")
        if completions is None:
            # A work queue Job: once a pod has succeeded, the others end by themselves, so start
            # no new ones.
            return min(parallelism, len(active)) if succeeded else parallelism
        return min(parallelism, completions - succeeded)

    def _free_indexes(self, job: CustomResource, status: Object, mine: list[Pod]) -> list[int]:
        taken = job_status.parse_indexes(status.get("completedIndexes", ""))
        taken |= {
            number
            for pod in mine
            if controlled_pods.is_active(pod) and (number := job_status.index_of(pod)) is not None
        }
        return [one for one in range(job.get("spec.completions", 0)) if one not in taken]

    def _backoff(self, status: Object, mine: list[Pod]) -> float:
        """Return for how many seconds no pod is started, because the last ones failed."""
        ends = sorted(ended_at(pod) for pod in mine if pod.status.phase == "Succeeded")
        failures = sorted(ended_at(pod) for pod in mine if pod.status.phase == "Failed")
        since = [one for one in failures if not ends or one > ends[-1]]
        if not since:
            return 0.0
        delay: float = min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** (len(since) - 1))
        return max(0.0, since[-1] + delay - self.context.clock.wall_time())

    async def _create(self, job: CustomResource, number: int | None) -> None:
        template = job.raw["spec"]["template"]
        prefix = f"{job.metadata.name}-"
        if number is not None:
            prefix = f"{job.metadata.name}-{number}-"
            template = numbered(template, job.metadata.name, number)
        name = controlled_pods.generate_name(prefix, self.context.random)
        pod = controlled_pods.pod_of(template, job, name, generateName=prefix)
        pod["metadata"]["finalizers"] = [*pod["metadata"].get("finalizers", ()), FINALIZER]
        try:
            creating = self.writer.create(PODS, pod)
            await self._expectations.create(job.metadata.uid, name, creating)
        except Exception as error:
            self.events.record(job, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        self.events.record(job, NORMAL, "SuccessfulCreate", f"Created pod: {name}")

    async def _end(self, job: CustomResource, going: list[Pod]) -> Exception | None:
        async def delete(pod: Pod) -> None:
            deleting = self.writer.delete(PODS, pod)
            await self._expectations.delete(job.metadata.uid, pod.metadata.uid, deleting)
            text = f"Deleted pod: {pod.metadata.name}"
            self.events.record(job, NORMAL, "SuccessfulDelete", text)

        return await in_batches([lambda pod=pod: delete(pod) for pod in going])  # type: ignore[misc]

    async def _release(self, ended: Iterable[Pod]) -> None:
        """Remove the finalizer from pods that have been counted."""
        for pod in ended:
            metadata = pod.metadata
            if FINALIZER in metadata.finalizers:
                kept = [one for one in metadata.finalizers if one != FINALIZER]
                change = {"uid": metadata.uid, "finalizers": kept or None}
                await self.writer.patch_if_there(
                    PODS, metadata.namespace, metadata.name, {"metadata": change}
                )

    async def _release_orphans(self, key: Key) -> None:
        await self._release(
            [pod for pod in self._pods.list(key[0]) if owners.controller_key(pod, "Job") == key]
        )

    # The status.

    async def _write_status(
        self,
        job: CustomResource,
        old: Object,
        status: Object,
        active: list[Pod],
        terminating: list[Pod],
    ) -> None:
        decided = job_status.decided(status)
        status["active"] = 0 if decided is not None else len(active)
        status["ready"] = 0 if decided is not None else sum(map(controlled_pods.is_ready, active))
        left = len(terminating) + (len(active) if decided is not None else 0)
        status["terminating"] = left
        waits = left or any((status.get("uncountedTerminatedPods") or {}).values())
        if decided is not None and not waits:
            self._finish(job, status, decided)
        kept = {
            name: value
            for name, value in status.items()
            if value or name in ("ready", "terminating", "uncountedTerminatedPods")
        }
        if kept != old:
            await self.writer.replace(JOBS, {**job.raw, "status": kept}, "status")

    def _finish(self, job: CustomResource, status: Object, decided: Object) -> None:
        when = self.context.timestamp()
        end = COMPLETE if decided["type"] == job_status.TARGETS[COMPLETE] else FAILED
        made = status_conditions.make(end, "True", decided["reason"], decided["message"], when)
        status_conditions.put(status, made)
        if end == COMPLETE:
            status["completionTime"] = when
            self.events.record(job, NORMAL, "Completed", "Job completed")
        else:
            self.events.record(job, WARNING, decided["reason"], decided["message"])

    async def _expire(self, job: CustomResource, status: Object) -> float | None:
        """Delete a finished Job after its TTL; return the seconds left."""
        seconds = job.get("spec.ttlSecondsAfterFinished")
        if seconds is None or job.metadata.deletion_timestamp:
            return None
        found = status_conditions.find(status, job_status.finished(status))
        assert found is not None
        left = parse_time(found["lastTransitionTime"]) + seconds - self.context.clock.wall_time()
        if left > 0:
            return float(left)
        await self.writer.delete(JOBS, job, policy=FOREGROUND)
        return None
