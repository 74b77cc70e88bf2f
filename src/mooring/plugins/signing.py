"""Fragments of a pod's signature that several plugins share.

Pods with equal signatures get equal answers from every plugin, so a result may be reused.
"""

# kube-scheduler: staging kube-scheduler/framework/signers.go

from __future__ import annotations

from collections.abc import Hashable

from mooring.api import Pod


def sign_tolerations(pod: Pod) -> Hashable:
    """Return the tolerations; their order does not matter."""
    return frozenset(pod.spec.tolerations)


def sign_node_affinity(pod: Pod) -> Hashable:
    """Return the node selector and the node affinity.

    The order of labels and of required terms does not matter. Requirements and preferences are
    compared as written: sorting them takes longer than most pods save, and pods that could share
    results have one template.
    """
    spec = pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    labels = frozenset(spec.node_selector.items())
    if affinity is None:
        return labels
    required = affinity.required_during_scheduling_ignored_during_execution
    return (
        labels,
        None if required is None else frozenset(required.node_selector_terms),
        affinity.preferred_during_scheduling_ignored_during_execution,
    )
