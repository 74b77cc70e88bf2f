from __future__ import annotations

import math

import pytest
from prometheus_client.metrics_core import GaugeMetricFamily

from mooring.observe.exposition import expose


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(1, "1", id="an integer, which has no is_integer before Python 3.12"),
        pytest.param(2.0, "2", id="a whole number"),
        pytest.param(0.25, "0.25", id="a fraction"),
        pytest.param(262144.0, "262144", id="six digits"),
        pytest.param(1048576.0, "1.048576e+06", id="seven digits"),
        pytest.param(1.7e300, "1.7e+300", id="a long exponent"),
        pytest.param(-12345678.25, "-1.234567825e+07", id="a large fraction below zero"),
        pytest.param(1e-05, "1e-05", id="a small fraction"),
        pytest.param(math.inf, "+Inf", id="infinity"),
        pytest.param(math.nan, "NaN", id="no number"),
    ],
)
def test_numbers_are_written_as_go_writes_them(value: float, shown: str) -> None:
    family = GaugeMetricFamily("g", "help")
    family.add_metric([], value)
    assert expose([family]).decode().splitlines()[-1] == f"g {shown}"
