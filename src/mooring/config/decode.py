"""Turn plain data into Structs, collecting every problem instead of stopping at the first.

msgspec's own conversion raises at the first error; the user should see all of them at once.
This module walks structs, lists and mappings, and leaves every leaf to msgspec.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from mooring.api.durations import Duration
from mooring.api.field_errors import FieldError, required, show
from mooring.config.positions import field_path
from mooring.config.struct_fields import struct_fields

S = TypeVar("S", bound=msgspec.Struct)


_EXPECTED = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
    "bytes": "base64 text",
}
_FAILED = object()


class UnknownField(FieldError, frozen=True):
    """An unknown key in a mapping; the error points at the key, not at its value."""


class Decoder:
    """A decoder that collects the problems of one document while decoding its parts."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def struct(
        self, data: object, kind: type[S], path: str, *, ignore: frozenset[str] = frozenset()
    ) -> S | None:
        """Build a Struct from a mapping; fields with errors keep their defaults.

        Return None if it cannot be built. Keys in `ignore` are skipped: the caller reads them.
        """
        value = self._struct(data, kind, path, ignore)
        return value if isinstance(value, kind) else None

    def _value(self, data: object, kind: Any, path: str) -> Any:
        if typing.get_origin(kind) is typing.Annotated and not _is_leaf(typing.get_args(kind)[0]):
            before = len(self.errors)
            value = self._value(data, typing.get_args(kind)[0], path)
            return self._leaf(value, kind, path) if len(self.errors) == before else _FAILED
        origin = typing.get_origin(kind)
        if origin in (types.UnionType, typing.Union):
            members = [one for one in typing.get_args(kind) if one is not types.NoneType]
            if len(members) == 1:
                return None if data is None else self._value(data, members[0], path)
            return self._leaf(data, kind, path)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if _is_plain_struct(kind):
                return self._struct(data, kind, path, frozenset())
            return self._leaf(data, kind, path)
        if kind is Duration:
            return self._duration(data, path)
        if kind is bytes:
            return self._bytes(data, path)
        if origin in (list, tuple) or kind in (list, tuple):
            return self._items(data, kind, path)
        if origin is dict or kind is dict or origin is Mapping:
            return self._mapping(data, kind, path)
        return self._leaf(data, kind, path)

    def _struct(self, data: object, kind: type[S], path: str, ignore: frozenset[str]) -> Any:
        if data is None:
            # An empty item of a list is a zero value in Go.
            data = {}
        if not isinstance(data, dict):
            return self._expected(path, "a mapping", data)
        fields = {field.encode_name: field for field in struct_fields(kind)}
        values: dict[str, Any] = {}
        for key, item in data.items():
            if key in ignore:
                continue
            where = field_path(path, key)
            field = fields.get(key)
            if field is None:
                self.errors.append(UnknownField(where, _unknown(key, list(fields))))
            elif item is not None or _admits_none(field.type):
                # A null counts as absent, as in Go, unless the type gives null a meaning.
                value = self._value(item, field.type, where)
                if value is not _FAILED:
                    values[field.name] = value
        missing = [
            field for field in fields.values() if field.required and field.name not in values
        ]
        for field in missing:
            if data.get(field.encode_name) is None:
                where = field_path(path, field.encode_name)
                self.errors.append(required(where))
        if missing:
            return _FAILED
        try:
            return kind(**values)
        except (ValueError, TypeError) as error:
            self.errors.append(FieldError(path, str(error)))
            return _FAILED

    def _items(self, data: object, kind: Any, path: str) -> Any:
        if not isinstance(data, list):
            return self._expected(path, "a list", data)
        arguments = typing.get_args(kind)
        if typing.get_origin(kind) is tuple and (len(arguments) != 2 or arguments[1] is not ...):
            return self._leaf(data, kind, path)
        inner = arguments[0] if arguments else Any
        items = [self._value(item, inner, f"{path}[{index}]") for index, item in enumerate(data)]
        if any(item is _FAILED for item in items):
            return _FAILED
        return tuple(items) if (typing.get_origin(kind) or kind) is tuple else items

    def _mapping(self, data: object, kind: Any, path: str) -> Any:
        if not isinstance(data, dict):
            return self._expected(path, "a mapping", data)
        arguments = typing.get_args(kind)
        inner = arguments[1] if arguments else Any
        if arguments and arguments[0] is not str:
            return self._leaf(data, kind, path)
        items = {key: self._value(item, inner, field_path(path, key)) for key, item in data.items()}
        return _FAILED if any(item is _FAILED for item in items.values()) else items

    def _duration(self, data: object, path: str) -> Any:
        if not isinstance(data, str):
            return self._expected(path, 'a duration such as "15s"', data)
        try:
            return Duration.parse(data)
        except ValueError as error:
            self.errors.append(FieldError(path, f'{error}, expected a duration such as "15s"'))
            return _FAILED

    def _bytes(self, data: object, path: str) -> Any:
        if isinstance(data, str):
            try:
                return base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                pass
        return self._expected(path, "base64 text", data)

    def _leaf(self, data: object, kind: Any, path: str) -> Any:
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            if typing.get_origin(kind) is typing.Literal:
                choices = ", ".join(show(one) for one in typing.get_args(kind))
                return self._expected(path, f"one of {choices}", data)
            text = str(error)
            found = re.fullmatch(r"(.*) - at `\$(.*)`", text, re.DOTALL)
            inner = ""
            if found is not None:
                text, inner = found.group(1), found.group(2)
            self.errors.append(FieldError(_extend(path, inner), _words(text, data, inner)))
            return _FAILED
        except (ValueError, TypeError, RecursionError) as error:
            self.errors.append(FieldError(path, str(error)))
            return _FAILED

    def _expected(self, path: str, expected: str, data: object) -> Any:
        self.errors.append(FieldError(path, f"must be {expected}, got {describe(data)}"))
        return _FAILED


