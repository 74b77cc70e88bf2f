"""What a version of a custom resource definition declares besides its schema."""

# apiextensions-apiserver: pkg/apis/apiextensions/validation/validation.go

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.apiserver.validation.field_problems import Object

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (*("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),)
_SIMPLE = re.compile(r"\.[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*", re.ASCII)
_WARNING_LENGTH = 256
SIMPLE_PATH = "must be a simple json path starting with ."
NO_FIELD = "is an invalid path: does not refer to a valid field"
NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with "
    "formats are allowed."
)


def check_parts(version: Object, path: str, shared: str) -> list[FieldError]:
    """Check a version; `shared` is the path in messages: "spec" if it is the only version."""
    problems: list[FieldError] = []
    warning = version.get("deprecationWarning")
    if warning is not None:
        where = f"{path}.deprecationWarning"
        if not version.get("deprecated"):
            why = "can only be set for deprecated versions"
            problems.append(invalid(where, warning, why))
        if not warning:
            problems.append(invalid(where, warning, "must not be an empty string"))
        elif len(warning) > _WARNING_LENGTH:
            why = f"must be <= {_WARNING_LENGTH} characters long"
            problems.append(invalid(where, warning, why))
    for i, column in enumerate(version.get("additionalPrinterColumns") or ()):
        problems += _column(column, f"{shared}.additionalPrinterColumns[{i}]")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        problems += _scale(scale, f"{shared}.subresources.scale")
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    fields = version.get("selectableFields") or ()
    return problems + _selectable(fields, schema, f"{shared}.selectableFields")


def check_extensions(schema: Mapping[str, Any], path: str) -> list[FieldError]:
    """Check the x-kubernetes extensions of a schema, which go beyond JSON schema."""
    kind = schema.get("type") or ""
    problems: list[FieldError] = []
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        problems.append(forbidden(f"{path}.uniqueItems", why))
    for extension, wanted, known in (
        ("x-kubernetes-map-type", "object", ("atomic", "granular")),
        ("x-kubernetes-list-type", "array", ("atomic", "set", "map")),
    ):
        given = schema.get(extension)
        if given is None:
            continue
        if kind != wanted:
            problems += _must_be(kind, wanted, f"{extension} is specified", path)
        if given not in known:
            problems.append(not_supported(f"{path}.{extension}", given, known))
    lists = schema.get("x-kubernetes-list-type")
    if schema.get("x-kubernetes-list-map-keys") and lists != "map":
        where = f"{path}.x-kubernetes-list-type"
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        problems.append(required(where, why) if lists is None else invalid(where, lists, why))
    if schema.get("x-kubernetes-embedded-resource"):
        if kind != "object":
            problems += _must_be(kind, "object", "x-kubernetes-embedded-resource is true", path)
        if not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
            why = (
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            )
            problems.append(required(f"{path}.properties", why))
    return problems


def _must_be(kind: str, wanted: str, when: str, path: str) -> list[FieldError]:
    why = f"must be {wanted} if {when}"
    return [invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)]


def _column(column: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if not column["name"]:
        problems.append(required(f"{path}.name"))
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column["type"]:
        problems.append(required(f"{path}.type", types))
    elif column["type"] not in _COLUMN_TYPES:
        problems.append(invalid(f"{path}.type", column["type"], types))
    form = column.get("format")
    if form and form not in _COLUMN_FORMATS:
        why = f"must be one of {','.join(_COLUMN_FORMATS)}"
        problems.append(invalid(f"{path}.format", form, why))
    if not column["jsonPath"]:
        problems.append(required(f"{path}.JSONPath"))
    elif not column["jsonPath"].startswith((".", "{.")):
        problems.append(invalid(f"{path}.JSONPath", column["jsonPath"], SIMPLE_PATH))
    return problems


def _scale(scale: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field, roots, where in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        given = scale.get(field) or ""
        if not given:
            if field != "labelSelectorPath":
                problems.append(required(f"{path}.{field}"))
        elif not given.startswith("."):
            problems.append(invalid(f"{path}.{field}", given, SIMPLE_PATH))
        elif not given.startswith(roots):
            why = f"should be a json path under {where}"
            problems.append(invalid(f"{path}.{field}", given, why))
    return problems


def _selectable(
    fields: Sequence[Object], schema: Mapping[str, Any] | None, path: str
) -> list[FieldError]:
    if fields and schema is None:
        return [invalid(path, "", "may only be set when validations.schema is included")]
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, field in enumerate(fields):
        where, given = f"{path}[{i}].jsonPath", field.get("jsonPath") or ""
        if not given:
            problems.append(required(where))
            continue
        if not given.startswith((".", "[")):
            first = re.split(r"[.\[]", given)[0]
            why = f"is an invalid path: expected [ or . but got: {first}"
            problems.append(invalid(where, given, why))
            continue
        found = _find(schema or {}, given)
        if found is None:
            problems.append(invalid(where, given, NO_FIELD))
        elif found.get("type") not in ("string", "boolean", "integer"):
            problems.append(invalid(where, given, NOT_SELECTABLE))
        if given in seen:
            problems.append(duplicate(where, given))
        seen.add(given)
    return problems


def _find(schema: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Return the schema of the field at a simple path."""
    if _SIMPLE.fullmatch(path) is None:
        return None
    found: Any = schema
    for name in path[1:].split("."):
        found = (found.get("properties") or {}).get(name)
        if not isinstance(found, Mapping):
            return None
    return dict(found)
