"""TopologyPlacementGenerator: the domains of a topology that a pod group may go to as a whole."""

# kube-scheduler: plugins/topologyaware/topology_placement.go

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mooring.api import AnyPodGroup, Node, Pod, scheduling_group_key
from mooring.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from mooring.framework.nodes import Nodes
from mooring.framework.placements import Placement
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status

NO_DOMAIN = "cannot determine domain for already scheduled pods: {}"
UNLABELLED = "no topology domain found for pod {}"
SEVERAL = "more than 1 domain found for pod group: {}, {}"
NO_NODE = 'getting node for pod {}: nodeinfo not found for node name "{}"'


class TopologyPlacementGenerator(Plugin):
    """The plugin that proposes one placement per value of the label that a group names."""

    name = "TopologyPlacementGenerator"

    def generate_placements(
        self, state: CycleState, group: AnyPodGroup, nodes: Nodes
    ) -> Sequence[Placement] | Status:
        """Return the domains; all nodes for a group without a constraint.

        If pods of the group run already, only their domain is left.
        """
        key = group.topology_key
        if not key:
            return (Placement("", np.ones(len(nodes), dtype=np.bool_)),)
        wanted = self._domain_in_use(group, key)
        if isinstance(wanted, Status):
            return wanted
        column = nodes.label(key)
        codes, values = column.codes, column.values
        # The order of domains is random in kube-scheduler; by name, the same one comes first.
        domains = sorted(
            (value, code)
            for code in np.unique(codes).tolist()
            if (value := values[code]) is not None and wanted in (None, value)
        )
        return [Placement(value, codes == code) for value, code in domains]

    def events_to_register(self) -> list[ClusterEvent]:
        """Return nodes that join a domain, and the end of pods that confine a group to theirs.

        kube-scheduler needs no events here: it tries a group again whenever its backoff ends.
        """
        joins = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return [
            ClusterEvent(EventResource.NODE, joins, self._after_node_change),
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, self._after_pod_deleted),
        ]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        before = {} if old is None else old.metadata.labels
        after = new.metadata.labels
        for group in self.handle.pod_groups.ancestry(scheduling_group_key(pod)):
            key = group.topology_key
            if key in after and after[key] != before.get(key):
                return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def _after_pod_deleted(self, pod: Pod, old: Pod, new: Any) -> QueueingHint:
        groups = self.handle.pod_groups
        root, other = (groups.root_of(scheduling_group_key(one)) for one in (pod, old))
        related = root is not None and other is not None and root.entity_key == other.entity_key
        return QueueingHint.QUEUE if related else QueueingHint.SKIP

    def _domain_in_use(self, group: AnyPodGroup, key: str) -> str | Status | None:
        """Return the domain of the pods of a group that have a node; None if none has."""
        domain: str | None = None
        for info in self.handle.pod_groups.placed_in(group):
            name = info.pod.spec.node_name
            node = self.handle.snapshot.find(name)
            if node is None:
                return Status.error(NO_DOMAIN.format(NO_NODE.format(info.pod.key, name)))
            value = node.node.metadata.labels.get(key)
            if value is None:
                return Status.error(NO_DOMAIN.format(UNLABELLED.format(info.pod.key)))
            if domain is not None and domain != value:
                return Status.error(NO_DOMAIN.format(SEVERAL.format(domain, value)))
            domain = value
        return domain
