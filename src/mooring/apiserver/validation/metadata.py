"""Checks of every object's metadata: name, labels, annotations, owners and finalizers."""

# apimachinery: pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/validation/validation.go

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mooring.api.field_errors import (
    FieldError,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    show,
    too_long,
)
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.formats import (
    label_key_problems,
    label_problems,
    label_value_problems,
    path_segment_problems,
    subdomain_problems,
)

NameCheck = Callable[[str], list[str]]

_ANNOTATIONS_MAX = 256 * 1024
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_OPERATIONS = ("Apply", "Update")
_STANDARD_FINALIZERS = ("kubernetes", _ORPHAN, _FOREGROUND)
NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"

_PATH_NAMES = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})


def name_check(kind: str) -> NameCheck:
    """Return the check for the names of a kind."""
    return path_segment_problems if kind in _PATH_NAMES else subdomain_problems


def check_metadata(
    metadata: Object, namespaced: bool, check: NameCheck, path: str = "metadata"
) -> list[FieldError]:
    """Check the metadata of a new object."""
    problems: list[FieldError] = []
    if prefix := metadata.get("generateName"):
        # A prefix may end in a hyphen, because the server appends a suffix to it.
        masked = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        problems += each(f"{path}.generateName", prefix, check(masked))
    name = metadata.get("name")
    if not name:
        problems.append(required(f"{path}.name", "name or generateName is required"))
    else:
        problems += each(f"{path}.name", name, check(name))
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            problems.append(required(f"{path}.namespace"))
        else:
            problems += each(f"{path}.namespace", namespace, label_problems(namespace))
    elif namespace:
        problems.append(forbidden(f"{path}.namespace", "not allowed on this type"))
    problems += check_labels(metadata.get("labels"), f"{path}.labels")
    problems += check_annotations(metadata.get("annotations"), f"{path}.annotations")
    problems += check_owners(metadata.get("ownerReferences"), f"{path}.ownerReferences")
    problems += check_finalizers(metadata.get("finalizers"), f"{path}.finalizers")
    problems += check_managed_fields(metadata.get("managedFields"), f"{path}.managedFields")
    return problems


def check_kube_finalizers(metadata: Object) -> list[FieldError]:
    """Check the finalizers of built-in kinds, which must be qualified or well known."""
    # kubernetes: pkg/apis/core/validation/validation.go (ValidateFinalizerName)
    return [
        invalid(f"metadata.finalizers[{i}]", name, NOT_QUALIFIED)
        for i, name in enumerate(metadata.get("finalizers") or ())
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def check_metadata_update(new: Object, old: Object, path: str = "metadata") -> list[FieldError]:
    """Check the metadata of an updated object."""
    problems: list[FieldError] = []
    if old.get("deletionTimestamp"):
        before = set(old.get("finalizers") or ())
        extra = sorted(set(new.get("finalizers") or ()) - before)
        if extra:
            listed = f"[]string{{{', '.join(map(show, extra))}}}"
            why = (
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers {listed}"
            )
            problems.append(forbidden(f"{path}.finalizers", why))
    if not new.get("resourceVersion"):
        why = "must be specified for an update"
        problems.append(invalid(f"{path}.resourceVersion", "", why))
    for name in ("name", "namespace", "uid"):
        problems += immutable(f"{path}.{name}", new.get(name) or "", old.get(name) or "")
    for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        problems += immutable(f"{path}.{name}", new.get(name), old.get(name))
    problems += check_labels(new.get("labels"), f"{path}.labels")
    problems += check_annotations(new.get("annotations"), f"{path}.annotations")
    problems += check_owners(new.get("ownerReferences"), f"{path}.ownerReferences")
    problems += check_managed_fields(new.get("managedFields"), f"{path}.managedFields")
    return problems


def check_labels(labels: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """Check labels: keys must be qualified names, values have at most 63 characters."""
    problems: list[FieldError] = []
    for key, value in (labels or {}).items():
        problems += each(path, key, label_key_problems(key))
        problems += each(path, value, label_value_problems(value))
    return problems


def check_annotations(annotations: Mapping[str, str] | None, path: str) -> list[FieldError]:
    """Check annotations: keys must be qualified names in any case; the total size is limited."""
    problems: list[FieldError] = []
    size = 0
    for key, value in (annotations or {}).items():
        problems += each(path, key, label_key_problems(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_MAX:
        problems.append(too_long(path, _ANNOTATIONS_MAX))
    return problems


def check_owners(owners: Sequence[Object] | None, path: str) -> list[FieldError]:
    """Check the owners of an object, at most one of which is its controller."""
    problems: list[FieldError] = []
    controller = ""
    for i, owner in enumerate(owners or ()):
        where = f"{path}[{i}]"
        problems += [
            required(f"{where}.{name}", "must not be empty")
            for name in ("apiVersion", "kind", "name", "uid")
            if not owner[name]
        ]
        version = owner["apiVersion"]
        if version and (version.endswith("/") or version.count("/") > 1):
            why = "must be <group>/<version> or <version>"
            problems.append(invalid(f"{where}.apiVersion", version, why))
        if (version, owner["kind"]) == ("v1", "Event"):
            why = "/v1, Kind=Event is disallowed from being an owner"
            problems.append(invalid(where, owner, why))
        if owner.get("controller"):
            this = f"{owner['kind']}/{owner['name']}"
            if controller:
                why = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {this}"
                )
                problems.append(invalid(path, list(owners or ()), why))
            else:
                controller = this
    return problems


def check_finalizers(finalizers: Sequence[str] | None, path: str) -> list[FieldError]:
    """Check the names of finalizers."""
    problems: list[FieldError] = []
    for finalizer in finalizers or ():
        problems += each(path, finalizer, label_key_problems(finalizer))
    if finalizers and _ORPHAN in finalizers and _FOREGROUND in finalizers:
        why = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        problems.append(invalid(path, list(finalizers), why))
    return problems


def check_managed_fields(entries: Sequence[Object] | None, path: str) -> list[FieldError]:
    """Check the entries of managedFields."""
    problems: list[FieldError] = []
    for i, entry in enumerate(entries or ()):
        where = f"{path}[{i}]"
        operation = entry.get("operation") or ""
        if not operation:
            problems.append(required(f"{where}.operation", "must not be empty"))
        elif operation not in _OPERATIONS:
            problems.append(not_supported(f"{where}.operation", operation, _OPERATIONS))
        if entry.get("fieldsType", "") not in ("", "FieldsV1"):
            problems.append(
                invalid(f"{where}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
            )
    return problems


def check_selector(
    selector: Object | None, path: str, *, invalid_values: bool = False
) -> list[FieldError]:
    """Check a label selector."""
    problems: list[FieldError] = []
    if selector is None:
        return problems
    problems += check_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{i}]"
        problems += _requirement(requirement, where, invalid_values)
    return problems


def _requirement(requirement: Object, path: str, invalid_values: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            problems.append(required(f"{path}.values", why))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            problems.append(forbidden(f"{path}.values", why))
    else:
        problems.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    problems += each(f"{path}.key", requirement["key"], label_key_problems(requirement["key"]))
    if not invalid_values:
        for i, value in enumerate(values):
            problems += each(f"{path}.values[{i}]", value, label_value_problems(value))
    return problems


def is_empty_selector(selector: Any) -> bool:
    """Return whether a selector selects everything."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


__all__ = [
    "check_annotations",
    "check_labels",
    "check_metadata",
    "check_metadata_update",
    "check_selector",
    "is_empty_selector",
    "name_check",
]
