from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.rule_types import MAX_REQUEST, declare
from mooring.cel import types

SCALARS: dict[str, tuple[dict[str, Any], Any, int, int]] = {
    "a boolean": ({"type": "boolean"}, types.BOOL, 0, 4),
    "an integer": ({"type": "integer"}, types.INT, 0, 1),
    "a number": ({"type": "number"}, types.DOUBLE, 0, 1),
    "a text of any length": ({"type": "string"}, types.STRING, MAX_REQUEST - 2, 2),
    "a text of at most five characters": ({"type": "string", "maxLength": 5}, types.STRING, 20, 2),
    "a text of a negative length": ({"type": "string", "maxLength": -5}, types.STRING, 0, 2),
    "a choice of texts": ({"type": "string", "enum": ["a", "é", 1]}, types.STRING, 2, 2),
    "bytes": ({"type": "string", "format": "byte"}, types.BYTES, MAX_REQUEST - 2, 2),
    "few bytes": ({"type": "string", "format": "byte", "maxLength": 9}, types.BYTES, 9, 2),
    "a duration": ({"type": "string", "format": "duration"}, types.DURATION, 32, 3),
    "a date": ({"type": "string", "format": "date"}, types.TIMESTAMP, 12, 12),
    "a time": ({"type": "string", "format": "date-time"}, types.TIMESTAMP, 32, 21),
    "a number or text": (
        {"x-kubernetes-int-or-string": True},
        types.DYN,
        MAX_REQUEST - 2,
        1,
    ),
    "a number or short text": (
        {"x-kubernetes-int-or-string": True, "maxLength": 3},
        types.DYN,
        12,
        1,
    ),
}


@pytest.mark.parametrize(("schema", "kind", "most", "least"), SCALARS.values(), ids=SCALARS)
def test_scalars(schema: dict[str, Any], kind: Any, most: int, least: int) -> None:
    found = declare(schema)
    assert found is not None
    assert (found.type, found.max_elements, found.min_size) == (kind, most, least)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "object", "additionalProperties": {}},
    ],
    ids=["no type", "a list of nothing", "a list of no type", "a map of no type"],
)
def test_what_rules_cannot_see(schema: dict[str, Any]) -> None:
    assert declare(schema) is None


def test_the_longest_list_fits_into_a_request() -> None:
    text = {"type": "string"}
    found = declare({"type": "array", "items": text})
    assert found is not None and found.element is not None
    assert found.element.type == types.STRING
    assert found.max_elements == (MAX_REQUEST - 2) // 3
    short = declare({"type": "array", "items": text, "maxItems": 7})
    assert short is not None and short.max_elements == 7


def test_the_longest_map_fits_into_a_request() -> None:
    found = declare({"type": "object", "additionalProperties": {"type": "integer"}})
    assert found is not None and found.element is not None
    assert found.element.type == types.INT
    assert found.max_elements == (MAX_REQUEST - 2) // 7
    short = declare(
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": -1}
    )
    assert short is not None and short.max_elements == 0


def test_fields_of_an_object() -> None:
    schema = {
        "type": "object",
        "required": ["size", "given"],
        "properties": {
            "size": {"type": "integer"},
            "given": {"type": "integer", "default": 1},
            "my-name": {"type": "string"},
            "a b": {"type": "string"},
            "odd": {},
        },
    }
    found = declare(schema)
    assert found is not None and found.fields is not None
    # Rules cannot name "a b", and they cannot see what has no type.
    assert set(found.fields) == {"size", "given", "my__dash__name"}
    # Two braces, and the one field that must be given: "size", a number, quotes, colon and comma.
    assert found.min_size == 2 + len("size") + 1 + 4


@pytest.mark.parametrize("embedded", [False, True])
def test_whole_and_embedded_objects_have_a_kind_and_a_name(embedded: bool) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    if embedded:
        inner = schema | {"x-kubernetes-embedded-resource": True}
        outer = declare({"type": "object", "properties": {"pod": inner}})
        assert outer is not None and outer.fields is not None
        found = outer.fields["pod"]
    else:
        declared = declare(schema, root=True)
        assert declared is not None
        found = declared
    assert found.fields is not None
    assert set(found.fields) == {"kind", "apiVersion", "metadata"}
    metadata = found.fields["metadata"].fields
    assert metadata is not None and set(metadata) == {"name", "generateName"}
