"""The vendor-specific volume sources of pods and persistent volumes."""

# kubernetes: pkg/apis/core/validation/validation.go (validateISCSIVolumeSource and its neighbours)

from __future__ import annotations

import re

from mooring.api.field_errors import FieldError, each, invalid, not_supported, required
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import between, label_problems

_IQN = re.compile(r"iqn\.\d{4}-\d{2}\.([a-z0-9-.]*[a-z0-9])(:[^,;*&$|\s]+)$", re.ASCII)
_EUI = re.compile(r"eui.[0-9A-Fa-f]{16}$", re.ASCII)
_NAA = re.compile(r"naa.[0-9A-Fa-f]{32}$", re.ASCII)
_INITIATORS = {"iqn": _IQN, "eui": _EUI, "naa": _NAA}
_BRACKETED = re.compile(r"\[[^\[\]]*\]:[^:]*")
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
    "{disk-id}"
)
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def _needed(source: Object, path: str, *names: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in names if not source.get(name)]


def _initiator(name: str, path: str) -> list[FieldError]:
    form = _INITIATORS.get(name[:3])
    if form is None:
        return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if form.match(name) else [invalid(path, name, "must be valid format")]


def iscsi(source: Object, path: str) -> list[FieldError]:
    """Check an iSCSI disk."""
    problems = _needed(source, path, "targetPortal", "iqn")
    if source.get("iqn"):
        problems += _initiator(source["iqn"], f"{path}.iqn")
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        problems.append(invalid(f"{path}.lun", lun, between(0, 255)))
    asks = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if asks and source.get("secretRef") is None:
        problems.append(required(f"{path}.secretRef"))
    if (initiator := source.get("initiatorName")) is not None:
        problems += _initiator(initiator, f"{path}.initiatorname")
    return problems


def fibre_channel(source: Object, path: str) -> list[FieldError]:
    """Check a Fibre Channel disk."""
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    problems: list[FieldError] = []
    where = f"{path}.targetWWNs"
    if not names and not ids:
        why = "must specify either targetWWNs or wwids, but not both"
        problems.append(required(where, why))
    if names and ids:
        why = "targetWWNs and wwids can not be specified simultaneously"
        problems.append(invalid(where, names, why))
    if names and lun is None:
        problems.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names and not 0 <= (lun or 0) <= 255:
        problems.append(invalid(f"{path}.lun", lun, between(0, 255)))
    return problems


def _partition(source: Object, path: str) -> list[FieldError]:
    partition = source.get("partition") or 0
    if 0 <= partition <= 255:
        return []
    return [invalid(f"{path}.partition", partition, between(1, 255))]


def google_disk(source: Object, path: str) -> list[FieldError]:
    """Check a Google disk; the API server reports its field as `persistentDisk`."""
    where = f"{path.removesuffix('.gcePersistentDisk')}.persistentDisk"
    return _needed(source, where, "pdName") + _partition(source, where)


def amazon_disk(source: Object, path: str) -> list[FieldError]:
    """Check an Amazon disk."""
    return _needed(source, path, "volumeID") + _partition(source, path)


def quobyte(source: Object, path: str) -> list[FieldError]:
    """Check a Quobyte volume."""
    problems: list[FieldError] = []
    registry = source.get("registry") or ""
    if not registry:
        problems.append(required(f"{path}.registry", _HOST_PORTS))
    elif len(source.get("tenant") or "") >= 65:
        why = "must be a UUID and may not exceed a length of 64 characters"
        problems.append(required(f"{path}.tenant", why))
    else:
        problems += [
            invalid(f"{path}.registry", registry, _HOST_PORTS)
            for pair in registry.split(",")
            if pair.count(":") != 1 and not _BRACKETED.fullmatch(pair)
        ]
    return problems + _needed(source, path, "volume")


def flocker(source: Object, path: str) -> list[FieldError]:
    """Check a Flocker dataset."""
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID")
    problems: list[FieldError] = []
    if not name and not uuid:
        problems.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        why = "datasetName and datasetUUID can not be specified simultaneously"
        problems.append(invalid(path, "resource", why))
    if "/" in name:
        problems.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return problems


def cinder(source: Object, path: str) -> list[FieldError]:
    """Check an OpenStack disk."""
    problems = _needed(source, path, "volumeID")
    if (secret := source.get("secretRef")) is not None:
        problems += _needed(secret, f"{path}.secretRef", "name")
    return problems


def azure_disk(source: Object, path: str) -> list[FieldError]:
    """Check an Azure disk."""
    problems = _needed(source, path, "diskName", "diskURI")
    for field, known in (("cachingMode", _CACHING), ("kind", _DISK_KINDS)):
        given = source.get(field)
        if given is not None and given not in known:
            problems.append(not_supported(f"{path}.{field}", given, known))
    kind, address = source.get("kind"), source.get("diskURI") or ""
    if kind == "Managed" and not address.startswith("/subscriptions/"):
        problems.append(not_supported(f"{path}.diskURI", address, (_MANAGED,)))
    elif kind not in (None, "Managed") and not address.startswith("https://"):
        problems.append(not_supported(f"{path}.diskURI", address, (_BLOB,)))
    return problems


def storage_os(source: Object, path: str) -> list[FieldError]:
    """Check a StorageOS volume."""
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace")
    problems = _needed(source, path, "volumeName")
    if name:
        problems += each(f"{path}.volumeName", name, label_problems(name))
    if namespace:
        problems += each(f"{path}.volumeNamespace", namespace, label_problems(namespace))
    if (secret := source.get("secretRef")) is not None:
        problems += _needed(secret, f"{path}.secretRef", "name")
    return problems
