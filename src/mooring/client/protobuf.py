"""Objects as the server keeps them, in protobuf, and what is added to them without reading them.

What is free-form within an object (the parameters of a claim's devices, say) is kept as the bytes
that somebody once sent, blanks included. Written back as JSON it would be other bytes, and where it
may never change the server refuses that. So such an object is read as protobuf and sent back as it
came, with the change appended: of a field that occurs twice the last counts, items of a list add
up, and messages are merged.
"""

from __future__ import annotations

from collections.abc import Iterator

PROTOBUF = "application/vnd.kubernetes.protobuf"

#: Before the message runtime.Unknown, of which `_RAW` is the object.
# apimachinery: pkg/runtime/serializer/protobuf/protobuf.go, pkg/runtime/generated.proto
_MAGIC = b"k8s\x00"
_RAW = 2
# apimachinery: pkg/apis/meta/v1/generated.proto (ObjectMeta); every object has it as its first.
_METADATA = 1
_UID, _RESOURCE_VERSION, _FINALIZERS = 5, 6, 14

_LENGTH_DELIMITED = 2


def with_finalizer(body: bytes, finalizer: str, *, uid: str, resource_version: str) -> bytes:
    """Return an object with one finalizer more, to be written where it is still this one."""
    meta = field(_FINALIZERS, finalizer.encode())
    if uid:
        meta += field(_UID, uid.encode())
    if resource_version:
        meta += field(_RESOURCE_VERSION, resource_version.encode())
    return _append(body, field(_METADATA, meta))


def _append(body: bytes, tail: bytes) -> bytes:
    if not body.startswith(_MAGIC):
        raise ValueError("expected an object as protobuf")
    written = bytearray(_MAGIC)
    for number, payload in _fields(body[len(_MAGIC) :]):
        written += field(number, payload + tail if number == _RAW else payload)
    return bytes(written)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a message that has only texts, bytes and messages."""
    at = 0
    while at < len(message):
        key, at = _read_number(message, at)
        if key & 7 != _LENGTH_DELIMITED:
            raise ValueError(f"expected a field with a length, got wire type {key & 7}")
        length, at = _read_number(message, at)
        if at + length > len(message):
            raise ValueError("the object ends early")
        yield key >> 3, message[at : at + length]
        at += length


def _read_number(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("the object ends early")
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def field(number: int, payload: bytes) -> bytes:
    """Write a field that has a length: a text, bytes or a message."""
    return _number(number << 3 | _LENGTH_DELIMITED) + _number(len(payload)) + payload


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
