"""The plugin of the extender benchmark: rules on labels and free cpu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.framework.nodes import Nodes
from mooring.framework.state import CycleState
from mooring.typing import Ints, Mask

ZONE = "topology.kubernetes.io/zone"
CLOSED = "zone-0"

WRONG_ZONE = Status.unschedulable("node(s) were in a closed zone")


class OpenZones(Plugin):
    """Keep pods out of one zone, and prefer the nodes with the most free cpu."""

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse the nodes of the closed zone."""
        yield WRONG_ZONE, nodes.label_is(ZONE, CLOSED)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints:
        """Return the free share of each node's cpu."""
        return nodes.free("cpu") * 100 // np.maximum(nodes.allocatable("cpu"), 1)
