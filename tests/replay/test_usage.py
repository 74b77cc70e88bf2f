"""The use of a cluster over time."""

from __future__ import annotations

import pytest

from mooring.cache.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.replay.usage import Usage, UsageMeter
from mooring.testing.builders import make_node, make_pod


def test_averages_are_weighted_by_time() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    usage = Usage()
    meter = UsageMeter(usage)
    meter.observe(cache.nodes, 100.0)
    assert (usage.seconds, usage.share("cpu"), usage.nodes) == (0.0, 0.0, 0.0)
    cache.add_node(make_node("one", cpu="4"))
    cache.add_node(make_node("two", cpu="4"))
    meter.observe(cache.nodes, 30.0)
    cache.add_pod(make_pod("web", cpu="2", node="one"))
    meter.observe(cache.nodes, 10.0)
    assert usage.share("cpu") == pytest.approx(0.25 * 10 / 40)
    assert usage.nodes == pytest.approx(10 / 40)
    assert usage.most_nodes == 1


def test_changes_of_pods_and_nodes_are_seen() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    usage = Usage()
    meter = UsageMeter(usage)
    cache.add_node(make_node("one", cpu="4"))
    cache.add_pod(make_pod("web", cpu="2", node="one"))
    meter.observe(cache.nodes, 1.0)
    meter.observe(cache.nodes, 1.0)
    cache.add_node(make_node("two", cpu="12"))
    meter.observe(cache.nodes, 1.0)
    cache.remove_node("two")
    meter.observe(cache.nodes, 1.0)
    assert usage.share("cpu") == pytest.approx((3 * 0.5 + 0.125) / 4)
