"""Usage: how much of a cluster was used over time."""

from __future__ import annotations

import msgspec
import numpy as np

from mooring.framework.nodes import Nodes

#: The resources whose use is shown.
RESOURCES = ("cpu", "memory")


class Usage(msgspec.Struct):
    """The average use of a cluster, weighted by time."""

    #: Seconds that were observed while there were nodes.
    seconds: float = 0.0
    #: By resource: the share of what is allocatable that was requested, times seconds.
    shares: dict[str, float] = msgspec.field(default_factory=dict)
    #: Nodes with pods, times seconds; and the most at any time.
    node_seconds: float = 0.0
    most_nodes: int = 0

    def share(self, resource: str) -> float:
        """Return the average share of a resource that was requested."""
        return self.shares.get(resource, 0.0) / self.seconds if self.seconds else 0.0

    @property
    def nodes(self) -> float:
        """Return the average number of nodes with pods."""
        return self.node_seconds / self.seconds if self.seconds else 0.0


class UsageMeter:
    """What adds to the usage of one cluster. Owned by the simulation of one run.

    The cluster is read only after a change: most entries of a journal change nothing on a node.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        #: The generation of the nodes to which the next two belong.
        self._generation = -1
        #: The share of each resource that is requested, and the number of nodes with pods.
        self._shares: dict[str, float] = {}
        self._used = 0

    def observe(self, nodes: Nodes, seconds: float) -> None:
        """Add a state that lasted for some seconds."""
        if seconds <= 0 or not len(nodes):
            return
        if nodes.generation != self._generation:
            self._read(nodes)
        usage = self._usage
        usage.seconds += seconds
        for resource, share in self._shares.items():
            usage.shares[resource] = usage.shares.get(resource, 0.0) + share * seconds
        usage.node_seconds += self._used * seconds
        usage.most_nodes = max(usage.most_nodes, self._used)

    def _read(self, nodes: Nodes) -> None:
        self._generation = nodes.generation
        allocatable = nodes.derive("replay/allocatable", _allocatable)
        self._shares = {
            resource: int(nodes.requested(resource).sum()) / amount
            for resource, amount in allocatable.items()
            if amount
        }
        self._used = int(np.count_nonzero(nodes.pod_count))


def _allocatable(nodes: Nodes) -> dict[str, int]:
    return {resource: int(nodes.allocatable(resource).sum()) for resource in RESOURCES}
