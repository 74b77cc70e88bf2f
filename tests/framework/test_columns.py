"""Columns for names that pods make up: labels no node has, resources no node offers."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from mooring.api import Node, Pod, decode
from mooring.cache import Cache
from mooring.framework import columns
from mooring.framework.columns import ValueColumn
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos


def _node(name: str, labels: dict[str, str] | None = None, **offered: str) -> Node:
    amounts = {"cpu": "4", **{name.replace("_", "/"): n for name, n in offered.items()}}
    node: Node = decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels or {}},
            "status": {"allocatable": amounts},
        }
    )
    return node


def _pod(name: str, node: str, requests: dict[str, str]) -> Pod:
    container = {"name": "c", "image": "a", "resources": {"requests": requests}}
    pod: Pod = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"nodeName": node, "containers": [container]},
        }
    )
    return pod


def _cache(*nodes: Node) -> Cache:
    cache = Cache(PodInfos(FeatureGates()))
    for node in nodes:
        cache.add_node(node)
    return cache


def test_a_label_that_no_node_has_is_absent_until_one_has_it() -> None:
    cache = _cache(_node("a"), _node("b"))
    assert not cache.nodes.label("zone").any
    assert cache.nodes.has_label("zone").tolist() == [False, False]
    cache.update_node(_node("b", {"zone": "x"}))
    assert cache.nodes.has_label("zone").tolist() == [False, True]
    cache.update_node(_node("b"))
    assert cache.nodes.has_label("zone").tolist() == [False, False]


def test_labels_that_pods_make_up_take_no_memory() -> None:
    cache = _cache(*(_node(f"n{i}") for i in range(500)))
    cache.nodes.has_label("first")
    tracemalloc.start()
    try:
        for i in range(1000):
            cache.nodes.has_label(f"made-up-{i}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A column of 500 nodes takes 2 kB.
    assert kept < 500_000


def test_labels_that_nodes_had_are_dropped_when_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "_LABEL_KEYS", 64)

    def alive() -> int:
        gc.collect()
        return sum(isinstance(one, ValueColumn) for one in gc.get_objects())

    cache = _cache(_node("a"))
    before = alive()
    for i in range(1000):
        cache.update_node(_node("a", {f"label-{i}": "x"}))
        assert cache.nodes.has_label(f"label-{i}").all()
    assert alive() - before <= 65
    assert cache.nodes.has_label("label-999").all()
    assert not cache.nodes.has_label("label-998").any()


def test_a_resource_that_no_node_offers_is_counted_without_a_column() -> None:
    cache = _cache(_node("a"), _node("b"))
    cache.add_pod(_pod("p", "b", {f"example.com/r{i}": "2" for i in range(100)}))
    assert cache.nodes.requested("example.com/r7").tolist() == [0, 2]
    assert cache.nodes.free("example.com/r7").tolist() == [0, -2]
    assert cache.nodes.requested_floats("example.com/r7").tolist() == [0.0, 2.0]
    cache.validate()


def test_resources_that_no_node_offers_take_no_memory() -> None:
    cache = _cache(*(_node(f"n{i}") for i in range(2000)))
    tracemalloc.start()
    try:
        cache.add_pod(_pod("p", "n7", {f"example.com/r{i}": "2" for i in range(100)}))
        for i in range(100):
            assert cache.nodes.requested(f"example.com/r{i}")[7] == 2
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A column of 2,000 nodes takes 16 kB.
    assert kept < 1_000_000


def test_a_resource_gets_a_column_once_a_node_offers_it() -> None:
    cache = _cache(_node("a"), _node("b"))
    cache.add_pod(_pod("p", "b", {"example.com/gpu": "2"}))
    cache.add_node(_node("c", example_com="1", **{"example.com_gpu": "3"}))
    assert cache.nodes.free("example.com/gpu").tolist() == [0, -2, 3]
    cache.validate()
    cache.remove_pod("p")
    assert cache.nodes.free("example.com/gpu").tolist() == [0, 0, 3]
    cache.validate()


def test_nothing_is_left_of_pods_and_nodes_that_went() -> None:
    cache = _cache(_node("a"), _node("b"))
    for i in range(20):
        cache.add_pod(_pod(f"p{i}", "b", {f"example.com/r{i}": "1", "example.com/zero": "0"}))
        cache.remove_pod(f"p{i}")
    assert cache.nodes.info(1).requested == {}
    cache.add_pod(_pod("last", "b", {"example.com/odd": "1"}))
    cache.remove_node("b")
    assert cache.nodes.requested("example.com/odd").tolist() == [0]
    cache.validate()


@pytest.mark.parametrize("resource", ["memory", "nvidia.com/gpu"])
def test_a_node_whose_sum_does_not_fit_into_64_bits_is_full(resource: str) -> None:
    cache = _cache(_node("a", memory="8Gi"), _node("b", memory="8Gi"))
    pods = [_pod(f"p{number}", "a", {resource: "7Ei"}) for number in range(3)]
    for pod in pods:
        cache.add_pod(pod)
    nodes = cache.nodes
    assert nodes.requested(resource).tolist() == [2**63 - 1, 0]
    assert nodes.free(resource)[0] < 0
    assert nodes.non_zero_requested("memory")[0] <= 2**62
    for pod in pods[1:]:
        cache.remove_pod(pod.metadata.uid)
    assert nodes.requested(resource).tolist() == [7 * 2**60, 0]
    cache.remove_pod(pods[0].metadata.uid)
    assert nodes.requested(resource).tolist() == [0, 0]
