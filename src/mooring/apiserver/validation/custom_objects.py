"""Validate custom resources against their structural schema."""

# apiextensions-apiserver: pkg/apiserver/validation, pkg/registry/customresource/strategy.go,
# kube-openapi: pkg/validation/validate

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mooring.api.durations import Duration
from mooring.api.field_errors import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    show,
    too_long,
    too_many,
    type_invalid,
)
from mooring.api.timestamps import canonical_time
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import subdomain_problems
from mooring.apiserver.validation.metadata import (
    check_metadata,
    check_metadata_update,
)
from mooring.apiserver.validation.rules import check_rules
from mooring.cel import patterns

Schema = Mapping[str, Any]

NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)
_NOWHERE = "<nil>"
_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_FORMATS = frozenset(
    {
        *("bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid"),
        *("uuid3", "uuid4", "uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor"),
        *("rgbcolor", "byte", "password", "date", "duration", "date-time", "datetime"),
    }
)
_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.?[^@\s]*")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def check_custom(kind: CustomKind, obj: Object, old: Object | None = None) -> list[FieldError]:
    """Return the problems of a new or updated custom resource."""
    problems: list[FieldError] = []
    if obj["kind"] != kind.kind:
        problems.append(invalid("kind", obj["kind"], f"must be {kind.kind}"))
        return problems
    if old is None:
        problems += check_metadata(obj["metadata"], kind.namespaced, subdomain_problems)
    else:
        problems += check_metadata_update(obj["metadata"], old["metadata"])
    if kind.schema is None:
        return problems
    problems += _check(kind.schema, {k: v for k, v in obj.items() if k != "metadata"}, "")
    problems += _check_lists(kind.schema, obj, "")
    if not _has_rules(kind.schema):
        return problems
    if any(problem.reason in _BLOCKING for problem in problems):
        problems.append(invalid(_NOWHERE, None, NOT_CHECKED))
        return problems
    return problems + check_rules(kind.schema, obj, old)


def check_value(schema: Schema, value: Any, path: str) -> list[FieldError]:
    """Return the problems of a value, such as a default, according to its schema."""
    return _check(schema, value, path)


