"""The incoming pod's own terms, with the namespaces they reach."""

# kube-scheduler: plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty)

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from mooring.api import Namespace, Pod, Requirement, Selector
from mooring.framework.listers import Lister
from mooring.framework.pod_info import AffinityTerm

_MEMO_LIMIT = 1024
_NO_LABELS: Final[Mapping[str, str]] = {}


class OwnTerm(msgspec.Struct, frozen=True):
    """A term of the incoming pod: which existing pods it speaks of, and where."""

    topology_key: str
    selector: Selector
    #: None stands for all.
    namespaces: frozenset[str] | None
    weight: int = 0

    def matches(self, pod: Pod) -> bool:
        """Tell whether the term speaks of a pod."""
        return (
            self.namespaces is None or pod.metadata.namespace in self.namespaces
        ) and self.selector.matches(pod.metadata.labels)


class Namespaces:
    """Know namespaces by their labels."""

    def __init__(self, lister: Lister[Namespace]) -> None:
        self._lister = lister
        self._version = -1
        self._reach: dict[tuple[frozenset[str], Selector], frozenset[str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; one that is not known has none."""
        namespace = self._lister.get(name)
        return _NO_LABELS if namespace is None else namespace.metadata.labels

    def own_terms(self, terms: Iterable[AffinityTerm]) -> tuple[OwnTerm, ...]:
        """Return terms of the incoming pod with the namespaces they select written out."""
        return tuple(
            OwnTerm(term.topology_key, term.selector, self._reached(term), term.weight)
            for term in terms
        )

    def _reached(self, term: AffinityTerm) -> frozenset[str] | None:
        selector = term.namespace_selector
        if selector.nothing:
            return term.namespaces
        if selector.matches(_NO_LABELS):
            # kube-scheduler asks the selector once more, with no labels, about every pod: one that
            # accepts that reaches all namespaces.
            return None
        if self._version != self._lister.version or len(self._reach) >= _MEMO_LIMIT:
            self._version = self._lister.version
            self._reach.clear()
        key = (term.namespaces, selector)
        reached = self._reach.get(key)
        if reached is None:
            reached = self._reach[key] = term.namespaces.union(
                namespace.metadata.name
                for namespace in self._lister.list()
                if selector.matches(namespace.metadata.labels)
            )
        return reached


def matches_all(terms: Sequence[OwnTerm], pod: Pod) -> bool:
    """Tell whether all terms speak of a pod; no terms speak of none."""
    return bool(terms) and all(term.matches(pod) for term in terms)


def intersection(terms: Sequence[OwnTerm]) -> tuple[frozenset[str] | None, Selector]:
    """Return the namespaces and the selector of the pods that every one of some terms speaks of."""
    first, *others = terms
    namespaces, selector = first.namespaces, first.selector
    if not others:
        return namespaces, selector
    requirements: list[Requirement] = []
    for term in terms:
        if namespaces is None:
            namespaces = term.namespaces
        elif term.namespaces is not None and term.namespaces != namespaces:
            namespaces = namespaces & term.namespaces
        if term.selector.nothing:
            selector = term.selector
        requirements += term.selector.requirements
    # One selector at the end: adding to it term by term would sort all of them each time.
    return namespaces, selector if selector.nothing else Selector(requirements)
