"""From a decision to the record of its attempt."""

from __future__ import annotations

from mooring.api import AnyPodGroup, CompositePodGroup, scheduling_group_key
from mooring.explain.attempt_record import AttemptRecord
from mooring.framework.decision import Decision


def record_of(
    decision: Decision,
    attempt: int,
    start: float,
    *,
    seed: int,
    sampling_start: int,
    group: AnyPodGroup | None = None,
) -> AttemptRecord:
    """Return the record of a pod's attempt that began at `start`, right after its cycle.

    `group` is the pod group, or the top of the tree of groups, that is being tried. The record's
    sequence is 0: the history numbers the records that it keeps.
    """
    meta, result, feasible = decision.pod.metadata, decision.post_filter, decision.feasible
    record = AttemptRecord(
        sequence=0,
        time=start,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        profile=decision.profile_name,
        attempt=attempt,
        outcome=decision.outcome.value,
        node=decision.node_name,
        seed=seed,
        sampling_start=sampling_start,
        message=decision.message,
        evaluated=decision.evaluated_nodes,
        feasible=0 if feasible is None else len(feasible),
        pod_group="" if group is None else scheduling_group_key(decision.pod),
        composite_pod_group=composite_key(group),
    )
    refusing = decision.unschedulable_plugins | decision.pending_plugins
    if refusing:
        record.refusing_plugins = tuple(sorted(refusing))
    if result is not None:
        record.nominated_node = result.nominated_node or ""
        record.victims = tuple(pod.key for pod in result.victims)
    return record


def composite_key(group: AnyPodGroup | None) -> str:
    """Return "namespace/name" of a composite group; "" for a pod group, or for none."""
    return group.key if isinstance(group, CompositePodGroup) else ""


def weighted_points(decision: Decision, node_name: str) -> dict[str, int]:
    """Return the weighted points that each plugin gives a node; {} if it was not scored."""
    place = decision.position(node_name)
    if decision.totals is None or place < 0:
        return {}
    return {
        name: scores.normalized.item(place) * scores.weight
        for name, scores in decision.scores.items()
    }
