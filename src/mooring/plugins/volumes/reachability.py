"""Which nodes can reach a volume, with the same interface for one node and for many.

So the search for a pod's volumes is written once, on masks and positions: the vector form runs it
on the columns, the node form on one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mooring.api import (
    CSIStorageCapacity,
    NodeSelector,
    NodeTerms,
    Requirement,
    Selector,
    StorageClass,
)
from mooring.api.labels import IN
from mooring.errors import ObjectError
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.plugins.volumes.csi_nodes import CSINodes, is_migrated
from mooring.typing import Mask

#: The nodes that can reach something: a node must satisfy all requirements of any term.
Terms = tuple[tuple[Requirement, ...], ...]

EVERYWHERE: Terms = ((),)
NOWHERE: Terms = ()

#: An index per node, or NONE.
Ids = npt.NDArray[np.int32]
NONE = -1
#: Up to this many earlier choices are compared one by one.
_FEW = 8

_NO_ROWS: Rows = np.zeros(0, dtype=np.intp)
_FIRST_ROW: Rows = np.zeros(1, dtype=np.intp)
#: When the cache has more entries than this, it is cleared.
_MEMO_LIMIT = 65536


def selector_terms(selector: NodeSelector | None) -> Terms:
    """Return the terms of a volume's node affinity; None allows all nodes.

    Only labels count; match fields, such as a node's name, are ignored. A term that cannot be
    parsed matches nothing.
    """
    # component-helpers: storage/volume/helpers.go (CheckNodeAffinity)
    if selector is None:
        return EVERYWHERE
    return tuple(term.labels for term in NodeTerms.parse(selector).terms if not term.errors)


def topology_terms(storage_class: StorageClass) -> Terms:
    """Return the terms of the nodes for which a class provisions volumes."""
    # kubernetes: pkg/apis/core/v1/helper/helpers.go (MatchTopologySelectorTerms)
    if not storage_class.allowed_topologies:
        return EVERYWHERE
    terms = []
    for term in storage_class.allowed_topologies:
        if term.match_label_expressions:
            try:
                requirements = [
                    Requirement(expression.key, IN, expression.values)
                    for expression in term.match_label_expressions
                ]
            except ObjectError:
                continue
            terms.append(tuple(requirements))
    return tuple(terms)


def access_terms(capacity: CSIStorageCapacity) -> Terms:
    """Return the terms of the nodes that can use the storage of a CSIStorageCapacity."""
    if capacity.node_topology is None:
        return NOWHERE
    try:
        return (Selector.from_label_selector(capacity.node_topology).requirements,)
    except ObjectError:
        return NOWHERE


class NodePositions(Protocol):
    """Some nodes, by position."""

    size: int

    def reached(self, terms: Terms) -> Rows:
        """Return the positions of the nodes that satisfy any of the terms."""
        ...

    def named(self, name: str) -> Mask:
        """Return which node has this name."""
        ...

    def migrated(self, plugin_name: str) -> Mask:
        """Return on which nodes an in-tree plugin's volumes are migrated to CSI."""
        ...


class Reach:
    """A cache of which rows of a snapshot satisfy terms, valid until a node changes.

    There can be thousands of volumes that only one node reaches, each with its own affinity. Their
    rows are looked up by the label's value, in a table made once. Owned by one plugin.
    """

    def __init__(self) -> None:
        self._generation = -1
        self._rows: dict[Terms, Rows] = {}
        self._by_value: dict[str, dict[str, Rows]] = {}

    def rows(self, terms: Terms, nodes: Nodes) -> Rows:
        """Return the rows of the full snapshot that satisfy any of the terms."""
        if nodes.node_generation != self._generation or len(self._rows) > _MEMO_LIMIT:
            self._generation = nodes.node_generation
            self._rows.clear()
            self._by_value.clear()
        found = self._rows.get(terms)
        if found is None:
            parts = [self._of_term(term, nodes.all) for term in terms]
            if len(parts) > 1:
                found = np.unique(np.concatenate(parts))
            else:
                found = parts[0] if parts else _NO_ROWS
            self._rows[terms] = found
        return found

    def _of_term(self, term: tuple[Requirement, ...], nodes: Nodes) -> Rows:
        demand = next((one for one in term if one.operator == IN), None)
        if demand is None:
            rows = np.arange(len(nodes), dtype=np.intp)
        else:
            table = self._table(demand.key, nodes)
            parts = [table[text] for text in demand.values if text in table]
            rows = parts[0] if len(parts) == 1 else np.concatenate([_NO_ROWS, *parts])
        for other in term:
            if other is not demand:
                rows = rows[nodes.matches(other)[rows]]
        return rows

    def _table(self, key: str, nodes: Nodes) -> dict[str, Rows]:
        table = self._by_value.get(key)
        if table is None:
            column = nodes.label(key)
            codes = column.codes
            order = np.argsort(codes, kind="stable")
            counts = np.bincount(codes, minlength=len(column.values))
            parts = np.split(order, np.cumsum(counts)[:-1])
            table = self._by_value[key] = {
                text: part
                for text, part in zip(column.values, parts, strict=True)
                if text is not None and len(part)
            }
        return table


