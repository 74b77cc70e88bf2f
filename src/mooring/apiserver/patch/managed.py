"""Field ownership: the entries of metadata.managedFields, and how requests change them.

A manager is identified by its name, its operation (Apply or Update), the subresource that it writes
and, for Update, the API version that it uses.
"""

# apimachinery: pkg/util/managedfields/internal, structured-merge-diff: merge/update.go

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from mooring.apiserver.patch.field_set import FieldSet
from mooring.apiserver.patch.typed import Comparison, TypedError, compare
from mooring.apiserver.schema.canonical import Object, zero
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.controlplane.type_table import STRUCT, StructType, TypeKind

APPLY = "Apply"
UPDATE = "Update"
ANCIENT_CHANGES = "ancient-changes"
MOST_UPDATE_MANAGERS = 10

# Fields that no manager owns: they identify an object, or the server sets them.
_STRIPPED = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)

_STATUS_RESETS = {
    "Pod": (
        ("f:spec",),
        ("f:metadata", "f:deletionTimestamp"),
        ("f:metadata", "f:ownerReferences"),
    ),
    "Deployment": (("f:spec",), ("f:metadata", "f:labels")),
    "PodGroup": (("f:metadata",), ("f:spec",)),
    "CompositePodGroup": (("f:metadata",), ("f:spec",)),
    "CustomResourceDefinition": (("f:metadata",), ("f:spec",)),
}

#: Name, operation, API version ("" for Apply) and subresource.
Manager = tuple[str, str, str, str]


class Owned(msgspec.Struct, frozen=True):
    """The fields that one manager owns."""

    fields: FieldSet
    #: The manager's API version.
    version: str
    #: When it last changed them.
    time: str | None
    #: The FieldsV1 to write back as it is, None if it has to be computed from `fields`.
    written: Object | None = None


Managers = dict[Manager, Owned]


def manager_of(name: str, operation: str, version: str, subresource: str = "") -> Manager:
    """Return the identity of a manager."""
    return (name or "unknown", operation, "" if operation == APPLY else version, subresource)


@lru_cache(maxsize=256)
def manager_from_user_agent(agent: str) -> str:
    """Return the manager's name for a request without one: the program in its user agent."""
    # apiserver: pkg/endpoints/handlers/create.go
    kept = ""
    for character in agent.split("/")[0]:
        if character.isprintable():
            if len((kept + character).encode()) > 128:
                break
            kept += character
    return kept


def reset_fields(kind: str, has_status: bool, subresource: str) -> FieldSet:
    """Return the fields that a request to a resource or its status cannot set."""
    if subresource == "status":
        return FieldSet.of(*_STATUS_RESETS.get(kind, (("f:spec",),)))
    if subresource or not has_status:
        return FieldSet()
    return FieldSet.of(("f:status",))


def custom_reset_fields(kind: CustomKind, subresource: str) -> FieldSet:
    """Return the fields that a request to a custom resource or its status cannot set."""
    # apiextensions-apiserver: pkg/registry/customresource/{strategy,status_strategy}.go
    has_status = kind.subresources.get("status") is not None
    if subresource == "status":
        return FieldSet.of(*((f"f:{name}",) for name in kind.type.fields if name != "status"))
    return FieldSet.of(("f:status",)) if has_status and not subresource else FieldSet()


def read_managers(entries: Any, *, ours: bool = False) -> Managers | None:
    """Return the managers in metadata.managedFields, None if an entry is malformed.

    Set `ours` for entries that `write_managers` made: their FieldsV1 is written back unchanged.
    """
    managers: Managers = {}
    for entry in entries or ():
        if not isinstance(entry, dict):
            return None
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in (APPLY, UPDATE) or not version:
            return None
        if entry.get("fieldsType") != "FieldsV1":
            return None
        identity = manager_of(
            entry.get("manager", ""), operation, version, entry.get("subresource", "")
        )
        written = entry.get("fieldsV1")
        fields = FieldSet.from_fields(written)
        managers[identity] = Owned(fields, version, entry.get("time"), written if ours else None)
    return managers


def write_managers(managers: Managers) -> list[Object]:
    """Return metadata.managedFields: Apply entries first, then by time."""
    entries = []
    for (name, operation, _, subresource), owned in managers.items():
        entry: Object = {"manager": name, "operation": operation, "apiVersion": owned.version}
        if owned.time is not None:
            entry["time"] = owned.time
        entry["fieldsType"] = "FieldsV1"
        entry["fieldsV1"] = owned.written or owned.fields.to_fields()
        if subresource:
            entry["subresource"] = subresource
        entries.append(entry)
    entries.sort(
        key=lambda entry: (
            entry["operation"],
            entry.get("time", ""),
            entry["manager"],
            entry["apiVersion"],
            entry.get("subresource", ""),
        )
    )
    return entries


