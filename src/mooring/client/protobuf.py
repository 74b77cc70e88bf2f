"""Objects in protobuf, as the server stores them, and additions to them without decoding.

Free-form parts of an object (such as the parameters of a claim's devices) are stored as the bytes
that some client once sent, including whitespace. Written back as JSON, those bytes would change,
and if the field is immutable the server refuses that. So such an object is read as protobuf and
sent back unchanged, with the new fields appended: if a field occurs twice the last one counts,
items of a list add up, and messages are merged.
"""

from __future__ import annotations

from collections.abc import Iterator

PROTOBUF = "application/vnd.kubernetes.protobuf"

#: Precedes the message runtime.Unknown, whose field `_RAW` is the object.
# apimachinery: pkg/runtime/serializer/protobuf/protobuf.go, pkg/runtime/generated.proto
_MAGIC = b"k8s\x00"
_RAW = 2
# apimachinery: pkg/apis/meta/v1/generated.proto (ObjectMeta); it is field 1 of every object.
_METADATA = 1
_UID, _RESOURCE_VERSION, _FINALIZERS = 5, 6, 14

_LENGTH_DELIMITED = 2


def with_finalizer(body: bytes, finalizer: str, *, uid: str, resource_version: str) -> bytes:
    """Return an object with a finalizer added; uid and version make the write conditional."""
    meta = field(_FINALIZERS, finalizer.encode())
    if uid:
        meta += field(_UID, uid.encode())
    if resource_version:
        meta += field(_RESOURCE_VERSION, resource_version.encode())
    return append(body, field(_METADATA, meta))


def append(body: bytes, tail: bytes) -> bytes:
    """Return an object with encoded fields added after its own, which they override."""
    if not body.startswith(_MAGIC):
        raise ValueError("expected an object as protobuf")
    written = bytearray(_MAGIC)
    for number, payload in _fields(body[len(_MAGIC) :]):
        written += field(number, payload + tail if number == _RAW else payload)
    return bytes(written)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a message that has only strings, bytes and messages."""
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
    """Encode a length-delimited field: a string, bytes or a message."""
    return _number(number << 3 | _LENGTH_DELIMITED) + _number(len(payload)) + payload


def _number(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
