"""Topology: the number of pods per value of a node label, for affinity and spreading."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mooring.framework.nodes import Column, Nodes
from mooring.typing import Mask

#: One entry per code of a label column. Sums are whole numbers below 2**53, so float64 is exact.
Sums = npt.NDArray[np.float64]

#: If fewer than one row in this many has a pod, only the rows with pods are added up.
_SPARSE = 4


def sum_domains(column: Column[str], counts: npt.NDArray[np.integer[Any]]) -> Sums:
    """Add up counts of all rows per value of a full column; entry 0 is for rows without a value."""
    codes = column.codes
    if np.count_nonzero(counts) * _SPARSE < len(counts):
        occupied = np.flatnonzero(counts)
        codes, counts = codes[occupied], counts[occupied]
    sums = np.bincount(codes, weights=counts, minlength=len(column.values))
    return sums.astype(np.float64, copy=False)


class TopologyDomains:
    """The number of pods per value of one topology key.

    `clone` is cheap: the numbers are shared until one side changes them.
    """

    __slots__ = ("_occupied", "_shared", "column", "sums")

    def __init__(self, column: Column[str], sums: Sums) -> None:
        self.column = column
        self.sums = sums
        self._shared = False
        self._occupied: Mask | None = None

    @classmethod
    def count(cls, nodes: Nodes, key: str, counts: npt.NDArray[np.integer[Any]]) -> TopologyDomains:
        """Return the domains of a topology key, from pods per row of the full snapshot."""
        column = nodes.all.label(key)
        return cls(column, sum_domains(column, counts))

    @classmethod
    def none(cls, nodes: Nodes, key: str) -> TopologyDomains:
        """Return the domains of a topology key, with no pods."""
        column = nodes.all.label(key)
        return cls(column, np.zeros(len(column.values)))

    def clone(self) -> TopologyDomains:
        """Return an independent copy."""
        other = TopologyDomains(self.column, self.sums)
        other._occupied = self._occupied
        self._shared = other._shared = True
        return other

    def change(self, value: str | None, amount: int) -> None:
        """Add to the number of pods of one value; do nothing if it is None or unknown."""
        code = -1 if value is None else self.column.code_of(value)
        if code < 0:
            return
        if self._shared:
            self.sums = self.sums.copy()
            self._shared = False
        self.sums[code] += amount
        self._occupied = None

    def of(self, value: str) -> int:
        """Return the number of pods of one value."""
        code = self.column.code_of(value)
        return int(self.sums[code]) if code >= 0 else 0

    @property
    def occupied(self) -> Mask:
        """By code, which values have pods; always False for code 0 (no value)."""
        if self._occupied is None:
            self._occupied = self.sums > 0
            self._occupied[0] = False
        return self._occupied