def set_managers(document: Object, managers: Managers) -> None:
    """Write managers into an object's metadata."""
    metadata = document["metadata"]
    metadata.pop("managedFields", None)
    if managers:
        metadata["managedFields"] = write_managers(managers)


def without_managers(document: Object) -> Object:
    """Return an object without its managedFields; everything else is shared with the argument."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**document, "metadata": kept}


def strip(managers: Managers, identity: Manager) -> None:
    """Remove the never-owned fields (`_STRIPPED`) from a manager; drop it if none is left."""
    if (owned := managers.get(identity)) is not None:
        fields = owned.fields.difference(_STRIPPED)
        if fields.empty():
            del managers[identity]
        else:
            managers[identity] = msgspec.structs.replace(owned, fields=fields, written=None)


def take_over(
    managers: Managers, comparison: Comparison, identity: Manager | None
) -> tuple[Managers, dict[Manager, FieldSet]]:
    """Return the managers after a change, and its conflicts: the fields it takes from others."""
    touched = comparison.modified.union(comparison.added)
    conflicts: dict[Manager, FieldSet] = {}
    result: Managers = {}
    for other, owned in managers.items():
        if other == identity:
            result[other] = owned
            continue
        taken = owned.fields.intersection(touched)
        if taken.empty() and comparison.removed.empty():
            result[other] = owned
            continue
        if not taken.empty():
            conflicts[other] = taken
        fields = owned.fields.difference(taken).difference(comparison.removed)
        if not fields.empty():
            result[other] = msgspec.structs.replace(owned, fields=fields, written=None)
    return result, conflicts


def update_managers(
    type: StructType,
    live: Object | None,
    document: Object,
    *,
    manager: str,
    version: str,
    now: str,
    subresource: str = "",
    reset: FieldSet | None = None,
) -> None:
    """Record in an object's managedFields what a create, update or patch changed.

    `live` is the stored object, None for a create; `document` is the new object, after defaulting
    and before admission, whose managedFields are set. `now` is a time to the second. `reset` are
    the fields that the request cannot set (see `reset_fields`).
    """
    kind = TypeKind(STRUCT, type=type)
    before = live if live is not None else empty_object(type)
    managers = _live_or_new(before, document, bool(subresource))
    if not managers and live is not None:
        # The object has no managers, and only an apply starts tracking.
        set_managers(document, {})
        return
    reset = reset or FieldSet()
    try:
        comparison = compare(kind, without_managers(before), without_managers(document))
    except TypedError:
        set_managers(document, {})
        return
    comparison = comparison.without(reset)
    managers, _ = take_over(managers, comparison, None)
    fields = comparison.modified.union(comparison.added).difference(_STRIPPED)
    if not fields.empty():
        identity = manager_of(manager, UPDATE, version, subresource)
        if (previous := managers.get(identity)) is not None:
            fields = fields.union(previous.fields)
        managers[identity] = Owned(fields, version, now)
    set_managers(document, _capped(managers))


def empty_object(type: StructType) -> Object:
    """Return the JSON of a new, empty Go struct of a type."""
    return {field.name: zero(field.kind) for field in type.always}


def _live_or_new(live: Object, document: Object, subresource: bool) -> Managers:
    """Return the managers before the change: the request's if it sets any, else the stored ones."""
    stored = live.get("metadata", {}).get("managedFields")
    if not subresource:
        given = document.get("metadata", {}).get("managedFields")
        if given is not None and (given == [] or given == [{}]):
            return {}
        if given != stored and (found := read_managers(given)):
            return found
    return read_managers(stored, ours=True) or {}


def _capped(managers: Managers) -> Managers:
    """Merge the oldest Update managers if there are too many."""
    updaters = sorted(
        (identity for identity in managers if identity[1] == UPDATE),
        key=lambda identity: (managers[identity].time or "", identity),
    )
    first: dict[str, Manager] = {}
    left = len(updaters)
    for identity in updaters:
        if left <= MOST_UPDATE_MANAGERS:
            break
        owned = managers[identity]
        version = owned.version
        if version not in first:
            first[version] = identity
            continue
        bucket = manager_of(ANCIENT_CHANGES, UPDATE, version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first[version])
        merged = managers[bucket].fields.union(owned.fields)
        managers[bucket] = Owned(merged, version, owned.time)
        del managers[identity]
        left -= 1
    return managers
