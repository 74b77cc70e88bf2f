"""The volume controller and provisioner of a cluster in memory, which act at once.

The scheduler's part of binding a claim ends with a request: a volume that names the claim, or a
claim that names a node. This controller answers the request as soon as it is written.
"""

# kubernetes: pkg/controller/volume/persistentvolume/pv_controller.go

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import (
    CSINode,
    CSIPersistentVolumeSource,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from mooring.api import volume_claims as claims
from mooring.informers.store import EventHandler, Store
from mooring.virtual.memory_cluster import MemoryCluster

_BOUND = "Bound"


class VolumeController:
    """A controller that completes the bindings of a scheduler, and provisions volumes for it.

    It answers only writes after its creation; objects that exist by then stay as they are. A
    provisioned volume is reachable according to the driver's topology keys. Storage capacity is not
    used up.
    """

    def __init__(self, cluster: MemoryCluster) -> None:
        self._volumes: Store[PersistentVolume] = cluster.store(PersistentVolume)
        self._claims: Store[PersistentVolumeClaim] = cluster.store(PersistentVolumeClaim)
        self._classes: Store[StorageClass] = cluster.store(StorageClass)
        self._csi_nodes: Store[CSINode] = cluster.store(CSINode)
        self._nodes = cluster.nodes
        self._volumes.add_handler(EventHandler(on_update=lambda _, volume: self._finish(volume)))
        self._claims.add_handler(EventHandler(on_update=lambda _, claim: self._provision(claim)))

    def _finish(self, volume: PersistentVolume) -> None:
        """Bind the claim that a volume names."""
        reference = volume.spec.claim_ref
        if reference is None or volume.status.phase == _BOUND:
            return
        claim = self._claims.get(reference.name, reference.namespace)
        if claim is None or claim.metadata.uid != reference.uid or claims.is_fully_bound(claim):
            return
        self._volumes.update(replace(volume, status=replace(volume.status, phase=_BOUND)))
        annotations = {
            **claim.metadata.annotations,
            claims.BIND_COMPLETED: "yes",
            claims.BOUND_BY_CONTROLLER: "yes",
        }
        status = replace(
            claim.status,
            phase=_BOUND,
            access_modes=volume.spec.access_modes,
            capacity=volume.spec.capacity,
        )
        bound = replace(
            claim,
            metadata=replace(claim.metadata, annotations=annotations),
            spec=replace(claim.spec, volume_name=volume.metadata.name),
            status=status,
        )
        self._claims.update(bound)

    def _provision(self, claim: PersistentVolumeClaim) -> None:
        """Provision the volume of a claim on its selected node."""
        node = self._nodes.get(claim.metadata.annotations.get(claims.SELECTED_NODE, ""))
        storage_class = self._classes.get(claims.claim_class(claim))
        if (
            node is None
            or storage_class is None
            or claim.spec.volume_name
            or storage_class.provisioner in ("", claims.NO_PROVISIONER)
        ):
            return
        name = f"pvc-{claim.metadata.uid or f'{claim.namespace}-{claim.name}'}"
        requested = claim.spec.resources.requests.get(claims.STORAGE, "0")
        volume = PersistentVolume(
            metadata=ObjectMeta(name=name),
            spec=PersistentVolumeSpec(
                capacity={claims.STORAGE: requested},
                access_modes=claim.spec.access_modes,
                storage_class_name=storage_class.metadata.name,
                volume_mode=claim.spec.volume_mode,
                persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
                claim_ref=ObjectReference(
                    api_version=claim.api_version,
                    kind=claim.kind,
                    namespace=claim.namespace,
                    name=claim.name,
                    uid=claim.uid,
                ),
                csi=CSIPersistentVolumeSource(driver=storage_class.provisioner, volume_handle=name),
                node_affinity=self._topology(node, storage_class.provisioner),
            ),
            status=PersistentVolumeStatus(phase="Available"),
        )
        self._volumes.add(volume)
        self._finish(volume)

    def _topology(self, node: Node, driver_name: str) -> VolumeNodeAffinity | None:
        csi_node = self._csi_nodes.get(node.name)
        drivers = () if csi_node is None else csi_node.spec.drivers
        keys = [
            key
            for driver in drivers
            if driver.name == driver_name
            for key in driver.topology_keys
            if key in node.labels
        ]
        if not keys:
            return None
        term = NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement(key=key, operator="In", values=(node.labels[key],))
                for key in keys
            )
        )
        return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
