"""TermCounts: how many pods of each node carry an affinity term.

A pod can carry thousands of terms, and each of them may match every later pod. Three things keep
that cheap:

- a term that few nodes have is kept as a dict of rows, not as an array with a row per node;
- the sums of the terms that match a pod are kept by topology key, and remembered for pods with the
  same labels;
- when terms come or go, only these are matched again, as long as they are few.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

import numpy as np

from mooring.api import Pod
from mooring.cache.selector_index import SelectorIndex
from mooring.framework.columns import grown
from mooring.framework.nodes import TermCount, TermSum
from mooring.framework.pod_info import AffinityTerm
from mooring.typing import Ints

#: Up to this many terms in all, matching them again is as fast as remembering their sums.
FEW_TERMS = 16
#: Sums are remembered for this many sets of labels; the least recently queried are dropped.
MAX_SUMS = 64
#: Up to this many changes, or twice as many, are applied to remembered sums; after more they are
#: computed again.
MAX_CHANGES = 64

#: Amounts for fewer rows than this are kept in a dict; in large clusters, for fewer than one row in
#: `_SPARSE`, where a dict takes as much memory as an array.
_FEW_ROWS = 16
_SPARSE = 32

#: A term, the row that it came to (or went from), and 1 (or -1).
_Change = tuple[AffinityTerm, int, int]


class RowAmounts:
    """An amount per row: a dict while few rows have one, then an array."""

    __slots__ = ("_array", "_rows")

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._array: Ints | None = None

    @property
    def is_sparse(self) -> bool:
        """Return whether only the rows that have an amount take memory."""
        return self._array is None

    def add(self, row: int, amount: int, capacity: int) -> None:
        """Add to the amount of a row; `capacity` is the number of rows that there is room for."""
        if self._array is not None:
            self._array[row] += amount
            return
        rows = self._rows
        if found := rows.get(row, 0) + amount:
            rows[row] = found
            if len(rows) >= max(_FEW_ROWS, capacity // _SPARSE):
                self._array = self._filled(capacity)
                self._rows = {}
        else:
            rows.pop(row, None)

    def add_all(self, other: RowAmounts, factor: int, capacity: int) -> None:
        """Add the amounts of another, times `factor`."""
        if other._array is None:
            for row, amount in other._rows.items():
                self.add(row, amount * factor, capacity)
            return
        if self._array is None:
            self._array = self._filled(capacity)
            self._rows = {}
        self._array += other._array[:capacity] * factor

    def append_to(self, rows: list[int], amounts: list[int]) -> bool:
        """Append the rows that have an amount, and the amounts; False if there are many."""
        if self._array is not None:
            return False
        rows += self._rows
        amounts += self._rows.values()
        return True

    def add_rows(self, rows: list[int], amounts: Ints, capacity: int) -> None:
        """Add to the amounts of many rows, which may occur several times."""
        added = RowAmounts()
        added._array = np.zeros(capacity, dtype=np.int64)
        np.add.at(added._array, rows, amounts)
        there = np.flatnonzero(added._array)
        if len(there) + len(self._rows) < max(_FEW_ROWS, capacity // _SPARSE):
            for row in there.tolist():
                self.add(row, int(added._array[row]), capacity)
        else:
            self.add_all(added, 1, capacity)

    def array(self, size: int) -> Ints:
        """Return the amounts of the first `size` rows, read-only."""
        array = self._filled(size) if self._array is None else self._array[:size]
        array.flags.writeable = False
        return array

    def _filled(self, size: int) -> Ints:
        array = np.zeros(size, dtype=np.int64)
        if self._rows:
            array[list(self._rows)] = list(self._rows.values())
        return array

    def move(self, source: int, target: int) -> None:
        """Move the amount of a row to another row."""
        if self._array is not None:
            self._array[target] = self._array[source]
            self._array[source] = 0
            return
        self._rows.pop(target, None)
        amount = self._rows.pop(source, 0)
        if amount:
            self._rows[target] = amount

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows."""
        if self._array is not None:
            self._array = grown(self._array, capacity)


