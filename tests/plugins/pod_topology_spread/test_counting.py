"""The pods that a constraint counts, per node and per domain."""

from __future__ import annotations

import numpy as np
import pytest

from mooring.api.labels import EVERYTHING, Selector
from mooring.plugins.pod_topology_spread.counting import count_domains, pods_on, pods_per_row
from mooring.plugins.pod_topology_spread.inclusion import Included
from mooring.plugins.pod_topology_spread.spread_constraints import SpreadConstraint
from tests.plugins.clusters import ZONE, Cluster, make_node, make_pod

WEB = SpreadConstraint(1, ZONE, Selector.from_map({"app": "web"}))
POD = make_pod("incoming", {"app": "web"})
CLUSTER = Cluster(
    [
        make_node("a", {ZONE: "x"}),
        make_node("b", {ZONE: "x"}),
        make_node("c", {ZONE: "y"}),
        make_node("d"),
    ],
    [
        make_pod("p1", {"app": "web"}, node="a"),
        make_pod("p2", {"app": "web"}, node="a"),
        make_pod("p3", {"app": "web"}, node="b"),
        make_pod("p4", {"app": "db"}, node="b"),
        make_pod("p5", {"app": "web"}, node="c", namespace="other"),
        make_pod("p6", {"app": "web"}, node="d"),
        make_pod(
            "p7", {"app": "web"}, node="c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
        ),
    ],
)


def test_pods_of_the_namespace_that_match_and_stay_are_counted_on_every_node() -> None:
    assert pods_per_row(WEB, POD, CLUSTER.snapshot).tolist() == [2, 1, 0, 1]
    assert [pods_on(WEB, POD, info) for info in CLUSTER.snapshot.infos()] == [2, 1, 0, 1]


def test_an_empty_selector_counts_no_pod() -> None:
    everything = SpreadConstraint(1, ZONE, EVERYTHING)
    assert pods_per_row(everything, POD, CLUSTER.snapshot).tolist() == [0, 0, 0, 0]
    assert [pods_on(everything, POD, info) for info in CLUSTER.snapshot.infos()] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("rows", "sums"),
    [
        pytest.param(None, {"x": 3, "y": 0}, id="all nodes count"),
        pytest.param([False, True, True, True], {"x": 1, "y": 0}, id="some nodes count"),
    ],
)
def test_pods_are_added_up_per_domain(rows: list[bool] | None, sums: dict[str, int]) -> None:
    mask = None if rows is None else np.array(rows)
    included = Included(mask, np.zeros(0, dtype=np.bool_), 0)
    domains = count_domains(WEB, included, POD, CLUSTER.snapshot)
    assert {value: domains.of(value) for value in ("x", "y")} == sums


def test_a_part_of_the_nodes_is_counted_as_the_whole() -> None:
    some = CLUSTER.snapshot.select(np.array([2]))
    assert pods_per_row(WEB, POD, some).tolist() == [2, 1, 0, 1]
