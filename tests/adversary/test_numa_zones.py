"""NodeResourceTopology objects with hostile numbers: one node's agent cannot harm other nodes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mooring.api import NodeResourceTopology, Pod, decode_as
from mooring.contrib.node_resource_topology import NodeResourceTopologyMatch, least_numa
from mooring.contrib.node_resource_topology.args import (
    LEAST_NUMA_NODES,
    STRATEGIES,
    NumaScoringStrategy,
    TopologyMatchArgs,
)
from mooring.contrib.node_resource_topology.least_numa import MOST_COMBINATIONS, combinations_of
from mooring.testing import make_node, make_pod, run_filter, run_score

Zone = dict[str, Any]

HOSTILE = "hostile"
#: So many nodes are scored by columns; the others are scored one by one.
GOOD = [f"good-{number}" for number in range(10)]


def zone(number: object, cpu: Any = "4", memory: Any = "8Gi", **more: Any) -> Zone:
    """Return a NUMA cell."""
    resources = [{"name": "cpu", "available": cpu}, {"name": "memory", "available": memory}]
    return {"name": f"node-{number}", "type": "Node", "resources": resources, **more}


def report(name: str, zones: Sequence[Zone], scope: str, **attributes: str) -> NodeResourceTopology:
    said = {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": scope}
    listed = [{"name": key, "value": value} for key, value in {**said, **attributes}.items()]
    raw = {"metadata": {"name": name}, "zones": list(zones), "attributes": listed}
    return decode_as(raw, NodeResourceTopology)


def distances(value: int) -> list[Zone]:
    costs = [{"name": f"node-{number}", "value": value} for number in range(3)]
    return [zone(number, costs=costs) for number in range(3)]


ZONES: dict[str, list[Zone]] = {
    "negative": [zone(0, "-4", "-1e300"), zone(1, -(2**63), -1)],
    "huge": [zone(0, "1e400", "9" * 999), zone(1, "9223372036854775807E", "9999999Ei")],
    "no numbers": [zone(0, "NaN", "Infinity"), zone(1, "-inf", "0x10"), zone(2, "", "1e999999999")],
    "thousands of digits": [zone(0, "9" * 50_000, "0." + "1" * 50_000), zone(1, "z" * 50_000)],
    "tiny": [zone(0, "1n", "1e-400"), zone(1, "0.0000000000001", "1e-9")],
    "fractions": [zone(0, "1.5", "0.3"), zone(1, 2.5, 1e300)],
    "numbers of thousands of digits": [zone("9" * 5000), zone("-" + "9" * 5000), zone(0)],
    "numbers in other scripts": [zone("\u0663"), zone(" 1"), zone("1_0"), zone("1\n")],
    "one name a thousand times": [zone(0)] * 1000,
    "a thousand": [zone(number) for number in range(1000)],
    "sixty-five small ones": [zone(number, "100m", "1Mi") for number in range(65)],
    "largest distances": distances(2**63 - 1),
    "smallest distances": distances(-(2**63)),
    "distances that no int64 holds": distances(10**30),
    "a thousand resources": [
        {
            "name": "node-0",
            "type": "Node",
            "resources": [
                {"name": f"example.com/{number}", "available": "many"} for number in range(1000)
            ],
        }
    ],
    "a good one and one with less than nothing": [zone(0), zone(1, "4", "-1n"), zone(2, -4, -4)],
    "none": [],
}


def pod() -> Pod:
    """Return a Guaranteed pod that fits into one cell of a good node."""
    requests = {"cpu": "3", "memory": "1Gi"}
    resources = {"requests": requests, "limits": requests}
    return make_pod("p", spec={"containers": [{"name": "c", "image": "i", "resources": resources}]})


def arguments(strategy: str, cache: int = 0) -> TopologyMatchArgs:
    scoring = NumaScoringStrategy(strategy)
    return TopologyMatchArgs(scoring_strategy=scoring, cache_resync_period_seconds=cache)


def situation(hostile: NodeResourceTopology, scope: str = "pod") -> dict[str, Any]:
    nodes = [make_node(name) for name in (HOSTILE, *GOOD)]
    good = [report(name, [zone(0), zone(1)], scope) for name in GOOD]
    return {"pod": pod(), "nodes": nodes, "objects": [hostile, *good]}


@pytest.mark.parametrize("scope", ["pod", "container"])
@pytest.mark.parametrize("zones", ZONES.values(), ids=ZONES)
def test_a_hostile_report_concerns_its_own_node_alone(
    zones: list[Zone], scope: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    around = situation(report(HOSTILE, zones, scope), scope)
    for strategy in STRATEGIES:
        for cache in (0, 5):
            args = arguments(strategy, cache)
            found = run_filter(NodeResourceTopologyMatch, args=args, **around)
            assert set(GOOD) <= set(found.feasible)
            scores = run_score(NodeResourceTopologyMatch, args=args, **around).raw
            assert len({scores[name] for name in GOOD}) == 1
            assert 0 <= scores.get(HOSTILE, 0) <= 100
    assert "failed" not in caplog.text
    kvs = (str(record.__dict__.get("kv")) for record in caplog.records)
    assert max(map(len, kvs), default=0) < 2000


def least_numa_scores(zones: Sequence[Zone], **attributes: str) -> Mapping[str, int]:
    """Return the scores by LeastNUMANodes; the hostile node's kubelet would use several cells."""
    said = {"topologyManagerPolicy": "restricted", **attributes}
    around = situation(report(HOSTILE, zones, "pod", **said))
    return run_score(NodeResourceTopologyMatch, args=arguments(LEAST_NUMA_NODES), **around).raw


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "4", "9" * 19, "-1", "\u0663"])
def test_attributes_with_long_numbers_are_read_as_go_reads_them(digits: str) -> None:
    zones = [zone(number) for number in range(4)]
    scores = least_numa_scores(zones, topologyManagerMaxNUMANodes=digits)
    assert 0 <= scores[HOSTILE] <= 100


@pytest.mark.parametrize("count", [13, 30, 65])
def test_the_number_of_combinations_of_cells_is_bounded(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def counted(count: int, size: int) -> tuple[tuple[int, ...], ...]:
        found = combinations_of(count, size)
        tried.append(len(found))
        return found

    monkeypatch.setattr(least_numa, "combinations_of", counted)
    zones = [zone(number, "100m", "1Mi") for number in range(count)]
    scores = least_numa_scores(zones)
    assert scores[HOSTILE] == 0
    assert scores[GOOD[0]] > 0
    # The columns of the other nodes have combinations of their own two cells.
    assert 0 < sum(tried) <= MOST_COMBINATIONS + 10


def test_all_combinations_of_twelve_cells_are_tried() -> None:
    zones = [zone(number, "250m", "1Gi") for number in range(12)]
    scores = least_numa_scores(zones, topologyManagerMaxNUMANodes="12")
    assert scores[HOSTILE] > 0


@pytest.mark.parametrize("most", ["2", "8"])
@pytest.mark.parametrize("count", [8, 9], ids=["by columns", "alone"])
def test_more_cells_than_a_kubelet_uses_score_nothing(count: int, most: str) -> None:
    zones = [zone(number, "400m", "1Gi") for number in range(count)]
    scores = least_numa_scores(zones, topologyManagerMaxNUMANodes=most)
    assert 0 <= scores[HOSTILE] < scores[GOOD[0]]
