"""The incoming pod's own terms, with the namespaces they select."""

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
    """A term of the incoming pod: the existing pods it matches, and its topology key."""

    topology_key: str
    selector: Selector
    #: None means all namespaces.
    namespaces: frozenset[str] | None
    weight: int = 0

    def matches(self, pod: Pod) -> bool:
        """Return whether the term matches a pod."""
        return (
            self.namespaces is None or pod.metadata.namespace in self.namespaces
        ) and self.selector.matches(pod.metadata.labels)


class Namespaces:
    """The namespaces and their labels."""

    def __init__(self, lister: Lister[Namespace], *, resolve_all: bool = True) -> None:
        self._lister = lister
        #: Whether a selector that matches the empty set of labels selects by labels, too.
        self._resolve_all = resolve_all
        self._version = -1
        self._reach: dict[tuple[frozenset[str], Selector], frozenset[str]] = {}

    def labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; an unknown namespace has none."""
        namespace = self._lister.get(name)
        return _NO_LABELS if namespace is None else namespace.metadata.labels

    def own_terms(self, terms: Iterable[AffinityTerm]) -> tuple[OwnTerm, ...]:
        """Return terms of the incoming pod, with namespace selectors resolved to names."""
        return tuple(
            OwnTerm(term.topology_key, term.selector, self._reached(term), term.weight)
            for term in terms
        )

    def _reached(self, term: AffinityTerm) -> frozenset[str] | None:
        selector = term.namespace_selector
        if selector.nothing:
            return term.namespaces
        if not selector.requirements:
            return None
        if not self._resolve_all and selector.matches(_NO_LABELS):
            # kube-scheduler 1.36 also evaluates the selector without labels for every pod, so a
            # selector that matches the empty set of labels selects all namespaces.
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
    """Return whether all terms match a pod; False if there are no terms."""
    return bool(terms) and all(term.matches(pod) for term in terms)


def intersection(terms: Sequence[OwnTerm]) -> tuple[frozenset[str] | None, Selector]:
    """Return the namespaces and the selector of the pods that all terms match."""
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
    # Build one selector at the end: extending it term by term would sort all requirements again.
    return namespaces, selector if selector.nothing else Selector(requirements)
