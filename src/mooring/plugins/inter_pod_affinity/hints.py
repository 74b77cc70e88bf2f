"""Queueing hints: could this event make a pod schedulable that affinity refused?

Terms are matched as written: the namespaces that a namespaceSelector reaches are not looked up.
"""

# kube-scheduler: plugins/interpodaffinity/plugin.go

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mooring.api import Node, Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.pod_info import AffinityTerm, PodInfo

#: `any` or `all`: how many of several terms must match.
Quantifier = Callable[[Iterable[bool]], bool]


def after_pod_change(
    pod: PodInfo, old: PodInfo | None, new: PodInfo | None, of_unwanted: Quantifier
) -> QueueingHint:
    """Return whether to queue the pod after another was added, deleted or relabelled.

    `of_unwanted` says how many of several anti-affinity terms must match.
    """
    if not all(_is_placed(changed.pod) for changed in (old, new) if changed is not None):
        return QueueingHint.SKIP
    wanted, unwanted = pod.required_affinity, pod.required_anti_affinity
    if old is not None and new is not None:
        return _queue_if(
            (not _match(all, wanted, old.pod) and _match(all, wanted, new.pod))
            or (
                _match(of_unwanted, unwanted, old.pod)
                and not _match(of_unwanted, unwanted, new.pod)
            )
        )
    if new is not None:
        return _queue_if(_match(all, wanted, new.pod))
    assert old is not None, "an event has an old object, a new one, or both"
    return _queue_if(
        _match(of_unwanted, unwanted, old.pod)
        or _match(of_unwanted, old.required_anti_affinity, pod.pod)
    )


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """Return whether to queue the pod after a node was added or changed."""
    after = new.metadata.labels
    if old is None:
        # A pod with anti-affinity fits on a node without the topology key as well.
        return _queue_if(
            bool(pod.required_anti_affinity)
            or any(term.topology_key in after for term in pod.required_affinity)
        )
    before = old.metadata.labels
    for term in pod.required_affinity:
        value = after.get(term.topology_key)
        if value is not None and value != before.get(term.topology_key):
            return QueueingHint.QUEUE
    for term in pod.required_anti_affinity:
        value = before.get(term.topology_key)
        if value is not None and value != after.get(term.topology_key):
            return QueueingHint.QUEUE
    return QueueingHint.SKIP


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def _match(quantifier: Quantifier, terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    return bool(terms) and quantifier(term.matches(pod, {}) for term in terms)


def _queue_if(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP
