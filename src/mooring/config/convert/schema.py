"""Check an older document against the fields of its version, reporting every problem at once."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from mooring.api.durations import Duration
from mooring.api.field_errors import FieldError
from mooring.config.convert.schema_table import TABLE
from mooring.config.decode import UnknownField, describe, suggest
from mooring.config.positions import field_path

Fields = dict[str, str]

_INTEGERS = {"int32": 2**31, "int64": 2**63, "nanoseconds": 2**63}
_SCALARS = {
    "string": (str, "a string"),
    "bool": (bool, "true or false"),
    "object": (dict, "a mapping"),
}
#: v1alpha1 and v1alpha2 had untyped args; v1beta1 typed them, with the same names.
_ARGS_VERSION = {"v1alpha1": "v1beta1", "v1alpha2": "v1beta1"}


@cache
def fields_of(version: str, kind: str) -> Fields:
    """Return the fields of a type of a version, as field -> kind.

    >>> fields_of("v1beta3", "Plugin")
    {'name': 'string', 'weight': 'int32'}
    """
    return dict(word.split(":") for word in TABLE[version][kind].split())


def args_version(version: str) -> str:
    """Return the version whose args types apply to a version."""
    return _ARGS_VERSION.get(version, version)


def root_of(version: str) -> str:
    """Return the name of a version's root type."""
    return next(iter(TABLE[version]))


def check(doc: object, version: str) -> list[FieldError]:
    """Return the errors of a document: unknown fields and values of the wrong kind."""
    return list(_check(doc, root_of(version), version, ""))


def check_args(args: object, plugin: str, version: str, path: str) -> list[FieldError]:
    """Return the errors of a plugin's args; args of a plugin without a known type pass."""
    version = args_version(version)
    kind = f"{plugin}Args"
    return list(_check(args, kind, version, path)) if kind in TABLE[version] else []


def can_go_on(problems: Iterable[FieldError]) -> bool:
    """Return whether the document can still be converted: its only errors are unknown fields."""
    return all(isinstance(problem, UnknownField) for problem in problems)


def without_unknown(doc: Any, version: str) -> Any:
    """Copy a document without the fields that its version does not have."""
    return _known(doc, root_of(version), version)


def without_nulls(value: Any) -> Any:
    """Copy a document without its null fields: Go reads them as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _known(value: Any, kind: str, version: str) -> Any:
    if kind.startswith("[]") and isinstance(value, list):
        return [_known(item, kind[2:], version) for item in value]
    if kind not in TABLE[version] or not isinstance(value, dict):
        return value
    fields = fields_of(version, kind)
    return {key: _known(item, fields[key], version) for key, item in value.items() if key in fields}


def _check(value: object, kind: str, version: str, path: str) -> Iterator[FieldError]:
    if kind == "any":
        return
    if kind.startswith("[]"):
        if not isinstance(value, list):
            yield _expected(path, "a list", value)
            return
        for index, item in enumerate(value):
            yield from _check(item, kind[2:], version, f"{path}[{index}]")
    elif kind in TABLE[version]:
        yield from _check_fields(value, kind, version, path)
    else:
        problem = _scalar_problem(value, kind)
        if problem is not None:
            yield _expected(path, problem, value)


def _check_fields(value: object, kind: str, version: str, path: str) -> Iterator[FieldError]:
    if not isinstance(value, dict):
        yield _expected(path, "a mapping", value)
        return
    fields = fields_of(version, kind)
    for key, item in value.items():
        where = field_path(path, str(key))
        if key not in fields:
            hint = suggest(str(key), list(fields)) or f", {version} has no such field here"
            yield UnknownField(where, f'unknown field "{key}"{hint}')
        else:
            yield from _check(item, fields[key], version, where)


def _scalar_problem(value: object, kind: str) -> str | None:
    """Return what was expected, or None if the value is of that kind."""
    if kind in _SCALARS:
        wanted, words = _SCALARS[kind]
        return None if isinstance(value, wanted) else words
    if kind in _INTEGERS:
        limit = _INTEGERS[kind]
        if not isinstance(value, int) or isinstance(value, bool):
            return "a number of nanoseconds" if kind == "nanoseconds" else "an integer"
        return None if -limit <= value < limit else f"an integer that fits in {kind}"
    if kind == "float32":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if number else "a number"
    if kind == "duration":
        return None if _is_duration(value) else 'a duration such as "15s"'
    return None if _is_base64(value) else "base64 text"


def _is_duration(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        Duration.parse(value)
    except ValueError:
        return False
    return True


def _is_base64(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _expected(path: str, expected: str, value: object) -> FieldError:
    return FieldError(path, f"must be {expected}, got {describe(value)}")
