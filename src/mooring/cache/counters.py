"""Counters: how many pods of each node match a selector or carry an affinity term.

kube-scheduler recounts all existing pods for every pod with spreading or affinity. Here one counter
per distinct selector is kept up to date as pods come and go, so a query costs a lookup. A counter
is created by the first query for it; when there are too many, those that have not been queried for
the longest time are dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.api.labels import Selector
from mooring.cache.pod_index import PodIndex
from mooring.cache.selector_index import SelectorIndex
from mooring.framework.columns import grown
from mooring.framework.nodes import TermCount, TermKind
from mooring.framework.pod_info import AffinityTerm, PodInfo

Counts = npt.NDArray[np.int32]

#: Above this many counters, the least recently queried quarter is dropped.
MAX_COUNTERS = 8192

_KINDS = tuple(TermKind)


class _Counter:
    """The number of pods that one selector matches, per row."""

    __slots__ = ("asked", "counts", "namespaces", "selector", "terminating", "terminating_total")

    #: Number of the question that asked last.
    asked: int

    def __init__(
        self, namespaces: frozenset[str] | None, selector: Selector, capacity: int
    ) -> None:
        self.namespaces = namespaces
        self.selector = selector
        self.counts: Counts = np.zeros(capacity, dtype=np.int32)
        #: How many of them are terminating; created when the first terminating pod is counted.
        self.terminating: Counts | None = None
        self.terminating_total = 0

    def matches(self, pod: Pod) -> bool:
        return (
            self.namespaces is None or pod.metadata.namespace in self.namespaces
        ) and self.selector.matches(pod.metadata.labels)

    def change(self, row: int, pod: Pod, sign: int) -> None:
        self.counts[row] += sign
        if pod.metadata.deletion_timestamp is not None:
            if self.terminating is None:
                self.terminating = np.zeros(len(self.counts), dtype=np.int32)
            self.terminating[row] += sign
            self.terminating_total += sign


class _Term:
    """The number of pods that carry one term, per row."""

    __slots__ = ("counts", "term", "total")

    def __init__(self, term: AffinityTerm, capacity: int) -> None:
        self.term = term
        self.counts: Counts = np.zeros(capacity, dtype=np.int32)
        self.total = 0


class Counters:
    """All counters. Owned by the cache, which reports every change of pods and rows."""

    def __init__(self, row_of: Callable[[PodInfo], int], pods: PodIndex) -> None:
        self._row_of = row_of
        self._pods = pods
        self._size = 0
        self._capacity = 64
        #: Numbers of the questions to come.
        self._questions = itertools.count()
        self._counters: dict[tuple[frozenset[str] | None, Selector], _Counter] = {}
        self._counter_index: SelectorIndex[_Counter] = SelectorIndex()
        self._terms: dict[TermKind, dict[AffinityTerm, _Term]] = {kind: {} for kind in _KINDS}
        self._term_index: dict[TermKind, SelectorIndex[_Term]] = {
            kind: SelectorIndex() for kind in _KINDS
        }

    # Queries.

    def matching(
        self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool
    ) -> Counts:
        """Count, per row, the pods that a selector matches in some namespaces (None: in all)."""
        counter = self._counters.get((namespaces, selector))
        if counter is None:
            counter = self._make_counter(namespaces, selector)
        counter.asked = next(self._questions)
        counts = counter.counts[: self._size]
        if not terminating and counter.terminating is not None and counter.terminating_total > 0:
            counts = counts - counter.terminating[: self._size]
        counts.flags.writeable = False
        return counts

    def terms(self, kind: TermKind) -> Iterator[TermCount]:
        """Yield every distinct term of a kind that existing pods carry."""
        for entry in self._terms[kind].values():
            yield self._view(entry)

    def terms_matching(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> list[TermCount]:
        """Return the distinct terms of existing pods that match `pod`."""
        if not self._terms[kind]:
            return []
        meta = pod.metadata
        return [
            self._view(entry)
            for entry in self._term_index[kind].candidates(meta.namespace, meta.labels)
            if entry.term.matches(pod, namespace_labels)
        ]

    def counters(self) -> list[_Counter]:
        """Return all counters, for `Cache.validate`."""
        return list(self._counters.values())

    def _view(self, entry: _Term) -> TermCount:
        counts = entry.counts[: self._size]
        counts.flags.writeable = False
        return TermCount(entry.term, counts)

    def _make_counter(self, namespaces: frozenset[str] | None, selector: Selector) -> _Counter:
        if len(self._counters) >= MAX_COUNTERS:
            self._drop_unasked()
        counter = _Counter(namespaces, selector, self._capacity)
        for info in self._pods.matching(namespaces, selector):
            counter.change(self._row_of(info), info.pod, 1)
        self._counters[namespaces, selector] = counter
        self._counter_index.add(counter, namespaces, selector)
        return counter

    def _drop_unasked(self) -> None:
        by_age = sorted(self._counters.values(), key=lambda counter: counter.asked)
        for counter in by_age[: len(by_age) // 4]:
            del self._counters[counter.namespaces, counter.selector]
            self._counter_index.remove(counter)

    # Changes.

    def add_pod(self, info: PodInfo, row: int) -> None:
        """Count a pod."""
        self._change_pod(info, row, 1)

    def remove_pod(self, info: PodInfo, row: int) -> None:
        """Remove a pod from the counts."""
        self._change_pod(info, row, -1)

    def _change_pod(self, info: PodInfo, row: int, sign: int) -> None:
        pod = info.pod
        meta = pod.metadata
        for counter in self._counter_index.candidates(meta.namespace, meta.labels):
            if counter.matches(pod):
                counter.change(row, pod, sign)
        if info.has_affinity:
            for kind in _KINDS:
                for term in cast(Iterable[AffinityTerm], getattr(info, kind.value)):
                    self._change_term(kind, term, row, sign)

    def _change_term(self, kind: TermKind, term: AffinityTerm, row: int, sign: int) -> None:
        entry = self._terms[kind].get(term)
        if entry is None:
            entry = self._terms[kind][term] = _Term(term, self._capacity)
            everywhere = not term.namespace_selector.nothing
            self._term_index[kind].add(
                entry, None if everywhere else term.namespaces, term.selector
            )
        entry.counts[row] += sign
        entry.total += sign
        if not entry.total:
            del self._terms[kind][term]
            self._term_index[kind].remove(entry)

    def set_size(self, size: int) -> None:
        """Set the number of rows."""
        self._size = size
        if size > self._capacity:
            while size > self._capacity:
                self._capacity *= 2
            for counter in self._counters.values():
                counter.counts = cast(Counts, grown(counter.counts, self._capacity))
                if counter.terminating is not None:
                    counter.terminating = cast(Counts, grown(counter.terminating, self._capacity))
            for entries in self._terms.values():
                for entry in entries.values():
                    entry.counts = cast(Counts, grown(entry.counts, self._capacity))

    def move_row(self, source: int, target: int) -> None:
        """Move a row's counts and set the source row to zero; a row without pods has nothing to
        move."""
        for counts in self._arrays():
            counts[target] = counts[source]
            counts[source] = 0

    def _arrays(self) -> Iterator[Counts]:
        for counter in self._counters.values():
            yield counter.counts
            if counter.terminating is not None:
                yield counter.terminating
        for entries in self._terms.values():
            for entry in entries.values():
                yield entry.counts
