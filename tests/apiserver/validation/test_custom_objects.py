"""Custom resources are validated against their schema."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.schema.custom_schema import CustomKind, custom_kinds
from mooring.apiserver.validation.custom_objects import NOT_CHECKED, check_custom
from tests.apiserver.schema.test_custom_schema import DEFINITION


def kind(**properties: Any) -> CustomKind:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return custom_kinds({"spec": {**DEFINITION["spec"], "versions": [version]}})[0]


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    obj = {
        "kind": "Thing",
        "apiVersion": "example.com/v1",
        "metadata": {"name": "x", "namespace": "n"},
        "spec": {"a": value},
    }
    return [str(error) for error in check_custom(kind(a=schema), obj)]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 1, []),
        (
            {"type": "integer"},
            "x",
            ['spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            ["spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1"],
        ),
        (
            {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
            5,
            ["spec.a: Invalid value: 5: spec.a in body should be less than 5"],
        ),
        (
            {"type": "string", "enum": ["x", "y"]},
            "z",
            ['spec.a: Unsupported value: "z": supported values: "x", "y"'],
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "A",
            ["spec.a: Invalid value: \"A\": spec.a in body should match '^[a-z]+$'"],
        ),
        (
            {"type": "string", "maxLength": 2},
            "abc",
            ["spec.a: Too long: may not be more than 2 bytes"],
        ),
        (
            {"type": "array", "maxItems": 1, "items": {"type": "string"}},
            ["a", "b"],
            ["spec.a: Too many: 2: must have at most 1 item"],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            [{"name": "a"}, {"name": "a"}],
            ['spec.a[1]: Duplicate value: {"name":"a"}'],
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            ["a", "a"],
            ['spec.a[1]: Duplicate value: "a"'],
        ),
        ({"type": "object", "required": ["b"]}, {}, ["spec.a.b: Required value"]),
        ({"x-kubernetes-int-or-string": True}, "1Gi", []),
        (
            {"type": "string", "format": "date-time"},
            "x",
            ['spec.a: Invalid value: "x": spec.a in body must be of type date-time: "x"'],
        ),
        ({"type": "string", "nullable": True}, None, []),
    ],
)
def test_values_are_checked(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert problems(schema, value) == expected


def test_rules_that_could_not_be_checked_are_mentioned() -> None:
    rules = [{"rule": "self > 0"}]
    found = problems({"type": "integer", "x-kubernetes-validations": rules}, "x")
    assert found[-1] == f"<nil>: Invalid value: null: {NOT_CHECKED}"


def test_another_kind_is_refused() -> None:
    obj = {"kind": "Other", "apiVersion": "example.com/v1", "metadata": {"name": "x"}}
    assert check_custom(kind(), obj) == [
        FieldError("kind", 'Invalid value: "Other": must be Thing', "FieldValueInvalid")
    ]


def test_a_pattern_is_one_of_go() -> None:
    letters = {"type": "string", "pattern": r"^\p{L}+$"}
    assert problems(letters, "ä") == []
    assert problems(letters, "1") == [
        'spec.a: Invalid value: "1": spec.a in body should match ' r"'^\p{L}+$'"
    ]


def test_a_pattern_that_is_none_matches_nothing() -> None:
    assert problems({"type": "string", "pattern": "("}, "x") == [
        'spec.a: Invalid value: "x": spec.a in body should match '
        "'(, but pattern is invalid: error parsing regexp: missing closing ): `(`'"
    ]


def test_a_pattern_is_matched_in_linear_time() -> None:
    assert len(problems({"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "!")) == 1


MORE: dict[str, tuple[dict[str, Any], Any, list[str]]] = {
    "a number or text": ({"x-kubernetes-int-or-string": True}, "5%", []),
    "neither a number nor text": (
        {"x-kubernetes-int-or-string": True},
        True,
        [
            'spec.a: Invalid value: "boolean": spec.a in body must be of type '
            'integer,string: "boolean"'
        ],
    ),
    "a whole number with a fraction of nothing": ({"type": "integer"}, 1.0, []),
    "a fraction": (
        {"type": "integer"},
        1.5,
        [
            'spec.a: Invalid value: "number": spec.a in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default '
            "format) in spec.a",
        ],
    ),
    "a fraction of a format": (
        {"type": "integer", "format": "int32"},
        1.5,
        [
            'spec.a: Invalid value: "float64": spec.a in body must be of type int32: "float64"',
            '<nil>: Invalid value: "": Checked value must be of type integer with format '
            "int32 in spec.a",
        ],
    ),
    "a truth of a format": (
        {"type": "integer", "format": "int32"},
        True,
        ['spec.a: Invalid value: "": spec.a in body must be of type int32: ""'],
    ),
    "a text that is no number of a format": (
        {"type": "integer", "format": "int32"},
        "x",
        ['spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
    ),
    "a number that is no date": (
        {"type": "string", "format": "date"},
        5,
        ['spec.a: Invalid value: "int64": spec.a in body must be of type date: "int64"'],
    ),
    "a fraction that is no date": (
        {"type": "string", "format": "date"},
        5.5,
        ['spec.a: Invalid value: "float64": spec.a in body must be of type date: "float64"'],
    ),
    "a list that is no date": ({"type": "string", "format": "date"}, [], []),
    "null that is no date": (
        {"type": "string", "format": "date"},
        None,
        ['spec.a: Invalid value: "null": spec.a in body must be of type string: "null"'],
    ),
    "null": ({"type": "string", "nullable": True}, None, []),
    "a number too large for its format": (
        {"type": "integer", "format": "int32"},
        2**31,
        [
            '<nil>: Invalid value: "": Checked value must be of type integer with format '
            "int32 in spec.a"
        ],
    ),
    "a long text": (
        {"type": "string", "maxLength": 2},
        "abc",
        ["spec.a: Too long: may not be more than 2 bytes"],
    ),
    "a short text": (
        {"type": "string", "minLength": 2},
        "a",
        ['spec.a: Invalid value: "a": spec.a in body should be at least 2 chars long'],
    ),
    "a text that does not match": (
        {"type": "string", "pattern": "^a$"},
        "b",
        ["spec.a: Invalid value: \"b\": spec.a in body should match '^a$'"],
    ),
    "a number that is no multiple": (
        {"type": "number", "multipleOf": 0.5},
        1.3,
        ["spec.a: Invalid value: 1.3: spec.a in body should be a multiple of 0.5"],
    ),
    "a number that is too small": (
        {"type": "number", "minimum": 1.5, "exclusiveMinimum": True},
        1.5,
        ["spec.a: Invalid value: 1.5: spec.a in body should be greater than 1.5"],
    ),
    "a number that is too large": (
        {"type": "integer", "maximum": 5},
        6,
        ["spec.a: Invalid value: 6: spec.a in body should be less than or equal to 5"],
    ),
    "few items": (
        {"type": "array", "minItems": 2, "items": {"type": "string"}},
        ["a"],
        ["spec.a: Invalid value: 1: spec.a in body should have at least 2 items"],
    ),
    "many items": (
        {"type": "array", "maxItems": 1, "items": {"type": "string"}},
        ["a", "b"],
        ["spec.a: Too many: 2: must have at most 1 item"],
    ),
    "items twice": (
        {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        ["a", "a"],
        ['spec.a: Invalid value: ["a","a"]: spec.a in body shouldn\'t contain duplicates'],
    ),
    "a bad item": (
        {"type": "array", "items": {"type": "string"}},
        ["a", 5],
        [
            'spec.a[1]: Invalid value: "integer": spec.a[1] in body must be of type '
            'string: "integer"'
        ],
    ),
    "few properties": (
        {"type": "object", "minProperties": 1},
        {},
        ["spec.a: Invalid value: 0: spec.a in body should have at least 1 properties"],
    ),
    "many properties": (
        {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}},
        {"x": 1, "y": "2"},
        [
            "spec.a: Too many: 2: must have at most 1 item",
            'spec.a.y: Invalid value: "string": spec.a.y in body must be of type integer: "string"',
        ],
    ),
    "a missing property": ({"type": "object", "required": ["x"]}, {}, ["spec.a.x: Required value"]),
    "an embedded object without a kind": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"metadata": {}},
        [
            "spec.a.apiVersion: Required value",
            "spec.a.kind: Required value",
        ],
    ),
    "all of two schemas": (
        {"allOf": [{"type": "integer"}, {"minimum": 5}]},
        3,
        ["spec.a: Invalid value: 3: spec.a in body should be greater than or equal to 5"],
    ),
    "any of two schemas": (
        {"anyOf": [{"type": "string"}, {"minimum": 5}]},
        3,
        [
            '<nil>: Invalid value: "": "spec.a" must validate at least one schema (anyOf)',
            'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"',
        ],
    ),
    "one of two schemas that both fit": (
        {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
        3,
        [
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema '
            "(oneOf). Found 2 valid alternatives"
        ],
    ),
    "one of two schemas that do not fit": (
        {"oneOf": [{"type": "string"}]},
        3,
        [
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema '
            "(oneOf). Found none valid",
            'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"',
        ],
    ),
    "a schema that must not fit": (
        {"not": {"type": "integer"}},
        3,
        ['<nil>: Invalid value: "": "spec.a" must not validate the schema (not)'],
    ),
    "an unknown number": (
        {"type": "integer", "enum": [1, 2]},
        3,
        ['spec.a: Unsupported value: 3: supported values: "1", "2"'],
    ),
    "a set with an item twice": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        ["a", "a"],
        ['spec.a[1]: Duplicate value: "a"'],
    ),
    "a list with a key twice": (
        {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object"},
        },
        [{"n": 1}, {"n": 1}],
        ['spec.a[1]: Duplicate value: {"n":1}'],
    ),
    "a set inside of a map": (
        {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "string"},
            },
        },
        {"x": ["a", "a"]},
        ['spec.a.x[1]: Duplicate value: "a"'],
    ),
}


@pytest.mark.parametrize(("schema", "value", "expected"), MORE.values(), ids=MORE)
def test_values_and_schemas(schema: dict[str, Any], value: Any, expected: list[str]) -> None:
    assert problems(schema, value) == expected


FORMATS: dict[str, tuple[str, str, str]] = {
    "a time": ("date-time", "2026-01-01T00:00:00Z", "yesterday"),
    "a duration": ("duration", "5m", "long"),
    "bytes": ("byte", "YQ==", "?"),
    "an IPv4 address": ("ipv4", "1.2.3.4", "::1"),
    "an IPv6 address": ("ipv6", "::1", "1.2.3.4"),
    "a range": ("cidr", "10.0.0.0/8", "x"),
    "an address of the web": ("uri", "https://a", "a b"),
    "an address of mail": ("email", "a@b.c", "a"),
    "an identifier": ("uuid", "12345678-1234-1234-1234-123456789012", "x"),
    "a date": ("date", "2026-01-01", "today"),
}


@pytest.mark.parametrize(("form", "good", "bad"), FORMATS.values(), ids=FORMATS)
def test_formats(form: str, good: str, bad: str) -> None:
    schema = {"type": "string", "format": form}
    assert problems(schema, good) == []
    text = f'spec.a: Invalid value: "{bad}": spec.a in body must be of type {form}: "{bad}"'
    assert problems(schema, bad) == [text]
    assert problems({"type": "string", "format": "poem"}, bad) == []


def test_an_object_of_another_kind() -> None:
    obj = {"kind": "Other", "metadata": {"name": "x", "namespace": "n"}}
    (found,) = check_custom(kind(a={"type": "string"}), obj)
    assert (found.path, found.message) == ("kind", 'Invalid value: "Other": must be Thing')
