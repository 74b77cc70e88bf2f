"""Score for many nodes at once: the rules of `scoring` and `least_numa` on columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring import MAX_NODE_SCORE
from mooring.contrib.node_resource_topology.aligning_all import is_whole
from mooring.contrib.node_resource_topology.args import (
    BALANCED_ALLOCATION,
    LEAST_ALLOCATED,
    LEAST_NUMA_NODES,
)
from mooring.contrib.node_resource_topology.cell_columns import CellColumns, Slots, unit_of
from mooring.contrib.node_resource_topology.cells import (
    POD_SCOPE,
    SINGLE_NUMA_NODE,
    Amounts,
    NodeCells,
)
from mooring.contrib.node_resource_topology.least_numa import (
    UNKNOWN_DISTANCE,
    combinations_of,
    least_numa_score,
)
from mooring.contrib.node_resource_topology.scoring import (
    STRATEGY,
    Weights,
    mean_of,
    score_request,
    weight_of,
)
from mooring.contrib.score_ranges import NOT_AN_INT64, to_int64
from mooring.typing import Floats, Ints, Mask

#: Up to this many nodes, one at a time is faster.
_FEW = 8
#: Below this, amounts times 100 are exact in a float64, and so are truncated quotients.
_EXACT = 2**46
_FAR = np.float32(256)


class NodeScores:
    """The scores of nodes by one strategy."""

    def __init__(self, strategy: str, weights: Weights) -> None:
        self._strategy = strategy
        self._weights = weights

    def one(self, node: NodeCells, whole: Amounts, containers: Sequence[Amounts]) -> int:
        """Return the score of one node; `containers` are init containers, then containers."""
        if self._strategy == LEAST_NUMA_NODES:
            return least_numa_score(node, whole, containers)
        if node.manager.policy != SINGLE_NUMA_NODE:
            return 0
        strategy = STRATEGY[self._strategy]
        if node.manager.scope == POD_SCOPE:
            return score_request(whole, node.cells, strategy, self._weights)
        return mean_of(
            [score_request(one, node.cells, strategy, self._weights) for one in containers]
        )

    def many(
        self, columns: CellColumns, slots: Slots, whole: Amounts, containers: Sequence[Amounts]
    ) -> Ints:
        """Return the score of each slot, as `one` does; 0 if nothing is known of it."""
        scores = np.zeros(len(slots), dtype=np.int64)
        known = columns.known[slots] & ~columns.outdated[slots]
        if self._strategy != LEAST_NUMA_NODES:
            known &= columns.aligns[slots]
        requests = [whole, *containers]
        alone = known
        if len(slots) > _FEW and is_whole(requests) and _is_small(requests):
            alone = known & columns.odd[slots]
            many = known & ~alone
            pods = columns.whole_pods[slots]
            for places, of_pods in (
                (np.flatnonzero(many & pods), True),
                (np.flatnonzero(many & ~pods), False),
            ):
                if len(places):
                    asked = [whole] if of_pods else containers
                    scores[places] = self._vector(columns, slots[places], asked, of_pods)
        for position in np.flatnonzero(alone).tolist():
            node = columns.nodes[slots[position]]
            assert node is not None
            scores[position] = self.one(node, whole, containers)
        return scores

    def _vector(
        self, columns: CellColumns, slots: Slots, asked: Sequence[Amounts], of_pods: bool
    ) -> Ints:
        if self._strategy == LEAST_NUMA_NODES:
            return _least_numa(columns, slots, asked)
        found = [self._score(columns, slots, request) for request in asked]
        if of_pods:
            return found[0]
        total = np.zeros(len(slots))
        for one in found:
            total += one.astype(np.float64)
        return to_int64(total / len(found)) if found else total.astype(np.int64)

    def _score(self, columns: CellColumns, slots: Slots, request: Amounts) -> Ints:
        """Return the lowest score of a cell of each node, leaving out cells that score 0."""
        cells = (
            self._balance(columns, slots, request)
            if self._strategy == BALANCED_ALLOCATION
            else self._mean(columns, slots, request)
        )
        exists = np.arange(len(cells))[:, None] < columns.cell_count[slots]
        counts = exists & (cells != 0)
        lowest = np.where(counts, cells, np.iinfo(np.int64).max).min(axis=0)
        return np.where(counts.any(axis=0), lowest, 0)

    def _mean(self, columns: CellColumns, slots: Slots, request: Amounts) -> Ints:
        total = np.zeros((columns.rows, len(slots)), dtype=np.int64)
        divisor = 0
        for resource, asked in request.items():
            weight = weight_of(self._weights, resource)
            divisor += weight
            amounts = columns.amounts(resource)
            if amounts is None:
                continue
            left = amounts[:, slots]
            size, value = _values(resource, left), float(_value(resource, asked))
            part = size - value if self._strategy == LEAST_ALLOCATED else value
            fits = (left > 0) & (left >= asked // unit_of(resource))
            share = part * float(MAX_NODE_SCORE) / np.where(fits, size, 1.0)
            total += np.where(fits, share, 0.0).astype(np.int64) * weight
        return total // divisor if divisor else total

    def _balance(self, columns: CellColumns, slots: Slots, request: Amounts) -> Ints:
        shape = (columns.rows, len(slots))
        fractions: list[Floats] = []
        beyond = np.zeros(shape, dtype=np.bool_)
        for resource, asked in request.items():
            amounts = columns.amounts(resource)
            fraction = np.ones(shape)
            if amounts is not None:
                size = _values(resource, np.maximum(amounts[:, slots], 0))
                value = float(_value(resource, asked))
                fraction = np.where(size > 0, value / np.where(size > 0, size, 1.0), 1.0)
            beyond |= fraction > 1
            fractions.append(fraction)
        count = len(fractions)
        if count < 2:
            return np.where(beyond, 0, np.full(shape, NOT_AN_INT64, dtype=np.int64))
        mean = _sum(fractions) / count
        away = [one - mean for one in fractions]
        squares, rest = _sum([one * one for one in away]), _sum(away)
        variance = (squares - rest * rest / count) / (count - 1)
        return np.where(beyond, 0, ((1 - variance) * float(MAX_NODE_SCORE)).astype(np.int64))


def _is_small(requests: Sequence[Amounts]) -> bool:
    return all(
        amount // unit_of(resource) < _EXACT
        for request in requests
        for resource, amount in request.items()
    )


def _sum(arrays: Sequence[Floats]) -> Floats:
    total = np.zeros_like(arrays[0])
    for one in arrays:
        total = total + one
    return total


def _values(resource: str, amounts: Ints) -> Floats:
    """Return amounts in whole units, rounded up."""
    if resource == "cpu":
        amounts = (amounts + 999) // 1000
    return amounts.astype(np.float64)


def _value(resource: str, nanos: int) -> int:
    units = nanos // unit_of(resource)
    return (units + 999) // 1000 if resource == "cpu" else units


def _least_numa(columns: CellColumns, slots: Slots, asked: Sequence[Amounts]) -> Ints:
    """Return how few cells, near each other, have room for the requests, as a score."""
    room = {
        resource: amounts[:, slots].copy()
        for request in asked
        for resource in request
        if (amounts := columns.amounts(resource)) is not None
    }
    most = np.zeros(len(slots), dtype=np.int64)
    near = np.ones(len(slots), dtype=np.bool_)
    failed = np.zeros(len(slots), dtype=np.bool_)
    for index, request in enumerate(asked):
        somewhere = np.zeros(len(slots), dtype=np.bool_)
        for resource in request:
            if resource in room:
                somewhere |= (room[resource] >= 0).any(axis=0)
        search = _Search(columns, slots, room, request, somewhere & ~failed)
        failed |= search.left
        near &= search.near | ~somewhere
        most = np.maximum(most, np.where(somewhere, search.count, 0))
        if index + 1 < len(asked):
            search.take()
    step = MAX_NODE_SCORE // columns.max_cells[slots]
    scores = MAX_NODE_SCORE - most * step + np.where(near, step // 2, 0)
    return np.where(failed, 0, np.where(most == 0, MAX_NODE_SCORE, np.maximum(scores, 0)))


class _Search:
    """The search for the fewest cells of each node that have room for one request together."""

    def __init__(
        self,
        columns: CellColumns,
        slots: Slots,
        room: dict[str, Ints],
        request: Amounts,
        wanted: Mask,
    ) -> None:
        size = len(slots)
        self._room = room
        self._request = request
        #: Nodes for which no cells were found.
        self.left: Mask = wanted.copy()
        self.count: Ints = np.zeros(size, dtype=np.int64)
        self.near: Mask = np.zeros(size, dtype=np.bool_)
        #: The cells that were chosen.
        self.chosen: Mask = np.zeros((columns.rows, size), dtype=np.bool_)
        cell_count = columns.cell_count[slots]
        for cells in range(1, columns.rows + 1):
            if not self.left.any():
                return
            self._try(cells, columns.distances[:, :, slots], cell_count)

    def _try(self, cells: int, distances: Ints, cell_count: Ints) -> None:
        rows = len(self.chosen)
        combos = combinations_of(rows, cells)
        apart = [self._apart(distances, combo) for combo in combos]
        exists = [combo[-1] < cell_count for combo in combos]
        nearest = np.full(len(cell_count), np.float32(UNKNOWN_DISTANCE))
        for distance, there in zip(apart, exists, strict=True):
            nearest = np.where(there & (distance < nearest), distance, nearest)
        choice = np.full(len(cell_count), -1, dtype=np.int64)
        best = np.full(len(cell_count), _FAR)
        near = np.zeros(len(cell_count), dtype=np.bool_)
        for index, combo in enumerate(combos):
            fits = self.left & exists[index] & ~near
            if not fits.any():
                continue
            fits &= self._fits(combo)
            hit = fits & (apart[index] == nearest)
            better = fits & (apart[index] < best)
            choice = np.where(hit | better, index, choice)
            best = np.where(better, apart[index], best)
            near |= hit
        found = choice >= 0
        self.count = np.where(found, cells, self.count)
        self.near |= near
        self.left &= ~found
        for index in np.unique(choice[found]).tolist():
            self.chosen[list(combos[index])] |= choice == index

    def _apart(
        self, distances: Ints, combo: tuple[int, ...]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        total = distances[np.ix_(combo, combo)].sum(axis=(0, 1))
        average: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = total.astype(
            np.float32
        ) / np.float32(len(combo) * len(combo))
        return average

    def _fits(self, combo: tuple[int, ...]) -> Mask:
        fits: Mask = np.ones(len(self.left), dtype=np.bool_)
        for resource, amount in self._request.items():
            amounts = self._room.get(resource)
            if amounts is None:
                return np.zeros(len(self.left), dtype=np.bool_)
            cells = amounts[list(combo)]
            fits &= (cells >= 0).all(axis=0)
            if amount:
                fits &= cells.sum(axis=0) >= amount // unit_of(resource)
        return fits

    def take(self) -> None:
        """Take the request from the chosen cells, as much as possible from each in turn."""
        for resource, amount in self._request.items():
            amounts = self._room.get(resource)
            if amounts is None:
                continue
            left = np.full(len(self.left), amount // unit_of(resource), dtype=np.int64)
            for row in range(len(self.chosen)):
                has = self.chosen[row] & (amounts[row] >= 0)
                taken = np.where(has, np.minimum(left, amounts[row]), 0)
                amounts[row] -= taken
                left -= taken
