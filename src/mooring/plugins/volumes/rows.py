"""Values computed per row from a node and its pods, updated only for rows that changed.

The snapshot's columns contain nothing about disks and claims. So the volume plugins keep such
values themselves, and update those of rows whose `changed_at` differs from the last time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Set

import numpy as np

from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.typing import Ints

_NO_ROWS: frozenset[int] = frozenset()


class ChangedRows:
    """A tracker of the rows of a snapshot that changed since the last call."""

    def __init__(self) -> None:
        self._seen: Ints = np.zeros(0, dtype=np.int64)

    def take(self, nodes: Nodes) -> list[int]:
        """Return the rows that are new or changed since the last call."""
        changed_at = nodes.all.changed_at
        seen = np.full(len(changed_at), -1, dtype=np.int64)
        known = min(len(seen), len(self._seen))
        seen[:known] = self._seen[:known]
        changed = np.flatnonzero(changed_at != seen)
        if len(changed) or known != len(self._seen):
            self._seen = changed_at.copy()
        return [int(row) for row in changed]


class RowIndex:
    """An index of the rows of a snapshot by keys computed from a node and its pods."""

    def __init__(self, keys: Callable[[NodeInfo], Iterable[Hashable]]) -> None:
        self._keys = keys
        self._changed = ChangedRows()
        self._of_row: list[frozenset[Hashable]] = []
        self._rows: dict[Hashable, set[int]] = {}

    def refresh(self, nodes: Nodes) -> None:
        """Bring the index up to date with the snapshot."""
        infos = nodes.all.infos()
        while len(self._of_row) > len(infos):
            self._forget(len(self._of_row) - 1)
            self._of_row.pop()
        for row in self._changed.take(nodes):
            if row < len(self._of_row):
                self._forget(row)
            else:
                self._of_row.append(frozenset())
            keys = self._of_row[row] = frozenset(self._keys(infos[row]))
            for key in keys:
                self._rows.setdefault(key, set()).add(row)

    def _forget(self, row: int) -> None:
        for key in self._of_row[row]:
            rows = self._rows[key]
            rows.discard(row)
            if not rows:
                del self._rows[key]

    def rows(self, key: Hashable) -> Set[int]:
        """Return the rows found under a key, as of the last refresh."""
        return self._rows.get(key, _NO_ROWS)


class RowCounts:
    """A number per row, computed from a node and its pods."""

    def __init__(self, count: Callable[[NodeInfo], int]) -> None:
        self._count = count
        self._changed = ChangedRows()
        self._counts: Ints = np.zeros(0, dtype=np.int64)

    def of(self, nodes: Nodes) -> Ints:
        """Return the numbers of all rows of the snapshot that `nodes` belongs to."""
        infos = nodes.all.infos()
        if len(infos) != len(self._counts):
            counts = np.zeros(len(infos), dtype=np.int64)
            known = min(len(counts), len(self._counts))
            counts[:known] = self._counts[:known]
            self._counts = counts
        for row in self._changed.take(nodes):
            self._counts[row] = self._count(infos[row])
        return self._counts
