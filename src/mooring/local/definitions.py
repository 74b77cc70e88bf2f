"""Custom resource definitions: their names, their conditions, and what they serve."""

# apiextensions-apiserver: pkg/controller/{status,establish}

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.local.cluster import Cluster
from mooring.local.resources import custom_resource, version_rank
from mooring.local.schema.custom import CustomKind, custom_kinds
from mooring.local.validation.problems import Problem, invalid

Object = dict[str, Any]

RESOURCE = "apiextensions.k8s.io/customresourcedefinitions"


def prepare(cluster: Cluster, definition: Object) -> None:
    """Complete a definition's names and say that it is established."""
    spec = definition["spec"]
    names = spec.setdefault("names", {})
    accepted = dict(names)
    stored = [one["name"] for one in spec.get("versions") or () if one.get("storage")]
    before = definition.get("status") or {}
    now = cluster.timestamp()
    definition["status"] = {
        "conditions": before.get("conditions")
        or [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
            _condition(
                "Established", "InitialNamesAccepted", "the initial names have been accepted", now
            ),
        ],
        "acceptedNames": accepted,
        "storedVersions": sorted({*(before.get("storedVersions") or ()), *stored}),
    }


def _condition(type: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": type,
        "status": "True",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def check_scale(custom: CustomKind, obj: Object) -> Iterator[Problem]:
    """Yield what is wrong with the replicas of a custom resource that scales."""
    # apiextensions-apiserver: pkg/registry/customresource/validator.go, ValidateScaleSpec
    scale = custom.subresources.get("scale") or {}
    for name in ("specReplicasPath", "statusReplicasPath"):
        path = str(scale.get(name) or "")
        found: Any = obj if path else None
        for step in path.lstrip(".").split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if found is None:
            continue
        if not isinstance(found, int) or isinstance(found, bool):
            what = {str: "string", bool: "bool", float: "float64"}.get(type(found), "object")
            why = f"{path} accessor error: {found} is of the type {what}, expected int64"
            yield invalid(path, 0, why)
        elif found < 0:
            yield invalid(path, found, "should be a non-negative integer")


def serve(cluster: Cluster, definition: Object) -> None:
    """Serve what a definition defines, in place of what it defined before."""
    spec = definition["spec"]
    cluster.catalogue.remove(spec["group"], spec["names"]["plural"])
    for custom in custom_kinds(definition):
        served = custom_resource(custom)
        served.warning = _warning(spec, custom)
        cluster.catalogue.add(served)


def _warning(spec: Object, custom: CustomKind) -> str:
    """Return what clients of a deprecated version are told."""
    # apiextensions-apiserver: pkg/apiserver/customresource_handler.go
    version = next(one for one in spec["versions"] if one["name"] == custom.version)
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    text = f"{custom.group_version} {custom.kind} is deprecated"
    better = [
        one["name"]
        for one in spec["versions"]
        if one.get("served")
        and not one.get("deprecated")
        and version_rank(one["name"]) < version_rank(custom.version)
    ]
    if better:
        text += f"; use {custom.group}/{min(better, key=version_rank)} {custom.kind}"
    return text


def withdraw(cluster: Cluster, definition: Object) -> None:
    """Serve a definition's resources no more, and forget their objects."""
    spec = definition["spec"]
    group, plural = spec["group"], spec["names"]["plural"]
    place = f"{group}/{plural}"
    for stored in list(cluster.store.items(place)):
        cluster.store.delete(place, stored.key)
    cluster.catalogue.remove(group, plural)


def load(cluster: Cluster) -> None:
    """Serve the definitions that are stored."""
    for stored in list(cluster.store.items(RESOURCE)):
        serve(cluster, stored.object)
