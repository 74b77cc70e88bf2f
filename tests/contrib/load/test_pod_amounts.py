"""What pods request and may use: init containers count if they need more; sidecars too."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin
from mooring.contrib.load.pod_amounts import PodAmounts, pod_limits_of, pod_requests_of
from mooring.contrib.load_variation_risk_balancing import LoadVariationRiskBalancing
from mooring.contrib.low_risk_over_commitment import LowRiskOverCommitment
from mooring.contrib.target_load_packing import TargetLoadPacking
from mooring.testing import make_node, make_pod, run_score
from tests.contrib.load.measured import measured, measurements


def container(name: str, requests: dict[str, Any], limits: dict[str, Any] | None = None) -> Any:
    resources = {"requests": requests, "limits": limits or {}}
    return {"name": name, "image": "a", "resources": resources}


def test_the_sum_of_containers_or_the_largest_init_container_plus_overhead() -> None:
    pod = make_pod(
        "p",
        spec={
            "containers": [
                container("a", {"cpu": "1", "memory": "1Mi"}, {"cpu": "2"}),
                container("b", {"cpu": "500m"}),
            ],
            "initContainers": [
                container("i", {"cpu": "1", "memory": "4Mi"}),
                container("s", {"cpu": "3"}) | {"restartPolicy": "Always"},
            ],
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        },
    )
    mebi = 2**20
    assert pod_requests_of(pod) == PodAmounts(3100, 5 * mebi)
    assert pod_limits_of(pod) == PodAmounts(2100, mebi)


def test_the_larger_of_two_by_resource() -> None:
    assert PodAmounts(1, 5).at_least(PodAmounts(3, 2)) == PodAmounts(3, 5)


HUGE = {"cpu": "9e15", "memory": "9e18"}


@pytest.mark.parametrize(
    "plugin", [TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment]
)
def test_amounts_that_no_int64_holds_make_no_plugin_fail(plugin: type[Plugin]) -> None:
    resources = {"requests": HUGE, "limits": HUGE}
    containers = [{"name": f"c{n}", "image": "a", "resources": resources} for n in range(3)]
    spec = {"containers": containers, "overhead": HUGE}
    found = run_score(
        measured(plugin, measurements({"a": (50, 5, 50, 5)})),
        pod=make_pod("p", spec=spec),
        nodes=[make_node("a"), make_node("b")],
        pods=[make_pod("q", spec={"containers": containers[:1]}, node="a")],
    )
    assert set(found.raw) == {"a", "b"}
