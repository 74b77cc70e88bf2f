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
from mooring.cache.term_counts import TermCounts
from mooring.framework.columns import grown
from mooring.framework.nodes import TermCount, TermKind, TermSum
from mooring.framework.pod_info import AffinityTerm, PodInfo

Counts = npt.NDArray[np.int32]

#: Above this many counters, or this many bytes of counts, the least recently queried quarter is
#: dropped.
MAX_COUNTERS = 8192
MAX_BYTES = 64 << 20

_KINDS = tuple(TermKind)
_PREFERRED = (TermKind.PREFERRED_AFFINITY, TermKind.PREFERRED_ANTI_AFFINITY)


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

    @property
    def size(self) -> int:
        """Return how many bytes the counts take."""
        return self.counts.nbytes + (0 if self.terminating is None else self.terminating.nbytes)

    def change(self, row: int, pod: Pod, sign: int) -> None:
        self.counts[row] += sign
        if pod.metadata.deletion_timestamp is not None:
            if self.terminating is None:
                self.terminating = np.zeros(len(self.counts), dtype=np.int32)
            self.terminating[row] += sign
            self.terminating_total += sign


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
        self._bytes = 0
        self._terms = {
            kind: TermCounts(self._capacity, weighted=kind in _PREFERRED) for kind in _KINDS
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
        return self._terms[kind].all()

    def terms_matching(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> list[TermCount]:
        """Return the distinct terms of existing pods that match `pod`."""
        return self._terms[kind].matching(pod, namespace_labels)

    def term_sums(
        self, kind: TermKind, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> Mapping[str, TermSum]:
        """Add up the terms of existing pods that match `pod`, by topology key."""
        return self._terms[kind].sums(pod, namespace_labels)

    def counters(self) -> list[_Counter]:
        """Return all counters, for `Cache.validate`."""
        return list(self._counters.values())

    def _make_counter(self, namespaces: frozenset[str] | None, selector: Selector) -> _Counter:
        if len(self._counters) >= MAX_COUNTERS:
            self._drop_unasked()
        counter = _Counter(namespaces, selector, self._capacity)
        for info in self._pods.matching(namespaces, selector):
            counter.change(self._row_of(info), info.pod, 1)
        self._counters[namespaces, selector] = counter
        self._counter_index.add(counter, namespaces, selector)
        counter.asked = next(self._questions)
        self._note_size(counter.size)
        return counter

    def _note_size(self, more: int) -> None:
        """Note that the counts take more bytes, and drop counters that take too many."""
        self._bytes += more
        while self._bytes > MAX_BYTES and len(self._counters) > 1:
            self._drop_unasked()

    def _drop_unasked(self) -> None:
        by_age = sorted(self._counters.values(), key=lambda counter: counter.asked)
        for counter in by_age[: max(len(by_age) // 4, 1)]:
            del self._counters[counter.namespaces, counter.selector]
            self._counter_index.remove(counter)
            self._bytes -= counter.size

    # Changes.

    def add_pod(self, info: PodInfo, row: int) -> None:
        """Count a pod."""
        self._change_pod(info, row, 1)

    def remove_pod(self, info: PodInfo, row: int) -> None:
        """Remove a pod from the counts."""
        self._change_pod(info, row, -1)

    def relabel_pod(self, old: Pod, new: Pod, row: int) -> None:
        """Replace a pod by one with other labels; its terms stay as they are."""
        if self._counters:
            self._change_matching(old, row, -1)
            self._change_matching(new, row, 1)

    def _change_pod(self, info: PodInfo, row: int, sign: int) -> None:
        self._change_matching(info.pod, row, sign)
        if info.has_affinity:
            for kind in _KINDS:
                change = self._terms[kind].change
                for term in cast(Iterable[AffinityTerm], getattr(info, kind.value)):
                    change(term, row, sign)

    def _change_matching(self, pod: Pod, row: int, sign: int) -> None:
        """Change the counters whose selectors match a pod."""
        meta = pod.metadata
        more = 0
        for counter in self._counter_index.candidates(meta.namespace, meta.labels):
            if counter.matches(pod):
                before = counter.terminating
                counter.change(row, pod, sign)
                if counter.terminating is not before:
                    more += counter.counts.nbytes
        if more:
            self._note_size(more)

    def set_size(self, size: int) -> None:
        """Set the number of rows."""
        self._size = size
        if size > self._capacity:
            while size > self._capacity:
                self._capacity *= 2
            before = self._bytes
            for counter in self._counters.values():
                counter.counts = cast(Counts, grown(counter.counts, self._capacity))
                if counter.terminating is not None:
                    counter.terminating = cast(Counts, grown(counter.terminating, self._capacity))
            self._note_size(sum(counter.size for counter in self._counters.values()) - before)
        for terms in self._terms.values():
            terms.set_size(size, self._capacity)

    def move_row(self, source: int, target: int) -> None:
        """Move a row's counts and set the source row to zero; a row without pods has nothing to
        move."""
        for counter in self._counters.values():
            for counts in (counter.counts, counter.terminating):
                if counts is not None:
                    counts[target] = counts[source]
                    counts[source] = 0
        for terms in self._terms.values():
            terms.move_row(source, target)