def describe(data: object) -> str:
    """Return the found value as errors print it: a scalar itself, a list or mapping by kind."""
    if isinstance(data, dict):
        return "a mapping"
    if isinstance(data, list):
        return "a list"
    return "null" if data is None else show(data)


def suggest(name: str, known: list[str]) -> str:
    """Return a "did you mean" hint for a misspelt name, or an empty string.

    >>> suggest("shedulerName", ["schedulerName", "plugins"])
    ', did you mean "schedulerName"?'
    """
    folded = {one.lower(): one for one in known}
    near = folded.get(name.lower())
    if near is None:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
        near = close[0] if close else None
    return "" if near is None else f', did you mean "{near}"?'


def _unknown(name: str, known: list[str]) -> str:
    hint = suggest(name, known)
    if not hint:
        hint = f", expected one of {', '.join(known)}" if known else ", expected none"
    return f'unknown field "{name}"{hint}'


def _words(text: str, data: object, inner: str) -> str:
    found = re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", text)
    if found is None:
        return f"{text}, got {describe(data)}" if not inner and not isinstance(data, dict) else text
    expected = " or ".join(_EXPECTED.get(one, one) for one in found.group(1).split(" | "))
    got = _EXPECTED.get(found.group(2), found.group(2)) if inner else describe(data)
    return f"must be {expected}, got {got}"


def _extend(path: str, inner: str) -> str:
    return f"{path}{inner}" if path else inner.lstrip(".")


def _admits_none(kind: Any) -> bool:
    if typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return types.NoneType in typing.get_args(kind)
    return kind is types.NoneType or kind is Any


def _is_leaf(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return all(_is_leaf(one) for one in typing.get_args(kind))
    if origin is not None or kind in (list, tuple, dict, bytes, Duration):
        return False
    return not (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def _is_plain_struct(kind: type[msgspec.Struct]) -> bool:
    config = kind.__struct_config__
    return not config.array_like and config.tag is None
