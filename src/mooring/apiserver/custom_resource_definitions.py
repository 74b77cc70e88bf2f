"""Custom resource definitions: their names, their conditions, and the resources they add."""

# apiextensions-apiserver: pkg/controller/{status,establish}

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mooring.api.field_errors import FieldError, invalid
from mooring.apiserver.resource_table import custom_resource, version_rank
from mooring.apiserver.schema.custom_schema import CustomKind, custom_kinds
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.definitions import approval_state

Object = dict[str, Any]

_APPROVAL = "KubernetesAPIApprovalPolicyConformant"
RESOURCE = "apiextensions.k8s.io/customresourcedefinitions"


def prepare(cluster: ServerState, definition: Object) -> None:
    """Set a definition's status: accepted names, stored versions and conditions."""
    spec = definition["spec"]
    names = spec.setdefault("names", {})
    before = definition.get("status") or {}
    stored = list(before.get("storedVersions") or ())
    stored += [
        one["name"]
        for one in spec.get("versions") or ()
        if one.get("storage") and one["name"] not in stored
    ]
    accepted, reason, message = _accept(cluster, definition, before.get("acceptedNames") or {})
    definition["status"] = {
        "conditions": [
            *_conditions(cluster, before.get("conditions") or (), reason, message),
            *_approval(cluster, definition, before.get("conditions") or ()),
        ],
        "acceptedNames": dict(names) if not reason else accepted,
        "storedVersions": stored,
    }


def prepare_dry_run(definition: Object) -> None:
    """Give a definition the status that it has before its names are checked."""
    versions = definition["spec"].get("versions") or ()
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [one["name"] for one in versions if one.get("storage")],
    }


def _accept(cluster: ServerState, definition: Object, had: Object) -> tuple[Object, str, str]:
    """Return the accepted names, and the reason and message of a conflict.

    A name is accepted if no other definition of the group has it.
    """
    # apiextensions-apiserver: pkg/controller/status/naming_controller.go
    spec = definition["spec"]
    others = [
        stored.object["status"].get("acceptedNames") or {}
        for stored in cluster.store.items(RESOURCE)
        if stored.object["spec"]["group"] == spec["group"]
        and stored.key != definition["metadata"].get("name")
    ]
    kinds = {one.get(name) for one in others for name in ("kind", "listKind")}
    resources = {one.get(name) for one in others for name in ("plural", "singular")}
    resources |= {short for one in others for short in one.get("shortNames") or ()}
    names, reason, message = spec["names"], "", ""
    accepted = dict(had)
    for field in ("plural", "singular", "shortNames", "kind", "listKind"):
        wanted = names.get(field)
        taken = kinds if field in ("kind", "listKind") else resources
        clashes = [
            one
            for one in (wanted if isinstance(wanted, list) else [wanted])
            if one and one in taken and wanted != had.get(field)
        ]
        if clashes:
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            message = f'"{clashes[0]}" is already in use'
        elif wanted:
            accepted[field] = wanted
    if names.get("categories"):
        accepted["categories"] = names["categories"]
    return accepted, reason, message


def _conditions(
    cluster: ServerState, before: Iterable[Object], reason: str, message: str
) -> list[Object]:
    now = cluster.timestamp()
    established = next((one for one in before if one["type"] == "Established"), None)
    others = [
        one for one in before if one["type"] not in ("NamesAccepted", "Established", _APPROVAL)
    ]
    if reason:
        named = _condition("NamesAccepted", "False", reason, message, now)
        why = "not all names are accepted"
        fresh = _condition("Established", "False", "NotAccepted", why, now)
        return [named, established or fresh, *others]
    named = _condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    why = "the initial names have been accepted"
    fresh = _condition("Established", "True", "InitialNamesAccepted", why, now)
    if established is not None and established["status"] == "True":
        fresh = established
    old = next((one for one in before if one["type"] == "NamesAccepted"), None)
    if old is not None and old["status"] == "True":
        named = old
    return [named, fresh, *others]


def _approval(cluster: ServerState, definition: Object, before: Iterable[Object]) -> list[Object]:
    """Return the condition of the API's approval, if the group is protected."""
    reason, message = approval_state(definition)
    if not reason:
        return []
    status = "True" if reason == "ApprovedAnnotation" else "False"
    fresh = _condition(_APPROVAL, status, reason, message, cluster.timestamp())
    old = next((one for one in before if one["type"] == _APPROVAL), None)
    if old is not None and old["status"] == status:
        fresh["lastTransitionTime"] = old["lastTransitionTime"]
    return [fresh]


def _condition(type: str, status: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": type,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _is_established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def check_scale(custom: CustomKind, obj: Object) -> Iterator[FieldError]:
    """Yield the problems of the replica counts that a custom resource's scale subresource reads."""
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


def serve(cluster: ServerState, definition: Object) -> None:
    """Serve a definition's resources, unless they are built in.

    They replace those that it defined before.
    """
    spec = definition["spec"]
    if not _is_established(definition):
        return
    cluster.catalogue.remove(spec["group"], spec["names"]["plural"])
    for custom in custom_kinds(definition):
        served = custom_resource(custom)
        if cluster.catalogue.is_reserved(served.group, served.version, served.name):
            continue
        served.warning = _warning(spec, custom)
        cluster.catalogue.add(served)


def _warning(spec: Object, custom: CustomKind) -> str:
    """Return the warning for clients of a deprecated version, "" for other versions."""
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


def empty(cluster: ServerState, definition: Object) -> None:
    """Delete the objects of a definition's resources."""
    group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
    if _is_established(definition) and not cluster.catalogue.is_built_in(group, plural):
        place = f"{group}/{plural}"
        for stored in list(cluster.store.items(place)):
            cluster.store.delete(place, stored.key)


def withdraw(cluster: ServerState, definition: Object) -> None:
    """Stop serving a definition's resources."""
    if _is_established(definition):
        spec = definition["spec"]
        cluster.catalogue.remove(spec["group"], spec["names"]["plural"])


def load(cluster: ServerState) -> None:
    """Serve the resources of the stored definitions."""
    for stored in list(cluster.store.items(RESOURCE)):
        serve(cluster, stored.object)
