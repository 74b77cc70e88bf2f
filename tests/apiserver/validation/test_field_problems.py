from __future__ import annotations

import pytest

from mooring.apiserver.validation.field_problems import (
    duplicate,
    each,
    forbidden,
    immutable,
    invalid,
    non_negative,
    not_found,
    not_supported,
    repeated,
    required,
    too_long,
    too_many,
)

SHOWN = {
    "a text is quoted": (invalid("f", "a", "no"), 'Invalid value: "a": no'),
    "text beyond ASCII stays readable": (invalid("f", "é", "no"), 'Invalid value: "é": no'),
    "a missing value is null": (invalid("f", None, "no"), "Invalid value: null: no"),
    "an object is compact JSON": (
        invalid("f", {"a": [1, True]}, "no"),
        'Invalid value: {"a":[1,true]}: no',
    ),
    "a missing field without a reason": (required("f"), "Required value"),
    "a missing field with a reason": (required("f", "say so"), "Required value: say so"),
    "a repeated value": (duplicate("f", "a"), 'Duplicate value: "a"'),
    "the supported values in the given order": (
        not_supported("f", "x", ("b", "a")),
        'Unsupported value: "x": supported values: "b", "a"',
    ),
    "a field that may not be set": (forbidden("f", "never"), "Forbidden: never"),
    "a reference to nothing": (not_found("f", "x"), 'Not found: "x"'),
    "a text that is too long": (too_long("f", 5), "Too long: may not be more than 5 bytes"),
    "one item too many": (too_many("f", 2, 1), "Too many: 2: must have at most 1 item"),
    "many items too many": (too_many("f", 9, 8), "Too many: 9: must have at most 8 items"),
}


@pytest.mark.parametrize(("problem", "message"), SHOWN.values(), ids=SHOWN)
def test_messages(problem: tuple[str, str, str], message: str) -> None:
    assert problem[1:] == ("f", message)


def test_each_kind_of_problem_has_its_own_reason() -> None:
    problems = (
        invalid("f", 1, ""),
        required("f"),
        duplicate("f", 1),
        not_supported("f", 1, ()),
        forbidden("f", ""),
        not_found("f", 1),
        too_long("f", 1),
        too_many("f", 2, 1),
    )
    assert [reason.removeprefix("FieldValue") for reason, _, _ in problems] == [
        "Invalid",
        "Required",
        "Duplicate",
        "NotSupported",
        "Forbidden",
        "NotFound",
        "TooLong",
        "TooMany",
    ]


def test_a_value_has_one_problem_for_each_reason() -> None:
    assert each("f", 1, ["a", "b"]) == [invalid("f", 1, "a"), invalid("f", 1, "b")]


@pytest.mark.parametrize(
    ("values", "positions"),
    [([], []), ([1, 2], []), ([1, 2, 1, 1], [2, 3]), (["a", "b", "b"], [2])],
    ids=["none", "all differ", "the first of equal values does not count", "texts"],
)
def test_positions_of_repeated_values(values: list[object], positions: list[int]) -> None:
    assert list(repeated(values)) == positions


def test_only_a_change_of_an_immutable_field_is_a_problem() -> None:
    assert immutable("f", [1], [1]) == []
    assert immutable("f", 2, 1) == [invalid("f", 2, "field is immutable")]


@pytest.mark.parametrize(
    ("value", "valid"),
    [(None, True), (0, True), (1, True), (-1, False)],
    ids=["unset", "zero", "positive", "negative"],
)
def test_negative_numbers(value: int | None, valid: bool) -> None:
    assert bool(non_negative("f", value)) is not valid
