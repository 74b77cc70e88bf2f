"""Field errors: what is wrong with a value, worded as Kubernetes' own validation does."""

# apimachinery: pkg/util/validation/field/errors.go, pkg/util/errors/errors.go

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mooring.api.durations import Duration
from mooring.api.go_format import go_float, go_quote

#: A value that an error does not show.
OMITTED: Final = object()

_INVALID = "FieldValueInvalid"


class FieldError(msgspec.Struct, frozen=True):
    """A problem at one path, such as `profiles[0].schedulerName`."""

    path: str
    message: str
    #: The reason of the cause in a Status object.
    reason: str = _INVALID
    #: What to do about it; "" if the message says enough.
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def child(path: str, *names: str) -> str:
    """Return the path of a field below `path`."""
    return ".".join(part for part in (path, *names) if part)


def invalid(path: str, value: object, detail: str = "") -> FieldError:
    """Return the error for a value that breaks a rule."""
    return FieldError(path, _message("Invalid value", value, detail))


def type_invalid(path: str, value: object, detail: str) -> FieldError:
    """Return the error for a value of the wrong type."""
    return FieldError(path, _message("Invalid value", value, detail), "FieldValueTypeInvalid")


def required(path: str, detail: str = "") -> FieldError:
    """Return the error for a missing value."""
    return FieldError(path, _message("Required value", OMITTED, detail), "FieldValueRequired")


def forbidden(path: str, detail: str) -> FieldError:
    """Return the error for a value that must not be set."""
    return FieldError(path, _message("Forbidden", OMITTED, detail), "FieldValueForbidden")


def duplicate(path: str, value: object, detail: str = "") -> FieldError:
    """Return the error for a value that appeared before."""
    return FieldError(path, _message("Duplicate value", value, detail), "FieldValueDuplicate")


def not_supported(path: str, value: object, supported: Iterable[str]) -> FieldError:
    """Return the error for a value that is not one of a fixed set; those are listed as given."""
    detail = f"supported values: {', '.join(map(go_quote, supported))}"
    return FieldError(path, _message("Unsupported value", value, detail), "FieldValueNotSupported")


def not_found(path: str, value: object, detail: str = "") -> FieldError:
    """Return the error for a reference to something that does not exist."""
    return FieldError(path, _message("Not found", value, detail), "FieldValueNotFound")


def too_long(path: str, limit: int) -> FieldError:
    """Return the error for a text of more than `limit` bytes."""
    detail = f"may not be more than {limit} bytes"
    return FieldError(path, _message("Too long", OMITTED, detail), "FieldValueTooLong")


def too_many(path: str, count: int, limit: int) -> FieldError:
    """Return the error for a list of more than `limit` items."""
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    return FieldError(path, _message("Too many", count, detail), "FieldValueTooMany")


def internal_error(path: str, detail: str) -> FieldError:
    """Return the error for a value that could not be checked."""
    return FieldError(path, _message("Internal error", OMITTED, detail), "InternalError")


def each(path: str, value: object, details: Iterable[str]) -> list[FieldError]:
    """Return one error for each rule that a value breaks."""
    return [invalid(path, value, detail) for detail in details]


def aggregate(errors: Iterable[object]) -> str:
    """Join the texts of errors, without duplicates, as Kubernetes prints several: `[a, b]`."""
    distinct = list(dict.fromkeys(map(str, errors)))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def show(value: object) -> str:
    """Return a value as errors print it: texts quoted, numbers plain, all else as JSON.

    >>> show("a"), show(5), show(None), show(["a"])
    ('"a"', '5', 'null', '["a"]')
    """
    if isinstance(value, str | Duration):
        return go_quote(str(value))
    if isinstance(value, float):
        return go_float(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_plain)


def _message(what: str, value: object, detail: str = "") -> str:
    shown = "" if value is OMITTED else show(value)
    return ": ".join(part for part in (what, shown, detail) if part)


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value, enc_hook=str)
