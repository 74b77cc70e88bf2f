"""The API server's defaults, for objects that did not come from an API server.

A hand-written manifest leaves out what the server would add before the scheduler sees the object.
An object that came from a server is left unchanged.
"""

# kubernetes: pkg/apis/core/v1/defaults.go, plugin/pkg/admission/storage/storageclass

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from mooring.api.kinds import BY_STRUCT
from mooring.api.meta import KubeObject, ObjectMeta
from mooring.api.node import Node
from mooring.api.pod import Pod
from mooring.api.storage import (
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.api.volume_claims import BETA_STORAGE_CLASS
from mooring.api.workload_pod_group import SchedulingGroup
from mooring.api.workloads import Namespace, PriorityClass
from mooring.controlplane.field_defaults import (
    CLAIM_SPEC,
    CLAIM_STATUS,
    CSI_DRIVER_SPEC,
    STORAGE_CLASS,
    VOLUME_SPEC,
    filled,
)
from mooring.controlplane.pod_defaults import default_pod, default_pod_group
from mooring.controlplane.priority_classes import PREEMPT_LOWER_PRIORITY, SYSTEM_PRIORITIES
from mooring.errors import ObjectError

T = TypeVar("T")

NAMESPACE_DEFAULT = "default"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"

#: The annotations that make a StorageClass the default if one of them is "true".
DEFAULT_STORAGE_CLASS_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

#: The priority classes that every cluster has.
SYSTEM_PRIORITY_CLASSES: tuple[PriorityClass, ...] = tuple(
    PriorityClass(
        metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER_PRIORITY
    )
    for name, value in SYSTEM_PRIORITIES.items()
)

# Gives an object the same uid in every run.
_UID_SPACE = uuid.UUID("6f0c2d5e-6d6f-5f72-9e67-000000000000")
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # apimachinery: pkg/util/rand


def set_defaults(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Return the objects as an API server that stores all of them would return them.

    Priorities and default classes come from the PriorityClasses and StorageClasses among them. A
    pod that names an unknown PriorityClass raises ObjectError.
    """
    named = [_identify(obj, i) for i, obj in enumerate(objects)]
    priorities = {
        obj.name: obj
        for obj in (*SYSTEM_PRIORITY_CLASSES, *named)
        if isinstance(obj, PriorityClass)
    }
    classes = [obj for obj in named if isinstance(obj, StorageClass)]
    return [_default(obj, priorities, classes) for obj in named]


def _default(
    obj: KubeObject, priorities: Mapping[str, PriorityClass], classes: Sequence[StorageClass]
) -> KubeObject:
    if isinstance(obj, Pod):
        try:
            return default_pod(obj, priorities)
        except ObjectError as error:
            raise ObjectError(f"Pod {obj.key}: {error.message}", path=error.path) from None
    if isinstance(obj, SchedulingGroup):
        return default_pod_group(obj, priorities)
    if isinstance(obj, Node):
        return default_node(obj)
    if isinstance(obj, PersistentVolumeClaim):
        return default_claim(obj, classes)
    if isinstance(obj, PersistentVolume):
        return default_volume(obj)
    if isinstance(obj, StorageClass):
        return filled(obj, STORAGE_CLASS)
    if isinstance(obj, CSIDriver):
        return default_driver(obj)
    if isinstance(obj, Namespace):
        return default_namespace(obj)
    return obj


def _identify(obj: KubeObject, index: int) -> KubeObject:
    """Add the name, namespace and uid if the object has none."""
    metadata = obj.metadata
    row = BY_STRUCT.get(type(obj))
    name = metadata.name or metadata.generate_name + _suffix(index)
    namespace = metadata.namespace
    if row is not None:
        namespace = (namespace or NAMESPACE_DEFAULT) if row.namespaced else ""
    kind = row.kind if row is not None else getattr(obj, "kind", "")
    uid = metadata.uid or str(uuid.uuid5(_UID_SPACE, f"{kind}/{namespace}/{name}"))
    if (name, namespace, uid) == (metadata.name, metadata.namespace, metadata.uid):
        return obj
    return replace(obj, metadata=replace(metadata, name=name, namespace=namespace, uid=uid))


def _suffix(number: int) -> str:
    """Return five characters derived from a number, like those the API server generates."""
    letters = []
    for _ in range(5):
        number, rest = divmod(number, len(_SUFFIX_LETTERS))
        letters.append(_SUFFIX_LETTERS[rest])
    return "".join(reversed(letters))


def default_node(node: Node) -> Node:
    """Copy capacity to allocatable if that is absent."""
    status = node.status
    amounts = allocatable(status.allocatable or None, status.capacity or None)
    if not amounts or amounts == status.allocatable:
        return node
    return replace(node, status=replace(status, allocatable=amounts))


def allocatable(given: dict[str, T] | None, capacity: dict[str, T] | None) -> dict[str, T] | None:
    """Return the allocatable amounts of a node, which are its capacity if they are absent."""
    return given if given is not None or capacity is None else dict(capacity)


def default_namespace(namespace: Namespace) -> Namespace:
    """Label a namespace with its own name."""
    labels = with_name_label(namespace.labels, namespace.name)
    if labels == namespace.labels:
        return namespace
    return replace(namespace, metadata=replace(namespace.metadata, labels=labels))


def with_name_label(labels: Mapping[str, str] | None, name: str) -> dict[str, str]:
    """Return the labels of a namespace, with that of its name."""
    return {**(labels or {}), NAMESPACE_NAME_LABEL: name}


def default_volume(volume: PersistentVolume) -> PersistentVolume:
    """Default the reclaim policy, the mode and the phase.

    A volume without a phase gets the one that the volume controller would give it: Bound if it
    refers to a claim by uid, else Available.
    """
    spec, status = volume.spec, volume.status
    held = spec.claim_ref is not None and bool(spec.claim_ref.uid)
    phase = status.phase or ("Bound" if held else "Available")
    return replace(volume, spec=filled(spec, VOLUME_SPEC), status=replace(status, phase=phase))


def default_claim(
    claim: PersistentVolumeClaim, classes: Sequence[StorageClass] = ()
) -> PersistentVolumeClaim:
    """Default the mode, the phase and, if there is a default class, the storage class."""
    spec = filled(claim.spec, CLAIM_SPEC)
    if not has_storage_class(spec.storage_class_name, claim.annotations):
        spec = replace(spec, storage_class_name=default_storage_class_of(classes))
    return replace(claim, spec=spec, status=filled(claim.status, CLAIM_STATUS))


def has_storage_class(name: str | None, annotations: Mapping[str, str]) -> bool:
    """Return whether a claim names its storage class in its spec, even as "", or by annotation."""
    # component-helpers: storage/volume/helpers.go (PersistentVolumeClaimHasClass)
    return name is not None or BETA_STORAGE_CLASS in annotations


def default_storage_class_of(classes: Iterable[StorageClass]) -> str | None:
    """Return the name of the class for claims without one, or None."""
    return default_class_name(
        (one.name, one.annotations, one.metadata.creation_timestamp or "") for one in classes
    )


def default_class_name(classes: Iterable[tuple[str, Mapping[str, str], str]]) -> str | None:
    """Return the name of the newest default StorageClass, of equally old ones the first by name.

    A class is given as its name, its annotations and its creation timestamp.
    """
    # kubernetes: pkg/volume/util/storageclass.go (GetDefaultClass)
    marked = [
        (created, name)
        for name, annotations, created in classes
        if "true" in (annotations.get(key) for key in DEFAULT_STORAGE_CLASS_MARKS)
    ]
    newest = max((created for created, _ in marked), default="")
    return min((name for created, name in marked if created == newest), default=None)


def default_driver(driver: CSIDriver) -> CSIDriver:
    """Default the spec of a CSI driver."""
    return replace(driver, spec=filled(driver.spec, CSI_DRIVER_SPEC))
