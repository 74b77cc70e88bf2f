"""The volume controller and provisioner of a cluster in memory, which act immediately.

The scheduler's part of binding a claim ends with a request: a volume that names the claim, or a
claim that names a node. This controller fulfils the request as soon as it is written.
"""

from __future__ import annotations

from mooring.api import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.api import volume_claims as claims
from mooring.controlplane.bound_volumes import (
    AVAILABLE,
    BOUND,
    bound_claim,
    bound_volume,
    may_bind,
    with_phase,
)
from mooring.controlplane.provisioning import (
    has_provisioner,
    provisioned_volume,
    with_provisioner,
)
from mooring.informers.store import EventHandler, Store
from mooring.virtual.memory_cluster import MemoryCluster


class VolumeController:
    """A controller that completes the bindings of a scheduler, and provisions volumes for it.

    It handles only writes after its creation; objects that exist by then stay as they are. A
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
        if reference is None or volume.status.phase == BOUND:
            return
        claim = self._claims.get(reference.name, reference.namespace)
        if claim is not None and not claims.is_fully_bound(claim) and may_bind(claim, volume):
            self._bind(claim, volume)

    def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        self._volumes.update(bound_volume(volume, claim))
        self._claims.update(bound_claim(claim, volume))

    def _provision(self, claim: PersistentVolumeClaim) -> None:
        """Provision the volume of a claim on its selected node."""
        node = self._nodes.get(claim.metadata.annotations.get(claims.SELECTED_NODE, ""))
        storage_class = self._classes.get(claims.claim_class(claim))
        if node is None or claim.spec.volume_name:
            return
        if storage_class is None or not has_provisioner(storage_class):
            return
        csi_node = self._csi_nodes.get(node.name)
        volume = provisioned_volume(claim, storage_class, node, csi_node)
        volume = with_phase(volume, AVAILABLE)
        self._volumes.add(volume)
        self._bind(with_provisioner(claim, storage_class), volume)
