"""Scheduler: the loop that takes one pod after the other from the queue to a node.

One event loop owns cache, queue and cycle, so nothing here is locked. Binding cycles run beside the
loop as tasks; what they and the informers have to say waits in the inbox until the loop is between
two cycles.

# kube-scheduler: scheduler.go, schedule_one.go
"""

from __future__ import annotations

import asyncio
import logging
import random as random_module
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from mooring.api import Condition, Pod
from mooring.binding.binding_cycle import AssumedPod, BindingCycles, log_traceback
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.binding.binding_points import run_permit, run_reserve, run_unreserve
from mooring.binding.status_writer import StatusChange, StatusWriter
from mooring.cache.cache import Cache
from mooring.config.load import LoadResult
from mooring.cycle.message import NO_NODES_AVAILABLE, event_note
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scheduling_cycle import Cycle
from mooring.framework.decision import Decision, Outcome
from mooring.framework.extender import Extender
from mooring.framework.features import FeatureGates
from mooring.framework.handle import ApiClient, EventWriter
from mooring.framework.listers import Lister
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog
from mooring.observe.metrics import PLUGIN_METRICS_SAMPLE_PERCENT, Metrics
from mooring.queue import event_types
from mooring.queue.nominator import PodNominator
from mooring.queue.order import queue_order
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.scheduling_queue import DEFAULT_MAX_IN_UNSCHEDULABLE, SchedulingQueue
from mooring.registry import Registry
from mooring.scheduler.event_handlers import ClusterEvents, Informers
from mooring.scheduler.failure import Failure
from mooring.scheduler.inbox import Inbox

log = logging.getLogger(__name__)

POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

#: Results in metrics.
_SCHEDULED = "scheduled"
_UNSCHEDULABLE = "unschedulable"
_ERROR = "error"

#: From this many attempts on, the metric does not count them. # schedule_one.go (getAttemptsLabel)
_MANY_ATTEMPTS = 15
#: One scheduling cycle in so many has its plugins timed.
_SAMPLE_EVERY = 100 // PLUGIN_METRICS_SAMPLE_PERCENT
#: Pods that are tried before watches and binding cycles get their turn, and the seconds after
#: which they get it anyway.
_ROW = 8
_ROW_SECONDS = 0.002
#: Seconds that binding cycles under way get to end when the scheduler stops.
GRACE = 5.0
#: What is said of a pod whose task was cancelled: by the scheduler at its end, which says nothing
#: of its pods, or by a plugin.
_CANCELLED = Status.error("the task of the binding cycle was cancelled")
_LOOP_CANCELLED = "a plugin cancelled the task of the scheduling loop"


