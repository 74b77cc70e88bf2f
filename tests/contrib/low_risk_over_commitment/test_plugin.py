"""LowRiskOverCommitment avoids nodes on which overuse is likely."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import CycleState
from mooring.contrib.low_risk_over_commitment import LowRiskOverCommitment
from mooring.testing import check_plugin, make_node, make_pod, run_score
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.load.measured import Loads, measured, measurements

LOADS: Loads = {
    "quiet": (5, 1, 5, 1),
    "busy": (70, 10, 30, 5),
    "steady": (70, 0, 30, 0),
    "crowded": (5, 1, 5, 1),
}
NODES = [make_node(name, cpu=10, memory="10Gi") for name in (*LOADS, "unmeasured")]


def pod_of(name: str, requests: dict[str, Any], limits: dict[str, Any], **more: Any) -> Any:
    resources = {"requests": requests, "limits": limits}
    spec = {"containers": [{"name": "c", "image": "a", "resources": resources}]}
    return make_pod(name, spec=spec, **more)


CROWD = [pod_of(f"c{index}", {"cpu": "2"}, {"cpu": "6"}, node="crowded") for index in range(3)]
POD = pod_of("p", {"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "2Gi"})


def scores(args: dict[str, Any] | None = None, pod: Any = POD) -> list[int]:
    plugin = measured(LowRiskOverCommitment, measurements(LOADS))
    return list(run_score(plugin, pod=pod, nodes=NODES, pods=CROWD, args=args).raw.values())


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(None, [100, 100, 100, 62, 0], id="limits beyond the capacity are a risk"),
        pytest.param(
            {"riskLimitWeights": {"cpu": 1, "memory": 1}}, [100, 100, 100, 23, 0], id="limits alone"
        ),
        pytest.param(
            {"riskLimitWeights": {"cpu": 0, "memory": 0}}, [100, 100, 100, 100, 0], id="load alone"
        ),
        pytest.param(
            {"riskLimitWeights": {"cpu": 7}}, [100, 100, 100, 62, 0], id="a weight out of range"
        ),
        pytest.param({"smoothingWindowSize": -1}, [100, 100, 100, 62, 0], id="no window"),
    ],
)
def test_scores(args: dict[str, Any] | None, wanted: list[int]) -> None:
    assert scores(args) == wanted


def test_load_beyond_what_pods_request_is_a_risk() -> None:
    full = [pod_of(f"f{index}", {"cpu": "1"}, {"cpu": "20"}, node="busy") for index in range(2)]
    plugin = measured(LowRiskOverCommitment, measurements(LOADS))
    result = run_score(
        plugin,
        pod=POD,
        nodes=NODES[:2],
        pods=full,
        args={"riskLimitWeights": {"cpu": 0, "memory": 0}},
    )
    assert result.raw == {"quiet": 100, "busy": 3}


def test_pods_without_requests_and_limits_score_0() -> None:
    assert scores(pod=make_pod("p")) == [0] * 5


def test_only_the_changed_node_is_scored_again_and_the_same() -> None:
    scheduler = MemoryScheduler([*NODES, *CROWD])
    handle = next(iter(scheduler.profiles.values())).handle
    plugin = measured(LowRiskOverCommitment, measurements(LOADS))(None, handle)
    assert isinstance(plugin, LowRiskOverCommitment)
    plugin.start()
    nodes = scheduler.cache.nodes
    for index in range(12):
        found = plugin.score_nodes(CycleState(), POD, nodes)
        fresh = measured(LowRiskOverCommitment, measurements(LOADS))(None, handle)
        assert isinstance(fresh, LowRiskOverCommitment)
        fresh.start()
        wanted = fresh.score_nodes(CycleState(), POD, nodes)
        assert not isinstance(found, int)
        assert not isinstance(wanted, int)
        assert found.tolist() == wanted.tolist()
        name = NODES[index % 4].name
        limits = {"cpu": str(index + 1), "memory": "3Gi"}
        scheduler.cluster.add(pod_of(f"n{index}", {"cpu": "1"}, limits, node=name))


def test_it_keeps_the_contract() -> None:
    loads: Loads = {f"n{index}": (13.0 * index, 5, 90.0 - index, 3) for index in range(7)}
    plugin = measured(LowRiskOverCommitment, measurements(LOADS | loads))
    assert check_plugin(plugin, nodes=NODES, pods=[POD, *CROWD], rounds=5).scored
