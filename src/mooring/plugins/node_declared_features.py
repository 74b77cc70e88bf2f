"""NodeDeclaredFeatures: nodes must declare the features that a pod's fields need."""

# kube-scheduler: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from mooring.api import Node, Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.gates import gates_of
from mooring.typing import Mask

UNSATISFIED = Status.unresolvable("node(s) didn't match Pod's required features")
NOT_PRE_FILTERED = Status.error(
    'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
)

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
VOLUME_BIND_MOUNT_OPTIONS = "VolumeBindMountOptions"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"

_STATE = "PreFilterNodeDeclaredFeatures"
_RESTART_ALL = "RestartAllContainers"


def required_features(pod: Pod, *, mount_options: bool = True) -> frozenset[str]:
    """Return the features that a node must declare to run a pod.

    `mount_options` is whether options of bind mounts count.
    """
    # component-helpers: nodedeclaredfeatures/features. Its other features matter only when a pod is
    # updated or attached to, and none has a version from which on every node has it.
    spec = pod.spec
    features = set()
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_HOST_NETWORK)
    for containers in (spec.containers, spec.init_containers):
        for container in containers:
            for rule in container.restart_policy_rules:
                if rule.get("action") == _RESTART_ALL:
                    features.add(RESTART_ALL_CONTAINERS)
    if mount_options and any(
        mount.bind_mount_options
        for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers)
        for container in containers
        for mount in container.volume_mounts
    ):
        features.add(VOLUME_BIND_MOUNT_OPTIONS)
    return frozenset(features)


class NodeDeclaredFeatures(Plugin):
    """The plugin that refuses nodes which do not declare the features a pod needs."""

    name = "NodeDeclaredFeatures"
    skips_resizes = True
    reads_pods = False

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        gates = gates_of(handle)
        self._enabled = gates.enabled("NodeDeclaredFeatures")
        self._mount_options = gates.release.needs_mount_options_declared

    def _required(self, pod: Pod) -> frozenset[str]:
        return required_features(pod, mount_options=self._mount_options)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Determine the features that the pod needs; skip if there are none."""
        required = self._required(pod) if self._enabled else None
        if not required:
            return Status.skip()
        state.write(_STATE, required)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that lacks a feature."""
        if not self._enabled:
            return None
        required = state.get(_STATE)
        if required is None:
            return NOT_PRE_FILTERED
        return None if required.issubset(node.node.status.declared_features) else UNSATISFIED

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes that lack a feature, evaluating each distinct set of features once."""
        if not self._enabled:
            return
        required = state.get(_STATE)
        if required is None:
            yield NOT_PRE_FILTERED, np.ones(len(nodes), dtype=np.bool_)
            return
        yield (
            UNSATISFIED,
            nodes.declared_features.map(
                (self.name, required), lambda declared: declared is None or not required <= declared
            ),
        )

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of nodes that declare, and of pods that need, other features."""
        if not self._enabled:
            return []
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE,
                _after_node_change,
            ),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE, _after_pod_update),
        ]

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by the features needed."""
        return tuple(sorted(self._required(pod)))


def _after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    if old is not None and old.status.declared_features == new.status.declared_features:
        return QueueingHint.SKIP
    return QueueingHint.QUEUE


def _after_pod_update(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    changed = required_features(old) != required_features(new)
    return QueueingHint.QUEUE if changed else QueueingHint.SKIP
