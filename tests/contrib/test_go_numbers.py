"""Numbers are read as Go's ParseFloat reads them."""

from __future__ import annotations

import math

import pytest

from mooring.contrib.go_numbers import parse_float, round_half_away


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
