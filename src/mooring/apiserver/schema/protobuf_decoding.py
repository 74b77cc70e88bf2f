"""Decoding of protobuf bodies to the equivalent JSON values, by the table of field numbers.

Clients written in Go send typed objects as `k8s\\0` and a runtime.Unknown that holds the message.
There is no generated code: a message is walked field by field with the numbers of its type.
"""

# apimachinery: pkg/runtime/serializer/protobuf/protobuf.go, pkg/runtime/generated.proto

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any

from mooring.api.durations import Duration
from mooring.api.timestamps import format_micro_time_ns, format_time_ns
from mooring.controlplane.type_table import (
    FLOATS,
    INTEGERS,
    LIST,
    MAP,
    STRUCT,
    StructType,
    Table,
    TypeKind,
    types,
)

MAGIC = b"k8s\x00"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 100


class ProtobufError(Exception):
    """The error for a body that is not a valid protobuf message of its type."""


def decode(data: bytes, table: Table) -> dict[str, Any]:
    """Return the object in a body, with `kind` and `apiVersion`."""
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message")
    kind = version = ""
    raw = b""
    for number, value in _fields(data[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            for inner, text in _fields(value):
                if inner == 1:
                    version = _text(text)
                elif inner == 2:
                    kind = _text(text)
        elif number == 2 and isinstance(value, bytes):
            raw = value
    found = table.find(version, kind)
    if found is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{version}"')
    return {"kind": kind, "apiVersion": version, **_message(found, raw, 0)}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected EOF")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and raw value of each field; a varint is an int, others are bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"proto: illegal wireType {wire}")
        if size > len(data) - at:
            raise ProtobufError("unexpected EOF")
        yield number, data[at : at + size]
        at += size


def _message(type: StructType, data: bytes, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ProtobufError("proto: message is nested too deep")
    result: dict[str, Any] = {}
    for number, raw in _fields(data):
        field = type.by_number.get(number)
        if field is None:
            continue
        kind = field.kind
        if field.inline and kind.type is not None:
            result |= _message(kind.type, _raw(raw), depth + 1)
        elif kind.form == LIST and kind.item is not None and kind.type is None:
            result.setdefault(field.name, []).append(_value(kind.item, raw, depth))
        elif kind.form == MAP and kind.item is not None:
            key, value = _entry(kind.item, _raw(raw), depth)
            result.setdefault(field.name, {})[key] = value
        else:
            result[field.name] = _value(kind, raw, depth)
    return result


def _entry(kind: TypeKind, data: bytes, depth: int) -> tuple[str, Any]:
    key, value = "", _value(kind, b"", depth) if kind.form not in INTEGERS else 0
    for number, raw in _fields(data):
        if number == 1:
            key = _text(raw)
        elif number == 2:
            value = _value(kind, raw, depth)
    return key, value


def _raw(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("proto: wrong wireType")
    return value


def _text(value: int | bytes) -> str:
    return _raw(value).decode("utf-8", "replace")


def _value(kind: TypeKind, raw: int | bytes, depth: int) -> Any:
    form = kind.form
    if form == "string":
        return _text(raw)
    if form == STRUCT and kind.type is not None:
        return _message(kind.type, _raw(raw), depth + 1)
    if form in INTEGERS:
        return _integer(form, raw)
    if form == "bool":
        return raw not in (0, b"")
    if form == LIST and kind.item is not None:  # a list that protobuf wraps in a message
        return [
            _value(kind.item, one, depth + 1) for number, one in _fields(_raw(raw)) if number == 1
        ]
    if form in FLOATS:
        data = _raw(raw)
        return struct.unpack("<d" if len(data) == 8 else "<f", data)[0] if data else 0.0
    return _special(form, _raw(raw), depth)


def _integer(form: str, raw: int | bytes) -> int:
    if not isinstance(raw, int):
        raise ProtobufError("proto: wrong wireType")
    return raw - 2**64 if raw >= 2**63 and form != "uint64" else raw


def _special(form: str, data: bytes, depth: int) -> Any:
    if form == "bytes":
        return base64.b64encode(data).decode()
    if form.startswith("schemaOr"):
        return _schema(form, data, depth)
    parts = dict(_fields(data))
    if form in ("time", "microTime"):
        return _time(parts, form)
    if form == "quantity":
        return _text(parts.get(1, b"")) or "0"
    if form == "duration":
        return str(Duration(_integer("int64", parts.get(1, 0))))
    if form == "intOrString":
        if parts.get(1, 0):
            return _text(parts.get(3, b""))
        return _integer("int32", parts.get(2, 0))
    return _json(_raw(parts.get(1, b"")))


def _time(parts: dict[int, int | bytes], form: str) -> str | None:
    if not parts:
        return None
    seconds = _integer("int64", parts.get(1, 0))
    nanoseconds = seconds * 10**9 + _integer("int64", parts.get(2, 0))
    write = format_time_ns if form == "time" else format_micro_time_ns
    try:
        return write(nanoseconds)
    except OverflowError:
        raise ProtobufError("proto: time is out of range") from None


def _json(data: bytes) -> Any:
    if not data:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ProtobufError("proto: embedded JSON is malformed") from None


def _schema(form: str, data: bytes, depth: int) -> Any:
    """Decode a value that may be a JSON schema, a list of them, a boolean or strings."""
    schema = types().get("apiextensions.v1.JSONSchemaProps")
    fields = list(_fields(data))
    if form == "schemaOrBool":
        for number, raw in fields:
            if number == 2:
                return _message(schema, _raw(raw), depth + 1)
        return any(number == 1 and raw for number, raw in fields)
    listed: list[Any] = []
    for number, raw in fields:
        if number == 1:
            return _message(schema, _raw(raw), depth + 1)
        if form == "schemaOrStrings":
            listed.append(_text(raw))
        else:
            listed.append(_message(schema, _raw(raw), depth + 1))
    return listed
