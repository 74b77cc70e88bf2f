from __future__ import annotations

import numpy as np

from mooring.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfos
from tests.plugins.cluster import make_node, make_pod


def test_what_is_derived_is_worked_out_again_only_when_a_node_changes() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b"):
        cache.add_node(make_node(name))
    asked: list[int] = []

    def count(nodes: Nodes) -> int:
        asked.append(len(nodes))
        return len(nodes)

    assert cache.nodes.derive("count", count) == 2
    one = cache.nodes.select(np.array([1], dtype=np.intp))
    assert one.derive("count", count) == 2, "all nodes, whichever are asked about"
    cache.add_pod(make_pod("p", "a"))
    assert cache.nodes.derive("count", count) == 2
    assert asked == [2]
    assert cache.nodes.derive("other", count) == 2
    cache.add_node(make_node("c"))
    assert cache.nodes.derive("count", count) == 3
    cache.update_node(make_node("c", labels={"new": "label"}))
    assert cache.nodes.derive("count", count) == 3
    assert asked == [2, 2, 3, 3]


def test_what_follows_the_pods_is_worked_out_again_only_for_rows_that_changed() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    asked: list[list[str]] = []

    def pods(nodes: Nodes) -> np.ndarray:
        asked.append(list(nodes.names))
        return nodes.pod_count.copy()

    assert cache.nodes.follow("pods", pods).tolist() == [0, 0, 0]
    cache.add_pod(make_pod("p", "b"))
    assert cache.nodes.follow("pods", pods).tolist() == [0, 1, 0]
    one = cache.nodes.select(np.array([1], dtype=np.intp))
    assert one.follow("pods", pods).tolist() == [1]
    assert asked == [["a", "b", "c"], ["b"]]
    cache.remove_node("a")
    assert cache.nodes.follow("pods", pods).tolist() == [0, 1], "rows moved: all anew"


def test_what_follows_survives_a_long_record_of_changes() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    cache.add_node(make_node("a"))
    cache.nodes.follow("pods", lambda nodes: nodes.pod_count)
    for i in range(200):
        cache.add_pod(make_pod(f"p{i}", "a"))
    assert cache.nodes.follow("pods", lambda nodes: nodes.pod_count).tolist() == [200]


def test_the_rows_that_changed_are_told_as_far_back_as_they_are_recorded() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    before = cache.nodes.generation
    assert cache.nodes.changed_since(before) == []
    for uid, node in (("x", "c"), ("y", "a")):
        cache.add_pod(make_pod(uid, metadata={"uid": uid}, spec={"nodeName": node}))
    cache.remove_pod("x")
    assert cache.nodes.changed_since(before) == [2, 0, 2]
    assert cache.nodes.changed_since(cache.nodes.generation - 1) == [2]
    cache.remove_node("b")
    assert cache.nodes.changed_since(before) is None
    assert cache.nodes.changed_since(cache.nodes.generation) == []


def test_names_become_rows_in_their_order() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    assert cache.nodes.rows_of(["c", "new", "a"]).tolist() == [2, -1, 0]
    some = cache.nodes.select(np.array([1], dtype=np.intp))
    assert some.rows_of(iter(["b"])).tolist() == [1], "rows are those of the full snapshot"
    assert cache.nodes.rows_of([]).tolist() == []


def test_lasting_names_stay_as_they_are() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name))
    before = cache.nodes.lasting_names
    assert cache.nodes.select(np.array([1], dtype=np.intp)).lasting_names is before
    cache.remove_node("a")
    cache.add_node(make_node("d"))
    assert (before, cache.nodes.lasting_names) == (("a", "b", "c"), ("c", "b", "d"))
