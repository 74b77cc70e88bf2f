"""CellColumns: the cells of all nodes as arrays, kept up to date when something becomes known.

Each array has a row per cell and a column per node: the first cell of every node, the second of
every node… Nodes have slots of their own, because what is known of them comes and goes with other
objects than the nodes. Answers about all slots are kept, and computed again only for slots that
have changed since: pods of one template ask the same again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from mooring import Nodes
from mooring.api.quantity import NANOS
from mooring.contrib.node_resource_topology.caches import TopologyCache
from mooring.contrib.node_resource_topology.cells import (
    POD_SCOPE,
    SINGLE_NUMA_NODE,
    NodeCells,
)
from mooring.contrib.node_resource_topology.least_numa import UNKNOWN_DISTANCE
from mooring.typing import Ints, Mask

#: Marks a resource that a cell does not list, and a cell that a node does not have.
ABSENT = -1
#: Cpu is kept in thousandths, everything else in whole units.
_MILLI = NANOS // 1000
#: Larger amounts are handled one node at a time.
_LARGEST = 2**62
#: Nodes with more cells are handled one at a time.
MAX_COLUMNS = 8
#: Answers that are kept.
_KEPT = 128

Slots = npt.NDArray[np.intp]


def unit_of(resource: str) -> int:
    """Return the unit of a resource, in billionths."""
    return _MILLI if resource == "cpu" else NANOS


class CellColumns:
    """What is known of the cells of all nodes. Owned by the plugin."""

    def __init__(self, cache: TopologyCache) -> None:
        self._cache = cache
        self._slots: dict[str, int] = {}
        self._size = 0
        self.rows = 1
        #: What each slot was made from.
        self.nodes: list[NodeCells | None] = []
        self.known: Mask = np.zeros(0, dtype=np.bool_)
        self.outdated: Mask = np.zeros(0, dtype=np.bool_)
        #: Whether the kubelet aligns pods with single cells, and whether whole pods.
        self.aligns: Mask = np.zeros(0, dtype=np.bool_)
        self.whole_pods: Mask = np.zeros(0, dtype=np.bool_)
        #: Whether a node must be handled alone: its amounts or ids do not fit into the arrays.
        self.odd: Mask = np.zeros(0, dtype=np.bool_)
        self.max_cells: Ints = np.zeros(0, dtype=np.int64)
        self.cell_count: Ints = np.zeros(0, dtype=np.int64)
        self._amounts: dict[str, Ints] = {}
        #: Distance from one cell to another.
        self.distances: Ints = np.zeros((1, 1, 0), dtype=np.int64)
        #: Nodes that have changed since the columns were written.
        self._changed: set[str] = set()
        #: Slots in the order in which they were written.
        self._written: list[int] = []
        self._written_from = 0
        self._answers: dict[Hashable, tuple[npt.NDArray[np.int64], int]] = {}

    def changed(self, node_name: str) -> None:
        """Take note that something else is known of a node."""
        self._changed.add(node_name)

    def amounts(self, resource: str) -> Ints | None:
        """Return what cells have of a resource; None if no cell lists it."""
        return self._amounts.get(resource)

    def slot(self, node_name: str) -> int:
        """Return the slot of a node."""
        slot = self._slots.get(node_name)
        if slot is None:
            slot = self._slots[node_name] = len(self.nodes)
            self.nodes.append(None)
            if slot >= self._size:
                self._grow(max(64, 2 * slot), self.rows)
        return slot

    def slots_of(self, nodes: Nodes) -> Slots:
        """Return the slots of some nodes."""
        every: Slots = nodes.derive(("NodeResourceTopologyMatch", id(self)), self._all_slots)
        return nodes.gather(every)

    def _all_slots(self, nodes: Nodes) -> Slots:
        return np.array([self.slot(name) for name in nodes.names], dtype=np.intp)

    def _grow(self, size: int, rows: int) -> None:
        old, kept = self._size, self.rows
        for name in ("known", "outdated", "aligns", "whole_pods", "odd", "max_cells", "cell_count"):
            column = getattr(self, name)
            bigger = np.zeros(size, dtype=column.dtype)
            bigger[:old] = column
            setattr(self, name, bigger)
        for resource, amounts in self._amounts.items():
            wider = np.full((rows, size), ABSENT, dtype=np.int64)
            wider[:kept, :old] = amounts
            self._amounts[resource] = wider
        distances = np.full((rows, rows, size), UNKNOWN_DISTANCE, dtype=np.int64)
        distances[:kept, :kept, :old] = self.distances
        self.distances = distances
        self._size, self.rows = size, rows
        self._forget_answers()

    def _forget_answers(self) -> None:
        self._written_from += len(self._written)
        self._written.clear()
        self._answers.clear()

    def update(self) -> None:
        """Write the slots of nodes that have changed."""
        if not self._changed:
            return
        for name in self._changed:
            slot = self.slot(name)
            node, fresh = self._cache.get(name)
            self._write(slot, node, fresh)
            self._written.append(slot)
        self._changed.clear()
        if len(self._written) > self._size:
            self._forget_answers()

    def _write(self, slot: int, node: NodeCells | None, fresh: bool) -> None:
        self.nodes[slot] = node
        self.outdated[slot] = not fresh
        self.known[slot] = node is not None
        for amounts in self._amounts.values():
            amounts[:, slot] = ABSENT
        if node is None:
            self.aligns[slot] = self.odd[slot] = False
            return
        self.aligns[slot] = node.manager.policy == SINGLE_NUMA_NODE
        self.whole_pods[slot] = node.manager.scope == POD_SCOPE
        self.max_cells[slot] = node.manager.max_cells
        self.cell_count[slot] = len(node.cells)
        odd = self.odd[slot] = _is_odd(node)
        if odd:
            return
        if len(node.cells) > self.rows:
            self._grow(self._size, len(node.cells))
        for row, cell in enumerate(node.cells):
            for resource, amount in cell.available.items():
                column = self._amounts.get(resource)
                if column is None:
                    column = np.full((self.rows, self._size), ABSENT, dtype=np.int64)
                    self._amounts[resource] = column
                column[row, slot] = amount // unit_of(resource)
            for other, there in enumerate(node.cells):
                self.distances[row, other, slot] = cell.costs.get(there.id, UNKNOWN_DISTANCE)

    def answer(self, key: Hashable, work_out: Callable[[Slots], Ints]) -> Ints:
        """Return an entry per slot, kept under `key`; `work_out` gets the slots to compute."""
        found = self._answers.get(key)
        now = self._written_from + len(self._written)
        if found is None:
            if len(self._answers) >= _KEPT:
                self._answers.clear()
            values = np.zeros(self._size, dtype=np.int64)
            slots = np.arange(len(self.nodes), dtype=np.intp)
            values[slots] = work_out(slots)
        else:
            values, at = found
            if at == now:
                return values
            slots = np.array(sorted(set(self._written[at - self._written_from :])), dtype=np.intp)
            values[slots] = work_out(slots)
        self._answers[key] = (values, now)
        return values


def _is_odd(node: NodeCells) -> bool:
    if len(node.cells) > MAX_COLUMNS:
        return True
    if any(cell.id != position for position, cell in enumerate(node.cells)):
        return True
    return any(
        not 0 <= amount < _LARGEST * unit_of(resource) or amount % unit_of(resource)
        for cell in node.cells
        for resource, amount in cell.available.items()
    )
