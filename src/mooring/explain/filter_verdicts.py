"""The answers of all Filter plugins about all nodes, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.typing import Codes, Ints, Mask

#: The code of a node that a plugin passes; other codes index `FilterVerdicts.statuses`.
PASSES = -1


class FilterVerdicts:
    """What each Filter plugin says of each node; arrays have one entry per node.

    Nodes that PreFilter leaves out are not asked about, and count as neither passing nor refused.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(names)
        self.asked: Mask = np.zeros(len(self.names), dtype=np.bool_)
        #: Every distinct refusal.
        self.statuses: list[Status] = []
        #: By plugin, in the order of the profile: a code per node.
        self.codes: dict[str, Codes] = {}
        self._index: dict[Status, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    def add_plugin(self, name: str) -> None:
        """Add a plugin that passes every node until `refuse` says otherwise."""
        self.codes[name] = np.full(len(self.names), PASSES, dtype=np.int32)

    def refuse(self, plugin: str, status: Status, rows: Rows) -> None:
        """Record that a plugin refuses some nodes."""
        code = self._index.get(status)
        if code is None:
            code = self._index[status] = len(self.statuses)
            self.statuses.append(status)
        self.codes[plugin][rows] = code

    @property
    def first(self) -> Codes:
        """Return the code of each node's first refusal, which is what the pod's message counts."""
        first = np.full(len(self.names), PASSES, dtype=np.int32)
        for codes in self.codes.values():
            first = np.where(first == PASSES, codes, first)
        return first

    @property
    def refusals(self) -> Ints:
        """Return how many plugins refuse each node."""
        counts = np.zeros(len(self.names), dtype=np.int64)
        for codes in self.codes.values():
            counts += codes != PASSES
        return counts

    @property
    def passing(self) -> Mask:
        """Return the nodes that were asked about and that no plugin refuses."""
        passing: Mask = self.asked & (self.refusals == 0)
        return passing

    def of_node(self, row: int) -> list[Status]:
        """Return every refusal of one node, in the order of the plugins."""
        codes = (int(codes[row]) for codes in self.codes.values())
        name = self.names[row]
        return [self.statuses[code].for_node(name) for code in codes if code != PASSES]

    def groups(self, codes: Codes) -> Iterator[tuple[Status, Rows]]:
        """Yield the distinct refusals among `codes` with their nodes, the largest group first."""
        found = [(code, np.flatnonzero(codes == code)) for code in range(len(self.statuses))]
        found.sort(key=lambda pair: -len(pair[1]))
        for code, rows in found:
            if len(rows):
                yield self.statuses[code], rows
