"""Scores of extended resources that devices back.

The recorded scenarios `device-scores` show the same for whole decisions.
"""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.plugins.dynamic_resources.devices import (
    GPU,
    allocated_on,
    asks_for,
    claim,
    device_class,
    device_slice,
    node,
)

CLASS = device_class(extendedResourceName=GPU)
TWO_OF_FOUR = (
    device_slice("a", "d0", "d1", "d2", "d3"),
    claim("one", status=allocated_on("a", "d0")),
)


def scores(plugin: str, args: dict[str, Any], *objects: Any, **options: Any) -> dict[str, int]:
    """Return the scores that a plugin gives the nodes for a pod that requests a device."""
    enabled = [{"name": one} for one in ("PrioritySort", plugin, "DefaultBinder")]
    profile = {
        "plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": enabled}},
        "pluginConfig": [{"name": plugin, "args": args}],
    }
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    gates = FeatureGates(options.get("gates"), parse_versions([options.get("release", "1.37")]))
    loaded = load_config_data(config, registry=default_registry(), feature_gates=gates)
    scheduler = MemoryScheduler(
        [node("a"), node("b", options.get("b")), *objects], config=loaded, features=gates
    )
    one = asks_for(GPU)
    scheduler.cluster.add(one)
    decision = drive(scheduler.schedule_one(one))
    assert decision.feasible is not None, decision.message
    raw = decision.scores[plugin].raw.tolist()
    return dict(zip(decision.feasible.names, raw, strict=True))


def fit_scores(*objects: Any, kind: str = "MostAllocated", **options: Any) -> dict[str, int]:
    """Return the scores of NodeResourcesFit, by the devices alone."""
    strategy = {"type": kind, "resources": [{"name": GPU, "weight": 1}]}
    return scores("NodeResourcesFit", {"scoringStrategy": strategy}, *objects, **options)


def test_devices_count_where_the_node_offers_none_of_the_resource() -> None:
    own = {GPU: "2"}
    assert fit_scores(CLASS, *TWO_OF_FOUR, b=own) == {"a": 50, "b": 50}
    least = fit_scores(CLASS, *TWO_OF_FOUR, device_slice("b", "d0"), b=own, kind="LeastAllocated")
    assert least == {"a": 50, "b": 50}


def test_a_node_without_devices_has_no_score_by_them() -> None:
    assert fit_scores(CLASS, *TWO_OF_FOUR) == {"a": 50, "b": 0}


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_both_releases_count_devices(release: str) -> None:
    assert fit_scores(CLASS, *TWO_OF_FOUR, release=release)["a"] == 50


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="all devices"),
        # With selectors, kube-scheduler's process ends.
        pytest.param({"selectors": [{"cel": {"expression": "true"}}]}, id="devices that match"),
    ],
)
def test_balance_counts_devices_too(spec: dict[str, Any]) -> None:
    resources = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 1}]
    found = scores(
        "NodeResourcesBalancedAllocation",
        {"resources": resources},
        device_class(extendedResourceName=GPU, **spec),
        device_slice("a", "d0", "d1"),
        device_slice("b", "d0", "d1", "d2", "d3"),
    )
    # Nothing of the cpu is used: half of the devices unbalance a node more than a quarter.
    assert found == {"a": 62, "b": 68}
