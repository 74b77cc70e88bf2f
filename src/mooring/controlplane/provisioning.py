"""Provisioning: the volumes that a provisioner would create for claims."""

# kubernetes: pkg/controller/volume/persistentvolume/pv_controller.go (setClaimProvisioner)
# kubernetes-csi/external-provisioner: pkg/controller/{controller,topology}.go

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
    StorageClass,
    VolumeNodeAffinity,
)
from mooring.api.volume_claims import FILESYSTEM, NO_PROVISIONER, STORAGE

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"


def has_provisioner(storage_class: StorageClass | None) -> bool:
    """Return whether volumes of a class are provisioned."""
    return storage_class is not None and storage_class.provisioner not in ("", NO_PROVISIONER)


def with_provisioner(
    claim: PersistentVolumeClaim, storage_class: StorageClass
) -> PersistentVolumeClaim:
    """Return a claim with the annotations that name its provisioner."""
    provisioner = storage_class.provisioner
    if claim.metadata.annotations.get(PROVISIONER) == provisioner:
        return claim
    marks = {PROVISIONER: provisioner, BETA_PROVISIONER: provisioner}
    annotations = {**claim.metadata.annotations, **marks}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))


def provisioned_volume(
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    node: Node | None,
    csi_node: CSINode | None,
) -> PersistentVolume:
    """Return the volume for a claim: of its size, accessible from its node's topology."""
    metadata, provisioner = claim.metadata, storage_class.provisioner
    name = f"pvc-{metadata.uid or f'{metadata.namespace}-{metadata.name}'}"
    reference = ObjectReference(
        api_version=PersistentVolumeClaim.api_version,
        kind=PersistentVolumeClaim.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
    )
    spec = PersistentVolumeSpec(
        capacity={STORAGE: claim.spec.resources.requests.get(STORAGE, "0")},
        access_modes=claim.spec.access_modes,
        persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
        storage_class_name=storage_class.metadata.name,
        mount_options=storage_class.mount_options,
        volume_mode=claim.spec.volume_mode or FILESYSTEM,
        volume_attributes_class_name=claim.spec.volume_attributes_class_name,
        claim_ref=reference,
        csi=CSIPersistentVolumeSource(driver=provisioner, volume_handle=name),
        node_affinity=_affinity(node, csi_node, provisioner),
    )
    annotations = {PROVISIONED_BY: provisioner}
    return PersistentVolume(metadata=ObjectMeta(name=name, annotations=annotations), spec=spec)


def _affinity(
    node: Node | None, csi_node: CSINode | None, driver: str
) -> VolumeNodeAffinity | None:
    """Return the restriction to the topology of a node that the driver reports, or None."""
    if node is None or csi_node is None:
        return None
    labels = node.metadata.labels
    keys = {key for one in csi_node.spec.drivers if one.name == driver for key in one.topology_keys}
    requirements = tuple(
        NodeSelectorRequirement(key=key, operator="In", values=(labels[key],))
        for key in sorted(keys)
        if key in labels
    )
    if not requirements:
        return None
    term = NodeSelectorTerm(match_expressions=requirements)
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
