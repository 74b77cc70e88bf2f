"""sample: the smallest plugin that decides something."""

from __future__ import annotations

import logging

from mooring import CycleState, NodeInfo, Nodes, Plugin, Status
from mooring.api import Pod

log = logging.getLogger(__name__)


class Sample(Plugin):
    """A filter that keeps pods on nodes labelled cpu=true."""

    name = "sample"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node without the label; the reason is the node's name."""
        log.info("filter pod: %s, node: %s", pod.name, node.name)
        if node.labels.get("cpu") != "true":
            return Status.unschedulable(f"Node: {node.name}")
        return None

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Log the nodes that are left."""
        log.info("prescore pod: %s, nodes: %s", pod.name, list(nodes.names))
