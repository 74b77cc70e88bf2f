"""Answers of a load watcher: what counts, and what makes no sense."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.contrib.load.measurements import (
    LoadMetric,
    NodeMetrics,
    ResourceLoad,
    cpu_values,
    read_measurements,
    resource_load,
    without_implausible,
)
from mooring.errors import ObjectError


def node(*metrics: tuple[str, str, float]) -> NodeMetrics:
    return NodeMetrics(
        tuple(
            LoadMetric(type=kind, operator=operator, value=value)
            for kind, operator, value in metrics
        )
    )


@pytest.mark.parametrize(
    ("measured", "load"),
    [
        pytest.param(node(), ResourceLoad(), id="nothing"),
        pytest.param(node(("Memory", "AVG", 5)), ResourceLoad(), id="another resource"),
        pytest.param(
            node(("CPU", "AVG", 5), ("CPU", "STD", 2)), ResourceLoad(5, 2, True), id="both"
        ),
        pytest.param(node(("CPU", "", 7)), ResourceLoad(7, 0, True), id="without an operator"),
        pytest.param(
            node(("CPU", "AVG", 5), ("CPU", "Latest", 9)),
            ResourceLoad(5, 0, True),
            id="an average goes before a latest value",
        ),
        pytest.param(node(("CPU", "SUM", 5)), ResourceLoad(0, 0, True), id="another operator"),
    ],
)
def test_resource_load(measured: NodeMetrics, load: ResourceLoad) -> None:
    assert resource_load(measured, "CPU") == load


def test_cpu_values_are_averages_and_latest_ones_in_order() -> None:
    found = node(("CPU", "Latest", 1), ("CPU", "STD", 2), ("Memory", "AVG", 3), ("CPU", "AVG", 4))
    assert cpu_values(found) == [1, 4]


@pytest.mark.parametrize(
    "body",
    [
        b"nope",
        b"",
        b"[]",
        b'{"data": {"NodeMetricsMap": []}}',
        b'{"data": {"NodeMetricsMap": {"a": {"metrics": [{"value": NaN}]}}}}',
        b'{"data": {"NodeMetricsMap": {"a": {"metrics": [{"value": "80"}]}}}}',
        b'{"data": {"NodeMetricsMap": {"a": {"metrics": [{"type": "CPU", "value": 1e999}]}}}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
    ids=["text", "empty", "list", "map", "NaN", "quoted", "infinite", "bytes", "deep"],
)
def test_answers_that_make_no_sense(body: bytes) -> None:
    with pytest.raises(ObjectError, match="not an answer of a load watcher"):
        read_measurements(body)


def test_unknown_fields_are_ignored() -> None:
    found = read_measurements(b'{"new": 1, "data": {"NodeMetricsMap": {"a": {"tags": {}}}}}')
    assert found.by_node == {"a": NodeMetrics()}


def test_absurd_loads_are_left_out() -> None:
    body = b"""{"data": {"NodeMetricsMap": {
        "a": {"metrics": [{"type": "CPU", "value": 1e300}, {"type": "Memory", "value": 5}]},
        "b": {"metrics": [{"type": "CPU", "value": -1e300}, {"type": "CPU", "value": 250}]}}}}"""
    found, left_out = without_implausible(read_measurements(body))
    assert {name: [one.value for one in found.by_node[name].metrics] for name in "ab"} == {
        "a": [5.0],
        "b": [250.0],
    }
    assert left_out == "CPU of node a is 1e+300 %"
    assert without_implausible(found) == (found, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.sampled_from(("data", "window", "NodeMetricsMap", "metrics")))
def test_no_answer_crashes(value: Any, key: str) -> None:
    body = msgspec.json.encode({key: value, "data": {"NodeMetricsMap": {"a": value}}})
    try:
        found = read_measurements(body)
    except ObjectError:
        return
    for one in found.by_node.values():
        resource_load(one, "CPU")
