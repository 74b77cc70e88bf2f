"""Queueing hints: could this event make a pod schedulable that its constraints refused?"""

# kube-scheduler: plugins/podtopologyspread/plugin.go

from __future__ import annotations

from collections.abc import Mapping

from mooring.api import Node, Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.pod_topology_spread.spread_constraints import Constraints


def after_pod_change(
    constraints: Constraints, pod: Pod, old: Pod | None, new: Pod | None
) -> QueueingHint:
    """Return whether to queue the pod after a pod was added, deleted or changed."""
    if not all(_involved(changed, pod) for changed in (old, new) if changed is not None):
        return QueueingHint.SKIP
    if old is not None and new is not None:
        return _after_pod_update(constraints, pod, old, new)
    changed = new if new is not None else old
    assert changed is not None, "an event has an old object, a new one, or both"
    labels = changed.metadata.labels
    return _queue_if(any(constraint.selector.matches(labels) for constraint in constraints))


def _involved(changed: Pod, pod: Pod) -> bool:
    """Return whether `changed` is the pod itself, or a placed pod that constraints may count."""
    if changed.metadata.uid == pod.metadata.uid:
        return True
    if not changed.spec.node_name and not changed.status.nominated_node_name:
        return False
    return changed.metadata.namespace == pod.metadata.namespace


def _after_pod_update(constraints: Constraints, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    if (
        pod.metadata.uid == new.metadata.uid
        and new.spec.tolerations != old.spec.tolerations
        and any(constraint.honor_taints for constraint in constraints)
    ):
        return QueueingHint.QUEUE
    before, after = old.metadata.labels, new.metadata.labels
    return _queue_if(
        before != after
        and any(
            constraint.selector.matches(before) != constraint.selector.matches(after)
            for constraint in constraints
        )
    )


def after_node_change(constraints: Constraints, old: Node | None, new: Node | None) -> QueueingHint:
    """Return whether to queue the pod after a node was added, deleted or changed."""
    matched = old is not None and _has_all_keys(constraints, old.metadata.labels)
    matches = new is not None and _has_all_keys(constraints, new.metadata.labels)
    if old is None or new is None:
        return _queue_if(matched or matches)
    if matched != matches:
        return QueueingHint.QUEUE
    before, after = old.metadata.labels, new.metadata.labels
    moved = any(
        before.get(constraint.topology_key, "") != after.get(constraint.topology_key, "")
        for constraint in constraints
    )
    return _queue_if(matches and (moved or old.spec.taints != new.spec.taints))


def _has_all_keys(constraints: Constraints, labels: Mapping[str, str]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def _queue_if(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP
