"""NodeName: a pod that names its node is scheduled only there."""

# kube-scheduler: plugins/nodename/node_name.go

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Mask

OTHER_NODE = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName(Plugin):
    """The plugin that refuses every node but the one in `spec.nodeName`."""

    name = "NodeName"
    reads_pods = False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> set[str] | None:
        """Narrow the search to the node that the pod names: no other is one to preempt on."""
        return {pod.spec.node_name} if pod.spec.node_name else None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node with another name."""
        wanted = pod.spec.node_name
        return OTHER_NODE if wanted and wanted != node.name else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse all nodes with other names."""
        wanted = pod.spec.node_name
        if wanted:
            refused = np.ones(len(nodes.all), dtype=np.bool_)
            row = nodes.row(wanted)
            if row >= 0:
                refused[row] = False
            yield OTHER_NODE, nodes.gather(refused)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of new nodes."""
        return [ClusterEvent(EventResource.NODE, ActionType.ADD)]

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by the node's name."""
        return pod.spec.node_name
