"""LoadVariationRiskBalancing avoids nodes whose load is high or varies."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.load.measurements import Measurements
from mooring.contrib.load_variation_risk_balancing import LoadVariationRiskBalancing
from mooring.testing import check_plugin, make_node, make_pod, run_score
from tests.contrib.load.measured import Loads, measured, measurements

LOADS: Loads = {
    "quiet": (20, 0, 20, 0),
    "varied": (20, 40, 20, 0),
    "full": (100, 0, 20, 0),
    "memory": (20, 0, 80, 20),
}
NODES = [make_node(name, cpu=10, memory="10Gi") for name in (*LOADS, "unmeasured")]


def scores(args: dict[str, Any] | None = None, found: Measurements | None = None) -> list[int]:
    plugin = measured(LoadVariationRiskBalancing, found or measurements(LOADS))
    pod = make_pod("p", cpu="1", memory="1Gi")
    return list(run_score(plugin, pod=pod, nodes=NODES, args=args).raw.values())


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(None, [85, 65, 50, 45, 0], id="mean and deviation count the same"),
        pytest.param({"safeVarianceMargin": 0}, [85, 85, 50, 55, 0], id="no deviation"),
        pytest.param({"safeVarianceMargin": -2}, [85, 65, 50, 45, 0], id="below 0 it is 1"),
        pytest.param({"safeVarianceSensitivity": 2}, [85, 53, 50, 33, 0], id="a root of it"),
        pytest.param({"safeVarianceSensitivity": 0}, [85, 85, 50, 55, 0], id="an infinite power"),
    ],
)
def test_scores(args: dict[str, Any] | None, wanted: list[int]) -> None:
    assert scores(args) == wanted


def test_without_memory_the_cpu_counts_alone() -> None:
    found = measurements({"quiet": (20, 0, 0, 0)})
    only_cpu = Measurements(
        data=type(found.data)(
            {"quiet": type(found.by_node["quiet"])(found.by_node["quiet"].metrics[:2])}
        )
    )
    assert scores(found=only_cpu)[0] == 85


def test_a_node_without_capacity_scores_0() -> None:
    plugin = measured(LoadVariationRiskBalancing, measurements({"a": (20, 0, 20, 0)}))
    nodes = [make_node("a", cpu=0, memory="0")]
    assert run_score(plugin, pod=make_pod("p"), nodes=nodes).raw == {"a": 0}


def test_it_keeps_the_contract() -> None:
    loads: Loads = {f"n{index}": (13.0 * index, 5, 90.0 - index, 3) for index in range(7)}
    plugin = measured(LoadVariationRiskBalancing, measurements(LOADS | loads))
    assert check_plugin(plugin, nodes=NODES, rounds=5).scored
