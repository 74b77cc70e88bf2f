"""DeferredPodScheduling: pods on a node whose resize the kubelet has deferred for lack of room."""

# kube-scheduler: plugins/deferredpodscheduling/deferred_pod_scheduling.go

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mooring.api import Node, Pod
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Mask

OTHER_NODE = Status.unresolvable("pod assigned to different node")
DISABLED = Status.unresolvable("node had resize preemption disabled")
FITS = Status.unresolvable("pod resize fits, waiting for Kubelet actuation")


class DeferredPodScheduling(Plugin):
    """The plugin that lets a pod preempt on its own node, and keeps it waiting once it fits."""

    name = "DeferredPodScheduling"
    #: Whether the gate InPlacePodVerticalScalingSchedulerPreemption is on.
    _enabled = False

    def start(self) -> None:
        """Read the gate."""
        gates = self.handle.features
        self._enabled = gates.enabled("InPlacePodVerticalScalingSchedulerPreemption")

    def _concerns(self, pod: Pod) -> bool:
        return self._enabled and is_resize_deferred(pod)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Skip a pod whose resize is not deferred."""
        return None if self._concerns(pod) else Status.skip()

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse every node but the pod's own, and that if it disables such preemptions."""
        if not self._concerns(pod):
            return None
        if pod.spec.node_name and pod.spec.node_name != node.name:
            return OTHER_NODE
        return None if _allows(node.node) else DISABLED

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes as `filter` does."""
        if not self._concerns(pod):
            return
        other = np.zeros(len(nodes), dtype=np.bool_)
        if pod.spec.node_name:
            other = np.array([name != pod.spec.node_name for name in nodes.names], dtype=np.bool_)
            yield OTHER_NODE, other
        # Only the pod's own node is left.
        disabled = np.zeros(len(nodes), dtype=np.bool_)
        for position in np.flatnonzero(~other).tolist():
            disabled[position] = not _allows(nodes.info(position).node)
        yield DISABLED, disabled

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Refuse a pod whose resize fits: it is the kubelet that carries it out."""
        return FITS if self._concerns(pod) else None

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of nodes that begin to allow such preemptions."""
        node = EventResource.NODE
        return [
            ClusterEvent(node, ActionType.UPDATE_NODE_PREEMPTION_POLICY, self._after_node_event),
            ClusterEvent(node, ActionType.ADD, self._after_node_event),
        ]

    def _after_node_event(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        mine = self._concerns(pod) and pod.spec.node_name == new.metadata.name
        if mine and _allows(new) and (old is None or not _allows(old)):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP


def _allows(node: Node) -> bool:
    policy = node.spec.pod_preemption_policy
    return policy is None or not policy.disable_resize_preemption