class _Term:
    """The number of pods that carry one term, per row."""

    __slots__ = ("pods", "term", "total")

    def __init__(self, term: AffinityTerm) -> None:
        self.term = term
        self.pods = RowAmounts()
        self.total = 0


class _Sum:
    """The terms of one topology key, added up per row."""

    __slots__ = ("_pods", "_size", "_worth", "total")

    def __init__(self, size: int, *, weighted: bool) -> None:
        self._size = size
        self._pods = RowAmounts()
        #: The same as the pods unless terms have weights.
        self._worth = RowAmounts() if weighted else self._pods
        self.total = 0

    @property
    def counts(self) -> Ints:
        return self._pods.array(self._size)

    @property
    def worth(self) -> Ints:
        return self._worth.array(self._size)

    def add(self, row: int, count: int, weight: int) -> None:
        self._pods.add(row, count, self._size)
        if self._worth is not self._pods:
            self._worth.add(row, count * weight, self._size)
        self.total += count

    def add_terms(self, entries: list[_Term]) -> None:
        """Add terms, of which there may be thousands: their rows are added at once."""
        weighted = self._worth is not self._pods
        rows: list[int] = []
        counts: list[int] = []
        weights: list[int] = []
        for entry in entries:
            self.total += entry.total
            if entry.pods.append_to(rows, counts):
                if weighted:
                    weights += [entry.term.weight] * (len(rows) - len(weights))
            else:
                self._pods.add_all(entry.pods, 1, self._size)
                if weighted:
                    self._worth.add_all(entry.pods, entry.term.weight, self._size)
        amounts = np.array(counts, dtype=np.int64)
        self._pods.add_rows(rows, amounts, self._size)
        if weighted:
            self._worth.add_rows(rows, amounts * np.array(weights, dtype=np.int64), self._size)


class _Added:
    """The arrays of a few terms of one topology key, added up."""

    __slots__ = ("counts", "worth")

    def __init__(self, counts: Ints, worth: Ints) -> None:
        self.counts = counts
        self.worth = worth


class _Remembered:
    """The sums of the terms that match pods with certain labels."""

    __slots__ = ("_weighted", "sums", "version")

    def __init__(self, version: int, *, weighted: bool) -> None:
        self.sums: dict[str, _Sum] = {}
        self._weighted = weighted
        #: How many changes of terms the sums contain.
        self.version = version

    def of(self, topology_key: str, size: int) -> _Sum:
        found = self.sums.get(topology_key)
        if found is None:
            found = self.sums[topology_key] = _Sum(size, weighted=self._weighted)
        return found


