"""Fragments of a pod's signature that several plugins share.

Pods with equal signatures get equal answers from every plugin, so a result may be reused.
"""

# kube-scheduler: staging kube-scheduler/framework/signers.go

from __future__ import annotations

from collections.abc import Hashable, Iterable

from mooring.api import NodeSelectorRequirement, NodeSelectorTerm, Pod


def sign_tolerations(pod: Pod) -> Hashable:
    """Return the tolerations, sorted by key and value."""
    tolerations = pod.spec.tolerations
    if len(tolerations) < 2:
        return tolerations
    return tuple(sorted(tolerations, key=lambda toleration: (toleration.key, toleration.value)))


def sign_node_affinity(pod: Pod) -> Hashable:
    """Return the node selector and the node affinity; the order of terms does not matter."""
    spec = pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return tuple(sorted(spec.node_selector.items()))
    required = affinity.required_during_scheduling_ignored_during_execution
    return (
        tuple(sorted(spec.node_selector.items())),
        None
        if required is None
        else tuple(sorted(_sign_term(term) for term in required.node_selector_terms)),
        tuple(
            sorted(
                (term.weight, _sign_term(term.preference))
                for term in affinity.preferred_during_scheduling_ignored_during_execution
            )
        ),
    )


_Requirements = tuple[tuple[str, str, tuple[str, ...]], ...]


def _sign_term(term: NodeSelectorTerm) -> tuple[_Requirements, _Requirements]:
    return _sign_requirements(term.match_expressions), _sign_requirements(term.match_fields)


def _sign_requirements(requirements: Iterable[NodeSelectorRequirement]) -> _Requirements:
    return tuple(
        sorted(
            (requirement.key, requirement.operator, tuple(sorted(requirement.values)))
            for requirement in requirements
        )
    )
