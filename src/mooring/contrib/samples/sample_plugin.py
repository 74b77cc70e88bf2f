"""sample-plugin: three points that log and always agree, with args from the configuration."""

from __future__ import annotations

import logging

import msgspec

from mooring import CycleState, NodeInfo, Nodes, Plugin, Status
from mooring.api import Pod

log = logging.getLogger(__name__)


class SamplePlugin(Plugin):
    """A plugin that logs pods and nodes at PreFilter, Filter and PreBind."""

    name = "sample-plugin"

    class Args(msgspec.Struct, frozen=True):
        """Three values that a configuration file may set."""

        favorite_color: str = ""
        favorite_number: int = 0
        thanks_to: str = ""

    def start(self) -> None:
        """Log the arguments."""
        log.info("get plugin config args: %s", self.args)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Log the pod."""
        log.info("prefilter pod: %s", pod.name)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        """Log the pod and the node."""
        log.info("filter pod: %s, node: %s", pod.name, node.name)

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Log the node that was chosen."""
        node = self.handle.snapshot.find(node_name)
        if node is None:
            return Status.error(f"prebind get node info error: {node_name}")
        log.info("prebind node info: %s", node.node)
        return None
