"""WhatIf: a few nodes on which pods are added and removed on trial.

Preemption asks "would the pod fit here, were these pods gone?" of hundreds of nodes; a nominated
pod asks "and were that pod already here?" of one. The answer comes from the same plugin code: the
vector form on this object, the node form on its `info(position)`. Nothing of the snapshot
changes, so nothing is undone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mooring.framework.columns import Ints, Mask
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_info import HostPort, PodInfo


class WhatIf(Nodes):
    """Some nodes of a snapshot with pods virtually added and removed.

    Columns that pods change are copied when first asked for and follow each change; all others,
    and the counters behind `pods_matching` and `terms`, are the snapshot's: a plugin that
    precomputes from those implements `add_pod` and `remove_pod`.
    """

    def __init__(self, nodes: Nodes, rows: Rows) -> None:
        super().__init__(nodes._columns, nodes._counts, nodes._images, rows)
        self._own: dict[tuple[str, str], Ints] = {}
        self._changes: dict[int, list[tuple[PodInfo, bool]]] = {}
        self._infos: dict[int, NodeInfo] = {}

    def add(self, position: int, pod: PodInfo) -> None:
        """Put a pod on the node at `position`."""
        self._change(position, pod, 1)

    def remove(self, position: int, pod: PodInfo) -> None:
        """Take a pod off the node at `position`."""
        self._change(position, pod, -1)

    def _change(self, position: int, pod: PodInfo, sign: int) -> None:
        info = self._infos.get(position)
        if info is not None:
            _apply(info, pod, sign > 0)
        else:
            self._changes.setdefault(position, []).append((pod, sign > 0))
        for (kind, resource), column in self._own.items():
            if kind == "non_zero":
                amount = pod.non_zero_cpu if resource == "cpu" else pod.non_zero_memory
            elif kind == "pod_count":
                amount = 1
            else:
                amount = pod.requests.get(resource, 0)
            if amount:
                column[position] += -sign * amount if kind == "free" else sign * amount

    def info(self, position: int) -> NodeInfo:
        """Return the node at `position` as it would be."""
        info = self._infos.get(position)
        if info is None:
            info = super().info(position).clone()
            for pod, added in self._changes.pop(position, ()):
                _apply(info, pod, added)
            self._infos[position] = info
        return info

    def infos(self) -> Sequence[NodeInfo]:
        """Return the nodes as they would be."""
        return [self.info(position) for position in range(len(self))]

    def _column(self, kind: str, resource: str, base: Ints) -> Ints:
        column = self._own.get((kind, resource))
        if column is None:
            column = base
            self._own[kind, resource] = column
            touched = set(self._changes) | set(self._infos)
            for position in touched:
                info = self.info(position)
                if kind == "requested":
                    column[position] = info.requested.get(resource, 0)
                elif kind == "free":
                    column[position] = info.allocatable.get(resource, 0) - info.requested.get(
                        resource, 0
                    )
                elif kind == "non_zero":
                    column[position] = info.non_zero_requested[resource]
                else:
                    column[position] = len(info.pods)
        return column

    def requested(self, resource: str) -> Ints:
        """Return what the pods on each node would ask for."""
        return self._column("requested", resource, super().requested(resource))

    def free(self, resource: str) -> Ints:
        """Return what would be left of a resource."""
        return self._column("free", resource, super().free(resource))

    def non_zero_requested(self, resource: str) -> Ints:
        """Return `requested` of cpu or memory, with defaults for containers that ask for none."""
        return self._column("non_zero", resource, super().non_zero_requested(resource))

    @property
    def pod_count(self) -> Ints:
        """Return the number of pods each node would have."""
        return self._column("pod_count", "", super().pod_count)

    def port_conflicts(self, port: HostPort) -> Mask:
        """Return on which nodes a host port would be taken."""
        conflicts = super().port_conflicts(port)
        for position in sorted(set(self._changes) | set(self._infos)):
            conflicts[position] = self.info(position).port_conflicts(port)
        return conflicts


def _apply(info: NodeInfo, pod: PodInfo, added: bool) -> None:
    if added:
        info.add_pod(pod)
    else:
        info.remove_pod(pod.uid)


def one_row(nodes: Nodes, row: int) -> WhatIf:
    """Return a what-if view of a single node."""
    return WhatIf(nodes, np.array([row], dtype=np.intp))
