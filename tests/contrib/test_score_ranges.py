"""Scores are scaled with Go's arithmetic: int64 wraps, division truncates toward zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.contrib.score_ranges import (
    NOT_AN_INT64,
    highest_to_lowest,
    lowest_to_highest,
    quotient,
    reverse_by_highest,
    round_half_away,
    scaled,
    to_int64,
    wrapped,
)
from mooring.typing import Ints

MOST = 2**63 - 1
INT64 = st.integers(-(2**63), MOST)


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.integers(-(2**62), 2**62))
def test_division_truncates_toward_zero(dividends: list[int], divisor: int) -> None:
    wanted = [
        0 if divisor == 0 else int(math.copysign(1, one * divisor)) * (abs(one) // abs(divisor))
        for one in dividends
    ]
    assert quotient(ints(*dividends), divisor).tolist() == wanted


@given(st.lists(st.integers(0, 2**45), min_size=1), st.integers(1, 2**45))
def test_fast_scaling_equals_integer_division(parts: list[int], whole: int) -> None:
    within = [part % (whole + 1) for part in parts]
    assert scaled(ints(*within), 100, whole).tolist() == [one * 100 // whole for one in within]


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param((-4, 0, 4), [0, 50, 100], id="negative scores too"),
        pytest.param((7, 7), [0, 0], id="equal scores become 0"),
        pytest.param((), [], id="no nodes"),
        pytest.param((0, 1, 3), [0, 33, 100], id="truncated"),
    ],
)
def test_lowest_to_highest(scores: tuple[int, ...], wanted: list[int]) -> None:
    assert lowest_to_highest(ints(*scores)).tolist() == wanted


@pytest.mark.parametrize(
    ("costs", "wanted"),
    [
        pytest.param((0, 0), [0, 0], id="all 0 stay 0"),
        pytest.param((3, 3), [100, 100], id="equal costs become 100"),
        pytest.param((0, 5, 10), [100, 50, 0], id="the lowest is best"),
        pytest.param((), [], id="no nodes"),
    ],
)
def test_highest_to_lowest(costs: tuple[int, ...], wanted: list[int]) -> None:
    assert highest_to_lowest(ints(*costs)).tolist() == wanted


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param((0, 0), [100, 100], id="all 0"),
        pytest.param((0, 2, 4), [100, 50, 0], id="0 is best"),
        pytest.param((MOST, MOST), [100, 100], id="the largest score wraps"),
    ],
)
def test_reverse_by_highest(scores: tuple[int, ...], wanted: list[int]) -> None:
    assert reverse_by_highest(ints(*scores)).tolist() == wanted


def test_floats_that_no_int64_holds_become_its_minimum() -> None:
    found = to_int64(np.array([1.9, -1.9, math.nan, math.inf, -math.inf, 1e19]))
    assert found.tolist() == [1, -1, *[NOT_AN_INT64] * 4]


def test_halves_are_rounded_away_from_zero() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999999999999994])
    assert round_half_away(values).tolist() == [1, 2, 3, -1, -3, 0]


@given(st.integers(-(2**80), 2**80))
def test_integers_wrap_as_int64(number: int) -> None:
    with np.errstate(over="ignore"):
        assert wrapped(number) == int(
            np.array([number % 2**64], dtype=np.uint64).astype(np.int64)[0]
        )
