"""From a decision to the record of its attempt."""

from __future__ import annotations

import msgspec

from mooring.api import AnyPodGroup, CompositePodGroup, ObjectMeta, scheduling_group_key
from mooring.explain.attempt_record import AttemptRecord
from mooring.framework.decision import Decision, Outcome, PostFilterResult
from mooring.scheduler.schedule_one import SchedulingAttempt

_SCHEDULED = Outcome.SCHEDULED.value


class AttemptOutline(msgspec.Struct, frozen=True, gc=False):
    """The data for the record of an attempt, without the arrays of its decision.

    The scheduling loop makes outlines, because that takes a third of the time of making records.
    """

    metadata: ObjectMeta
    profile: str
    outcome: Outcome
    node: str
    message: str
    evaluated: int
    feasible: int
    #: The plugins that refused the pod, and those that left it pending.
    unschedulable: frozenset[str]
    pending: frozenset[str]
    post_filter: PostFilterResult | None
    attempt: int
    #: When the attempt began.
    start: float
    seed: int
    sampling_start: int
    pod_group: str = ""
    #: The top of the tree of groups that was tried.
    composite_pod_group: str = ""

    def record(self) -> AttemptRecord:
        """Return the record. Its sequence is 0; the history numbers the records that it keeps."""
        meta, result = self.metadata, self.post_filter
        record = AttemptRecord(
            sequence=0,
            time=self.start,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            profile=self.profile,
            attempt=self.attempt,
            outcome=self.outcome.value,
            node=self.node,
            seed=self.seed,
            sampling_start=self.sampling_start,
            message=self.message,
            evaluated=self.evaluated,
            feasible=self.feasible,
            pod_group=self.pod_group,
            composite_pod_group=self.composite_pod_group,
        )
        if self.unschedulable or self.pending:
            record.refusing_plugins = tuple(sorted(self.unschedulable | self.pending))
        if result is not None:
            record.nominated_node = result.nominated_node or ""
            record.victims = tuple(pod.key for pod in result.victims)
        return record


def outline_of(
    decision: Decision,
    attempt: int,
    start: float,
    seed: int,
    sampling_start: int,
    group: AnyPodGroup | None = None,
) -> AttemptOutline:
    """Return the outline of a pod's attempt that began at `start`, right after its cycle.

    `group` is the pod group, or the top of the tree of groups, that is being tried.
    """
    feasible = decision.feasible
    return AttemptOutline(
        decision.pod.metadata,
        decision.profile_name,
        decision.outcome,
        decision.node_name,
        decision.message,
        decision.evaluated_nodes,
        0 if feasible is None else len(feasible),
        decision.unschedulable_plugins,
        decision.pending_plugins,
        decision.post_filter,
        attempt,
        start,
        seed,
        sampling_start,
        "" if group is None else scheduling_group_key(decision.pod),
        composite_key(group),
    )


class PlacedAttempt(msgspec.Struct, frozen=True, gc=False):
    """The data for the record of an attempt that found a node, for a pod without a group.

    Most of the data is in the attempt, which exists until the pod is bound.
    """

    attempt: SchedulingAttempt
    #: The number of the attempt, from 1.
    number: int
    #: The plugins and extenders that limited the search to some nodes.
    narrowed_by: frozenset[str]
    seed: int
    sampling_start: int

    def record(self) -> AttemptRecord:
        """Return the record, as `AttemptOutline.record` does."""
        attempt, assumed = self.attempt, self.attempt.assumed
        assert assumed is not None
        meta = assumed.pod.metadata
        record = AttemptRecord(
            sequence=0,
            time=attempt.start,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            profile=attempt.profile.name,
            attempt=self.number,
            outcome=_SCHEDULED,
            node=assumed.node_name,
            seed=self.seed,
            sampling_start=self.sampling_start,
            evaluated=assumed.evaluated_nodes,
            feasible=assumed.feasible_nodes,
        )
        if self.narrowed_by:
            record.refusing_plugins = tuple(sorted(self.narrowed_by))
        return record


def composite_key(group: AnyPodGroup | None) -> str:
    """Return "namespace/name" of a composite group; "" for a pod group, or for none."""
    return group.key if isinstance(group, CompositePodGroup) else ""


def weighted_points(decision: Decision, node_name: str) -> dict[str, int]:
    """Return the weighted points that each plugin gives a node; {} if it was not scored."""
    place = decision.position(node_name)
    if decision.totals is None or place < 0:
        return {}
    return points_at(decision, place)


def points_at(decision: Decision, place: int) -> dict[str, int]:
    """Return the weighted points that each plugin gives a feasible node, by its position."""
    return {
        name: scores.normalized.item(place) * scores.weight
        for name, scores in decision.scores.items()
    }
