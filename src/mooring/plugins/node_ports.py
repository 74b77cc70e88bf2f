"""NodePorts: the host ports that a pod wants must be free on its node."""

# kube-scheduler: plugins/nodeports/node_ports.go

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from mooring.api import Pod, host_ports
from mooring.api.ports import ANY_ADDRESS
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import HostPort, PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Mask

PORTS_TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")
NOT_PRE_FILTERED = Status.error('reading "PreFilterNodePorts" from cycleState: not found')

_STATE = "PreFilterNodePorts"


class NodePorts(Plugin):
    """The plugin that refuses nodes on which a host port of the pod is taken."""

    name = "NodePorts"
    skips_resizes = True
    reads_pod_labels = False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Collect the pod's host ports; skip if it has none."""
        ports = host_ports(pod)
        if not ports:
            return Status.skip()
        state.write(_STATE, ports)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node on which a port is taken."""
        ports = state.get(_STATE)
        if ports is None:
            return NOT_PRE_FILTERED
        return PORTS_TAKEN if any(map(node.port_conflicts, ports)) else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse all nodes on which a port is taken."""
        ports = state.get(_STATE)
        if ports is None:
            yield NOT_PRE_FILTERED, np.ones(len(nodes), dtype=np.bool_)
            return
        taken = nodes.port_conflicts(ports[0])
        for port in ports[1:]:
            taken = taken | nodes.port_conflicts(port)
        yield PORTS_TAKEN, taken

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the host ports of the pod that are taken on a node, and by whom."""
        taken = []
        for port in state.get(_STATE) or ():
            if node.port_conflicts(port):
                address, protocol, number = port
                prefix = "" if address == ANY_ADDRESS else f"{address}:"
                holders = [other.pod.key for other in node.pods.values() if _holds(other, port)]
                taken.append(
                    f"host port {prefix}{number}/{protocol} is taken by {', '.join(holders)}"
                )
        return "; ".join(taken) or None

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of new nodes, and of deleted pods that free a port."""
        return [
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, _after_pod_deleted),
            ClusterEvent(EventResource.NODE, ActionType.ADD),
        ]

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by host ports with address and protocol, which also determine conflicts."""
        return tuple(sorted(set(host_ports(pod))))


def _holds(other: PodInfo, port: HostPort) -> bool:
    address, protocol, number = port
    return any(
        held[1:] == (protocol, number) and (ANY_ADDRESS in (address, held[0]) or held[0] == address)
        for held in other.host_ports
    )


def _after_pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
    if not old.spec.node_name and not old.status.nominated_node_name:
        return QueueingHint.SKIP
    freed: dict[tuple[str, int], set[str]] = {}
    for address, protocol, number in host_ports(old):
        freed.setdefault((protocol, number), set()).add(address)
    for address, protocol, number in host_ports(pod):
        addresses = freed.get((protocol, number))
        if addresses and (
            address == ANY_ADDRESS or address in addresses or ANY_ADDRESS in addresses
        ):
            return QueueingHint.QUEUE
    return QueueingHint.SKIP
