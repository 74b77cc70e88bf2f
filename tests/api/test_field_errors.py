"""Field errors in the words of Kubernetes."""

from __future__ import annotations

import pytest

from mooring.api import field_errors
from mooring.api.durations import Duration
from mooring.api.field_errors import FieldError, aggregate, show
from mooring.api.scheduling import Toleration


@pytest.mark.parametrize(
    ("error", "text", "reason"),
    [
        (
            field_errors.invalid("a.b", -1, "must be positive"),
            "a.b: Invalid value: -1: must be positive",
            "Invalid",
        ),
        (field_errors.invalid("a", "x"), 'a: Invalid value: "x"', "Invalid"),
        (field_errors.invalid("a", field_errors.OMITTED, "no"), "a: Invalid value: no", "Invalid"),
        (field_errors.type_invalid("a", "x", "no"), 'a: Invalid value: "x": no', "TypeInvalid"),
        (field_errors.required("a"), "a: Required value", "Required"),
        (field_errors.required("a", "because"), "a: Required value: because", "Required"),
        (field_errors.forbidden("a", "because"), "a: Forbidden: because", "Forbidden"),
        (field_errors.duplicate("a[1]", "x"), 'a[1]: Duplicate value: "x"', "Duplicate"),
        (field_errors.duplicate("a", "x", "no"), 'a: Duplicate value: "x": no', "Duplicate"),
        (field_errors.duplicate("a", field_errors.OMITTED), "a: Duplicate value", "Duplicate"),
        (
            field_errors.not_supported("a", "x", ("z", "y")),
            'a: Unsupported value: "x": supported values: "z", "y"',
            "NotSupported",
        ),
        (field_errors.not_found("a", "x"), 'a: Not found: "x"', "NotFound"),
        (field_errors.not_found("a", "x", "no"), 'a: Not found: "x": no', "NotFound"),
        (field_errors.too_long("a", 5), "a: Too long: may not be more than 5 bytes", "TooLong"),
        (field_errors.too_many("a", 2, 1), "a: Too many: 2: must have at most 1 item", "TooMany"),
        (field_errors.too_many("a", 9, 8), "a: Too many: 9: must have at most 8 items", "TooMany"),
    ],
)
def test_errors_have_the_words_of_kubernetes(error: FieldError, text: str, reason: str) -> None:
    assert str(error) == text
    assert error.reason == f"FieldValue{reason}"


def test_an_error_of_the_server_has_its_own_reason() -> None:
    error = field_errors.internal_error("a", "no")
    assert (str(error), error.reason) == ("a: Internal error: no", "InternalError")


def test_an_error_without_a_path_is_its_message() -> None:
    assert str(FieldError("", "alone")) == "alone"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("é", '"é"'),
        ("a\x01", r'"a\x01"'),
        (Duration.from_seconds(5), '"5s"'),
        (-1, "-1"),
        (True, "true"),
        (1e6, "1e+06"),
        (None, "null"),
        (("x", 1), '["x",1]'),
        ({"b": [], "a": "é"}, '{"b":[],"a":"é"}'),
        ([Toleration(key="a")], '[{"key":"a"}]'),
    ],
)
def test_values_are_shown_as_kubernetes_shows_them(value: object, text: str) -> None:
    assert show(value) == text


def test_each_broken_rule_is_an_error() -> None:
    first, second = field_errors.each("a", 1, ["b", "c"])
    assert (str(first), str(second)) == ("a: Invalid value: 1: b", "a: Invalid value: 1: c")


def test_several_errors_are_joined_once_each() -> None:
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"
    assert aggregate([FieldError("x", "y"), FieldError("", "z")]) == "[x: y, z]"


def test_a_path_is_joined_with_dots() -> None:
    assert field_errors.child("a", "b", "c") == "a.b.c"
    assert field_errors.child("", "b") == "b"
