from __future__ import annotations

import pytest

from mooring.api.durations import Duration
from mooring.framework import fields


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fields.invalid("a.b", -1, "must be positive"), "a.b: Invalid value: -1: must be positive"),
        (fields.invalid("a", "é", "no"), 'a: Invalid value: "é": no'),
        (fields.invalid("a", Duration.from_seconds(5), "no"), 'a: Invalid value: "5s": no'),
        (fields.invalid("a", True, "no"), "a: Invalid value: true: no"),
        (fields.invalid("a", None, "no"), "a: Invalid value: null: no"),
        (fields.invalid("a", ("x", 1), "no"), 'a: Invalid value: ["x",1]: no'),
        (fields.required("a"), "a: Required value"),
        (fields.required("a", "because"), "a: Required value: because"),
        (fields.forbidden("a", "because"), "a: Forbidden: because"),
        (fields.duplicate("a[1]", "x"), 'a[1]: Duplicate value: "x"'),
        (
            fields.not_supported("a", "x", ("y", "z")),
            'a: Unsupported value: "x": supported values: "y", "z"',
        ),
        (fields.FieldError("", "alone"), "alone"),
    ],
)
def test_errors_have_the_words_of_kubernetes(error: fields.FieldError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("zone", 0),
        ("example.com/Zone_1.a", 0),
        ("", 2),
        ("-x", 1),
        ("a" * 64, 1),
        ("/x", 1),
        ("a.b/", 2),
        ("A.b/c", 1),
        (f"{'a' * 254}/c", 1),
        ("a/b/c", 1),
        ("é", 1),
        ("zone\n", 1),
    ],
)
def test_label_names_are_checked(name: str, problems: int) -> None:
    assert len(fields.label_name_errors(name)) == problems
    assert len(fields.check_label_name("path", name)) == problems


@pytest.mark.parametrize(
    ("value", "problems"), [("", 0), ("a-b_c.d", 0), ("a b", 1), ("-", 1), ("a" * 64, 1)]
)
def test_label_values_are_checked(value: str, problems: int) -> None:
    assert len(fields.label_value_errors(value)) == problems


def test_a_path_is_joined_with_dots() -> None:
    assert fields.child("a", "b", "c") == "a.b.c"
    assert fields.child("", "b") == "b"