class ManyNodes:
    """The NodePositions of many nodes, on columns."""

    def __init__(self, nodes: Nodes, reach: Reach, csi_nodes: CSINodes) -> None:
        self.size = len(nodes)
        self._nodes = nodes
        self._reach = reach
        self._csi_nodes = csi_nodes
        self._position: Rows | None = None
        if nodes.rows is not None:
            self._position = np.full(len(nodes.all), -1, dtype=np.intp)
            self._position[nodes.rows] = np.arange(self.size)

    def reached(self, terms: Terms) -> Rows:
        """Return the positions of the nodes that satisfy any of the terms."""
        rows = self._reach.rows(terms, self._nodes)
        if self._position is None:
            return rows
        positions = self._position[rows]
        return positions[positions >= 0]

    def named(self, name: str) -> Mask:
        """Return which node has this name."""
        mask = np.zeros(self.size, dtype=np.bool_)
        row = self._nodes.row(name)
        if row >= 0:
            position = row if self._position is None else self._position[row]
            if position >= 0:
                mask[position] = True
        return mask

    def migrated(self, plugin_name: str) -> Mask:
        """Return on which nodes an in-tree plugin's volumes are migrated to CSI."""
        return self._csi_nodes.migrated(plugin_name, self._nodes)


class OneNode:
    """The NodePositions of a single node."""

    size = 1

    def __init__(self, node: NodeInfo, csi_nodes: CSINodes) -> None:
        self._node = node
        self._csi_nodes = csi_nodes

    def reached(self, terms: Terms) -> Rows:
        """Return position 0 if the node satisfies any of the terms, otherwise nothing."""
        labels = self._node.labels
        for term in terms:
            if all(requirement.matches_value(labels.get(requirement.key)) for requirement in term):
                return _FIRST_ROW
        return _NO_ROWS

    def named(self, name: str) -> Mask:
        """Return whether the node has this name."""
        return np.array([self._node.name == name])

    def migrated(self, plugin_name: str) -> Mask:
        """Return whether an in-tree plugin's volumes are migrated to CSI on the node."""
        return np.array([is_migrated(plugin_name, self._csi_nodes.get(self._node.name))])


def nowhere(places: NodePositions) -> Mask:
    """Return a mask of no node."""
    return np.zeros(places.size, dtype=np.bool_)


def everywhere(places: NodePositions) -> Mask:
    """Return a mask of all nodes."""
    return np.ones(places.size, dtype=np.bool_)


def within(terms: Terms, places: NodePositions) -> Mask:
    """Return which nodes satisfy any of the terms."""
    if terms == EVERYWHERE:
        return everywhere(places)
    mask = nowhere(places)
    mask[places.reached(terms)] = True
    return mask


def _pairs(rows: Rows, numbers: Ids) -> npt.NDArray[np.int64]:
    """Return one number for each pair of a node and the volume it takes."""
    return (rows.astype(np.int64) << 32) | numbers


def _taken_pairs(taken: Sequence[Ids]) -> npt.NDArray[np.int64]:
    pairs = []
    for earlier in taken:
        rows = np.flatnonzero(earlier != NONE)
        pairs.append(_pairs(rows, earlier[rows]))
    return np.concatenate(pairs)


def first_reached(
    choices: Iterable[tuple[int, Terms]], asked: Mask, taken: Sequence[Ids], places: NodePositions
) -> Ids:
    """Return for each node the first choice that it can reach, or NONE.

    Only the nodes in `asked` get a choice. What a node has already `taken` is skipped.
    """
    numbers: list[int] = []
    parts: list[Rows] = []
    for number, terms in choices:
        rows = places.reached(terms)
        if len(rows):
            numbers.append(number)
            parts.append(rows)
    answer = np.full(places.size, NONE, dtype=np.int32)
    if not parts:
        return answer
    # From last to first, so that of several choices for a node the first overwrites the others.
    flat = np.concatenate(parts)[::-1]
    chosen = np.repeat(np.array(numbers, dtype=np.int32), [len(part) for part in parts])[::-1]
    usable = asked[flat]
    if len(taken) <= _FEW:
        for earlier in taken:
            usable = usable & (earlier[flat] != chosen)
    else:
        usable = usable & ~np.isin(_pairs(flat, chosen), _taken_pairs(taken))
    answer[flat[usable]] = chosen[usable]
    return answer
