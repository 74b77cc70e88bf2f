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
