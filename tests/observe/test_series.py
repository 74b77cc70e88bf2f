"""The values of metrics."""

from __future__ import annotations

import pytest

from mooring.observe.series import Gauge, Histogram


def test_a_gauge_goes_up_and_down() -> None:
    gauge = Gauge()
    gauge.set(5)
    gauge.inc(3)
    gauge.dec()
    assert gauge.value == 7


def test_a_gauge_can_be_read_when_asked() -> None:
    gauge, found = Gauge(), [1]
    gauge.set_function(lambda: len(found))
    found.append(2)
    assert gauge.value == 2


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        pytest.param(0.0, [1, 0, 0], id="below the first bound"),
        pytest.param(0.1, [1, 0, 0], id="a bound belongs to its bucket"),
        pytest.param(0.11, [0, 1, 0], id="between two bounds"),
        pytest.param(9.0, [0, 0, 1], id="above the last bound"),
    ],
)
def test_a_value_falls_into_one_bucket(value: float, counts: list[int]) -> None:
    histogram = Histogram((0.1, 0.2))
    histogram.observe(value)
    assert histogram.counts == counts
    assert histogram.sum == value
