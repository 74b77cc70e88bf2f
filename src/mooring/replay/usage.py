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

    def observe(self, nodes: Nodes, seconds: float) -> None:
        """Add a state that lasted for some seconds."""
        if seconds <= 0 or not len(nodes):
            return
        self.seconds += seconds
        for resource in RESOURCES:
            allocatable = int(nodes.allocatable(resource).sum())
            if allocatable:
                share = int(nodes.requested(resource).sum()) / allocatable
                self.shares[resource] = self.shares.get(resource, 0.0) + share * seconds
        used = int(np.count_nonzero(nodes.pod_count))
        self.node_seconds += used * seconds
        self.most_nodes = max(self.most_nodes, used)

    def share(self, resource: str) -> float:
        """Return the average share of a resource that was requested."""
        return self.shares.get(resource, 0.0) / self.seconds if self.seconds else 0.0

    @property
    def nodes(self) -> float:
        """Return the average number of nodes with pods."""
        return self.node_seconds / self.seconds if self.seconds else 0.0
