"""The volumes of a pod."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateVolumes)

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation import disks
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.file_paths import check_mode, local_path, no_backsteps
from mooring.apiserver.validation.formats import label_problems, subdomain_problems
from mooring.apiserver.validation.trust_bundles import (
    check_bundle_projection,
    check_certificate_projection,
    projected_paths,
)
from mooring.apiserver.validation.variables import VOLUME_FIELDS, field_selector, resource_selector
from mooring.apiserver.validation.volume_claims import check_claim_template

ONE_TYPE = "may not specify more than 1 volume type"
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)

# In the order in which the API server checks them.
_SOURCES = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
# The API server's names of some sources in the message about a second source (sic).
_NAMED = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def check_volumes(
    volumes: Sequence[Object] | None, path: str, pod_name: str
) -> tuple[dict[str, Object], list[FieldError]]:
    """Check volumes; return the valid ones by name, and the problems of the others."""
    good: dict[str, Object] = {}
    problems: list[FieldError] = []
    created = {
        f"{pod_name}-{volume['name']}"
        for volume in volumes or ()
        if pod_name and volume.get("ephemeral") is not None
    }
    for i, volume in enumerate(volumes or ()):
        where, name = f"{path}[{i}]", volume["name"]
        found = check_source(volume, where)
        if name and pod_name and volume.get("ephemeral") is not None:
            claim_name = f"{pod_name}-{name}"
            found += [
                invalid(f"{where}.name", name, f'PVC name "{claim_name}": {why}')
                for why in subdomain_problems(claim_name)
            ]
        if not name:
            found.append(required(f"{where}.name"))
        else:
            found += each(f"{where}.name", name, label_problems(name))
        if name in good:
            found.append(duplicate(f"{where}.name", name))
        if found:
            problems += found
        else:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            problems.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim, why))
    return good, problems


def check_source(volume: Object, path: str) -> list[FieldError]:
    """Check that a volume has exactly one source, and that the source is valid."""
    problems: list[FieldError] = []
    count = 0
    for name in _SOURCES:
        source = volume.get(name)
        if source is None:
            continue
        if count:
            problems.append(forbidden(f"{path}.{_NAMED.get(name, name)}", ONE_TYPE))
            continue
        count += 1
        problems += check_one_source(name, source, f"{path}.{name}")
    if not count:
        problems.append(required(path, "must specify a volume type"))
    return problems


def check_one_source(name: str, source: Object, path: str) -> list[FieldError]:
    """Check a source by its name."""
    check = _CHECKS.get(name)
    return check(source, path) if check is not None else []


def _needs(*names: str) -> Callable[[Object, str], list[FieldError]]:
    def check(source: Object, path: str) -> list[FieldError]:
        return [required(f"{path}.{name}") for name in names if not source.get(name)]

    return check


def _image(source: Object, path: str) -> list[FieldError]:
    problems = _needs("reference")(source, path)
    policy, policies = source.get("pullPolicy"), ("Always", "IfNotPresent", "Never")
    if policy and policy not in policies:
        problems.append(not_supported(f"{path}.pullPolicy", policy, policies))
    return problems


def _empty_dir(source: Object, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and parse_nanos(limit) < 0:
        why = "SizeLimit field must be a valid resource quantity"
        return [forbidden(f"{path}.sizeLimit", why)]
    return []


def host_path(source: Object, path: str) -> list[FieldError]:
    """Check a hostPath source: a path on the node."""
    if not source["path"]:
        return [required(f"{path}.path")]
    problems = no_backsteps(source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        problems.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return problems


def nfs(source: Object, path: str) -> list[FieldError]:
    """Check an NFS share."""
    problems = _needs("server", "path")(source, path)
    if not source["path"].startswith("/"):
        problems.append(invalid(f"{path}.path", source["path"], "must be an absolute path"))
    return problems


def _items(source: Object, path: str) -> list[FieldError]:
    problems = check_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for i, item in enumerate(source.get("items") or ()):
        problems += _key_to_path(item, f"{path}.items[{i}]")
    return problems


def _key_to_path(item: Object, path: str) -> list[FieldError]:
    problems = _needs("key", "path")(item, path)
    problems += local_path(item["path"], f"{path}.path")
    return problems + check_mode(item.get("mode"), f"{path}.mode")


def _secret(source: Object, path: str) -> list[FieldError]:
    return _needs("secretName")(source, path) + _items(source, path)


def _config_map(source: Object, path: str) -> list[FieldError]:
    return _needs("name")(source, path) + _items(source, path)


def _downward(source: Object, path: str) -> list[FieldError]:
    problems = check_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        problems += _downward_file(item, path)
    return problems


def _downward_file(item: Object, path: str) -> list[FieldError]:
    problems = _needs("path")(item, path)
    problems += local_path(item["path"], f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        problems += field_selector(field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            why = "fieldRef and resourceFieldRef can not be specified simultaneously"
            problems.append(invalid(path, "resource", why))
    elif resource is not None:
        problems += resource_selector(resource, f"{path}.resourceFieldRef", volume=True)
    else:
        problems.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return problems + check_mode(item.get("mode"), f"{path}.mode")


def _projected(source: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    paths: set[str] = set()
    for i, item in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{i}]"
        given = [name for name in _PROJECTIONS if item.get(name) is not None]
        for name in given:
            problems += _PROJECTIONS[name](item[name], f"{where}.{name}")
            if name == "serviceAccountToken":
                problems += _token_path(item[name], path)
            for file in projected_paths(item[name]) if name in _CERTIFICATES else ():
                if file in paths:
                    problems.append(invalid(path, file, "conflicting duplicate paths"))
                paths.add(file)
            for file in item[name].get("items") or ():
                if file["path"] and file["path"] in paths:
                    shown = file["path"] if name == "downwardAPI" else item[name].get("name")
                    problems.append(invalid(path, shown, "conflicting duplicate paths"))
                paths.add(file["path"])
        if len(given) > 1:
            problems.append(forbidden(where, f"{ONE_TYPE} per source"))
    return problems + check_mode(source.get("defaultMode"), f"{path}.defaultMode")


def _token(source: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seconds = source.get("expirationSeconds")
    where = f"{path}.expirationSeconds"
    if seconds is not None and seconds < 600:
        problems.append(invalid(where, seconds, "may not specify a duration less than 10 minutes"))
    elif seconds is not None and seconds > 2**32:
        why = "may not specify a duration larger than 2^32 seconds"
        problems.append(invalid(where, seconds, why))
    return problems


def _token_path(source: Object, path: str) -> list[FieldError]:
    if not source["path"]:
        return [required(f"{path}.path")]
    return local_path(source["path"], f"{path}.path")


def csi_driver_name(name: str, path: str) -> list[FieldError]:
    """Check the name of a CSI driver."""
    if not name:
        return [required(path)]
    problems: list[FieldError] = []
    if len(name) > 63:
        problems.append(too_long(path, 63))
    return problems + each(path, name, subdomain_problems(name.lower()))


def _csi(source: Object, path: str) -> list[FieldError]:
    problems = csi_driver_name(source["driver"], f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is not None and not secret.get("name"):
        problems.append(required(f"{path}.nodePublishSecretRef.name"))
    elif secret is not None:
        problems += each(f"{path}.name", secret["name"], subdomain_problems(secret["name"]))
    return problems


def _ephemeral(source: Object, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{path}.volumeClaimTemplate")]
    return check_claim_template(template, f"{path}.volumeClaimTemplate")


_PROJECTIONS: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "secret": lambda source, path: _needs("name")(source, path) + _items(source, path),
    "configMap": lambda source, path: _needs("name")(source, path) + _items(source, path),
    "downwardAPI": _downward,
    "serviceAccountToken": _token,
    "clusterTrustBundle": check_bundle_projection,
    "podCertificate": check_certificate_projection,
}
_CERTIFICATES = ("clusterTrustBundle", "podCertificate")
_CHECKS: dict[str, Callable[[Object, str], list[FieldError]]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "gitRepo": _needs("repository"),
    "gcePersistentDisk": disks.google_disk,
    "awsElasticBlockStore": disks.amazon_disk,
    "secret": _secret,
    "nfs": nfs,
    "iscsi": disks.iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": disks.flocker,
    "quobyte": disks.quobyte,
    "fc": disks.fibre_channel,
    "storageos": disks.storage_os,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": disks.cinder,
    "cephfs": _needs("monitors"),
    "downwardAPI": _downward,
    "flexVolume": _needs("driver"),
    "configMap": _config_map,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": disks.azure_disk,
    "projected": _projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
