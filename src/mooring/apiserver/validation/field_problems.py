"""Checks of fields that the validation of several kinds shares."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from mooring.api.field_errors import FieldError, invalid

Object = dict[str, Any]

IMMUTABLE = "field is immutable"


def repeated(values: Iterable[Hashable]) -> Iterator[int]:
    """Yield the positions of values that occurred before."""
    seen: set[Hashable] = set()
    for i, value in enumerate(values):
        if value in seen:
            yield i
        seen.add(value)


def immutable(field: str, new: Any, old: Any, *, shown: bool = True) -> list[FieldError]:
    """Refuse a change of an immutable field.

    The new value is not `shown` if the rule is declared at the type of the field, rather than
    written as code: kube-apiserver then says null.
    """
    return [] if new == old else [invalid(field, new if shown else None, IMMUTABLE)]


def non_negative(field: str, value: int | None) -> list[FieldError]:
    """Refuse a negative number."""
    if value is not None and value < 0:
        return [invalid(field, value, "must be greater than or equal to 0")]
    return []
