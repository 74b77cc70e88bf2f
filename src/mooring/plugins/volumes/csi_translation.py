"""In-tree volumes and the CSI drivers that replaced them.

The scheduler counts a migrated in-tree volume as one of its CSI driver, and reads its zone under
the driver's topology key. Nothing else of the translation matters here, so a translation yields
only the volume handle or the node affinity.
"""

# csi-translation-lib: translate.go, plugins/*.go

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from mooring.api import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeSpec,
    Volume,
)
from mooring.api.go_format import go_text

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
#: Separates the zones of a volume that is in several.
ZONE_DELIMITER = "__"

_UNSPECIFIED = "UNSPECIFIED"
_AWS_VOLUME = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """The reason why an in-tree volume cannot be translated to its CSI driver."""


class InTreePlugin(msgspec.Struct, frozen=True):
    """An in-tree volume plugin and the CSI driver that replaced it."""

    name: str
    driver: str
    #: Field of a volume and of a persistent volume that holds the source.
    source: str
    #: Node label that holds the zone, for drivers whose topology is translated.
    topology_key: str = ""
    #: Whether kube-scheduler treats the plugin as migrated.
    migrated: bool = True


AWS_EBS = InTreePlugin(
    "kubernetes.io/aws-ebs",
    "ebs.csi.aws.com",
    "aws_elastic_block_store",
    "topology.ebs.csi.aws.com/zone",
)
GCE_PD = InTreePlugin(
    "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "gce_persistent_disk", "topology.gke.io/zone"
)
AZURE_DISK = InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "azure_disk")
CINDER = InTreePlugin(
    "kubernetes.io/cinder",
    "cinder.csi.openstack.org",
    "cinder",
    "topology.cinder.csi.openstack.org/zone",
)
PORTWORX = InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworx_volume")
AZURE_FILE = InTreePlugin(
    "kubernetes.io/azure-file", "file.csi.azure.com", "azure_file", migrated=False
)
VSPHERE = InTreePlugin(
    "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphere_volume", migrated=False
)

PLUGINS = (GCE_PD, AWS_EBS, CINDER, AZURE_DISK, AZURE_FILE, VSPHERE, PORTWORX)
PLUGIN_BY_NAME = {plugin.name: plugin for plugin in PLUGINS}


def plugin_of(source: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """Return the in-tree plugin of a pod's volume or a persistent volume's spec, or None."""
    for plugin in PLUGINS:
        if getattr(source, plugin.source) is not None:
            return plugin
    return None


def volume_handle(plugin: InTreePlugin, volume: PersistentVolume) -> str:
    """Return the CSI handle of a persistent volume of a migrated plugin."""
    if plugin is GCE_PD and volume.spec.gce_persistent_disk is not None:
        labels = volume.metadata.labels
        zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
        disk = volume.spec.gce_persistent_disk.pd_name
        if len(zones) > 1:
            return f"projects/{_UNSPECIFIED}/regions/{_gce_region(zones)}/disks/{disk}"
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{disk}"
    return _handle(volume.spec)


def inline_handle(volume: Volume) -> str:
    """Return the CSI handle of a pod's volume of a migrated plugin."""
    if volume.gce_persistent_disk is not None:
        disk = volume.gce_persistent_disk.pd_name
        return f"projects/{_UNSPECIFIED}/zones/{_UNSPECIFIED}/disks/{disk}"
    return _handle(volume)


def _handle(source: Volume | PersistentVolumeSpec) -> str:
    if source.aws_elastic_block_store is not None:
        return _ebs_volume_id(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        kind = source.azure_disk.kind
        if kind is not None and kind.lower() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return source.azure_disk.disk_uri
    if source.cinder is not None:
        return source.cinder.volume_id
    if source.portworx_volume is not None:
        return source.portworx_volume.volume_id
    raise TranslationError("could not find in-tree plugin translation logic")


def _ebs_volume_id(volume_id: str) -> str:
    if not volume_id.startswith("aws://"):
        return volume_id
    found = urlsplit(volume_id).path.strip("/")
    if _AWS_VOLUME.fullmatch(found) is None:
        raise TranslationError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({volume_id})"
        )
    return found


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(
            "failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: {go_text(regions)}"
        )
    return regions.pop()


def translated_affinity(plugin: InTreePlugin, volume: PersistentVolume) -> NodeSelector | None:
    """Return the node affinity of a volume after translation, or raise TranslationError."""
    volume_handle(plugin, volume)
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if not plugin.topology_key:
        return required
    labels = volume.metadata.labels
    zone, region = _topology_labels(required, labels)
    if _has_values(required, zone):
        required = _replace_key(required, zone, plugin.topology_key)
    elif zone in labels:
        required = _add_zones(required, plugin.topology_key, labels[zone].split(ZONE_DELIMITER))
    if region == BETA_REGION and _has_values(required, region):
        required = _replace_key(required, region, REGION)
    return required


def _expressions(required: NodeSelector | None) -> list[NodeSelectorRequirement]:
    if required is None:
        return []
    return [
        expression for term in required.node_selector_terms for expression in term.match_expressions
    ]


def _topology_labels(required: NodeSelector | None, labels: dict[str, str]) -> tuple[str, str]:
    """Return the zone and region keys that a volume uses, in its affinity or else its labels."""
    keys = {expression.key for expression in _expressions(required)}
    for present in (keys, labels.keys()):
        if ZONE in present:
            return ZONE, REGION
        if BETA_ZONE in present:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _has_values(required: NodeSelector | None, key: str) -> bool:
    return any(expression.key == key and expression.values for expression in _expressions(required))


def _replace_key(required: NodeSelector | None, old: str, new: str) -> NodeSelector:
    assert required is not None
    replace = msgspec.structs.replace
    return NodeSelector(
        node_selector_terms=tuple(
            replace(
                term,
                match_expressions=tuple(
                    replace(expression, key=new) if expression.key == old else expression
                    for expression in term.match_expressions
                ),
            )
            for term in required.node_selector_terms
        )
    )


def _add_zones(required: NodeSelector | None, key: str, zones: list[str]) -> NodeSelector | None:
    values = tuple(sorted({zone.strip() for zone in zones} - {""}))
    if not values:
        return required
    demand = NodeSelectorRequirement(key=key, operator="In", values=values)
    terms = () if required is None else required.node_selector_terms
    return NodeSelector(
        node_selector_terms=tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, demand))
            for term in terms or (NodeSelectorTerm(),)
        )
    )
