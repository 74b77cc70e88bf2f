"""Additions to an object stored as protobuf."""

from __future__ import annotations

import pytest

from mooring.client import protobuf
from mooring.client.protobuf import with_finalizer


def field(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


KIND = field(1, field(1, b"resource.k8s.io/v1") + field(2, b"ResourceClaim"))
OBJECT = field(1, field(1, b"claim")) + field(2, b'{"parameters": 1}')


def envelope(raw: bytes) -> bytes:
    assert len(raw) < 128
    return b"k8s\x00" + KIND + field(2, raw) + field(3, b"") + field(4, b"")


@pytest.mark.parametrize(
    ("uid", "version", "meta"),
    [
        pytest.param("", "", field(14, b"x/y"), id="the finalizer alone"),
        pytest.param(
            "u", "7", field(14, b"x/y") + field(5, b"u") + field(6, b"7"), id="what must still hold"
        ),
    ],
)
def test_a_finalizer_comes_after_the_object_as_it_was(uid: str, version: str, meta: bytes) -> None:
    made = with_finalizer(envelope(OBJECT), "x/y", uid=uid, resource_version=version)
    assert made == envelope(OBJECT + field(1, meta))


def test_lengths_of_more_than_a_byte_are_read_and_written() -> None:
    name = b"n" * 300
    raw = b"\x0a\xaf\x02" + b"\x0a\xac\x02" + name
    body = b"k8s\x00" + b"\x12\xb2\x02" + raw
    made = with_finalizer(body, "x/y", uid="", resource_version="")
    assert made == b"k8s\x00" + b"\x12\xb9\x02" + raw + field(1, field(14, b"x/y"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b'{"kind":"ResourceClaim"}', "as protobuf", id="no protobuf at all"),
        pytest.param(b"k8s\x00\x12\x05ab", "ends early", id="cut short"),
        pytest.param(b"k8s\x00\x12\x03ab", "ends early", id="short of a byte"),
        pytest.param(b"k8s\x00\x12", "ends early", id="without a length"),
        pytest.param(b"k8s\x00\x10\x05", "got wire type 0", id="a number for a message"),
        pytest.param(b"k8s\x00\x15\x05", "got wire type 5", id="four bytes for a message"),
    ],
)
def test_what_is_no_object_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        with_finalizer(body, "x/y", uid="", resource_version="")


@pytest.mark.parametrize(
    ("length", "written"),
    [
        pytest.param(127, b"\x7f", id="the longest of one byte"),
        pytest.param(128, b"\x80\x01", id="the shortest of two bytes"),
        pytest.param(16383, b"\xff\x7f", id="the longest of two bytes"),
        pytest.param(16384, b"\x80\x80\x01", id="the shortest of three bytes"),
    ],
)
def test_lengths_are_written_and_read_in_as_few_bytes_as_possible(
    length: int, written: bytes
) -> None:
    payload = b"p" * length
    # Number 100 takes a key of two bytes.
    other = b"\xa2\x06" + written + payload
    assert protobuf.field(100, payload) == other
    body = b"k8s\x00" + other + field(2, OBJECT)
    made = with_finalizer(body, "x/y", uid="", resource_version="")
    assert made == b"k8s\x00" + other + field(2, OBJECT + field(1, field(14, b"x/y")))


def test_an_object_may_be_empty() -> None:
    made = with_finalizer(b"k8s\x00\x12\x00", "x/y", uid="", resource_version="")
    assert made == b"k8s\x00" + field(2, field(1, field(14, b"x/y")))
