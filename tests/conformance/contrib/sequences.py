"""Sequences: what happens to a cluster step by step, and what the plugin says at each.

Time passes on the clock of the scheduler: in `sleep` steps, and a moment in every other. A pod that
waits at Permit stays assumed until its wait ends; one that is allowed is bound and becomes Running.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import FinishedPod, Pod, decode, decode_as
from mooring.binding.binding_pods import PermitWait
from mooring.framework.decision import Outcome
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import Attempt
from tests.conformance import replay
from tests.conformance.contrib.cluster import CUSTOM, build
from tests.conformance.contrib.comparing import differences
from tests.conformance.contrib.observers import OBSERVERS
from tests.conformance.contrib.queue_sort import check_sort
from tests.conformance.contrib.single_cycle import NOT_COMPARED, as_recorded, completed

#: Seconds that a step took the recorder.
MOMENT = 0.04
#: Phases of pods that the scheduler does not see.
FINISHED = ("Succeeded", "Failed")
#: The period of the NodeResourceTopology cache in all scenarios, in seconds.
RESYNC_PERIOD = 3600


def check(scenario: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return where our answers to a scenario's steps differ from the recorded ones."""
    run = Sequence(scenario)
    found: list[str] = []
    for number, (step, wanted) in enumerate(
        zip(scenario["steps"], expected["sequence"], strict=True)
    ):
        problems = run.step(step, wanted)
        found += [f"#{number} {step['op']} {step.get('pod', '')} {one}" for one in problems]
    drive(run.scheduler.close())
    return found


def _reason(message: str) -> str:
    """Return why a plugin refused a pod's node; the message says it of "0/1 nodes"."""
    return message.removeprefix("0/1 nodes are available: 1 ").removesuffix(".")


