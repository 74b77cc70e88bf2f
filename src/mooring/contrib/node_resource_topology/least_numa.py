"""Score for one node by how few cells, near each other, have room for a pod."""

# scheduler-plugins: pkg/noderesourcetopology/least_numa.go

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from mooring import MAX_NODE_SCORE
from mooring.contrib.node_resource_topology.cells import (
    POD_SCOPE,
    Amounts,
    Cell,
    NodeCells,
)

#: The distance to a cell of which none is known. # ACPI: 255 means unknown
UNKNOWN_DISTANCE = 255
#: The most combinations of cells that are tried for a request: all of those of 12 cells.
MOST_COMBINATIONS = 2**12
_UNKNOWN = np.float32(UNKNOWN_DISTANCE)
#: Further away than cells can be.
_FAR = np.float32(256)

#: Distances of combinations of cells, by their positions.
Distances = dict[tuple[int, ...], Any]


def least_numa_score(node: NodeCells, whole: Amounts, containers: Sequence[Amounts]) -> int:
    """Return the score of a node for a Guaranteed pod; `containers` are its init containers and
    its containers, in this order."""
    if node.manager.scope == POD_SCOPE:
        if only_elsewhere(whole, node.cells):
            return MAX_NODE_SCORE
        found = cells_required(whole, node.cells, node.distances)
        return 0 if found is None else scaled(len(found[0]), found[1], node.manager.max_cells)
    cells = [cell.copy() for cell in node.cells]
    most = 0
    near = True
    for request in containers:
        if only_elsewhere(request, cells):
            continue
        found = cells_required(request, cells, node.distances)
        if found is None:
            return 0
        ids, is_nearest = found
        near = near and is_nearest
        most = max(most, len(ids))
        _take(request, cells, ids)
    return scaled(most, near, node.manager.max_cells) if most else MAX_NODE_SCORE


def only_elsewhere(request: Amounts, cells: Sequence[Cell]) -> bool:
    """Return whether no cell has any of the requested resources."""
    return not any(resource in cell.available for resource in request for cell in cells)


def scaled(count: int, near: bool, most: int) -> int:
    """Return the score of a number of cells; half a step more if they are as near as can be.

    It is 0 if they are more than `most`, which the same report says.
    """
    step = MAX_NODE_SCORE // most
    return max(0, MAX_NODE_SCORE - count * step + (step // 2 if near else 0))


@lru_cache(maxsize=4096)
def combinations_of(count: int, size: int) -> tuple[tuple[int, ...], ...]:
    """Return the combinations of `size` out of `count` cells, lowest positions first."""
    return tuple(combinations(range(count), size))


def cells_required(
    request: Amounts, cells: Sequence[Cell], distances: Distances
) -> tuple[list[int], bool] | None:
    """Return the ids of the fewest cells that have room for a request together, and whether no
    other cells are nearer to each other; None if all cells together have no room.

    `distances` keeps the distances of combinations. Their number doubles with each cell, so the
    search ends after `MOST_COMBINATIONS`, as if the cells had no room.
    """
    left = MOST_COMBINATIONS
    for size in range(1, len(cells) + 1):
        left -= comb(len(cells), size)
        if left < 0:
            return None
        combos = combinations_of(len(cells), size)
        best: tuple[int, ...] | None = None
        best_distance = _FAR
        nearest: np.float32 | None = None
        for one in combos:
            if not _fits(request, [cells[position] for position in one]):
                continue
            if nearest is None:
                nearest = min(_UNKNOWN, *(_distance(cells, other, distances) for other in combos))
            distance = _distance(cells, one, distances)
            if distance == nearest:
                return _ids(cells, one), True
            if distance < best_distance:
                best, best_distance = one, distance
        if best is not None:
            return _ids(cells, best), False
    return None


def _ids(cells: Sequence[Cell], positions: Sequence[int]) -> list[int]:
    return sorted({cells[position].id for position in positions})


def _fits(request: Amounts, cells: Sequence[Cell]) -> bool:
    for resource, amount in request.items():
        if any(resource not in cell.available for cell in cells):
            return False
        if amount and sum(cell.available[resource] for cell in cells) < amount:
            return False
    return True


def _distance(
    cells: Sequence[Cell], positions: tuple[int, ...], distances: Distances
) -> np.float32:
    distance = distances.get(positions)
    if distance is None:
        total = sum(
            cells[a].costs.get(cells[b].id, UNKNOWN_DISTANCE) for a in positions for b in positions
        )
        distance = np.float32(total) / np.float32(len(positions) * len(positions))
        distances[positions] = distance
    return distance


def _take(request: Amounts, cells: Sequence[Cell], ids: Sequence[int]) -> None:
    """Take a request from cells, as much as possible from each in turn."""
    for resource, amount in request.items():
        left = amount
        for number in ids:
            if left == 0:
                break
            cell = _cell_at(cells, number)
            if resource in cell.available:
                taken = min(left, cell.available[resource])
                left -= taken
                cell.available[resource] -= taken


def _cell_at(cells: Sequence[Cell], number: int) -> Cell:
    """Return the cell that the original takes for an id: the one at that position of its list.

    If there is none, that of this id.
    """
    if number < len(cells):
        return cells[number]
    return next(cell for cell in cells if cell.id == number)
