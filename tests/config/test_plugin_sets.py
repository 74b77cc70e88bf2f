"""Merging with the defaults and expanding multiPoint: recorded decisions, and tables."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.config.load import LoadResult, load_config_data
from mooring.framework.features import FeatureGates
from mooring.framework.points import CONFIGURABLE_POINTS, Point
from tests.config.in_tree import in_tree_registry, make_plugin

VECTORS = Path(
    os.environ.get("MOORING_VECTORS") or Path(__file__).parent.parent / "conformance" / "vectors"
)
REGISTRY = in_tree_registry(
    make_plugin("Other", "filter score"), make_plugin("Sort", "queueSort"), make_plugin("B", "bind")
)


def recorded() -> Iterator[Any]:
    for file in sorted(VECTORS.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                vector = json.loads(line)
                scenario = vector["scenario"]
                if "config" not in scenario:
                    continue
                expected = vector["expected"]
                if "plugins" not in expected:
                    expected = expected["sequence"][0]
                if "plugins" in expected:
                    yield pytest.param(scenario, expected, id=scenario["name"])


@pytest.mark.parametrize(("scenario", "expected"), list(recorded()))
def test_a_recorded_configuration_runs_the_same_plugins(scenario: Any, expected: Any) -> None:
    gates = FeatureGates(scenario.get("featureGates"))
    result = load_config_data(scenario["config"], registry=REGISTRY, feature_gates=gates)
    pod = scenario.get("pod") or scenario["podSequence"][0]
    name = pod["spec"]["schedulerName"]
    profile = next(one for one in result.profiles if one.scheduler_name == name)
    plugins = {
        point.key: list(profile.names(point))
        for point in CONFIGURABLE_POINTS
        if profile.points[point]
    }
    # PlacementScore is an alpha point that Mooring does not run.
    assert plugins == {k: v for k, v in expected["plugins"].items() if k != "placementScore"}
    assert dict(profile.points[Point.SCORE]) == expected.get("scoreWeights", {})


def load(plugins: Any, **more: Any) -> LoadResult:
    data = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins, **more}],
    }
    return load_config_data(data, registry=REGISTRY)
