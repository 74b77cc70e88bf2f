"""Filter for many nodes at once: the rule of `aligning` on columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.contrib.node_resource_topology.aligning import (
    CONTAINER_REFUSED,
    FITS,
    POD_REFUSED,
    PodNeeds,
    align,
)
from mooring.contrib.node_resource_topology.cell_columns import CellColumns, Slots, unit_of
from mooring.contrib.node_resource_topology.cells import Amounts, is_affine, is_host_level
from mooring.typing import Ints, Mask

#: Up to this many nodes, one at a time is faster.
_FEW = 8


class Everything:
    """A node that offers every resource."""

    def __contains__(self, resource: object) -> bool:
        return True


EVERYTHING = Everything()


def is_whole(requests: Sequence[Amounts]) -> bool:
    """Return whether all amounts are whole numbers of their units, as the columns need it."""
    return all(
        amount % unit_of(resource) == 0 and amount >= 0
        for request in requests
        for resource, amount in request.items()
    )


def align_all(needs: PodNeeds, columns: CellColumns, slots: Slots) -> Ints:
    """Return the code of each slot, as `align` does, for nodes that offer every resource."""
    requests = [needs.whole, *(request for request, _ in needs.init), *needs.containers]
    codes = np.full(len(slots), FITS, dtype=np.int64)
    aligns = columns.aligns[slots]
    alone = aligns & columns.odd[slots]
    if len(slots) <= _FEW or not is_whole(requests):
        alone = aligns
    else:
        many = aligns & ~alone
        whole = columns.whole_pods[slots]
        pods, containers = np.flatnonzero(many & whole), np.flatnonzero(many & ~whole)
        if len(pods):
            room = _Room(columns, slots[pods])
            codes[pods] = np.where(room.fits(needs, needs.whole), FITS, POD_REFUSED)
        if len(containers):
            codes[containers] = _align_containers(needs, columns, slots[containers])
    for position in np.flatnonzero(alone).tolist():
        node = columns.nodes[slots[position]]
        assert node is not None
        codes[position] = align(needs, node, EVERYTHING)
    return codes


def _align_containers(needs: PodNeeds, columns: CellColumns, slots: Slots) -> Ints:
    codes = np.full(len(slots), FITS, dtype=np.int64)
    room = _Room(columns, slots)
    code = CONTAINER_REFUSED
    for request, _ in needs.init:
        codes[(codes == FITS) & ~room.fits(needs, request)] = code
        code += 1
    for index, request in enumerate(needs.containers):
        suitable = room.suitable(needs, request)
        if suitable is not None:
            fits: Mask = np.logical_or.reduce(suitable, axis=0)
            codes[(codes == FITS) & ~fits] = code
            if index + 1 < len(needs.containers):
                room.take(needs, request, suitable.argmax(axis=0), fits)
        code += 1
    return codes


class _Room:
    """What the cells of some nodes have left, while containers are placed one by one."""

    def __init__(self, columns: CellColumns, slots: Slots) -> None:
        self._columns = columns
        self._slots = slots
        self._amounts: dict[str, Ints | None] = {}

    def _of(self, resource: str) -> Ints | None:
        if resource not in self._amounts:
            column = self._columns.amounts(resource)
            self._amounts[resource] = None if column is None else column[:, self._slots]
        return self._amounts[resource]

    def fits(self, needs: PodNeeds, request: Amounts) -> Mask:
        """Return which nodes have a cell with room for a request."""
        suitable = self.suitable(needs, request)
        if suitable is None:
            return np.ones(len(self._slots), dtype=np.bool_)
        fits: Mask = np.logical_or.reduce(suitable, axis=0)
        return fits

    def suitable(self, needs: PodNeeds, request: Amounts) -> Mask | None:
        """Return which cells have room for a request; None if it needs none."""
        suitable: Mask | None = None
        for resource, amount in request.items():
            if amount == 0:
                continue
            amounts = self._of(resource)
            host_level = is_host_level(resource)
            if amounts is None:
                if host_level:
                    continue
                return np.zeros((1, len(self._slots)), dtype=np.bool_)
            ignored = not needs.guaranteed and is_affine(resource)
            found: Mask = amounts >= (0 if ignored else amount // unit_of(resource))
            if host_level:
                # Without NUMA information the node as a whole has it.
                found |= (amounts < 0).all(axis=0)
            suitable = found if suitable is None else suitable & found
        return suitable

    def take(self, needs: PodNeeds, request: Amounts, chosen: Slots, fits: Mask) -> None:
        """Take a request from the chosen cell of each node that has room."""
        nodes = np.flatnonzero(fits)
        cells = chosen[nodes]
        for resource, amount in request.items():
            amounts = self._of(resource)
            if amounts is None or (not needs.guaranteed and is_affine(resource)):
                continue
            left = amounts[cells, nodes]
            amounts[cells, nodes] = np.where(left < 0, left, left - amount // unit_of(resource))
