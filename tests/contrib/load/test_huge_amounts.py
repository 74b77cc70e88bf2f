"""Amounts that no int64 holds wrap as in Go, and no plugin fails."""

from __future__ import annotations

import pytest

from mooring import Plugin
from mooring.contrib.load_variation_risk_balancing import LoadVariationRiskBalancing
from mooring.contrib.low_risk_over_commitment import LowRiskOverCommitment
from mooring.contrib.target_load_packing import TargetLoadPacking
from mooring.testing import make_node, make_pod, run_score
from tests.contrib.load.measured import measured, measurements

HUGE = {"cpu": "9e15", "memory": "9e18"}


@pytest.mark.parametrize(
    "plugin", [TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment]
)
def test_huge_amounts(plugin: type[Plugin]) -> None:
    resources = {"requests": HUGE, "limits": HUGE}
    containers = [{"name": f"c{n}", "image": "a", "resources": resources} for n in range(3)]
    spec = {"containers": containers, "overhead": HUGE}
    found = run_score(
        measured(plugin, measurements({"a": (50, 5, 50, 5)})),
        pod=make_pod("p", spec=spec),
        nodes=[make_node("a"), make_node("b")],
        pods=[make_pod(f"q{index}", spec=spec, node="a") for index in range(3)],
    )
    assert set(found.raw) == {"a", "b"}
