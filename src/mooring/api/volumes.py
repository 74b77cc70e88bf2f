"""The volumes of a pod. What the scheduler reads is typed; the rest are plain dicts."""

from __future__ import annotations

from typing import Any

from mooring.api.meta import LabelSelector, LocalObjectReference, ObjectMeta
from mooring.api.quantity import ResourceList
from mooring.api.wire import Wire


class TypedLocalObjectReference(Wire, frozen=True, kw_only=True):
    """A reference to an object of any kind in the same namespace."""

    api_group: str | None = None
    kind: str = ""
    name: str = ""


class TypedObjectReference(Wire, frozen=True, kw_only=True):
    """A reference to an object of any kind in any namespace."""

    api_group: str | None = None
    kind: str = ""
    name: str = ""
    namespace: str | None = None


class VolumeResourceRequirements(Wire, frozen=True, kw_only=True):
    """The requested amount of storage."""

    limits: ResourceList = {}
    requests: ResourceList = {}


class PersistentVolumeClaimSpec(Wire, frozen=True, kw_only=True):
    """The storage that a claim asks for."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Wire, frozen=True, kw_only=True):
    """The template of the claim for an ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume whose claim is created with the pod and deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class PersistentVolumeClaimVolumeSource(Wire, frozen=True, kw_only=True):
    """A volume backed by a claim in the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """A Google Compute Engine disk."""

    pd_name: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Wire, frozen=True, kw_only=True):
    """An AWS EBS disk."""

    volume_id: str = ""
    fs_type: str = ""
    partition: int = 0
    read_only: bool = False


class AzureDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """An Azure data disk."""

    disk_name: str = ""
    disk_uri: str = ""
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class AzureFileVolumeSource(Wire, frozen=True, kw_only=True):
    """An Azure file share (`secret_namespace` only on a PersistentVolume)."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False
    secret_namespace: str | None = None


class CinderVolumeSource(Wire, frozen=True, kw_only=True):
    """An OpenStack Cinder disk."""

    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: dict[str, str] | None = None


class ISCSIVolumeSource(Wire, frozen=True, kw_only=True):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: tuple[str, ...] = ()
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: dict[str, str] | None = None
    initiator_name: str | None = None


class RBDVolumeSource(Wire, frozen=True, kw_only=True):
    """A Ceph RADOS block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: dict[str, str] | None = None
    read_only: bool = False


class CSIVolumeSource(Wire, frozen=True, kw_only=True):
    """An inline volume of a CSI driver."""

    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}
    node_publish_secret_ref: LocalObjectReference | None = None


class VsphereVirtualDiskVolumeSource(Wire, frozen=True, kw_only=True):
    """A vSphere disk."""

    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = ""


class PortworxVolumeSource(Wire, frozen=True, kw_only=True):
    """A Portworx volume."""

    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False


class ImageVolumeSource(Wire, frozen=True, kw_only=True):
    """An OCI image or artifact, mounted as a volume."""

    reference: str = ""
    pull_policy: str = ""


class Volume(Wire, frozen=True, kw_only=True):
    """A volume of a pod: a name and exactly one source."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    config_map: dict[str, Any] | None = None
    secret: dict[str, Any] | None = None
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    projected: dict[str, Any] | None = None
    downward_api: dict[str, Any] | None = None
    nfs: dict[str, Any] | None = None
    fc: dict[str, Any] | None = None
    cephfs: dict[str, Any] | None = None
    flex_volume: dict[str, Any] | None = None
    flocker: dict[str, Any] | None = None
    git_repo: dict[str, Any] | None = None
    glusterfs: dict[str, Any] | None = None
    photon_persistent_disk: dict[str, Any] | None = None
    quobyte: dict[str, Any] | None = None
    scale_io: dict[str, Any] | None = None
    storageos: dict[str, Any] | None = None
