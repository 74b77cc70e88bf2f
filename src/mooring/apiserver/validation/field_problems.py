"""What is wrong with an object's fields, in the words of kube-apiserver."""

# apimachinery: pkg/util/validation/field/errors.go

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

Problem = tuple[str, str, str]
"""The reason, the field's path, and the message without the path."""

Object = dict[str, Any]

IMMUTABLE = "field is immutable"


def shown(value: Any) -> str:
    """Print a value as a refusal shows it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(field: str, value: Any, why: str) -> Problem:
    """Refuse a value."""
    return ("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {why}")


def required(field: str, why: str = "") -> Problem:
    """Refuse that a value is missing."""
    return ("FieldValueRequired", field, f"Required value: {why}" if why else "Required value")


def duplicate(field: str, value: Any) -> Problem:
    """Refuse a value that is there twice."""
    return ("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def repeated(values: Iterable[Hashable]) -> Iterator[int]:
    """Yield the positions of values that are there before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i
        seen.add(value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    """Refuse a value that is none of some; they are listed as given."""
    listed = ", ".join(map(shown, supported))
    text = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return ("FieldValueNotSupported", field, text)


def forbidden(field: str, why: str) -> Problem:
    """Refuse that a field is set at all."""
    return ("FieldValueForbidden", field, f"Forbidden: {why}")


def not_found(field: str, value: Any) -> Problem:
    """Refuse a reference to something that is not there."""
    return ("FieldValueNotFound", field, f"Not found: {shown(value)}")


def too_long(field: str, limit: int) -> Problem:
    """Refuse a text that is too long."""
    return ("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> Problem:
    """Refuse a list that is too long."""
    items = "item" if limit == 1 else "items"
    return ("FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} {items}")


def each(field: str, value: Any, whys: Iterable[str]) -> list[Problem]:
    """Refuse a value for several reasons."""
    return [invalid(field, value, why) for why in whys]


def one_of(field: str, value: Any, supported: Iterable[str]) -> list[Problem]:
    """Refuse a value unless it is one of some."""
    supported = tuple(supported)
    return [] if value in supported else [not_supported(field, value, supported)]


def immutable(field: str, new: Any, old: Any) -> list[Problem]:
    """Refuse a change."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def non_negative(field: str, value: int | None) -> list[Problem]:
    """Refuse a number below zero."""
    if value is not None and value < 0:
        return [invalid(field, value, "must be greater than or equal to 0")]
    return []