class TermCounts:
    """The affinity terms of one kind that pods on nodes carry. Owned by the counters."""

    def __init__(self, capacity: int, *, weighted: bool) -> None:
        """Prepare counts; without `weighted`, each pod is worth 1."""
        self._size = 0
        self._capacity = capacity
        self._weighted = weighted
        self._terms: dict[AffinityTerm, _Term] = {}
        self._index: SelectorIndex[_Term] = SelectorIndex()
        #: By namespace, labels of the pod and labels of the namespace; the last queried comes last.
        self._remembered: dict[Hashable, _Remembered] = {}
        #: The last changes, and how many there were in all.
        self._changes: list[_Change] = []
        self._version = 0

    # Queries.

    def all(self) -> Iterator[TermCount]:
        """Yield every distinct term."""
        for entry in self._terms.values():
            yield self._view(entry)

    def matching(self, pod: Pod, namespace_labels: Mapping[str, str]) -> list[TermCount]:
        """Return the distinct terms that match `pod`."""
        return [self._view(entry) for entry in self._find(pod, namespace_labels)]

    def sums(self, pod: Pod, namespace_labels: Mapping[str, str]) -> Mapping[str, TermSum]:
        """Add up the terms that match `pod`, by topology key."""
        if not self._terms:
            return {}
        if len(self._terms) <= FEW_TERMS:
            return self._add_up(self._find(pod, namespace_labels))
        meta = pod.metadata
        key = (
            meta.namespace,
            frozenset(meta.labels.items()),
            frozenset(namespace_labels.items()),
        )
        found = self._remembered.pop(key, None)
        if found is None or not self._bring_up_to_date(found, pod, namespace_labels):
            found = self._compute(pod, namespace_labels)
            if len(self._remembered) >= MAX_SUMS:
                del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = found
        return found.sums

    def _view(self, entry: _Term) -> TermCount:
        return TermCount(entry.term, entry.pods.array(self._size))

    def _find(self, pod: Pod, namespace_labels: Mapping[str, str]) -> Iterator[_Term]:
        meta = pod.metadata
        for entry in self._index.candidates(meta.namespace, meta.labels):
            if entry.term.matches(pod, namespace_labels):
                yield entry

    def _add_up(self, entries: Iterable[_Term]) -> dict[str, _Added]:
        sums: dict[str, _Added] = {}
        for entry in entries:
            key, weight = entry.term.topology_key, self._weight(entry.term)
            counts = entry.pods.array(self._size)
            worth = counts if weight == 1 else counts * weight
            found = sums.get(key)
            if found is not None:
                counts, worth = found.counts + counts, found.worth + worth
            sums[key] = _Added(counts, worth)
        return sums

    def _weight(self, term: AffinityTerm) -> int:
        return term.weight if self._weighted else 1

    def _compute(self, pod: Pod, namespace_labels: Mapping[str, str]) -> _Remembered:
        made = _Remembered(self._version, weighted=self._weighted)
        by_key: dict[str, list[_Term]] = {}
        for entry in self._find(pod, namespace_labels):
            by_key.setdefault(entry.term.topology_key, []).append(entry)
        for key, entries in by_key.items():
            made.of(key, self._size).add_terms(entries)
        return made

    def _bring_up_to_date(
        self, found: _Remembered, pod: Pod, namespace_labels: Mapping[str, str]
    ) -> bool:
        """Apply the changes since sums were computed; return whether they were few enough."""
        missing = self._version - found.version
        if missing > len(self._changes):
            return False
        for term, row, sign in self._changes[len(self._changes) - missing :]:
            if term.matches(pod, namespace_labels):
                changed = found.of(term.topology_key, self._size)
                changed.add(row, sign, self._weight(term))
                if not changed.total:
                    del found.sums[term.topology_key]
        found.version = self._version
        return True

    # Changes.

    def change(self, term: AffinityTerm, row: int, sign: int) -> None:
        """Note that a pod with a term comes to a row (`sign` 1) or goes from it (-1)."""
        entry = self._terms.get(term)
        if entry is None:
            entry = self._terms[term] = _Term(term)
            everywhere = not term.namespace_selector.nothing
            self._index.add(entry, None if everywhere else term.namespaces, term.selector)
        entry.pods.add(row, sign, self._capacity)
        entry.total += sign
        if not entry.total:
            del self._terms[term]
            self._index.remove(entry)
        if self._remembered:
            self._version += 1
            self._changes.append((term, row, sign))
            if len(self._changes) > 2 * MAX_CHANGES:
                del self._changes[:MAX_CHANGES]

    def set_size(self, size: int, capacity: int) -> None:
        """Set the number of rows, and the number of rows that there is room for."""
        self._size = size
        self._remembered.clear()
        if capacity != self._capacity:
            self._capacity = capacity
            for entry in self._terms.values():
                entry.pods.grow(capacity)

    def move_row(self, source: int, target: int) -> None:
        """Move what is known of a row to another row."""
        self._remembered.clear()
        for entry in self._terms.values():
            entry.pods.move(source, target)
