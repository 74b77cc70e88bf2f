"""Persistent volumes."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidatePersistentVolume)

from __future__ import annotations

from mooring.api.field_errors import (
    FieldError,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.changes import difference, source_as_go
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.file_paths import no_backsteps
from mooring.apiserver.validation.formats import label_problems, subdomain_problems
from mooring.apiserver.validation.scheduling import check_node_selector
from mooring.apiserver.validation.volume_claims import VOLUME_MODES, check_access_modes
from mooring.apiserver.validation.volumes import ONE_TYPE, check_one_source, csi_driver_name

_SOURCES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def check_volume(volume: Object) -> list[FieldError]:
    """Check a persistent volume."""
    spec = volume["spec"]
    problems: list[FieldError] = []
    modes = spec.get("accessModes") or []
    if not modes:
        problems.append(required("spec.accessModes"))
    problems += check_access_modes(modes, "spec.accessModes")
    capacity = spec.get("capacity")
    if not capacity:
        problems.append(required("spec.capacity"))
    if not capacity or set(capacity) != {"storage"}:
        given = dict(sorted(capacity.items())) if capacity is not None else None
        problems.append(not_supported("spec.capacity", given, ("storage",)))
    for name, amount in (capacity or {}).items():
        if name == "storage" and parse_nanos(amount) <= 0:
            problems.append(invalid(f"spec.capacity[{name}]", amount, "must be greater than zero"))
    policy = spec.get("persistentVolumeReclaimPolicy")
    policies = ("Delete", "Recycle", "Retain")
    if policy and policy not in policies:
        problems.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, policies))
    problems += _volume_affinity(spec) + _volume_sources(spec)
    root = (spec.get("hostPath") or {}).get("path") == "/"
    if root and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        problems.append(forbidden("spec.persistentVolumeReclaimPolicy", why))
    if name := spec.get("storageClassName"):
        problems += each("spec.storageClassName", name, subdomain_problems(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        problems.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    where, attributes = "spec.volumeAttributesClassName", spec.get("volumeAttributesClassName")
    if attributes is not None:
        problems += each(where, attributes, subdomain_problems(attributes)) if attributes else []
        if not attributes:
            problems.append(required(where, "an empty string is disallowed"))
        if spec.get("csi") is None:
            why = "has to be specified when using volumeAttributesClassName"
            problems.append(required("spec.csi", why))
    return problems


def _volume_affinity(spec: Object) -> list[FieldError]:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return []
    if affinity.get("required") is None:
        why = "must specify required node constraints"
        return [required("spec.nodeAffinity.required", why)]
    return check_node_selector(affinity["required"], "spec.nodeAffinity.required")


def _volume_sources(spec: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    count = 0
    for name in _SOURCES:
        source = spec.get(name)
        if source is None:
            continue
        where = f"spec.{name}"
        # A FlexVolume as a further source is not refused.
        if count and name != "flexVolume":
            problems.append(forbidden("spec.cephFS" if name == "cephfs" else where, ONE_TYPE))
            continue
        count += 1
        if name == "csi":
            problems += csi_driver_name(source["driver"], f"{where}.driver")
            if not source["volumeHandle"]:
                problems.append(required(f"{where}.volumeHandle"))
            for secret in _SECRETS:
                if (reference := source.get(secret)) is not None:
                    problems += _secret(reference, f"{where}.{secret}")
        elif name != "local":
            problems += check_one_source(name, source, where)
        else:
            if not source["path"]:
                problems.append(required(f"{where}.path"))
            problems += no_backsteps(source["path"], f"{where}.path")
            if spec.get("nodeAffinity") is None:
                why = "Local volume requires node affinity"
                problems.append(required("spec.nodeAffinity", why))
    if not count:
        problems.append(required("spec", "must specify a volume type"))
    return problems


def _secret(reference: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field, check in (("name", subdomain_problems), ("namespace", label_problems)):
        value = reference.get(field)
        if not value:
            problems.append(required(f"{path}.{field}"))
        else:
            problems += each(f"{path}.{field}", value, check(value))
    return problems


def check_volume_update(volume: Object, old: Object) -> list[FieldError]:
    """Check an update of a persistent volume: its source may not change."""
    problems = check_volume(volume)
    new, before = volume["spec"], old["spec"]
    if any(new.get(name) != before.get(name) for name in _SOURCES):
        shown = difference(source_as_go(before), source_as_go(new))
        why = f"spec.persistentvolumesource is immutable after creation\n{shown}"
        problems.append(forbidden("spec.persistentvolumesource", why))
    problems += immutable("volumeMode", new.get("volumeMode"), before.get("volumeMode"))
    if before.get("nodeAffinity") is not None and new.get("nodeAffinity") != before["nodeAffinity"]:
        why = "field is immutable, except for updating from beta label to GA"
        problems.append(invalid("nodeAffinity", new.get("nodeAffinity"), why))
    return problems
