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
