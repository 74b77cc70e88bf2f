"""Decoding custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.schema.decoding import parse_json
from mooring.apiserver.schema.structural import decode_custom
from tests.apiserver.schema.test_custom_schema import KIND


def thing(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x"},
        "spec": spec,
    }


def test_unknown_fields_are_dropped_and_named() -> None:
    value = thing(size=1, colour="red", tasks=[{"name": "a", "hue": 1}], free={"any": [1]})
    obj, errors = decode_custom(KIND, {**value, "extra": 1})
    assert errors == [
        'unknown field "extra"',
        'unknown field "spec.colour"',
        'unknown field "spec.tasks[0].hue"',
    ]
    assert obj["spec"] == {
        "size": 1,
        "tasks": [{"name": "a"}],
        "free": {"any": [1]},
        "queue": "normal",
    }


def test_a_null_that_may_not_be_one_gets_the_default() -> None:
    obj, _ = decode_custom(KIND, thing(size=None, queue=None))
    assert obj["spec"] == {"queue": "normal"}


def test_what_is_not_checked_by_type_is_left_to_validation() -> None:
    obj, errors = decode_custom(KIND, thing(size="three", tasks={"a": 1}))
    assert obj["spec"]["size"] == "three"
    assert errors == ['unknown field "spec.tasks.a"']


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": ""}, "Object 'Kind' is missing"),
        (
            {"apiVersion": "v2"},
            "the API version in the data (v2) does not match the expected API version "
            "(example.com/v1)",
        ),
        (
            {"metadata": {"name": 5}},
            'Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number '
            "into Go struct field ObjectMeta.name of type string",
        ),
    ],
)
def test_what_is_no_such_thing_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_custom(KIND, thing(size=1) | change)
    assert str(raised.value) == text


def test_duplicates_and_unknown_metadata_are_named() -> None:
    text = (
        '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","foo":1},'
        '"spec":{"size":1,"size":2}}'
    )
    _, errors = decode_custom(KIND, parse_json(text))
    assert errors == ['duplicate field "spec.size"', 'unknown field "metadata.foo"']
