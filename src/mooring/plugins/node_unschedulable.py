"""NodeUnschedulable: keep pods off cordoned nodes."""

# kube-scheduler: plugins/nodeunschedulable/node_unschedulable.go

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from mooring.api import Node, Pod, Taint
from mooring.api.taints import NO_SCHEDULE, tolerated
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.gates import gates_of
from mooring.plugins.signing import sign_tolerations
from mooring.typing import Mask

UNSCHEDULABLE = Status.unresolvable("node(s) were unschedulable")

#: A pod that tolerates this taint may go to a node with `spec.unschedulable`.
UNSCHEDULABLE_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class NodeUnschedulable(Plugin):
    """The plugin that refuses cordoned nodes, unless the pod tolerates the unschedulable taint."""

    name = "NodeUnschedulable"
    skips_resizes = True
    reads_pods = False

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._comparison = gates_of(handle).enabled("TaintTolerationComparisonOperators")

    def _tolerates(self, pod: Pod) -> bool:
        return tolerated(pod.spec.tolerations, UNSCHEDULABLE_TAINT, self._comparison)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Object to nothing: kube-scheduler's plugin takes part in PreFilter."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a cordoned node."""
        return UNSCHEDULABLE if node.unschedulable and not self._tolerates(pod) else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse all cordoned nodes."""
        if nodes.any_unschedulable and not self._tolerates(pod):
            yield UNSCHEDULABLE, nodes.unschedulable

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of nodes that become schedulable, and of new tolerations."""
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_TAINT,
                _after_node_change,
            ),
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_TOLERATION,
                self._after_toleration_change,
            ),
        ]

    def _after_toleration_change(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        # Tolerations can be added but not removed, so the pod did not have it when it was refused.
        return QueueingHint.QUEUE if self._tolerates(new) else QueueingHint.SKIP

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by tolerations."""
        return sign_tolerations(pod)


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    was_closed = old is None or old.spec.unschedulable
    return QueueingHint.QUEUE if was_closed and not new.spec.unschedulable else QueueingHint.SKIP
