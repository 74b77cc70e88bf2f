"""Storage: volumes, claims, classes, and what CSI drivers report."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.meta import Condition, LabelSelector, ObjectReference, TypedObject
from mooring.api.quantity import QuantityText, ResourceList
from mooring.api.scheduling import NodeSelector
from mooring.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    PersistentVolumeClaimSpec,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from mooring.api.wire import Wire


class CSIPersistentVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}
    controller_publish_secret_ref: dict[str, str] | None = None
    node_stage_secret_ref: dict[str, str] | None = None
    node_publish_secret_ref: dict[str, str] | None = None
    controller_expand_secret_ref: dict[str, str] | None = None
    node_expand_secret_ref: dict[str, str] | None = None


class LocalVolumeSource(Wire, frozen=True, kw_only=True):
    """A disk or directory of one node."""

    path: str = ""
    fs_type: str | None = None


class VolumeNodeAffinity(Wire, frozen=True, kw_only=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Wire, frozen=True, kw_only=True):
    """The specification of a volume: its size, one source, its claim."""

    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    host_path: dict[str, Any] | None = None
    nfs: dict[str, Any] | None = None
    fc: dict[str, Any] | None = None
    cephfs: dict[str, Any] | None = None
    flex_volume: dict[str, Any] | None = None
    flocker: dict[str, Any] | None = None
    glusterfs: dict[str, Any] | None = None
    photon_persistent_disk: dict[str, Any] | None = None
    quobyte: dict[str, Any] | None = None
    scale_io: dict[str, Any] | None = None
    storageos: dict[str, Any] | None = None


class PersistentVolumeStatus(Wire, frozen=True, kw_only=True):
    """The state of a volume (Pending, Available, Bound, Released, Failed)."""

    phase: str = ""
    message: str = ""
    reason: str = ""
    last_phase_transition_time: str | None = None


class PersistentVolume(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes PersistentVolume."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolume"

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Wire, frozen=True, kw_only=True):
    """The state of a claim (Pending, Bound, Lost)."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    allocated_resources: ResourceList = {}
    allocated_resource_statuses: dict[str, str] = {}
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: dict[str, Any] | None = None


class PersistentVolumeClaim(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes PersistentVolumeClaim."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(Wire, frozen=True, kw_only=True):
    """A requirement that a node label has one of these values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Wire, frozen=True, kw_only=True):
    """A list of requirements on a node that must all hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes StorageClass."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "StorageClass"

    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Wire, frozen=True, kw_only=True):
    """How many volumes of a driver a node can have."""

    count: int | None = None


class CSINodeDriver(Wire, frozen=True, kw_only=True):
    """A driver that runs on a node."""

    name: str = ""
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Wire, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(TypedObject, frozen=True, kw_only=True):
    """The CSI drivers of the node with the same name."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSINode"

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Wire, frozen=True, kw_only=True):
    """What a CSI driver needs and supports."""

    attach_required: bool | None = None
    pod_info_on_mount: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    storage_capacity: bool | None = None
    fs_group_policy: str | None = None
    token_requests: tuple[dict[str, Any], ...] = ()
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    node_allocatable_update_period_seconds: int | None = None
    service_account_token_in_secrets: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(TypedObject, frozen=True, kw_only=True):
    """A CSI driver."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIDriver"

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(TypedObject, frozen=True, kw_only=True):
    """How much storage of a class can still be provisioned in a part of the cluster."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIStorageCapacity"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(Wire, frozen=True, kw_only=True):
    """The volume to attach."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Wire, frozen=True, kw_only=True):
    """The volume to attach and the node to attach it to."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Wire, frozen=True, kw_only=True):
    """Whether a volume is attached."""

    attached: bool = False
    attachment_metadata: dict[str, str] = {}
    attach_error: dict[str, Any] | None = None
    detach_error: dict[str, Any] | None = None


class VolumeAttachment(TypedObject, frozen=True, kw_only=True):
    """The attachment of a volume to a node."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttachment"

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()


class VolumeAttributesClass(TypedObject, frozen=True, kw_only=True):
    """A class of mutable volume attributes."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttributesClass"

    driver_name: str = ""
    parameters: dict[str, str] = {}
