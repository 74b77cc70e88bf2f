"""The problems of an object's fields, with the messages of kube-apiserver."""

# apimachinery: pkg/util/validation/field/errors.go

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

#: The reason, the field's path, and the message without the path.
Problem = tuple[str, str, str]

Object = dict[str, Any]

IMMUTABLE = "field is immutable"


def shown(value: Any) -> str:
    """Return a value as messages show it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(field: str, value: Any, why: str) -> Problem:
    """Return the problem of an invalid value."""
    return ("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {why}")


def required(field: str, why: str = "") -> Problem:
    """Return the problem of a missing value."""
    return ("FieldValueRequired", field, f"Required value: {why}" if why else "Required value")


def duplicate(field: str, value: Any) -> Problem:
    """Return the problem of a value that occurs twice."""
    return ("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def repeated(values: Iterable[Hashable]) -> Iterator[int]:
    """Yield the positions of values that occurred before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i
        seen.add(value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    """Return the problem of a value that is not a supported one; those are listed as given."""
    listed = ", ".join(map(shown, supported))
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return ("FieldValueNotSupported", field, text)


def forbidden(field: str, why: str) -> Problem:
    """Return the problem of a field that may not be set."""
    return ("FieldValueForbidden", field, f"Forbidden: {why}")


def not_found(field: str, value: Any) -> Problem:
    """Return the problem of a reference to something that does not exist."""
    return ("FieldValueNotFound", field, f"Not found: {shown(value)}")


def too_long(field: str, limit: int) -> Problem:
    """Return the problem of a text that is too long."""
    return ("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> Problem:
    """Return the problem of a list that is too long."""
    items = "item" if limit == 1 else "items"
    return ("FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} {items}")


def each(field: str, value: Any, whys: Iterable[str]) -> list[Problem]:
    """Return one problem of a value for each reason."""
    return [invalid(field, value, why) for why in whys]


def immutable(field: str, new: Any, old: Any) -> list[Problem]:
    """Refuse a change of an immutable field."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def non_negative(field: str, value: int | None) -> list[Problem]:
    """Refuse a negative number."""
    if value is not None and value < 0:
        return [invalid(field, value, "must be greater than or equal to 0")]
    return []
