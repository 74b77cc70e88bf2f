"""JSON as Go's encoding/json decodes it into a value of a certain type.

Field names are case-insensitive, null leaves a value empty, anything after the first value of a
body is ignored, and errors have Go's wording, because operators search for it.

# Go: encoding/json (decode.go, stream.go)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from mooring.api.go_format import json_type
from mooring.errors import ExtenderError

_INT64 = range(-(2**63), 2**63)
_WHERE = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key "
    "string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after a value",
    "Invalid control character at": "in string literal",
    "Invalid \\escape: ": "in string escape code",
}
_SPACE = re.compile(r"[ \t\r\n]*")


class GoValue:
    """A JSON value and its path, to be decoded as a certain Go type."""

    __slots__ = ("_path", "_struct", "_value")

    def __init__(self, value: Any, struct: str = "", path: str = "") -> None:
        self._value = value
        self._struct = struct
        self._path = path

    @property
    def is_null(self) -> bool:
        """Return whether the value is null, which Go treats as absent."""
        return self._value is None

    def fields(self, go_type: str, *names: str) -> Iterator[tuple[str, GoValue]]:
        """Yield (name, value) of a struct's fields, in the order of the body; skip others."""
        if self._value is None:
            return
        if not isinstance(self._value, dict):
            self._mismatch(go_type)
        known = {name.casefold(): name for name in names}
        struct = go_type.rpartition(".")[2]
        for key, value in self._value.items():
            name = known.get(key.casefold())
            if name is not None:
                path = f"{self._path}.{name}" if self._path else name
                yield name, GoValue(value, struct, path)

    def entries(self, go_type: str) -> Iterator[tuple[str, GoValue]]:
        """Yield (key, value) of a map."""
        if self._value is None:
            return
        if not isinstance(self._value, dict):
            self._mismatch(go_type)
        for key, value in self._value.items():
            yield key, GoValue(value, self._struct, self._path)

    def items(self, go_type: str) -> Iterator[GoValue]:
        """Yield the items of a slice."""
        if self._value is None:
            return
        if not isinstance(self._value, list):
            self._mismatch(go_type)
        for value in self._value:
            yield GoValue(value, self._struct, self._path)

    def text(self) -> str:
        """Return the value as a string."""
        if self._value is None:
            return ""
        if not isinstance(self._value, str):
            self._mismatch("string")
        return self._value

    def int64(self) -> int:
        """Return the value as an int64."""
        value = self._value
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value not in _INT64:
            self._mismatch("int64", literal=True)
        return value

    def _mismatch(self, go_type: str, *, literal: bool = False) -> NoReturn:
        found = json_type(self._value)
        if literal and found == "number":
            found = f"number {self._value}"
        into = f"Go struct field {self._struct}.{self._path}" if self._path else "Go value"
        raise ExtenderError(f"json: cannot unmarshal {found} into {into} of type {go_type}")


def read(body: bytes) -> GoValue:
    """Decode the first JSON value of a body; raise ExtenderError if there is none."""
    try:
        return GoValue(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Rare, so try again with the slower decoder, which can stop after the first value.
        return GoValue(_first_value(body.decode("utf-8", "replace")))


def _first_value(text: str) -> Any:
    text = text.lstrip(" \t\r\n")
    if not text:
        raise ExtenderError("EOF")
    try:
        return _DECODER.raw_decode(text)[0]
    except json.JSONDecodeError as error:
        raise ExtenderError(_syntax_error(text, error)) from None
    except _ConstantError as error:
        raise ExtenderError(
            f"invalid character {str(error)[0]!r} {_WHERE['Expecting value']}"
        ) from None
    except RecursionError:
        raise ExtenderError("exceeded max depth") from None
    except ValueError as error:
        # An integer with more digits than Python converts.
        raise ExtenderError(f"json: cannot unmarshal number: {error}") from None


class _ConstantError(Exception):
    """NaN or Infinity, which Python's decoder accepts and JSON does not have."""


def _refuse_constant(text: str) -> NoReturn:
    raise _ConstantError(text)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _syntax_error(text: str, error: json.JSONDecodeError) -> str:
    space = _SPACE.match(text, error.pos)
    assert space is not None
    place = space.end() if error.msg.startswith("Expecting") else error.pos
    if place >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected EOF"
    where = _WHERE.get(error.msg, "in the answer")
    return f"invalid character {text[place]!r} {where}"
