"""Kinds: groups of nodes with equal amounts, so that one answer serves the whole group.

A cluster of 5,000 nodes has a few sizes of nodes, and many nodes of one size carry the same load.
Whether a pod fits a node, and how the node scores by its resources, depends on these amounts alone:
plugins evaluate one node of each kind, and the answers are copied to all nodes of that kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

from mooring.framework.node_info import NodeInfo

if TYPE_CHECKING:
    from mooring.framework.nodes import Nodes

S = TypeVar("S", bound=np.generic)

Rows = npt.NDArray[np.intp]

#: Kinds are used only if there are at least this many nodes per kind.
_NODES_PER_KIND = 4
#: Up to this many nodes, evaluating one by one is faster than the vector form.
_FEW = 6
_INITIAL_CAPACITY = 16


class Kinds:
    """One node of each kind, and the mapping of answers about these to answers about all nodes."""

    __slots__ = ("_places", "few", "nodes")

    def __init__(self, nodes: Nodes, places: Rows | None) -> None:
        #: The nodes to evaluate.
        self.nodes = nodes
        self._places = places
        #: The nodes to evaluate one by one; None if the vector form is faster.
        self.few: Sequence[NodeInfo] | None = None
        if places is not None and len(nodes) <= _FEW:
            self.few = nodes.infos()

    def spread(self, answers: npt.NDArray[S]) -> npt.NDArray[S]:
        """Turn answers about `nodes` into answers about the nodes this was made from."""
        return answers if self._places is None else answers.take(self._places)


class KindIndex:
    """The kind of every row of the columns. Owned by the columns, which report what changed."""

    def __init__(self) -> None:
        #: Kind of each row.
        self.codes: Rows = np.empty(0, dtype=np.intp)
        self._index: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._members: list[int] = []
        #: A row of each kind; meaningless for a kind without rows.
        self._examples: Rows = np.zeros(_INITIAL_CAPACITY, dtype=np.intp)
        #: Codes of kinds without rows, for reuse.
        self._unused: list[int] = []

    def rebuild(self, infos: Sequence[NodeInfo]) -> None:
        """Assign a kind to every row."""
        self._index.clear()
        self._keys.clear()
        self._members.clear()
        self._unused.clear()
        self.codes = np.empty(len(infos), dtype=np.intp)
        for row, info in enumerate(infos):
            self._enter(row, _key(info))

    def update(self, infos: Sequence[NodeInfo], rows: Iterable[int]) -> None:
        """Assign kinds to the rows that changed."""
        for row in rows:
            key = _key(infos[row])
            code = int(self.codes[row])
            if self._keys[code] == key:
                continue
            self._members[code] -= 1
            self._enter(row, key)
            if not self._members[code]:
                del self._index[self._keys[code]]
                self._unused.append(code)
            elif self._examples[code] == row:
                self._examples[code] = (self.codes == code).argmax()

    def _enter(self, row: int, key: Hashable) -> None:
        code = self._index.get(key)
        if code is None:
            code = self._new_kind(key)
            self._examples[code] = row
        self._members[code] += 1
        self.codes[row] = code

    def _new_kind(self, key: Hashable) -> int:
        if self._unused:
            code = self._unused.pop()
            self._keys[code] = key
        else:
            code = len(self._keys)
            self._keys.append(key)
            self._members.append(0)
            if code == len(self._examples):
                self._examples = cast(Rows, np.concatenate((self._examples, self._examples)))
        self._index[key] = code
        return code

    def examples(self, asked: int) -> Rows | None:
        """Return a row of each kind; None if that saves little compared with all `asked` nodes."""
        count = len(self._keys)
        return self._examples[:count] if count * _NODES_PER_KIND <= asked else None


def _key(info: NodeInfo) -> Hashable:
    """Return the amounts that define a node's kind.

    Equal amounts in a different order make two kinds: more evaluations, the same answers.
    """
    return (
        len(info.pods),
        *info.non_zero_requested.values(),
        tuple(info.requested.items()),
        tuple(info.allocatable.items()),
    )
