"""OutcomeRecorder: an observer that keeps the last decision on each pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.framework.decision import Decision, Outcome
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.taps import SilentTap


class Outcomes(msgspec.Struct, frozen=True):
    """What became of the pending pods."""

    #: The last decision on each pod, by uid, in the order in which the pods were first tried; pods
    #: that PreEnqueue kept out come last.
    decisions: dict[str, Decision]
    #: Pods that a preemption removed.
    evicted: list[Pod]
    #: By "namespace/name" of a victim: the pod that preempted it, as "namespace/name", or the pod
    #: group, with the kind before it.
    preemptors: Mapping[str, str]


class OutcomeRecorder(SilentTap):
    """A tap that keeps the last decision on each pod, with what happened to the pod after it.

    Subclasses say which details are kept. As a `GroupExaminer`, it keeps what was tried for a
    group, if `examines_groups` is set.
    """

    examines_groups = False

    def __init__(self, *, with_details: bool = True) -> None:
        self._with_details = with_details
        #: By uid, in the order in which the pods were first tried.
        self.decisions: dict[str, Decision] = {}
        self.preemptors: dict[str, str] = {}
        #: The group that is being tried.
        self._group: QueuedPodGroupInfo | None = None
        self._refused: list[Decision] = []
        self._placed: list[Decision] = []
        #: What the current attempt of a group has tried.
        self._tried: TriedGroup | None = None

    def keeps_details(self, uid: str) -> bool:
        """Return whether to keep what grows with the number of nodes in decisions on a pod."""
        return self._with_details

    def gated(self, decision: Decision, *, with_group: bool = False) -> None:
        """Take note of a pod that PreEnqueue keeps out, or another one of its group with it."""

    def forget(self, uid: str) -> None:
        """Drop the decision on a pod."""
        self.decisions.pop(uid, None)

    def take_group(self) -> list[Decision]:
        """Return the decisions of the last attempt of a group, and drop them."""
        decisions = [*self._refused, *self._placed]
        for decision in decisions:
            self.forget(decision.pod.metadata.uid)
        return decisions

    # Groups.

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether to record the details of a group's attempts."""
        return self.examines_groups

    def take(self, examined: ExaminedGroup) -> None:
        """Keep what an attempt of a group has tried, for the decisions on its pods."""
        self._tried = examined.tried

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """See SchedulingTap."""
        self._group, self._tried = info, None
        self._refused.clear()
        self._placed.clear()

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """See SchedulingTap."""
        self._group = None
        for decision in (*self._refused, *self._placed):
            decision.group = self._tried
            self.decisions[decision.pod.metadata.uid] = decision
        group = f"{info.group.entity_type} {info.group.key}"
        self.preemptors.update(dict.fromkeys(info.victims, group))

    # Attempts.

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """See SchedulingTap."""
        if self._group is None:
            self.record(decision)

    def record(self, decision: Decision) -> None:
        """Keep the decision on a single pod."""
        pod = decision.pod
        if pod.spec.node_name:
            # It waits for its resize on the node that it has.
            return
        self.decisions[pod.metadata.uid] = decision
        victims = () if decision.post_filter is None else decision.post_filter.victims
        self.preemptors.update((victim.key, pod.key) for victim in victims)

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        info, assumed = attempt.info, attempt.assumed
        if self._group is None:
            self._settle(info.uid)
        else:
            assert assumed is not None
            decision = Decision(info.pod, info.profile, Outcome.SCHEDULED)
            decision.node_name = assumed.node_name
            self._placed.append(decision)

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """See SchedulingTap."""
        if self._group is not None:
            self._refused.append(_refused(info, failure))
            return
        decision = self.decisions.get(info.uid)
        if decision is None:
            return
        if decision.outcome is Outcome.SCHEDULED:
            decision.outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
            decision.message = failure.message
            decision.unschedulable_plugins = frozenset(failure.unschedulable) - {""}
            decision.node_name = ""
            decision.errors = (*decision.errors, *failure.faults)
        self._settle(info.uid)

    def post_bind_failed(self, attempt: SchedulingAttempt, faults: Sequence[Status]) -> None:
        """See SchedulingTap."""
        decision = self.decisions.get(attempt.info.uid)
        if decision is not None:
            decision.errors = (*decision.errors, *faults)

    def _settle(self, uid: str) -> None:
        decision = self.decisions.get(uid)
        if decision is not None and not self.keeps_details(uid):
            drop_details(decision)


def _refused(info: QueuedPodInfo, failure: Failure) -> Decision:
    """Return the decision on a pod of a group that found no node."""
    outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
    decision = Decision(info.pod, info.profile, outcome, message=failure.message)
    decision.unschedulable_plugins = frozenset(failure.unschedulable)
    decision.errors = tuple(failure.faults)
    return decision


def drop_details(decision: Decision) -> None:
    """Drop what grows with the number of nodes: a run may keep a decision for every pod."""
    decision.statuses = None
    decision.feasible = None
    decision.scores = {}
    decision.totals = None
    if decision.post_filter is not None:
        decision.post_filter = msgspec.structs.replace(decision.post_filter, candidates=())
