"""VolumeZone: keep a pod in the zone and region of the volumes it has claimed."""

# kube-scheduler: plugins/volumezone/volume_zone.go

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mooring.api import PersistentVolume, PersistentVolumeClaim, Pod, Requirement, StorageClass
from mooring.api import volume_claims as claims
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.node_mismatches import mismatch
from mooring.plugins.volumes.csi_translation import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
)
from mooring.typing import Mask

CONFLICT = Status.unresolvable("node(s) had no available volume zone")
NO_CLAIM_NAME = Status.unresolvable(claims.CLAIM_HAD_NO_NAME)
NO_VOLUME_OR_CLASS = Status.unresolvable(
    "PersistentVolumeClaim had no pv name and storageClass name"
)
NO_VOLUME_NAME = Status.unresolvable("PersistentVolume had no name")

_TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_GA_LABEL = {BETA_ZONE: ZONE, BETA_REGION: REGION}

#: Requirements on the zone and region labels of a node.
Demands = tuple[Requirement, ...]


def volume_demands(volume: PersistentVolume) -> Demands:
    """Return the requirements of a volume's zone and region labels.

    A label with an empty zone is ignored.
    """
    demands = []
    for key in _TOPOLOGY_LABELS:
        label = volume.metadata.labels.get(key)
        if label is None:
            continue
        zones = [zone.strip() for zone in label.split(ZONE_DELIMITER)]
        if all(zones):
            demands.append(Requirement.trusted(key, "In", zones))
    return tuple(demands)


class VolumeZone(Plugin):
    """The plugin that refuses nodes outside the zones and regions of bound volumes.

    Nodes without any zone or region label accept every volume.
    """

    name = "VolumeZone"
    skips_resizes = True
    reads_pod_labels = False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Collect the requirements of the pod's volumes; skip if there are none."""
        demands = self._demands(pod)
        if isinstance(demands, Status):
            return demands
        if not demands:
            return Status.skip()
        state.write(self.name, demands)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that is outside the zones or regions of a volume."""
        demands = self._demands_in(state, pod)
        if isinstance(demands, Status):
            return demands
        labels = node.labels
        if not any(key in labels for key in _TOPOLOGY_LABELS):
            return None
        conflict = any(not demand.matches_value(_found(demand, node)) for demand in demands)
        return CONFLICT if conflict else None

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the zone or region of a node and those of the volume that is not there."""
        demands = self._demands_in(state, pod)
        if isinstance(demands, Status):
            return None
        for demand in demands:
            found = _found(demand, node)
            if not demand.matches_value(found):
                return mismatch(demand, found)
        return None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes that are outside the zones or regions of a volume."""
        demands = self._demands_in(state, pod)
        if isinstance(demands, Status):
            yield demands, _all(nodes)
            return
        if not demands:
            return
        refused = ~_satisfied(demands[0], nodes)
        for demand in demands[1:]:
            refused |= ~_satisfied(demand, nodes)
        constrained = nodes.has_label(_TOPOLOGY_LABELS[0])
        for key in _TOPOLOGY_LABELS[1:]:
            constrained = constrained | nodes.has_label(key)
        yield CONFLICT, refused & constrained

    def _demands_in(self, state: CycleState, pod: Pod) -> Demands | Status:
        written: Demands | None = state.get(self.name)
        return self._demands(pod) if written is None else written

    def _demands(self, pod: Pod) -> Demands | Status:
        demands: list[Requirement] = []
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            if not name:
                return NO_CLAIM_NAME
            claim = self.handle.lister(PersistentVolumeClaim).get(name, namespace)
            if claim is None:
                return Status.unresolvable(claims.claim_not_found(name))
            if not claim.spec.volume_name:
                refusal = self._refuse_unbound(claim)
                if refusal is not None:
                    return refusal
                continue
            bound = self.handle.lister(PersistentVolume).get(claim.spec.volume_name)
            if bound is None:
                return Status.unresolvable(claims.volume_not_found(claim.spec.volume_name))
            demands += volume_demands(bound)
        return tuple(demands)

    def _refuse_unbound(self, claim: PersistentVolumeClaim) -> Status | None:
        name = claims.claim_class(claim)
        if not name:
            return NO_VOLUME_OR_CLASS
        storage_class = self.handle.lister(StorageClass).get(name)
        if storage_class is None:
            return Status.unresolvable(claims.class_not_found(name))
        if storage_class.volume_binding_mode is None:
            return Status.unresolvable(claims.binding_mode_not_set(name))
        if storage_class.volume_binding_mode == claims.WAIT_FOR_FIRST_CONSUMER:
            return None
        return NO_VOLUME_NAME

    def sign_pod(self, pod: Pod) -> tuple[()] | None:
        """Return None for pods with claims: their answers depend on volumes and classes."""
        return None if claims.has_claims(pod) else ()

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of new classes, changed claims and volumes, nodes and their labels."""
        added_or_updated = ActionType.ADD | ActionType.UPDATE
        return [
            ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD, after_class_added),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME_CLAIM, added_or_updated, after_claim_changed
            ),
            ClusterEvent(EventResource.PERSISTENT_VOLUME, added_or_updated, after_volume_changed),
        ]


def _found(demand: Requirement, node: NodeInfo) -> str | None:
    """Return a node's zone or region; a beta label falls back to the one that replaced it."""
    found = node.labels.get(demand.key)
    return node.labels.get(_GA_LABEL.get(demand.key, demand.key)) if found is None else found


def _satisfied(demand: Requirement, nodes: Nodes) -> Mask:
    satisfied = nodes.matches(demand)
    fallback = _GA_LABEL.get(demand.key)
    if fallback is None:
        return satisfied
    instead = nodes.matches(Requirement.trusted(fallback, "In", demand.values))
    return satisfied | (instead & ~nodes.has_label(demand.key))


def _all(nodes: Nodes) -> Mask:
    return np.ones(len(nodes), dtype=np.bool_)


def after_class_added(pod: Pod, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    """Queue only for a class with WaitForFirstConsumer."""
    if new.volume_binding_mode == claims.WAIT_FOR_FIRST_CONSUMER:
        return QueueingHint.QUEUE
    return QueueingHint.SKIP


def after_claim_changed(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """Queue if the claim is one that the pod names."""
    if new.metadata.namespace == pod.metadata.namespace and any(
        volume.persistent_volume_claim is not None
        and volume.persistent_volume_claim.claim_name == new.metadata.name
        for volume in pod.spec.volumes
    ):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP


def after_volume_changed(
    pod: Pod, old: PersistentVolume | None, new: PersistentVolume
) -> QueueingHint:
    """Queue for a new volume, or if its zone or region labels changed."""
    if old is None or volume_demands(old) != volume_demands(new):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP
