"""Protobuf bodies, as Go clients send them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.schema import protobuf_decoding
from mooring.apiserver.schema.canonical import DecodeError, canonical
from mooring.apiserver.schema.protobuf_decoding import ProtobufError
from mooring.controlplane.type_table import types


def field(number: int, data: bytes | str | int) -> bytes:
    if isinstance(data, int):
        return bytes([number << 3, data])
    raw = data.encode() if isinstance(data, str) else data
    head = number << 3 | 2
    tag = bytes([head]) if head < 128 else bytes([head & 127 | 128, head >> 7])
    size = bytes([len(raw)]) if len(raw) < 128 else bytes([len(raw) & 127 | 128, len(raw) >> 7])
    return tag + size + raw


def unknown(version: str, kind: str, raw: bytes) -> bytes:
    meta = field(1, version) + field(2, kind)
    return protobuf_decoding.MAGIC + field(1, meta) + field(2, raw) + field(3, "") + field(4, "")


def test_a_pod_is_read() -> None:
    quantity = field(1, "cpu") + field(2, field(1, "500m"))
    container = field(1, "c") + field(2, "img") + field(8, field(2, quantity))
    port = field(3, 80) + field(4, "TCP")
    container += field(6, port)
    volume = field(1, "v") + field(2, field(2, b""))  # a name, and a struct that is inlined in JSON
    spec = field(2, container) + field(1, volume) + field(4, 30)
    labels = field(1, "a") + field(2, "b")
    meta = field(1, "x") + field(11, labels) + field(8, field(1, 60))
    found = protobuf_decoding.decode(unknown("v1", "Pod", field(1, meta) + field(2, spec)), types())
    pod = canonical(types().get("core.v1.Pod"), found)
    assert pod["metadata"] == {
        "name": "x",
        "labels": {"a": "b"},
        "creationTimestamp": "1970-01-01T00:01:00Z",
    }
    assert pod["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "img",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "500m"}},
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 30,
    }


def test_options_and_numbers_or_names_are_read() -> None:
    found = protobuf_decoding.decode(
        unknown("v1", "DeleteOptions", field(4, "Background")), types()
    )
    assert found["propagationPolicy"] == "Background"
    budget = field(2, field(1, field(1, 1) + field(3, "50%")))
    found = protobuf_decoding.decode(unknown("policy/v1", "PodDisruptionBudget", budget), types())
    assert found["spec"]["minAvailable"] == "50%"


def test_fields_of_another_version_are_passed_over() -> None:
    found = protobuf_decoding.decode(unknown("v1", "ConfigMap", field(15, "new")), types())
    assert found == {"kind": "ConfigMap", "apiVersion": "v1"}


@pytest.mark.parametrize(
    "data",
    [b"", b"k8s", b"{}", unknown("v1", "Nope", b""), unknown("v1", "Pod", b"\x0a\x7f")],
    ids=["nothing", "half the magic", "JSON", "an unknown kind", "a field cut off"],
)
def test_what_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(ProtobufError):
        protobuf_decoding.decode(data, types())


@given(st.binary(max_size=200), st.sampled_from(["Pod", "Node", "ConfigMap", "Event"]))
def test_no_message_does_harm(raw: bytes, kind: str) -> None:
    with contextlib.suppress(ProtobufError, DecodeError):
        found = protobuf_decoding.decode(unknown("v1", kind, raw[:100]), types())
        canonical(types().get(f"core.v1.{kind}"), found)


def _custom_schema(schema: bytes) -> Any:
    """Return the schema of a definition's only version, from protobuf."""
    version = field(1, "v1") + field(4, field(1, schema))
    spec = field(7, version)
    raw = unknown("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, spec))
    found = protobuf_decoding.decode(raw, types())
    return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


TEXT = field(5, "string")
SCHEMAS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "a type": (
        TEXT,
        {
            "type": "string",
        },
    ),
    "additional properties of a type": (
        field(30, field(1, 1) + field(2, TEXT)),
        {
            "additionalProperties": {
                "type": "string",
            },
        },
    ),
    "any additional properties": (
        field(30, field(1, 1)),
        {
            "additionalProperties": True,
        },
    ),
    "no additional properties": (
        field(30, field(1, 0)),
        {
            "additionalProperties": False,
        },
    ),
    "items of a type": (
        field(24, field(1, TEXT)),
        {
            "items": {
                "type": "string",
            },
        },
    ),
    "items of several types": (
        field(24, field(2, TEXT) + field(2, TEXT)),
        {
            "items": [
                {
                    "type": "string",
                },
                {
                    "type": "string",
                },
            ],
        },
    ),
    "a default": (
        field(8, field(1, '{"a": [1]}')),
        {
            "default": {
                "a": [1],
            },
        },
    ),
}


@pytest.mark.parametrize(("schema", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas(schema: bytes, expected: dict[str, Any]) -> None:
    assert _custom_schema(schema) == expected


def test_a_default_that_is_no_json() -> None:
    with pytest.raises(ProtobufError, match="embedded JSON is malformed"):
        _custom_schema(field(8, field(1, "{")))


def test_a_time_out_of_range() -> None:
    far = b"\x08" + b"\xff" * 8 + b"\x7f"
    meta = field(8, far)
    with pytest.raises(ProtobufError, match="time is out of range"):
        protobuf_decoding.decode(unknown("v1", "Pod", field(1, meta)), types())
