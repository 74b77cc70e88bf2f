"""metrics.k8s.io: use of nodes in percent of their capacity, also from a cluster that serves it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import CustomResource, Node
from mooring.contrib.load.load_provider import LoadAnswer
from mooring.contrib.load.measurements import LoadMetric
from mooring.contrib.load.metrics_server import NO_NODES, NOT_SERVED, MetricsServer
from mooring.errors import ApiError, MooringError
from mooring.testing import make_node
from mooring.virtual.driving import drive
from tests.contrib.live import node, worker
from tests.contrib.load.sources import handle_of, memory_scheduler
from tests.local.clusters import manifests, running


class Metrics:
    """A client that lists objects of metrics.k8s.io."""

    def __init__(self, usage: dict[str, Any], error: Exception | None = None) -> None:
        self.usage = usage
        self.error = error
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def list(self, kind: str, **options: Any) -> Any:
        self.asked.append((kind, options))
        if self.error is not None:
            raise self.error
        objects = [{"metadata": {"name": key}, "usage": one} for key, one in self.usage.items()]
        return Listed(objects)


class Listed:
    """The answer to a list."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.items = [
            CustomResource(metadata=make_node(one["metadata"]["name"]).metadata, raw=one)
            for one in objects
        ]


def measured(name: str, cpu: str = "4", memory: str = "8Gi") -> Node:
    return make_node(name, capacity={"cpu": cpu, "memory": memory})


def fetch(client: Metrics, *nodes: Node) -> LoadAnswer:
    scheduler = memory_scheduler(nodes or (measured("a"),), client=client)
    return drive(MetricsServer(handle_of(scheduler)).fetch())


def test_use_is_a_share_of_the_capacity() -> None:
    client = Metrics({"a": {"cpu": "500m", "memory": "2Gi"}, "gone": {"cpu": "1"}})
    answer = fetch(client)
    assert {name: one.metrics for name, one in answer.measurements.by_node.items()} == {
        "a": (
            LoadMetric(type="CPU", operator="Latest", value=12.5),
            LoadMetric(type="Memory", operator="Latest", value=25.0),
        )
    }
    assert answer.left_out == ""
    assert client.asked == [
        (
            "nodes.v1beta1.metrics.k8s.io",
            {"timeout": 10.0, "retries": 0, "max_bytes": 8 * 2**20},
        )
    ]


@pytest.mark.parametrize(
    ("usage", "left_out"),
    [
        pytest.param({"cpu": "much", "memory": "2Gi"}, "CPU of node a", id="no quantity"),
        pytest.param({"cpu": {}, "memory": "2Gi"}, "CPU of node a", id="an object"),
        pytest.param({"cpu": "1000", "memory": "2Gi"}, "CPU of node a: it uses 1000", id="absurd"),
        pytest.param({"cpu": None, "memory": "2Gi"}, "CPU of node a", id="null"),
    ],
)
def test_values_that_make_no_sense_are_left_out(usage: dict[str, Any], left_out: str) -> None:
    answer = fetch(Metrics({"a": usage}))
    assert [one.type for one in answer.measurements.by_node["a"].metrics] == ["Memory"]
    assert answer.left_out.startswith(left_out)


def test_a_node_without_capacity_is_not_measured() -> None:
    usage = {"cpu": "1", "memory": "1Gi"}
    answer = fetch(Metrics({"a": usage, "b": usage}), measured("a", cpu="0"), measured("b"))
    assert [one.type for one in answer.measurements.by_node["a"].metrics] == ["Memory"]
    assert answer.left_out == "CPU of node a: its capacity is 0"


@pytest.mark.parametrize(
    ("client", "message"),
    [
        pytest.param(Metrics({}, ApiError(404, "no such path")), NOT_SERVED, id="not served"),
        pytest.param(Metrics({}, ApiError(403, "no right")), "no right", id="forbidden"),
        pytest.param(Metrics({}), NO_NODES, id="no nodes"),
        pytest.param(Metrics({"a": {"cpu": "x", "memory": "y"}}), "CPU of node a", id="garbage"),
    ],
)
def test_failures_say_what_to_do(client: Metrics, message: str) -> None:
    with pytest.raises(MooringError, match=message):
        fetch(client)


USAGE = st.dictionaries(
    st.sampled_from(("cpu", "memory", "pods")),
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text()
    | st.lists(st.text())
    | st.sampled_from(("1e500", "-5", "999999999999E", "NaN", "0.0000000001")),
)


@given(USAGE | st.none() | st.text() | st.lists(st.integers()), st.sampled_from(("4", "0", "1n")))
def test_no_answer_crashes(usage: Any, capacity: str) -> None:
    try:
        answer = fetch(Metrics({"a": usage}), measured("a", cpu=capacity))
    except MooringError:
        return
    for one in answer.measurements.by_node.values():
        assert all(math.isfinite(metric.value) for metric in one.metrics)


async def test_the_metrics_of_a_cluster(tmp_path: Path) -> None:
    text = yaml.safe_dump_all([node("a", 8), node("b", 8), worker("one", nodeName="a")])
    async with running(tmp_path, objects=manifests(text)) as reader:
        await reader.until(
            "/api/v1/namespaces/default/pods/one",
            lambda pod: pod["status"].get("phase") == "Running",
        )
        listed = await reader.client.list(Node)
        scheduler = memory_scheduler(listed.items, client=reader.client)
        answer = await MetricsServer(handle_of(scheduler)).fetch()
    loads = {
        name: [(metric.type, metric.value) for metric in one.metrics]
        for name, one in answer.measurements.by_node.items()
    }
    assert loads == {
        "a": [("CPU", 12.5), ("Memory", 0.0)],
        "b": [("CPU", 0.0), ("Memory", 0.0)],
    }
