"""ScheduleReport: the result for every pending pod, as data in a stable format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.explain.data import error_data
from mooring.explain.outcome_texts import message_of
from mooring.framework.decision import Decision, Outcome
from mooring.framework.status import Status
from mooring.virtual.explaining_scheduler import ExplainingScheduler
from mooring.virtual.outcomes import Outcomes

#: Version of the format; increased when a field changes its meaning or is removed.
VERSION = 2

SCHEDULED = "scheduled"
PENDING = "pending"
GATED = "gated"
ERROR = "error"
PREEMPTED = "preempted"
UNSERVED = "unserved"
TERMINATING = "terminating"

#: The possible results, in the order of the summary.
RESULTS = (SCHEDULED, PENDING, GATED, ERROR, PREEMPTED, UNSERVED, TERMINATING)

_BY_OUTCOME = {
    Outcome.SCHEDULED: SCHEDULED,
    Outcome.UNSCHEDULABLE: PENDING,
    Outcome.GATED: GATED,
    Outcome.ERROR: ERROR,
}
_UNSERVED = 'no profile serves schedulerName "{}"; profiles: {}'
_TERMINATING = "the pod is being deleted"


class PodResult(msgspec.Struct, frozen=True):
    """The result for one pod."""

    pod: Pod
    #: One of RESULTS.
    result: str
    node: str = ""
    message: str = ""
    nominated_node: str = ""
    attempts: int = 0
    #: Plugins that refused in the last attempt.
    plugins: Sequence[str] = ()
    errors: Sequence[Status] = ()
    #: Pods that were preempted by this one.
    victims: Sequence[str] = ()


class Preemption(msgspec.Struct, frozen=True):
    """One preempted pod."""

    pod: Pod
    #: The preempting pod, as namespace/name; of a pod group with its kind before it.
    by: str


class ScheduleReport(msgspec.Struct, frozen=True):
    """The results for all pending pods."""

    num_nodes: int
    pods: Sequence[PodResult]
    preempted: Sequence[Preemption]

    def counts(self) -> dict[str, int]:
        """Return how many pods have each result; every result is present."""
        counted = Counter(result.result for result in self.pods)
        return {result: counted[result] for result in RESULTS}


def make_report(
    scheduler: ExplainingScheduler, outcomes: Outcomes, not_tried: Iterable[Pod]
) -> ScheduleReport:
    """Return the report of a run: pods in the order of the outcomes, then those not tried."""
    preemptors = outcomes.preemptors
    preempted = [Preemption(pod, preemptors.get(pod.key, "")) for pod in outcomes.evicted]
    gone = {preemption.pod.metadata.uid: preemption for preemption in preempted}
    victims: dict[str, list[str]] = {}
    for preemption in preempted:
        victims.setdefault(preemption.by, []).append(preemption.pod.key)
    results = [
        _tried(scheduler, decision, gone.get(uid), victims.get(decision.pod.key, ()))
        for uid, decision in outcomes.decisions.items()
    ]
    results += [_not_tried(pod, scheduler.profiles) for pod in not_tried]
    return ScheduleReport(len(scheduler.cache.nodes), results, preempted)


def _tried(
    scheduler: ExplainingScheduler,
    decision: Decision,
    preemption: Preemption | None,
    victims: Sequence[str],
) -> PodResult:
    meta = decision.pod.metadata
    pod = scheduler.cluster.pods.get(meta.name, meta.namespace) or decision.pod
    found = PodResult(
        pod,
        _BY_OUTCOME[decision.outcome],
        node=decision.node_name,
        message=message_of(decision),
        nominated_node="" if decision.node_name else pod.status.nominated_node_name,
        attempts=scheduler.examiner.attempts[meta.uid],
        plugins=sorted(decision.unschedulable_plugins),
        errors=decision.errors,
        victims=victims,
    )
    if preemption is None:
        return found
    return msgspec.structs.replace(
        found, result=PREEMPTED, node="", message=f"Preempted by {preemption.by}"
    )


def _not_tried(pod: Pod, profiles: Iterable[str]) -> PodResult:
    if pod.is_terminating:
        return PodResult(pod, TERMINATING, message=_TERMINATING)
    message = _UNSERVED.format(pod.spec.scheduler_name, ", ".join(sorted(profiles)))
    return PodResult(pod, UNSERVED, message=message)


def report_data(report: ScheduleReport) -> dict[str, Any]:
    """Return a report as plain data, in the format that docs/schedule.md describes."""
    return {
        "version": VERSION,
        "summary": {
            "nodes": report.num_nodes,
            "pods": len(report.pods),
            **report.counts(),
        },
        "pods": [_pod_data(result) for result in report.pods],
        "preempted": [
            {
                **_identity(preemption.pod),
                "node": preemption.pod.spec.node_name,
                "by": preemption.by,
            }
            for preemption in report.preempted
        ],
    }


def _identity(pod: Pod) -> dict[str, Any]:
    return {"namespace": pod.metadata.namespace, "name": pod.metadata.name}


def _pod_data(result: PodResult) -> dict[str, Any]:
    return {
        **_identity(result.pod),
        "schedulerName": result.pod.spec.scheduler_name,
        "priority": result.pod.priority,
        "result": result.result,
        "node": result.node,
        "message": result.message,
        "nominatedNode": result.nominated_node,
        "attempts": result.attempts,
        "plugins": list(result.plugins),
        "victims": list(result.victims),
        "errors": [error_data(status) for status in result.errors],
    }
