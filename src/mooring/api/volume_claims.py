"""Claims, persistent volumes and storage classes: what can be read from the objects alone."""

# component-helpers: storage/volume/helpers.go, pv_helpers.go, storage/ephemeral/ephemeral.go

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from mooring.api.meta import ObjectReference
from mooring.api.pod import Pod
from mooring.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.api.volumes import Volume

BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
#: Set when the binding of a claim is complete.
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
#: Set if a controller made the binding, not a user.
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
#: The node for which a claim must be provisioned.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: The provisioner of classes without dynamic provisioning.
NO_PROVISIONER = "kubernetes.io/no-provisioner"

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
FILESYSTEM = "Filesystem"
STORAGE = "storage"

CLAIM_HAD_NO_NAME = "PersistentVolumeClaim had no name"


def claim_not_found(name: str) -> str:
    """Return the lister's message for a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def volume_not_found(name: str) -> str:
    """Return the lister's message for a volume that does not exist."""
    return f'persistentvolume "{name}" not found'


def class_not_found(name: str) -> str:
    """Return the lister's message for a storage class that does not exist."""
    return f'storageclass.storage.k8s.io "{name}" not found'


def binding_mode_not_set(name: str) -> str:
    """Return the message for a storage class without a binding mode."""
    return f'VolumeBindingMode not set for StorageClass "{name}"'


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the storage class that a claim asks for, or ""."""
    annotated = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return claim.spec.storage_class_name or "" if annotated is None else annotated


def volume_class(volume: PersistentVolume) -> str:
    """Return the storage class of a persistent volume, or ""."""
    return volume.metadata.annotations.get(BETA_STORAGE_CLASS, volume.spec.storage_class_name)


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Return whether the controller has finished binding a claim."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is bound or pre-bound to a claim; the uid counts if it is set."""
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and reference.name == claim.metadata.name
        and reference.namespace == claim.metadata.namespace
        and reference.uid in ("", claim.metadata.uid)
    )


def bind_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume bound to the claim; the same object if it is bound already."""
    metadata, spec = volume.metadata, volume.spec
    reference = spec.claim_ref
    changed = False
    if (
        reference is None
        or reference.name != claim.metadata.name
        or reference.namespace != claim.metadata.namespace
        or reference.uid != claim.metadata.uid
    ):
        reference = ObjectReference(
            api_version=PersistentVolumeClaim.api_version,
            kind=PersistentVolumeClaim.kind,
            namespace=claim.metadata.namespace,
            name=claim.metadata.name,
            uid=claim.metadata.uid,
            resource_version=claim.metadata.resource_version,
        )
        spec = msgspec.structs.replace(spec, claim_ref=reference)
        changed = True
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in metadata.annotations:
        annotations = {**metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
        changed = True
    return msgspec.structs.replace(volume, metadata=metadata, spec=spec) if changed else volume


def select_node(claim: PersistentVolumeClaim, node_name: str) -> PersistentVolumeClaim:
    """Return the claim with the annotation that requests provisioning for a node."""
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node_name}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


def is_delay_binding(
    claim: PersistentVolumeClaim, get_class: Callable[[str], StorageClass | None]
) -> bool | str:
    """Return whether a claim is bound only when a pod uses it, or a text if that is unknown.

    A class that does not exist counts as immediate binding.
    """
    name = claim_class(claim)
    storage_class = get_class(name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        return binding_mode_not_set(name)
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """Return the name of the claim behind a pod's volume, or None if there is none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        return f"{pod.metadata.name}-{volume.name}"
    return None


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Yield the names of the pod's claims, and whether each belongs to an ephemeral volume."""
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is not None:
            yield name, volume.persistent_volume_claim is None


def not_created_for(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Return why a claim was not created for the pod's ephemeral volume; "" if it was."""
    if claim.metadata.namespace == pod.metadata.namespace and any(
        owner.controller and owner.uid == pod.metadata.uid
        for owner in claim.metadata.owner_references
    ):
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def has_claims(pod: Pod) -> bool:
    """Return whether a pod has volumes that are backed by a claim."""
    return any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None
        for volume in pod.spec.volumes
    )


def sign_volumes(pod: Pod) -> tuple[str, ...] | None:
    """Return the part of a pod's signature that describes its volumes; None if it has claims.

    Claims refer to objects that may change while pod and nodes do not. Config maps and secrets are
    left out: they differ from pod to pod and do not influence scheduling.
    """
    if has_claims(pod):
        return None
    # kube-scheduler: staging kube-scheduler/framework/signers.go (VolumesSigner)
    return tuple(
        sorted(
            msgspec.json.encode(msgspec.structs.replace(volume, name="")).decode()
            for volume in pod.spec.volumes
            if volume.config_map is None and volume.secret is None
        )
    )