class Scheduler:
    """Schedule the pods of a cluster that an API server knows. Owned by its event loop."""

    def __init__(
        self,
        config: LoadResult,
        *,
        client: ApiClient,
        informers: Informers,
        registry: Registry,
        features: FeatureGates,
        clock: Clock,
        random: random_module.Random,
        metrics: Metrics,
        events_of: Callable[[str], EventWriter],
        extenders: Sequence[Extender] = (),
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
    ) -> None:
        settings = config.config
        self.clock = clock
        self.metrics = metrics
        self.inbox = Inbox()
        self.pod_infos = PodInfos(features)
        self.cache = Cache(self.pod_infos)
        self._show_sizes()
        self.cycles = 0
        self.on_the_way = BindingPods()
        #: The pod that a scheduling cycle is trying; None between two cycles. Another thread reads
        #: this and the number of cycles, to see whether a cycle ends.
        self.trying: Pod | None = None
        #: The task of the loop.
        self.turning: asyncio.Task[None] | None = None
        self._informers = informers
        self._events_of = events_of
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        #: The pod whose cycle ended because the task of the loop was cancelled.
        self._interrupted: QueuedPodInfo | None = None
        self._pods: Lister[Pod] = informers.informer(Pod).store
        self.nominator = PodNominator(self.pod_infos, self._pods)
        self.status_writer = StatusWriter(client, clock, self._start)
        self.profiles = self._make_profiles(config, registry, client, features, random, extenders)
        self.cycle = Cycle(
            self.profiles,
            snapshot=self._snapshot,
            node_order=self.cache.node_order,
            nominator=self.nominator,
            extenders=extenders,
            percentage_of_nodes_to_score=settings.percentage_of_nodes_to_score,
            random=random,
        )
        first = next(iter(self.profiles.values()))
        self.queue = SchedulingQueue(
            self.profiles,
            queue_order(first.queue_sort()),
            clock,
            features=features,
            nominator=self.nominator,
            metrics=metrics,
            initial_backoff=settings.pod_initial_backoff_seconds,
            max_backoff=settings.pod_max_backoff_seconds,
            max_in_unschedulable=max_in_unschedulable,
        )
        self._binding = BindingCycles(
            on_the_way=self.on_the_way,
            status_writer=self.status_writer,
            extenders=extenders,
            events_of=events_of,
            clock=clock,
            metrics=metrics,
            nominates=features.enabled("NominatedNodeNameForExpectation"),
        )
        ClusterEvents(
            cache=self.cache,
            queue=self.queue,
            profiles=self.profiles,
            on_the_way=self.on_the_way,
            inbox=self.inbox,
            features=features,
            clock=clock,
            metrics=metrics,
        ).attach(informers)

    def _show_sizes(self) -> None:
        size, cache = self.metrics.cache_size, self.cache
        size["assumed_pods"].set_function(lambda: len(cache.assumed))
        size["pods"].set_function(lambda: len(cache.pods))
        size["nodes"].set_function(lambda: len(cache.nodes))

    def _snapshot(self) -> Any:
        return self.cache.nodes

    def _make_profiles(
        self,
        config: LoadResult,
        registry: Registry,
        client: ApiClient,
        features: FeatureGates,
        random: random_module.Random,
        extenders: Sequence[Extender],
    ) -> dict[str, Profile]:
        shared = SharedState(
            features=features,
            clock=self.clock,
            random=random,
            client=client,
            nominator=self.nominator,
            extenders=extenders,
            snapshot=self._snapshot,
            pod_infos=self.pod_infos,
            lister=lambda kind: self._informers.informer(kind).store,
            waiting_pods=self.on_the_way,
            activate=self._activate,
            spawn=self._spawn,
            metrics=self.metrics,
        )
        return make_profiles(config.profiles, registry, shared, self._events_of)

    # Work beside the loop.

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log_error(log, task.exception(), "Work beside the scheduling loop failed")

    def _spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        self._start(self._contain(work, pod))

    async def _contain(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run a plugin's work; whatever it raises is logged."""
        try:
            await work
        except BaseException as error:
            raise_if_external(error)
            text = "Work beside the scheduling loop failed"
            log_error(log, error_text(error), text, pod=pod)

    def _activate(self, pods: Iterable[Pod]) -> None:
        self.inbox.post(self.queue.activate, tuple(pods))

    # The loop.

    async def run(self) -> None:
        """Schedule until `stop`, or until cancelled; informers must have been started.

        The loop is a task of its own: if a plugin cancels the task that it runs in, the loop is
        started again.
        """
        while not self._stopping:
            turning = self.turning = asyncio.create_task(self._run())
            try:
                await asyncio.wait((turning,))
            except asyncio.CancelledError:
                turning.cancel()
                await asyncio.wait((turning,), timeout=GRACE)
                raise
            if not turning.cancelled():
                return turning.result()
            log_error(log, None, "A plugin cancelled the scheduling loop, which goes on")
            if (info := self._interrupted) is not None:
                self._interrupted = None
                failure = Failure(_LOOP_CANCELLED, rejected=False)
                self._fail(info, info.pod, failure, self.clock.now())

    async def _run(self) -> None:
        while not self._stopping:
            if not await self._turns():
                await self.inbox.wait(self._seconds_to_next())
            else:
                # Yield to watches and binding cycles.
                await asyncio.sleep(0)

    async def follow(self) -> None:
        """Take in what happens and schedule nothing, as one that does not lead."""
        while True:
            self.inbox.drain()
            await self.inbox.wait(None)

    async def _turns(self) -> bool:
        """Try a few pods in a row, which takes less than each for itself; False after the last."""
        until = self.clock.now() + _ROW_SECONDS
        for _ in range(_ROW):
            if not await self.turn():
                return False
            if self._stopping or self.clock.now() >= until:
                break
        return True

    async def turn(self) -> bool:
        """Take in what happened and try one pod; False where there is none to try."""
        now = self.clock.now()
        self.inbox.drain()
        self.on_the_way.expire(now)
        self.queue.flush()
        info = self.queue.pop()
        if info is None:
            return False
        self.cycles += 1
        self.trying = info.pod
        try:
            await self._schedule_one(info)
        except BaseException as error:
            self._interrupted = info
            raise_if_external(error)
            self._interrupted = None
            text = error_text(error)
            log_error(log, text, "Scheduling a pod failed", pod=info.pod)
            self._fail(info, info.pod, Failure(text, rejected=False), now)
        finally:
            self.trying = None
        return True

    def _seconds_to_next(self) -> float | None:
        moments = [self.queue.next_wakeup(), self.on_the_way.next_deadline()]
        soonest = min((moment for moment in moments if moment is not None), default=None)
        return None if soonest is None else max(0.0, soonest - self.clock.now())

    async def stop(self, grace: float = GRACE) -> None:
        """End the loop, let binding cycles under way end, and close the plugins.

        Pods that wait at Permit give their place back. After `grace` seconds all else is cancelled,
        and gives its place back too.
        """
        self._stopping = True
        self.inbox.wake()
        for waiting in self.on_the_way.waiting():
            waiting.reject("", "the scheduler is shutting down")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        if left:
            # A plugin may ignore that its task is cancelled.
            await asyncio.wait(left, timeout=GRACE)
        self.inbox.drain()
        for profile in self.profiles.values():
            for plugin in profile.plugins.values():
                await self._close(plugin)

    async def _close(self, plugin: Plugin) -> None:
        try:
            async with asyncio.timeout(GRACE):
                await plugin.close()
        except BaseException as error:
            raise_if_external(error)
            log_error(log, error_text(error), "Closing a plugin failed", plugin=plugin.name)

    # One pod.

    async def _schedule_one(self, info: QueuedPodInfo) -> None:
        pod = info.pod
        vlog(log, 4, "About to try and schedule pod", pod=pod)
        profile = self.profiles[pod.spec.scheduler_name]
        if self._is_skipped(pod, profile):
            self.queue.done(info.uid)
            return
        vlog(log, 3, "Attempting to schedule pod", pod=pod)
        start = self.clock.now()
        state = CycleState()
        state.record_plugin_metrics = self.cycles % _SAMPLE_EVERY == 0
        decision = await self.cycle.run(pod, state)
        self.metrics.scheduling_algorithm_duration.observe(self.clock.now() - start)
        for fault in decision.errors:
            log_traceback(fault, pod)
        if decision.outcome is Outcome.SCHEDULED:
            self._place(info, profile, state, decision, start)
        else:
            self._fail(info, pod, Failure.of(decision), start)

    def _is_skipped(self, pod: Pod, profile: Profile) -> bool:
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._events_of(profile.name).event(
                pod, "Warning", "FailedScheduling", "Scheduling", note
            )
            vlog(log, 3, "Skip schedule deleting pod", pod=pod)
            return True
        return self.cache.is_assumed(pod.metadata.uid)

    def _place(
        self,
        info: QueuedPodInfo,
        profile: Profile,
        state: CycleState,
        decision: Decision,
        start: float,
    ) -> None:
        """Assume the pod on its node, reserve, ask for permission, and start its binding cycle."""
        node_name = decision.node_name
        pod = self.cache.assume_pod(info.pod, node_name)
        self.nominator.delete(info.uid)
        wait: PermitWait | None = None
        try:
            status = run_reserve(profile, state, pod, node_name)
            if status is None:
                waits, status = run_permit(profile, state, pod, node_name)
                if status is not None and status.is_wait:
                    wait = PermitWait(pod, waits, self.clock.now())
                    self.on_the_way.add_waiting(wait)
                    status = None
        except Exception as error:
            # An answer that cannot be used: the pod gives its place back like one that is refused.
            status = Status.error(error_text(error))
        # Neither the decision nor all of the state: their arrays are large, and thousands of pods
        # may be on their way.
        state.end_cycle()
        feasible = 0 if decision.feasible is None else len(decision.feasible)
        evaluated = decision.evaluated_nodes
        placement = AssumedPod(pod, node_name, state, profile, wait, evaluated, feasible)
        if status is not None:
            log_traceback(status, pod)
            self._give_back(placement)
            self._fail(info, info.pod, Failure.on_node(status), start)
            return
        self._start(self._bind(info, placement, start))

    def _give_back(self, placement: AssumedPod) -> bool:
        """Unreserve and forget; False where the pod was no longer assumed."""
        faults = run_unreserve(
            placement.profile, placement.state, placement.pod, placement.node_name
        )
        for fault in faults:
            log_error(log, fault.message, "Unreserve failed", pod=placement.pod)
            log_traceback(fault, placement.pod)
        uid = placement.pod.metadata.uid
        if not self.cache.is_assumed(uid):
            return False
        self.cache.forget_pod(uid)
        return True

    async def _bind(self, info: QueuedPodInfo, placement: AssumedPod, start: float) -> None:
        uid = info.uid
        permitted = False

        def note_permission() -> None:
            nonlocal permitted
            permitted = True
            self.inbox.post(self.queue.done, uid)

        gauge = self.metrics.goroutines["binding"]
        gauge.inc()
        status: Status | None = _CANCELLED
        try:
            status = await self._binding.run(placement, note_permission)
        except BaseException as error:
            raise_if_external(error)
            text = error_text(error)
            log_error(log, text, "The binding cycle failed", pod=placement.pod)
            status = Status.error(text)
        finally:
            gauge.dec()
            if status is not None:
                # However it ended, the pod gives back what it holds.
                self.inbox.post(self._binding_failed, info, placement, status, start, permitted)
        if status is not None:
            return
        vlog(
            log,
            2,
            "Successfully bound pod to node",
            pod=placement.pod,
            node=placement.node_name,
            evaluatedNodes=placement.evaluated_nodes,
            feasibleNodes=placement.feasible_nodes,
        )
        self._observe_bound(info, placement, start)
        await self._binding.tell(placement)

    def _observe_bound(self, info: QueuedPodInfo, placement: AssumedPod, start: float) -> None:
        now = self.clock.now()
        metrics = self.metrics
        metrics.observe_attempt(_SCHEDULED, placement.profile.name, now - start)
        metrics.pod_scheduling_attempts.observe(info.attempts)
        if info.initial_attempt_timestamp is not None:
            many = info.attempts >= _MANY_ATTEMPTS
            label = f"{_MANY_ATTEMPTS}+" if many else str(info.attempts)
            waited = now - info.initial_attempt_timestamp
            metrics.pod_scheduling_sli_duration[label].observe(waited)
        if info.was_flushed:
            metrics.pod_scheduled_after_flush.inc()

    def _binding_failed(
        self,
        info: QueuedPodInfo,
        placement: AssumedPod,
        status: Status,
        start: float,
        permitted: bool,
    ) -> None:
        """Take a placement back; its room is free for others, which is an event."""
        pod = placement.pod
        log_traceback(status, pod)
        given_back = self._give_back(placement)
        if self._stopping:
            # Whoever schedules next says what there is to say.
            return
        if permitted:
            # From PreBind on a refusal no longer means that the pod does not fit: it is retried.
            failure = Failure(status.message, rejected=status.is_rejected)
        else:
            failure = Failure.on_node(status)
        uid = pod.metadata.uid
        if given_back and not status.is_rejected:
            self.queue.move_all(event_types.ASSIGNED_POD_DELETE, pod, None)
        self._fail(info, info.pod, failure, start)
        if given_back and status.is_rejected:
            self.queue.move_all(
                event_types.ASSIGNED_POD_DELETE, pod, None, lambda other: other.metadata.uid != uid
            )

    # Failure.

    def _fail(self, info: QueuedPodInfo, pod: Pod, failure: Failure, start: float) -> None:
        """Put a pod back into the queue and say why it could not be scheduled."""
        profile = pod.spec.scheduler_name
        result = _UNSCHEDULABLE if failure.rejected else _ERROR
        self.metrics.observe_attempt(result, profile, self.clock.now() - start)
        if failure.message == NO_NODES_AVAILABLE:
            vlog(
                log,
                2,
                "Unable to schedule pod; no nodes are registered to the cluster; waiting",
                pod=pod,
            )
        elif failure.no_fit:
            vlog(
                log,
                2,
                "Unable to schedule pod; no fit; waiting",
                pod=pod,
                err=failure.message,
            )
        else:
            log_error(log, failure.message, "Error scheduling pod; retrying", pod=pod)
        current = self._requeue(info, pod, failure)
        if current is None:
            return
        if failure.nominated == "":
            self.nominator.delete(info.uid)
        else:
            self.nominator.add(current, failure.nominated or "")
        self._events_of(profile).event(
            current, "Warning", "FailedScheduling", "Scheduling", event_note(failure.message)
        )
        condition = Condition(
            type=POD_SCHEDULED,
            status="False",
            reason=UNSCHEDULABLE if failure.rejected else SCHEDULER_ERROR,
            message=failure.message,
        )
        self.status_writer.write(current, StatusChange(condition, failure.nominated))

    def _requeue(self, info: QueuedPodInfo, pod: Pod, failure: Failure) -> Pod | None:
        """Put a pod back into the queue in its latest version; None where nobody is to be told."""
        meta = pod.metadata
        current = self._pods.get(meta.name, meta.namespace)
        if current is not None and current.metadata.uid != meta.uid:
            vlog(
                log,
                2,
                "Pod was recreated while handling scheduling failure. "
                "Skip requeueing and status updates.",
                pod=pod,
                oldUID=meta.uid,
                newUID=current.metadata.uid,
            )
            self.queue.done(info.uid)
            return None
        if current is None:
            log.info("Pod doesn't exist in informer cache", extra={"kv": {"pod": pod}})
            self.queue.done(info.uid)
            return pod
        if current.spec.node_name:
            log.info(
                "Pod has been assigned to node. Abort adding it back to queue.",
                extra={"kv": {"pod": pod, "node": current.spec.node_name}},
            )
            self.queue.done(info.uid)
            return pod
        self.queue.add_unschedulable(
            info, current, tuple(failure.unschedulable), tuple(failure.pending)
        )
        return current
