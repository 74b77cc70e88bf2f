"""Server-side apply: merges what a manager applies, and updates the owners of fields."""

# apimachinery: pkg/util/managedfields/internal, structured-merge-diff: merge/update.go

from __future__ import annotations

import json
from typing import Any

import msgspec

from mooring.api.go_format import go_json, json_type
from mooring.apiserver.patch.field_set import FieldSet, path_text
from mooring.apiserver.patch.managed import (
    APPLY,
    UPDATE,
    Manager,
    Managers,
    Owned,
    empty_object,
    manager_of,
    read_managers,
    set_managers,
    strip,
    take_over,
    without_managers,
)
from mooring.apiserver.patch.typed import (
    TypedError,
    compare,
    field_set,
    merge,
    problems,
    remove,
    with_named_fields,
)
from mooring.apiserver.refusals import Refusal, bad_request, failure
from mooring.apiserver.schema.canonical import DecodeError, Object, plain
from mooring.apiserver.schema.decoding import duplicates, parse_json, parse_yaml
from mooring.controlplane.type_table import STRUCT, StructType, TypeKind

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_FIRST_APPLY = "before-first-apply"
_KUBECTL = "kubectl"


class Applied(msgspec.Struct):
    """The result of an apply."""

    #: The merged object, which still has to be decoded, defaulted and validated.
    object: Object
    #: Written into the object after that by `finish_apply`: defaulted fields have no owner.
    managers: Managers


def read_apply_patch(data: bytes) -> Object:
    """Parse the body of an apply, which is YAML or JSON; refuse a malformed one."""
    try:
        value = parse_json(data) if data.lstrip()[:1] in (b"{", b"[") else parse_yaml(data)
    except DecodeError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
        )
    return value


def strict_apply_error(patch: Object) -> str | None:
    """Return the error message for an apply with duplicate fields, None if there are none."""
    found = duplicates(patch)
    if not found:
        return None
    names = [
        text.removeprefix('duplicate field "').rstrip('"').rpartition(".")[2] for text in found
    ]
    lines = "\n".join(f'  line 1: key "{name}" already set in map' for name in names)
    return (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        f"{lines}"
    )


def apply(
    type: StructType,
    live: Object | None,
    patch: Object,
    *,
    manager: str,
    version: str,
    kind: str,
    now: str,
    force: bool = False,
    subresource: str = "",
    reset: FieldSet | None = None,
) -> Applied:
    """Apply a patch to a stored object, or create a new one if `live` is None.

    `version` and `kind` are those of the request's path. Conflicts with other managers are refused
    (409) unless `force` is set.
    """
    patch = plain(patch)
    _check_patch(patch, version, kind)
    request = _Request(TypeKind(STRUCT, type=type), version, now, reset or FieldSet())
    stored = live if live is not None else empty_object(type)
    managers = read_managers(stored.get("metadata", {}).get("managedFields"))
    if managers is None:
        raise failure("failed to decode managed fields: invalid entry")
    found = problems(request.kind, patch)
    if found:
        text = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise failure(f"failed to create typed patch object ({_describe(patch)}): {text}")
    before = {**without_managers(stored), "apiVersion": version, "kind": kind}
    if not managers:
        managers = _before_first(request, type, before)
    identity = manager_of(manager, APPLY, version, subresource)
    try:
        return _apply(request, before, patch, managers, identity, manager, force)
    except TypedError as error:
        raise failure(f"failed to merge config: {error}") from None


def _check_patch(patch: Object, version: str, kind: str) -> None:
    given_version, given_kind = patch.get("apiVersion") or "", patch.get("kind") or ""
    if (given_version, given_kind) != (version, kind):
        group, _, last = str(given_version).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{last}, Kind={given_kind}")
    metadata = patch.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")


def _describe(patch: Object) -> str:
    metadata = patch.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    return f"{namespace}/{name}; {_group_version(patch)}, Kind={patch.get('kind', '')}"


def _group_version(patch: Object) -> str:
    version = str(patch.get("apiVersion", ""))
    return version if "/" in version else f"/{version}"


class _Request(msgspec.Struct, frozen=True):
    """The kind and version that an apply is in, its time, and the fields that it does not own."""

    kind: TypeKind
    version: str
    now: str
    reset: FieldSet


def _before_first(request: _Request, type: StructType, stored: Object) -> Managers:
    """Return a `before-first-apply` manager that owns all fields of an untracked object."""
    comparison = compare(request.kind, empty_object(type), stored).without(request.reset)
    identity = manager_of(BEFORE_FIRST_APPLY, UPDATE, request.version)
    fields = comparison.modified.union(comparison.added)
    managers: Managers = {identity: Owned(fields, request.version, request.now)}
    strip(managers, identity)
    return managers


