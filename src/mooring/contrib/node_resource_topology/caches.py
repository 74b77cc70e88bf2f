"""What is known of the cells of each node while pods are placed.

`Passthrough` takes every report as it is. `DiscardReserved` knows nothing of a node while a pod is
on its way there. The over-reserve cache is in `over_reserve`.
"""

# scheduler-plugins: pkg/noderesourcetopology/cache

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from mooring.api import NodeResourceTopology, Pod
from mooring.contrib.node_resource_topology.cells import NodeCells, read_cells

log = logging.getLogger(__name__)

#: Told the name of a node of which something else is known now.
Changed = Callable[[str], None]


class TopologyCache(Protocol):
    """What is known of the cells of nodes. Owned by the plugin."""

    #: Whether the cache wants to know of nodes that had no room.
    notes_refusals: bool

    def put(self, topology: NodeResourceTopology) -> None:
        """Take in a node's object that is new or has changed."""
        ...

    def remove(self, topology: NodeResourceTopology) -> None:
        """Take in that a node's object was deleted."""
        ...

    def get(self, node_name: str) -> tuple[NodeCells | None, bool]:
        """Return the cells of a node, None if none are known; and False if they are outdated."""
        ...

    def refused(self, node_name: str) -> None:
        """Take note that a node had no room for a pod."""
        ...

    def reserve(self, node_name: str, pod: Pod) -> None:
        """Count a pod on a node."""
        ...

    def unreserve(self, node_name: str, pod: Pod) -> None:
        """Count a pod no longer."""
        ...

    def bound(self, node_name: str, pod: Pod) -> None:
        """Take note that a pod was bound."""
        ...


def read_and_report(topology: NodeResourceTopology) -> NodeCells:
    """Return the cells that an object describes; log what is wrong with it in one line."""
    found = read_cells(topology)
    if found.problems:
        log.warning(
            "NodeResourceTopology has amounts that make no sense",
            extra={"kv": {"node": topology.metadata.name, "problems": "; ".join(found.problems)}},
        )
    return found


class Passthrough:
    """Every report as it is."""

    notes_refusals = False

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._nodes: dict[str, NodeCells] = {}

    def put(self, topology: NodeResourceTopology) -> None:
        """Take in a report."""
        self._nodes[topology.metadata.name] = read_and_report(topology)
        self._changed(topology.metadata.name)

    def remove(self, topology: NodeResourceTopology) -> None:
        """Forget a node."""
        self._nodes.pop(topology.metadata.name, None)
        self._changed(topology.metadata.name)

    def get(self, node_name: str) -> tuple[NodeCells | None, bool]:
        """Return the last report."""
        return self._nodes.get(node_name), True

    def refused(self, node_name: str) -> None:
        """Do nothing."""

    def reserve(self, node_name: str, pod: Pod) -> None:
        """Do nothing: the next report will show it."""

    def unreserve(self, node_name: str, pod: Pod) -> None:
        """Do nothing."""

    def bound(self, node_name: str, pod: Pod) -> None:
        """Do nothing."""


class DiscardReserved(Passthrough):
    """Every report as it is, and nothing of nodes with a pod that is not yet bound."""

    def __init__(self, changed: Changed) -> None:
        super().__init__(changed)
        #: The uids of such pods, by node.
        self._reserved: dict[str, set[str]] = {}

    def get(self, node_name: str) -> tuple[NodeCells | None, bool]:
        """Return the last report, unless a pod is on its way to the node."""
        if node_name in self._reserved:
            return None, False
        return super().get(node_name)

    def reserve(self, node_name: str, pod: Pod) -> None:
        """Leave the node out."""
        self._reserved.setdefault(node_name, set()).add(pod.metadata.uid)
        self._changed(node_name)

    def unreserve(self, node_name: str, pod: Pod) -> None:
        """Consider the node again, if no other pod is on its way."""
        pods = self._reserved.get(node_name)
        if pods is not None:
            pods.discard(pod.metadata.uid)
            if not pods:
                del self._reserved[node_name]
            self._changed(node_name)

    def bound(self, node_name: str, pod: Pod) -> None:
        """Consider the node again, if no other pod is on its way."""
        self.unreserve(node_name, pod)
