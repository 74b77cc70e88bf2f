"""WhatIf: a few nodes on which pods are added and removed on trial.

Preemption needs to know, for hundreds of nodes, whether a pod would fit if certain pods were gone.
If a pod is nominated to a node, filters need to know whether another pod would fit if it were
already there. The same plugin code answers both: the vector form on this object, the node form on
its `info(position)`. The snapshot itself does not change, so nothing has to be undone.

Changes are made in batches, many nodes at once, and only columns that are read are computed: a dry
run of 500 nodes with 2,000 pods costs a few array operations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.api.labels import Selector
from mooring.framework.columns import MOST_NON_ZERO, MOST_REQUESTED
from mooring.framework.node_classes import Kinds
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_info import HostPort, PodInfo
from mooring.typing import Floats, Ints, Mask

S = TypeVar("S", bound=np.generic)

Positions = npt.NDArray[np.intp]

_NON_ZERO = {"cpu": "non_zero_cpu", "memory": "non_zero_memory"}


class PodBatch:
    """Some pods, with their requests as arrays, computed when first needed."""

    __slots__ = ("_amounts", "has_ports", "pods")

    def __init__(self, pods: Sequence[PodInfo]) -> None:
        self.pods = pods
        self.has_ports = any(pod.host_ports for pod in pods)
        self._amounts: dict[tuple[str, str], Ints] = {}

    def amounts(self, kind: str, resource: str) -> Ints:
        """Return what each pod adds to a column of the given kind."""
        found = self._amounts.get((kind, resource))
        if found is None:
            if kind == "pod_count":
                found = np.ones(len(self.pods), dtype=np.int64)
            elif kind == "non_zero":
                attribute = _NON_ZERO[resource]
                found = np.array([getattr(pod, attribute) for pod in self.pods], dtype=np.int64)
            else:
                found = np.array(
                    [pod.requests.get(resource, 0) for pod in self.pods], dtype=np.int64
                )
            self._amounts[kind, resource] = found
        return found


class _Change(msgspec.Struct, frozen=True):
    """A change: `batch.pods[members[i]]` joined (or left) the node at `positions[i]`."""

    positions: Positions
    batch: PodBatch
    members: Positions
    sign: int

    def at(self, position: int) -> Sequence[int]:
        """Return which of the changes are of the node at `position`."""
        if len(self.positions) == 1:
            # The usual case in a dry run of one node: faster without arrays.
            return (0,) if self.positions[0] == position else ()
        found: list[int] = np.flatnonzero(self.positions == position).tolist()
        return found

    def apply(self, kind: str, resource: str, column: Ints) -> None:
        amounts = self.batch.amounts(kind, resource)[self.members]
        np.add.at(
            column, self.positions, -self.sign * amounts if kind == "free" else self.sign * amounts
        )


class WhatIf(Nodes):
    """Some nodes of a snapshot with pods virtually added and removed.

    Columns that depend on pods are copied when first read and then follow each change. All others,
    and the counters behind `terms`, are the snapshot's: a plugin that precomputes from those
    implements `add_pod` and `remove_pod`.
    """

    def __init__(self, nodes: Nodes, rows: Rows) -> None:
        super().__init__(nodes._columns, nodes._counts, nodes._images, rows)
        self._own: dict[tuple[str, str], Ints] = {}
        self._changes: list[_Change] = []
        #: NodeInfos this view began with, if they differ from the snapshot's (see `some`).
        self._begin: dict[int, NodeInfo] = {}
        #: NodeInfos created so far, and how many changes are applied to each.
        self._infos: dict[int, tuple[NodeInfo, int]] = {}

    def add(self, position: int, pod: PodInfo) -> None:
        """Put a pod on the node at `position`."""
        self._change(_at(position), PodBatch((pod,)), _FIRST, 1)

    def remove(self, position: int, pod: PodInfo) -> None:
        """Take a pod off the node at `position`."""
        self._change(_at(position), PodBatch((pod,)), _FIRST, -1)

    def add_batch(self, positions: Positions, batch: PodBatch, members: Positions) -> None:
        """Put `batch.pods[members[i]]` on the node at `positions[i]`, for all i."""
        self._change(positions, batch, members, 1)

    def remove_batch(self, positions: Positions, batch: PodBatch, members: Positions) -> None:
        """Take `batch.pods[members[i]]` off the node at `positions[i]`, for all i."""
        self._change(positions, batch, members, -1)

    def _change(self, positions: Positions, batch: PodBatch, members: Positions, sign: int) -> None:
        change = _Change(positions, batch, members, sign)
        self._changes.append(change)
        for (kind, resource), column in self._own.items():
            change.apply(kind, resource, column)
            self._recount_overfull(kind, resource, column)

    def some(self, positions: Positions) -> WhatIf:
        """Return an independent view of some of these nodes in their changed state."""
        assert self.rows is not None
        other = WhatIf(self.all, self.rows[positions])
        if self._changes or self._begin:
            for index, position in enumerate(positions.tolist()):
                if self._is_changed(position):
                    other._begin[index] = self.info(position).clone()
        return other

    def alone(self, position: int) -> WhatIf:
        """Return an independent view of one of these nodes in its changed state."""
        return self.some(_at(position))

    def copy(self) -> WhatIf:
        """Return an independent view of the same nodes in their changed state."""
        return self.some(np.arange(len(self), dtype=np.intp))

    def _is_changed(self, position: int) -> bool:
        return position in self._begin or any(
            bool((change.positions == position).any()) for change in self._changes
        )

    def info(self, position: int) -> NodeInfo:
        """Return the node at `position` in its changed state."""
        found = self._infos.get(position)
        if found is None:
            begin = self._begin.get(position)
            info, seen = (begin or super().info(position)).clone(), 0
        else:
            info, seen = found
        if seen < len(self._changes) or found is None:
            for change in self._changes[seen:]:
                for index in change.at(position):
                    pod = change.batch.pods[change.members[index]]
                    if change.sign > 0:
                        info.add_pod(pod)
                    else:
                        info.remove_pod(pod.uid)
            self._infos[position] = (info, len(self._changes))
        return info

    def infos(self) -> Sequence[NodeInfo]:
        """Return the nodes in their changed state."""
        return [self.info(position) for position in range(len(self))]

    def _column(self, kind: str, resource: str, base: Ints) -> Ints:
        column = self._own.get((kind, resource))
        if column is None:
            column = base
            for position, begin in self._begin.items():
                column[position] = _amount(begin, kind, resource)
            for change in self._changes:
                change.apply(kind, resource, column)
            self._recount_overfull(kind, resource, column)
            self._own[kind, resource] = column
        view = column.view()
        view.flags.writeable = False
        return view

    def _recount_overfull(self, kind: str, resource: str, column: Ints) -> None:
        """Count exactly what pods request where the columns cannot hold the sum."""
        for name in self._columns.overfull:
            row = self.row(name)
            for position in np.flatnonzero(self.rows == row).tolist():
                column[position] = _amount(self.info(position), kind, resource)

    def follow(self, key: Hashable, work_out: Callable[[Nodes], npt.NDArray[S]]) -> npt.NDArray[S]:
        """Compute the array from the nodes in their changed state."""
        return work_out(self)

    def kinds(self) -> Kinds:
        """Return all these nodes: each may have changed differently."""
        return Kinds(self, None)

    def requested(self, resource: str) -> Ints:
        """Return what the pods on each node would request."""
        return self._column("requested", resource, super().requested(resource))

    def free(self, resource: str) -> Ints:
        """Return what would be free of a resource."""
        return self._column("free", resource, super().free(resource))

    def non_zero_requested(self, resource: str) -> Ints:
        """Return `requested` of cpu or memory, with defaults for containers that request none."""
        return self._column("non_zero", resource, super().non_zero_requested(resource))

    def requested_floats(self, resource: str, *, non_zero: bool = False) -> Floats:
        """Return `requested` (or `non_zero_requested`) as floats, for scores that divide."""
        amounts = self.non_zero_requested if non_zero else self.requested
        return amounts(resource).astype(np.float64)

    @property
    def pod_count(self) -> Ints:
        """Return the number of pods each node would have."""
        return self._column("pod_count", "", super().pod_count)

    def port_conflicts(self, port: HostPort) -> Mask:
        """Return on which nodes a host port would be taken."""
        conflicts = super().port_conflicts(port)
        touched = set(self._begin)
        for change in self._changes:
            if change.batch.has_ports:
                touched.update(change.positions.tolist())
        for position in touched:
            conflicts[position] = self.info(position).port_conflicts(port)
        return conflicts

    def pods_matching(
        self,
        namespaces: frozenset[str] | None,
        selector: Selector,
        *,
        terminating: bool = True,
    ) -> npt.NDArray[np.int32]:
        """Count, per node, the pods that a selector would match in some namespaces."""
        counts = super().pods_matching(namespaces, selector, terminating=terminating)
        touched = set(self._begin).union(*(change.positions.tolist() for change in self._changes))
        for position in touched:
            counts[position] = sum(
                (namespaces is None or pod.metadata.namespace in namespaces)
                and selector.matches(pod.metadata.labels)
                and (terminating or not pod.is_terminating)
                for pod in (info.pod for info in self.info(position).pods.values())
            )
        return counts


def _at(position: int) -> Positions:
    return np.array([position], dtype=np.intp)


_FIRST = _at(0)


def _amount(info: NodeInfo, kind: str, resource: str) -> int:
    if kind == "non_zero":
        return min(info.non_zero_requested[resource], MOST_NON_ZERO)
    if kind == "pod_count":
        return len(info.pods)
    requested = min(info.requested.get(resource, 0), MOST_REQUESTED)
    return requested if kind == "requested" else info.allocatable.get(resource, 0) - requested


def one_row(nodes: Nodes, row: int) -> WhatIf:
    """Return a what-if view of a single node."""
    return WhatIf(nodes, _at(row))