def _has_rules(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return bool(schema.get("x-kubernetes-validations")) or any(map(_has_rules, schema.values()))
    return isinstance(schema, list) and any(map(_has_rules, schema))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _kind_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


def _wrong_type(path: str, expected: str, value: Any) -> FieldError:
    return _not_of_type(path, expected, _kind_name(value))


def _not_of_type(path: str, expected: str, found: str) -> FieldError:
    return type_invalid(path, found, f"{path} in body must be of type {expected}: {show(found)}")


def _fails(path: str, value: Any, what: str) -> FieldError:
    return invalid(path, value, f"{path} in body {what}")


def _check(schema: Schema, value: Any, path: str) -> list[FieldError]:
    """Check a value against a schema; the contents of `metadata` are checked elsewhere."""
    if value is None and schema.get("nullable"):
        return []
    problems = _check_type(schema, value, path)
    if problems:
        return problems + _check_enum(schema, value, path) + _check_choices(schema, value, path)
    if isinstance(value, str):
        problems += _check_text(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        problems += _check_number(schema, value, path)
    elif isinstance(value, list):
        problems += _check_list(schema, value, path)
    elif isinstance(value, dict):
        problems += _check_object(schema, value, path)
    return problems + _check_enum(schema, value, path) + _check_choices(schema, value, path)


def _check_enum(schema: Schema, value: Any, path: str) -> list[FieldError]:
    if schema.get("enum") is None or value in schema["enum"]:
        return []
    listed = [one if isinstance(one, str) else show(one) for one in schema["enum"]]
    return [not_supported(path, value, listed)]


def _check_type(schema: Schema, value: Any, path: str) -> list[FieldError]:
    if schema.get("x-kubernetes-int-or-string"):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if (whole and not isinstance(value, bool)) or isinstance(value, str):
            return []
        return [_wrong_type(path, "integer,string", value)]
    expected = schema.get("type")
    if expected is None:
        return []
    found = _kind_name(value)
    if expected == found or (expected == "number" and found == "integer"):
        return []
    if expected == "integer" and isinstance(value, float):
        return _fractional(schema.get("format"), value, path)
    form = schema.get("format")
    if (expected == "string" and form in _FORMATS) or (expected == "integer" and form):
        return _wrong_format(str(expected), str(form), value, path)
    return [_wrong_type(path, str(expected), value)]


def _wrong_format(expected: str, form: str, value: Any, path: str) -> list[FieldError]:
    """Refuse a wrongly typed value of a schema with a format, which changes the message."""
    # kube-openapi: pkg/validation/validate/type.go, schemaInfoForType
    if expected == "integer" and not isinstance(value, bool | dict | None):
        return [_wrong_type(path, expected, value)]
    if isinstance(value, list):
        return []
    name = ""
    if not isinstance(value, bool | dict | None):
        name = "float64" if isinstance(value, float) else "int64"
    if value is None:
        return [_wrong_type(path, expected, value)]
    return [_not_of_type(path, form, name)]


def _fractional(form: str | None, value: float, path: str) -> list[FieldError]:
    """Refuse a number with a fraction if an integer is expected."""
    words = f"with format {form}" if form else "(default format)"
    why = f"Checked value must be of type integer {words} in {path}"
    wrong = _not_of_type(path, form, "float64") if form else _wrong_type(path, "integer", value)
    return [wrong, invalid(_NOWHERE, "", why)]


def _check_form(schema: Schema, value: str, path: str) -> list[FieldError]:
    """Check length and pattern; like the API server, report only the first problem."""
    # kube-openapi: pkg/validation/validate/validator.go, stringValidator
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        return [too_long(path, longest)]
    if shortest is not None and len(value) < shortest:
        return [_fails(path, value, f"should be at least {shortest} chars long")]
    if pattern := schema.get("pattern"):
        try:
            if not patterns.compile(pattern).matches(value):
                return [_fails(path, value, f"should match '{pattern}'")]
        except patterns.PatternError as error:
            why = f"{pattern}, but pattern is invalid: {error}"
            return [_fails(path, value, f"should match '{why}'")]
    return []


def _check_text(schema: Schema, value: str, path: str) -> list[FieldError]:
    problems = _check_form(schema, value, path)
    form = schema.get("format")
    if form and not _has_format(form, value):
        problems.append(_not_of_type(path, form, value))
    return problems


def _has_format(form: str, value: str) -> bool:
    try:
        if form == "date-time":
            canonical_time(value)
        elif form == "duration":
            Duration.parse(value)
        elif form == "byte":
            return bool(value) and bool(base64.b64decode(value, validate=True))
        elif form == "ipv4":
            ipaddress.IPv4Address(value)
        elif form == "ipv6":
            ipaddress.IPv6Address(value)
        elif form == "cidr":
            ipaddress.ip_network(value, strict=False)
        elif form == "uri":
            return bool(urlsplit(value).scheme or value.startswith("/"))
    except (ValueError, binascii.Error):
        return False
    patterns = {"email": _EMAIL, "uuid": _UUID, "date": _DATE}
    return form not in patterns or patterns[form].fullmatch(value) is not None


def _check_number(schema: Schema, value: int | float, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    form = schema.get("format")
    ranges = {"int32": _INT32, "int64": _INT64}
    if schema.get("type") == "integer" and form in ranges:
        low, high = ranges[form]
        if not low <= value <= high:
            text = f"Checked value must be of type integer with format {form} in {path}"
            problems.append(invalid(_NOWHERE, "", text))
    high_limit, low_limit = schema.get("maximum"), schema.get("minimum")
    if high_limit is not None:
        exclusive = bool(schema.get("exclusiveMaximum"))
        if value > high_limit or (exclusive and value == high_limit):
            words = "less than" if exclusive else "less than or equal to"
            problems.append(_fails(path, value, f"should be {words} {_number(high_limit)}"))
    if low_limit is not None:
        exclusive = bool(schema.get("exclusiveMinimum"))
        if value < low_limit or (exclusive and value == low_limit):
            words = "greater than" if exclusive else "greater than or equal to"
            problems.append(_fails(path, value, f"should be {words} {_number(low_limit)}"))
    factor = schema.get("multipleOf")
    if factor and abs(value / factor - round(value / factor)) > 1e-9:
        problems.append(_fails(path, value, f"should be a multiple of {_number(factor)}"))
    return problems


def _number(value: int | float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _check_list(schema: Schema, value: list[Any], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        problems.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        text = f"should have at least {least} items"
        problems.append(invalid(path, len(value), f"{path} in body {text}"))
    if schema.get("uniqueItems") and len({show(one) for one in value}) != len(value):
        problems.append(_fails(path, value, "shouldn't contain duplicates"))
    items = schema.get("items")
    if isinstance(items, Mapping):
        for i, item in enumerate(value):
            problems += _check(items, item, f"{path}[{i}]")
    return problems


def _check_object(schema: Schema, value: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None and len(value) > most:
        problems.append(too_many(path, len(value), most))
    if least is not None and len(value) < least:
        text = f"should have at least {least} properties"
        problems.append(invalid(path, len(value), f"{path} in body {text}"))
    needed = list(schema.get("required") or ())
    if schema.get("x-kubernetes-embedded-resource"):
        needed += [name for name in ("apiVersion", "kind") if name not in needed]
    problems += [
        required(_join(path, name))
        for name in needed
        if name not in value and not (not path and name == "metadata")
    ]
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for name, item in value.items():
        if not path and name in ("apiVersion", "kind"):
            continue
        if name in properties:
            problems += _check(properties[name], item, _join(path, name))
        elif isinstance(additional, Mapping):
            problems += _check(additional, item, _join(path, name))
    return problems


def _check_choices(schema: Schema, value: Any, path: str) -> list[FieldError]:
    """Check allOf, anyOf, oneOf and not."""
    problems: list[FieldError] = []
    for inner in schema.get("allOf") or ():
        problems += _check(inner, value, path)
    for name, text in (
        ("anyOf", "must validate at least one schema (anyOf)"),
        ("oneOf", "must validate one and only one schema (oneOf). Found none valid"),
    ):
        choices = schema.get(name) or ()
        if not choices:
            continue
        results = [_check(inner, value, path) for inner in choices]
        fitting = sum(1 for one in results if not one)
        if not fitting:
            problems.append(_choice(path, text))
            problems += sorted(results, key=len)[0]
        elif name == "oneOf" and fitting > 1:
            many = "must validate one and only one schema (oneOf). Found {} valid alternatives"
            problems.append(_choice(path, many.format(fitting)))
    inner = schema.get("not")
    if isinstance(inner, Mapping) and not _check(inner, value, path):
        problems.append(_choice(path, "must not validate the schema (not)"))
    return problems


def _choice(path: str, text: str) -> FieldError:
    return invalid(_NOWHERE, "", f'"{path}" {text}')


def _check_lists(schema: Schema, value: Any, path: str) -> list[FieldError]:
    """Check that the items of sets and of lists with keys are unique."""
    problems: list[FieldError] = []
    if isinstance(value, list):
        seen: set[str] = set()
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        kind = schema.get("x-kubernetes-list-type")
        items = schema.get("items")
        for i, item in enumerate(value):
            shown_key = item
            if kind == "map" and isinstance(item, dict):
                shown_key = {key: item[key] for key in keys if key in item}
            if kind in ("map", "set"):
                text = show(shown_key)
                if text in seen:
                    problems.append(duplicate(f"{path}[{i}]", shown_key))
                seen.add(text)
            if isinstance(items, Mapping):
                problems += _check_lists(items, item, f"{path}[{i}]")
    elif isinstance(value, dict):
        properties = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        for name, item in value.items():
            inner = properties.get(name, additional)
            if isinstance(inner, Mapping):
                problems += _check_lists(inner, item, _join(path, name))
    return problems
