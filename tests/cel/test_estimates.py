"""Arithmetic of ranges, which stops at the largest 64-bit number."""

from __future__ import annotations

import pytest

from mooring.cel.estimates import MAX, Range, fixed, scale


@pytest.mark.parametrize(
    ("found", "low", "high"),
    [
        pytest.param(Range(1, 2) + Range(10, 20), 11, 22, id="a sum"),
        pytest.param(Range(1, MAX) + fixed(1), 2, MAX, id="a sum that is too large"),
        pytest.param(Range(2, 3) * Range(10, 20), 20, 60, id="a product"),
        pytest.param(Range(0, 2**40) * fixed(2**40), 0, MAX, id="a product that is too large"),
        pytest.param(Range(1, 11).scale(0.1), 1, 2, id="a share is rounded up"),
        pytest.param(Range(0, MAX).scale(2.0), 0, MAX, id="a multiple that is too large"),
        pytest.param(Range(1, 5).union(Range(3, 9)), 1, 9, id="what contains two that overlap"),
        pytest.param(Range(1, 9).union(Range(3, 5)), 1, 9, id="what contains one in another"),
    ],
)
def test_ranges(found: Range, low: int, high: int) -> None:
    assert found == Range(low, high)


def test_an_amount_is_scaled_as_a_double() -> None:
    # 2^64 - 1 has no double of its own; cel-go computes with the next one.
    assert scale(MAX, 0.5) == 2**63
    assert scale(MAX, 1.0) == MAX
    assert scale(0, 0.1) == 0
