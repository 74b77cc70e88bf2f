"""Builders of storage objects, and a cluster whose claims get bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeAttachment,
)
from tests.plugins.clusters import make, make_pod

WAIT = "WaitForFirstConsumer"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def in_label(key: str, *values: str) -> dict[str, Any]:
    """Return a node affinity that demands one of these values."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume(
    name: str,
    size: str = "1Gi",
    storage_class: str = "local",
    *,
    affinity: Mapping[str, Any] | None = None,
    phase: str = "Available",
    modes: Sequence[str] = ("ReadWriteOnce",),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """Build a persistent volume."""
    about = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    if affinity is not None:
        spec["nodeAffinity"] = affinity
    spec = {
        "capacity": {"storage": size},
        "storageClassName": storage_class,
        "accessModes": list(modes),
        **spec,
    }
    found = make(
        PersistentVolume,
        name,
        metadata={**about, **(metadata or {})},
        spec=spec,
        status={"phase": phase},
    )
    assert isinstance(found, PersistentVolume)
    return found


def claim(
    name: str,
    size: str | None = "1Gi",
    storage_class: str | None = "local",
    *,
    bound_to: str = "",
    phase: str = "",
    namespace: str = "default",
    modes: Sequence[str] = ("ReadWriteOnce",),
    annotations: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """Build a claim; `bound_to` a volume means fully bound."""
    about: dict[str, Any] = {
        "uid": f"uid-{name}",
        "annotations": {**(COMPLETED if bound_to else {}), **(annotations or {})},
        **(metadata or {}),
    }
    if size is not None:
        spec["resources"] = {"requests": {"storage": size}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    phase = phase or ("Bound" if bound_to else "Pending")
    found = make(
        PersistentVolumeClaim,
        name,
        namespace,
        metadata=about,
        spec={"volumeName": bound_to, "accessModes": list(modes), **spec},
        status={"phase": phase},
    )
    assert isinstance(found, PersistentVolumeClaim)
    return found


def storage_class(
    name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", **fields: Any
) -> StorageClass:
    """Build a class that waits for the first consumer."""
    fields = {"volumeBindingMode": WAIT, **fields}
    found = make(StorageClass, name, provisioner=provisioner, **fields)
    assert isinstance(found, StorageClass)
    return found


def csi_node(
    name: str, limits: Mapping[str, int | None] | None = None, migrated: str | None = None
) -> CSINode:
    """Build a CSINode with drivers and their limits."""
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": None if count is None else {"count": count}}
        for driver, count in (limits or {}).items()
    ]
    annotations = (
        {} if migrated is None else {"storage.alpha.kubernetes.io/migrated-plugins": migrated}
    )
    found = make(CSINode, name, metadata={"annotations": annotations}, spec={"drivers": drivers})
    assert isinstance(found, CSINode)
    return found


def csi_driver(name: str, **spec: Any) -> CSIDriver:
    """Build a CSIDriver."""
    found = make(CSIDriver, name, spec=spec)
    assert isinstance(found, CSIDriver)
    return found


def capacity(
    name: str, storage_class: str, size: str | None, labels: Mapping[str, str] | None, **more: Any
) -> CSIStorageCapacity:
    """Build a CSIStorageCapacity; without `labels` no node has access."""
    if labels is not None:
        more["nodeTopology"] = {"matchLabels": dict(labels)}
    found = make(
        CSIStorageCapacity, name, "default", storageClassName=storage_class, capacity=size, **more
    )
    assert isinstance(found, CSIStorageCapacity)
    return found


def attachment(name: str, node: str, volume_name: str | None, attacher: str) -> VolumeAttachment:
    """Build a VolumeAttachment."""
    found = make(
        VolumeAttachment,
        name,
        spec={
            "attacher": attacher,
            "nodeName": node,
            "source": {"persistentVolumeName": volume_name},
        },
    )
    assert isinstance(found, VolumeAttachment)
    return found


def uses(*claims: str) -> list[dict[str, Any]]:
    """Return pod volumes of these claims."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def pod_with(
    *claims: str, name: str = "pod", node: str = "", extra: Sequence[Any] = (), **more: Any
) -> Pod:
    """Build a pod that uses these claims, and further volumes."""
    return make_pod(name, node=node, volumes=[*uses(*claims), *extra], **more)


def owned_by(pod_name: str, namespace: str = "default") -> dict[str, Any]:
    """Return metadata that names a pod as the controller."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod_name,
        "uid": f"{namespace}/{pod_name}",
        "controller": True,
    }
    return {"ownerReferences": [owner]}
