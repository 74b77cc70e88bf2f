"""Show changes of immutable fields as the API server does: as a diff of Go structs."""

# apimachinery: pkg/util/diff/diff.go; kubernetes: pkg/apis/core/types.go for names and order

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from mooring.apiserver.validation.field_problems import Object

_SOURCES = {
    "GCEPersistentDisk": "gcePersistentDisk",
    "AWSElasticBlockStore": "awsElasticBlockStore",
    "HostPath": "hostPath",
    "Glusterfs": "glusterfs",
    "NFS": "nfs",
    "RBD": "rbd",
    "ISCSI": "iscsi",
    "Cinder": "cinder",
    "CephFS": "cephfs",
    "FC": "fc",
    "Flocker": "flocker",
    "FlexVolume": "flexVolume",
    "AzureFile": "azureFile",
    "VsphereVolume": "vsphereVolume",
    "Quobyte": "quobyte",
    "AzureDisk": "azureDisk",
    "PhotonPersistentDisk": "photonPersistentDisk",
    "PortworxVolume": "portworxVolume",
    "ScaleIO": "scaleIO",
    "Local": "local",
    "StorageOS": "storageos",
    "CSI": "csi",
}
#: The fields of common volume sources, with their values if they are not set.
_INSIDE: Mapping[str, Mapping[str, Any]] = {
    "HostPath": {"Path": "", "Type": None},
    "NFS": {"Server": "", "Path": "", "ReadOnly": False},
    "Local": {"Path": "", "FSType": None},
    "CSI": {
        "Driver": "",
        "VolumeHandle": "",
        "ReadOnly": False,
        "FSType": "",
        "VolumeAttributes": None,
        "ControllerPublishSecretRef": None,
        "NodeStageSecretRef": None,
        "NodePublishSecretRef": None,
        "ControllerExpandSecretRef": None,
        "NodeExpandSecretRef": None,
    },
}


def _lines(value: Object) -> list[str]:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").splitlines(keepends=True)


def difference(old: Object, new: Object) -> str:
    """Return how two structs differ, as a unified diff without its header."""
    return "".join(list(difflib.unified_diff(_lines(old), _lines(new)))[2:])


def _go_name(name: str) -> str:
    start = name[0].upper() + name[1:]
    return start.replace("FsType", "FSType").replace("ApiGroup", "APIGroup")


def _struct(value: Object | None, unset: Mapping[str, Any]) -> Object | None:
    if value is None:
        return None
    given = {_go_name(name): one for name, one in value.items()}
    found = {name: given.get(name, empty) for name, empty in unset.items()}
    for name, one in found.items():
        if name.endswith("SecretRef") and one is not None:
            found[name] = {"Name": one.get("name", ""), "Namespace": one.get("namespace", "")}
    return found


def claim_as_go(spec: Object) -> Object:
    """Return the spec of a claim as the API server prints it."""
    resources = spec.get("resources") or {}
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    typed = {"APIGroup": None, "Kind": "", "Name": ""}
    return {
        "AccessModes": spec.get("accessModes"),
        "Selector": _selector(spec.get("selector")),
        "Resources": {
            "Limits": _sorted(resources.get("limits")),
            "Requests": _sorted(resources.get("requests")),
        },
        "VolumeName": spec.get("volumeName", ""),
        "StorageClassName": spec.get("storageClassName"),
        "VolumeMode": spec.get("volumeMode"),
        "DataSource": _struct(source, typed),
        "DataSourceRef": _struct(reference, {**typed, "Namespace": None}),
        "VolumeAttributesClassName": spec.get("volumeAttributesClassName"),
    }


def _selector(selector: Object | None) -> Object | None:
    if selector is None:
        return None
    names = ("matchLabels", "matchExpressions")
    return {name: selector[name] for name in names if selector.get(name)}


def _sorted(amounts: Mapping[str, str] | None) -> Object | None:
    return dict(sorted(amounts.items())) if amounts is not None else None


def source_as_go(spec: Object) -> Object:
    """Return the source of a persistent volume as the API server prints it."""
    return {
        name: _struct(spec.get(field), _INSIDE.get(name) or _names(spec.get(field) or ()))
        for name, field in _SOURCES.items()
    }


def _names(names: Iterable[str]) -> dict[str, Any]:
    return {_go_name(name): None for name in names}
