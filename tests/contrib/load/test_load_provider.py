"""Measurements are gathered from the values that providers can use."""

from __future__ import annotations

import pytest

from mooring.contrib.load.load_provider import gathered
from mooring.contrib.load.measurements import LoadMetric, LoadWindow, NodeMetrics
from mooring.errors import ObjectError

METRIC = LoadMetric(type="CPU", operator="AVG", value=5)


def test_values_become_measurements_of_the_last_15_minutes() -> None:
    answer = gathered(
        {"a": [METRIC], "b": []}, ["b is odd"], now=1000.7, source="s", nothing="none"
    )
    found = answer.measurements
    assert found.by_node == {"a": NodeMetrics((METRIC,))}
    assert (found.window, found.timestamp) == (LoadWindow("15m", 100, 1000), 1000)
    assert (found.source, answer.left_out) == ("s", "b is odd")


@pytest.mark.parametrize(
    ("left_out", "message"), [([], "none"), (["b is odd", "c too"], "b is odd")]
)
def test_without_values_there_are_no_measurements(left_out: list[str], message: str) -> None:
    with pytest.raises(ObjectError, match=f"^{message}$"):
        gathered({"a": []}, left_out, now=0.0, source="s", nothing="none")
