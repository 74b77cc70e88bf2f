"""The Beta distribution: probabilities that are known, and edges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.contrib.low_risk_over_commitment.beta import (
    incomplete_beta,
    probability_below,
    shape_of,
)


@pytest.mark.parametrize(
    ("shape", "x", "wanted"),
    [
        ((1.0, 1.0), 0.3, 0.3),
        ((2.0, 1.0), 0.5, 0.25),
        ((1.0, 3.0), 0.5, 0.875),
        ((2.0, 2.0), 0.25, 0.15625),
        ((5.0, 2.0), 0.9, 0.885735),
        ((0.5, 0.5), 0.5, 0.5),
        ((200.0, 300.0), 0.4, 0.502429),
        ((2.0, 2.0), 0.0, 0.0),
        ((2.0, 2.0), 1.0, 1.0),
        ((0.0, 2.0), 0.5, 0.0),
        ((math.inf, math.inf), 0.5, 0.0),
        ((2.0, 2.0), 1.5, 0.0),
    ],
)
def test_probability_below(shape: tuple[float, float], x: float, wanted: float) -> None:
    assert probability_below(shape, x) == pytest.approx(wanted, abs=1e-4)


@given(
    st.floats(0.01, 50, allow_nan=False),
    st.floats(0.01, 50, allow_nan=False),
    st.floats(0.001, 0.999),
)
def test_both_sides_add_up_to_1(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) + incomplete_beta(b, a, 1 - x) == pytest.approx(1.0, abs=1e-9)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_no_moments_crash(mean: float, deviation: float, x: float) -> None:
    shape = shape_of(mean, deviation)
    if shape is not None:
        assert 0 <= probability_below(shape, x) <= 1


@pytest.mark.parametrize(("mean", "deviation"), [(-0.1, 0.1), (1.1, 0.1), (0.5, 0.5), (0.0, 0.1)])
def test_moments_that_no_distribution_has(mean: float, deviation: float) -> None:
    assert shape_of(mean, deviation) is None


def test_the_shape_has_the_moments() -> None:
    shape = shape_of(0.25, 0.1)
    assert shape is not None
    alpha, beta = shape
    assert alpha / (alpha + beta) == pytest.approx(0.25)
    variance = alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1))
    assert math.sqrt(variance) == pytest.approx(0.1)
