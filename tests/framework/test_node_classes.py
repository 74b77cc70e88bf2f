from __future__ import annotations

import random

import numpy as np
import pytest

from mooring.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.framework.what_if import WhatIf
from mooring.plugins.node_resources import BalancedAllocation, Fit
from tests.plugins.cluster import Cluster, make_node, make_pod

SIZES = ({"cpu": "4", "memory": "8Gi", "pods": "3"}, {"cpu": "8", "memory": "8Gi", "pods": "5"})
GPU = "example.com/gpu"
REQUESTS = ({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"memory": "2Gi"}, {GPU: "1"})


def amounts(nodes: Nodes) -> list[list[int]]:
    resources = ("cpu", "memory", "pods", GPU)
    return [
        nodes.pod_count.tolist(),
        *(nodes.allocatable(resource).tolist() for resource in resources),
        *(nodes.requested(resource).tolist() for resource in resources),
        *(nodes.free(resource).tolist() for resource in resources),
        *(nodes.non_zero_requested(resource).tolist() for resource in resources[:2]),
    ]


def spread(nodes: Nodes) -> list[list[int]]:
    kinds = nodes.kinds()
    return [kinds.spread(np.array(column)).tolist() for column in amounts(kinds.nodes)]


@pytest.mark.parametrize("seed", range(5))
def test_kinds_answer_for_all_nodes_whatever_has_happened(seed: int) -> None:
    chance = random.Random(seed)
    cache = Cache(PodInfos(FeatureGates()))
    for number in range(60):
        cache.add_node(make_node(f"n{number}", allocatable=chance.choice(SIZES)))
    here: list[str] = []
    for number in range(300):
        what = chance.random()
        if what < 0.6:
            node = f"n{chance.randrange(60)}"
            pod = make_pod(f"p{number}", node, requests=chance.choice(REQUESTS))
            cache.add_pod(pod)
            here.append(pod.metadata.uid)
        elif what < 0.9 and here:
            cache.remove_pod(here.pop(chance.randrange(len(here))))
        elif what < 0.95:
            name = f"n{chance.randrange(60)}"
            cache.update_node(make_node(name, allocatable=chance.choice(SIZES)))
        elif what < 0.97:
            cache.add_node(make_node(f"more{number}", allocatable=chance.choice(SIZES)))
        if chance.random() < 0.5:
            nodes = cache.nodes
            assert spread(nodes) == amounts(nodes)
            rows = np.array(chance.sample(range(len(nodes)), 40), dtype=np.intp)
            assert spread(nodes.select(rows)) == amounts(nodes.select(rows))


def test_one_node_of_each_kind_is_asked() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for number in range(20):
        cache.add_node(make_node(f"n{number}"))
    assert len(cache.nodes.kinds().nodes) == 1
    cache.add_pod(make_pod("p", "n3", requests={"cpu": "1"}))
    kinds = cache.nodes.kinds()
    assert len(kinds.nodes) == 2
    assert [node.name for node in kinds.few or ()] == ["n0", "n3"]
    cache.add_pod(make_pod("q", "n0", requests={"cpu": "1"}))
    assert [node.name for node in cache.nodes.kinds().few or ()] == ["n1", "n3"]


def test_nodes_that_are_all_different_are_asked_themselves() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for number in range(20):
        cache.add_node(make_node(f"n{number}", allocatable={"cpu": str(number + 1)}))
    assert cache.nodes.kinds().nodes is cache.nodes
    assert cache.nodes.kinds().few is None
    most, part = (cache.nodes.select(np.arange(size)) for size in (12, 3))
    assert len(most.kinds().nodes) == 20, "whole columns are read as they are"
    assert part.kinds().nodes is part
    assert spread(most) == amounts(most)


def test_a_trial_asks_every_node() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    for number in range(20):
        cache.add_node(make_node(f"n{number}"))
    trial = WhatIf(cache.nodes, np.arange(20))
    assert trial.kinds().nodes is trial
    assert trial.kinds().few is None


@pytest.mark.parametrize("sizes", [1, 2, 9], ids=lambda count: f"{count} kinds")
@pytest.mark.parametrize("plugin", [Fit, BalancedAllocation], ids=lambda plugin: plugin.__name__)
def test_plugins_answer_by_kind_as_node_by_node(plugin: type, sizes: int) -> None:
    nodes = [
        make_node(f"n{n}", allocatable={"cpu": str(n % sizes + 1), "memory": "8Gi", "pods": "9"})
        for n in range(60)
    ]
    cluster = Cluster(nodes, [make_pod("p", "n0", requests={"cpu": "500m", "memory": "1Gi"})])
    made = plugin(None, cluster.handle)
    pod, state = make_pod(requests={"cpu": "2", "memory": "1Gi"}), CycleState()
    infos: list[NodeInfo] = list(cluster.nodes.infos())
    if plugin is Fit:
        made.pre_filter(state, pod, cluster.nodes)
        refused = np.zeros(60, dtype=np.bool_)
        for _, mask in made.filter_nodes(state, pod, cluster.nodes):
            refused |= mask
        one_by_one = [made.filter(state, pod, info) is not None for info in infos]
        assert refused.tolist() == one_by_one
    made.pre_score(state, pod, cluster.nodes)
    scores = made.score_nodes(state, pod, cluster.nodes)
    assert scores.tolist() == [made.score(state, pod, info) for info in infos]