def _apply(
    request: _Request,
    before: Object,
    patch: Object,
    managers: Managers,
    identity: Manager,
    name: str,
    force: bool,
) -> Applied:
    merged = merge(request.kind, before, patch)
    last = managers.get(identity)
    fields = field_set(request.kind, patch).without(request.reset)
    managers = {**managers, identity: Owned(fields, request.version, last.time if last else None)}
    merged = _prune(request.kind, merged, managers, last)
    comparison = compare(request.kind, before, merged).without(request.reset)
    managers, conflicts = take_over(managers, comparison, identity)
    if conflicts and not force:
        if name == _KUBECTL:
            allowed = _last_applied_fields(request.kind, before)
            left = {other: taken.difference(allowed) for other, taken in conflicts.items()}
            conflicts = {other: taken for other, taken in left.items() if not taken.empty()}
        if conflicts:
            raise _conflict(conflicts)
    if merged != before:
        managers[identity] = Owned(fields, request.version, request.now)
    strip(managers, identity)
    if name == _KUBECTL:
        _renew_last_applied(merged, patch)
    return Applied(plain(merged), managers)


def _prune(kind: TypeKind, merged: Object, managers: Managers, last: Owned | None) -> Object:
    """Remove the fields that the manager applied last time and that nobody owns now."""
    if last is None or last.fields.empty():
        return merged
    named = with_named_fields(kind, last.fields)
    pruned = remove(kind, merged, named) or {}
    owned = FieldSet()
    for one in managers.values():
        owned = owned.union(one.fields)
    whole = with_named_fields(kind, field_set(kind, merged))
    kept = with_named_fields(kind, field_set(kind, pruned)).union(with_named_fields(kind, owned))
    pruned = remove(kind, merged, whole.difference(kept)) or {}
    left = with_named_fields(kind, field_set(kind, pruned))
    result: Object = remove(kind, merged, whole.difference(left).intersection(named)) or {}
    return result


def _last_applied_fields(kind: TypeKind, before: Object) -> FieldSet:
    """Return the fields that client-side apply set and that have not changed since."""
    annotations = before.get("metadata", {}).get("annotations") or {}
    try:
        last = json.loads(annotations.get(LAST_APPLIED) or "")
    except ValueError:
        return FieldSet()
    if not isinstance(last, dict) or last.get("apiVersion") != before.get("apiVersion"):
        return FieldSet()
    if problems(kind, last):
        return FieldSet()
    difference = compare(kind, last, before)
    fields = field_set(kind, last).difference(difference.modified)
    return fields.difference(difference.added).difference(difference.removed)


def _renew_last_applied(merged: Any, patch: Object) -> None:
    """Update the annotation of client-side apply, if there is one."""
    metadata = merged.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    applied = plain(patch)
    inner = applied.get("metadata", {}).get("annotations")
    if isinstance(inner, dict):
        inner.pop(LAST_APPLIED, None)
    text = go_json(_sorted(applied)) + "\n"
    merged["metadata"] = {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _manager_text(identity: Manager) -> str:
    name, operation, version, subresource = identity
    text = go_json(name)
    if subresource:
        text += f" with subresource {go_json(subresource)}"
    return f"{text} using {version}" if operation == UPDATE else text


def _identity_text(identity: Manager) -> str:
    """Return the JSON by which Go sorts managers."""
    name, operation, version, subresource = identity
    entry = {"manager": name, "operation": operation}
    if version:
        entry["apiVersion"] = version
    if subresource:
        entry["subresource"] = subresource
    return go_json(entry)


def _conflict(conflicts: dict[Manager, FieldSet]) -> Refusal:
    """Return the refusal (409) of an apply that conflicts with other managers."""
    listed = [
        (identity, path_text(path))
        for identity in sorted(conflicts, key=_identity_text)
        for path in conflicts[identity].paths()
    ]
    if len(listed) == 1:
        identity, path = listed[0]
        message = f"Apply failed with 1 conflict: conflict with {_manager_text(identity)}: {path}"
    else:
        lines: list[str] = []
        for identity in sorted(conflicts, key=_identity_text):
            lines.append(f"conflicts with {_manager_text(identity)}:")
            lines += [f"- {path}" for other, path in listed if other == identity]
        message = f"Apply failed with {len(listed)} conflicts: " + "\n".join(lines)
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_manager_text(identity)}",
            "field": path,
        }
        for identity, path in listed
    ]
    return Refusal(409, "Conflict", message, {"causes": causes})


def finish_apply(document: Object, managers: Managers) -> None:
    """Write the managers of an apply into the resulting object."""
    set_managers(document, managers)
