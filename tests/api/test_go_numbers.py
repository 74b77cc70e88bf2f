"""Integers and booleans as Go reads them."""

from __future__ import annotations

import math

import pytest

from mooring.api.go_numbers import (
    INT32,
    INT64,
    UINT64,
    parse_bool,
    parse_float,
    parse_int64,
    parse_integer,
    round_half_away,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("+7", 7), ("007", 7), ("-0", 0), ("", None), ("1_0", None), ("9" * 30, None)],
)
def test_integers_are_those_of_go(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


@pytest.mark.parametrize(
    ("text", "within", "number"),
    [
        ("-2147483648", INT32, -(2**31)),
        ("+5", INT64, 5),
        ("9223372036854775807", INT64, 2**63 - 1),
        ("18446744073709551615", UINT64, 2**64 - 1),
        ("0" * 30 + "7", UINT64, 7),
    ],
)
def test_an_integer_within_its_range_is_read(text: str, within: range, number: int) -> None:
    assert parse_integer(text, within) == number


@pytest.mark.parametrize(
    ("text", "within", "why"),
    [
        ("", INT64, "invalid syntax"),
        ("5.0", INT64, "invalid syntax"),
        (" 5", INT64, "invalid syntax"),
        ("٣", INT64, "invalid syntax"),
        ("+5", UINT64, "invalid syntax"),
        ("2147483648", INT32, "value out of range"),
        ("-1" + "0" * 5000, INT64, "value out of range"),
        ("18446744073709551616", UINT64, "value out of range"),
    ],
)
def test_any_other_text_is_refused_in_the_words_of_go(text: str, within: range, why: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_integer(text, within, "Atoi")
    assert str(error.value) == f'strconv.Atoi: parsing "{text}": {why}'


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("1", "t", "T", "TRUE", "true", "True"), True),
        (("0", "f", "F", "FALSE", "false", "False"), False),
    ],
    ids=["true", "false"],
)
def test_booleans_have_six_spellings_each(words: tuple[str, ...], value: bool) -> None:
    assert {parse_bool(word) for word in words} == {value}


def test_any_other_word_is_no_boolean() -> None:
    with pytest.raises(ValueError) as error:
        parse_bool("yes")
    assert str(error.value) == 'strconv.ParseBool: parsing "yes": invalid syntax'


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.5", 1.5),
        ("-3", -3.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("+Inf", math.inf),
        ("infinity", math.inf),
        ("", None),
        ("1 ", None),
        ("1_000", None),
        ("1e999", None),
        ("ten", None),
    ],
)
def test_what_is_a_number(text: str, number: float | None) -> None:
    assert parse_float(text) == number


def test_not_a_number_is_a_number_to_go() -> None:
    found = parse_float("NaN")
    assert found is not None
    assert math.isnan(found)


def test_halves_go_away_from_zero() -> None:
    assert [round_half_away(one) for one in (0.5, -0.5, 1.4, -1.6)] == [1, -1, 1, -2]