class Sequence:
    """One sequence under way."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.scenario = scenario
        self.scheduler = build(scenario)
        #: Attempts whose Reserve has run and whose binding has not, by "namespace/name".
        self.reserved: dict[str, Attempt] = {}
        #: Pods that have finished and still exist, by "namespace/name".
        self.finished = {
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            for pod in scenario.get("pods") or ()
            if pod["status"].get("phase") in FINISHED
        }
        #: Waits at Permit that had not ended before this step, by "namespace/name".
        self.waits: dict[str, PermitWait] = {}

    def step(self, step: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
        """Do one step; return where what follows differs from the recording."""
        if step["op"] == "sort":
            found = check_sort(self.scheduler, self.scenario, wanted)
            fields = set(wanted) & {*OBSERVERS, "waiting"}
            return found + differences(self._after({"op": "sort"}, wanted), wanted, fields)
        ours = getattr(self, f"_{step['op']}")(step)
        if ours is None:
            ours = {"skipped": True}
        self.scheduler.clock.advance(MOMENT)
        self._settle()
        ours = self._after({"op": step["op"], **ours}, wanted)
        if "postFilter" in wanted:
            result = ours.pop("preemption")
            ours["postFilter"] = result and result["status"]
        return differences(ours, completed(ours, wanted), wanted.keys() - NOT_COMPARED)

    def _after(self, ours: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
        """Add what is recorded after each step."""
        ended = {key: wait for key, wait in self.waits.items() if wait.outcome is not None}
        for key in ended:
            del self.waits[key]
        outcomes = {key: wait.outcome for key, wait in ended.items() if wait.outcome is not None}
        allowed = sorted(key for key, outcome in outcomes.items() if outcome.is_success)
        rejected = {
            key: replay.status_entry(outcome)
            for key, outcome in outcomes.items()
            if not outcome.is_success
        }
        ours |= {"allowed": allowed} if allowed else {}
        ours |= {"rejected": rejected} if rejected else {}
        ours["waiting"] = sorted(self.waits)
        for field, observe in OBSERVERS.items():
            if field in wanted:
                ours[field] = observe(self.scheduler)
        return ours

    def _settle(self) -> None:
        """End the waits that are over."""
        scheduler = self.scheduler
        scheduler.on_the_way.expire(scheduler.clock.now())
        drive(scheduler.settle())

    def _find(self, step: dict[str, Any]) -> Pod | None:
        namespace, name = step["pod"].split("/")
        found: Pod | None = self.scheduler.cluster.pods.get(name, namespace)
        return found

    # The steps. Each returns what is recorded of it; None if it does not apply.

    def _decide(self, step: dict[str, Any]) -> tuple[dict[str, Any], Attempt | None] | None:
        """Run a cycle and Reserve; return the entry, and the attempt if it has a node."""
        pod = self._find(step)
        scheduler = self.scheduler
        if pod is None or pod.spec.node_name or scheduler.cache.is_assumed(pod.uid):
            return None
        scheduler.activated.clear()
        attempt = drive(scheduler.decide(pod, examine=True))
        decision = attempt.decision
        entry = as_recorded(decision, scheduler)
        self._restore_nominations()
        if decision.outcome is not Outcome.SCHEDULED:
            scheduler.discard(attempt)
            return entry, None
        if step.get("node") in entry["feasible"]:
            decision.node_name = step["node"]
        entry["node"] = decision.node_name
        if not drive(scheduler.reserve(attempt)):
            entry["reserve"] = replay.status_entry(decision.errors[0])
            return entry, None
        return entry, attempt

    def _restore_nominations(self) -> None:
        """Nominate pods again that a preemption cleared: the recorder swallowed those writes."""
        scheduler = self.scheduler
        for pod in scheduler.cluster.pods.list():
            pending = not pod.spec.node_name and not scheduler.cache.is_assumed(pod.uid)
            if pending and pod.status.nominated_node_name:
                scheduler.nominator.add(pod)

    def _schedule(self, step: dict[str, Any]) -> dict[str, Any] | None:
        found = self._decide(step)
        if found is None:
            return None
        entry, attempt = found
        if attempt is not None:
            entry |= self._permit(attempt)
        return entry

    def _permit(self, attempt: Attempt) -> dict[str, Any]:
        """Run Permit and the binding cycle of a pod that has its reservation."""
        scheduler = self.scheduler
        key = attempt.info.pod.key
        node = attempt.decision.node_name
        drive(scheduler.permit_and_bind(attempt))
        assert attempt.assumed is not None
        wait = attempt.assumed.wait
        permit: dict[str, Any] = {"code": "Success", "timeoutSeconds": 0}
        entry: dict[str, Any] = {"permit": permit}
        if wait is not None:
            self.waits[key] = wait
            seconds = wait.deadline - scheduler.clock.now()
            permit |= {"code": "Wait", "timeoutSeconds": seconds}
        elif attempt.decision.outcome is not Outcome.SCHEDULED:
            plugins = sorted(attempt.decision.unschedulable_plugins)
            status = {
                "code": "Unschedulable",
                "plugin": plugins[0],
                "reasons": [_reason(attempt.decision.message)],
            }
            permit |= {"code": "Unschedulable", "status": status}
            entry |= {"outcome": "rejectedInPermit", "node": node}
        entry["podsToActivate"] = sorted(pod.key for pod in scheduler.activated)
        return entry

    def _reserve(self, step: dict[str, Any]) -> dict[str, Any] | None:
        found = self._decide(step)
        if found is None:
            return None
        entry, attempt = found
        if attempt is not None:
            self.reserved[step["pod"]] = attempt
        return entry

    def _bind(self, step: dict[str, Any]) -> dict[str, Any] | None:
        attempt = self.reserved.pop(step["pod"], None)
        if attempt is None:
            return None
        drive(self.scheduler.permit_and_bind(attempt))
        return {}

    def _unreserve(self, step: dict[str, Any]) -> dict[str, Any] | None:
        attempt = self.reserved.pop(step["pod"], None)
        if attempt is None:
            return None
        drive(self.scheduler.unreserve(attempt))
        return {}

    def _addPod(self, step: dict[str, Any]) -> dict[str, Any]:
        self.scheduler.cluster.add(decode_as(step["object"], Pod))
        return {}

    def _deletePod(self, step: dict[str, Any]) -> dict[str, Any] | None:
        if step["pod"] in self.finished:
            self.finished.remove(step["pod"])
            namespace, _, name = step["pod"].partition("/")
            self.scheduler.cluster.store(FinishedPod).delete(name, namespace)
            return {}
        pod = self._find(step)
        if pod is None:
            return None
        self.reserved.pop(step["pod"], None)
        self.scheduler.on_the_way.reject_removed(pod.uid)
        self.scheduler.cluster.delete(pod)
        return {}

    def _setPhase(self, step: dict[str, Any]) -> dict[str, Any] | None:
        pod = self._find(step)
        if pod is None:
            return None
        self.scheduler.cluster.add(replace(pod, status=replace(pod.status, phase=step["name"])))
        if step["name"] in FINISHED:
            self.finished.add(step["pod"])
            self.reserved.pop(step["pod"], None)
        return {}

    def _setHostIP(self, step: dict[str, Any]) -> dict[str, Any] | None:
        pod = self._find(step)
        if pod is None:
            return None
        self.scheduler.cluster.add(replace(pod, status=replace(pod.status, host_ip=step["name"])))
        return {}

    def _putObject(self, step: dict[str, Any]) -> dict[str, Any]:
        self.scheduler.cluster.add(decode(step["object"]))
        return {}

    def _deleteObject(self, step: dict[str, Any]) -> dict[str, Any]:
        store = self.scheduler.cluster.store(CUSTOM[step["field"]])
        store.delete(step["name"], step.get("namespace", ""))
        return {}

    def _sleep(self, step: dict[str, Any]) -> dict[str, Any]:
        scheduler = self.scheduler
        until = scheduler.clock.now() + step["seconds"]
        while (due := scheduler.on_the_way.next_deadline()) is not None and due <= until:
            drive(scheduler.expire_waits())
        scheduler.clock.advance(until - scheduler.clock.now())
        return {}

    def _resync(self, step: dict[str, Any]) -> dict[str, Any]:
        """Let the period of the cache pass: the resync is due."""
        self.scheduler.clock.advance(RESYNC_PERIOD)
        drive(self.scheduler.settle())
        return {}
