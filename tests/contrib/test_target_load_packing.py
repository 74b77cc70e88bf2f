"""TargetLoadPacking fills nodes up to a target use of the cpu."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import PluginError
from mooring.contrib.target_load_packing import TargetLoadPacking
from mooring.testing import check_plugin, make_node, make_pod, run_score
from tests.contrib.load.measured import Loads, measured, measurements

LOADS: Loads = {
    "idle": (0, 0, 0, 0),
    "half": (20, 0, 0, 0),
    "target": (30, 0, 0, 0),
    "above": (60, 0, 0, 0),
    "full": (95, 0, 0, 0),
}
NODES = [make_node(name, cpu=10) for name in (*LOADS, "unmeasured")]


def scores(args: dict[str, Any] | None = None, cpu: str = "1", **pod: Any) -> list[int]:
    plugin = measured(TargetLoadPacking, measurements(LOADS))
    pod.setdefault("spec", {"containers": [_container({"cpu": cpu}, limits={"cpu": cpu})]})
    return list(run_score(plugin, pod=make_pod("p", **pod), nodes=NODES, args=args).raw.values())


def _container(requests: dict[str, Any], limits: dict[str, Any] | None = None) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits or {}}
    return {"name": "c", "image": "a", "resources": resources}


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(None, [55, 85, 100, 20, 0, 0], id="by default the target is 40"),
        pytest.param({"targetUtilization": -1}, [55, 85, 100, 20, 0, 0], id="below 0 it is 40"),
        pytest.param({"targetUtilization": 20}, [60, 18, 15, 8, 0, 0], id="a lower target"),
        pytest.param({"targetUtilization": 100}, [100, 100, 100, 100, 0, 0], id="the whole node"),
    ],
)
def test_the_nearer_to_the_target_the_better(
    args: dict[str, Any] | None, wanted: list[int]
) -> None:
    assert scores(args) == wanted


@pytest.mark.parametrize(
    ("container", "args", "idle"),
    [
        pytest.param(
            _container({"cpu": "1"}), None, 63, id="a request counts one and a half times"
        ),
        pytest.param(_container({}), None, 55, id="without a request it is one cpu"),
        pytest.param(
            _container({}), {"defaultRequests": {"cpu": "2"}}, 70, id="or what the args say"
        ),
        pytest.param(_container({}), {"defaultRequests": {}}, 40, id="or nothing"),
        pytest.param(
            _container({"cpu": "1"}), {"defaultRequestsMultiplier": "3"}, 85, id="another factor"
        ),
    ],
)
def test_what_a_container_is_expected_to_use(
    container: dict[str, Any], args: dict[str, Any] | None, idle: int
) -> None:
    assert scores(args, spec={"containers": [container]})[0] == idle


def test_pods_bound_after_the_measurements_count() -> None:
    plugin = measured(TargetLoadPacking, measurements(LOADS, end=0))
    limits = {"containers": [_container({}, limits={"cpu": "1"})]}
    result = run_score(
        plugin,
        pod=make_pod("p", spec=limits),
        nodes=NODES[:2],
        pods=[make_pod("bound", spec=limits, node="idle")],
    )
    assert result.raw == {"idle": 70, "half": 85}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"defaultRequestsMultiplier": "x"}, "must be a number in quotes"),
        ({"defaultRequestsMultiplier": 2}, "must be a string"),
        ({"watcherAddress": ""}, "metricProvider.type must be one of"),
        ({"defaultRequests": {"cpu": "many"}}, "quantity"),
    ],
    ids=["text", "number", "no source", "quantity"],
)
def test_bad_arguments(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        scores(args)


def test_a_target_above_the_range_of_scores_is_accepted_and_fails_the_scoring() -> None:
    plugin = measured(TargetLoadPacking, measurements(LOADS))
    # As in the original: 150 - 50 * 10 / 150 rounded.
    text = (
        'applying score defaultWeights on Score plugins: plugin "TargetLoadPacking" returns an '
        "invalid score 147, it should in the range of [0, 100] after normalizing, node idle"
    )
    limits = {"containers": [_container({}, limits={"cpu": "1"})]}
    with pytest.raises(PluginError) as failed:
        run_score(
            plugin,
            pod=make_pod("p", spec=limits),
            nodes=NODES[:2],
            args={"targetUtilization": 150},
        )
    assert text in str(failed.value)


def test_it_keeps_the_contract() -> None:
    loads: Loads = {f"n{index}": (13.0 * index, 0, 0, 0) for index in range(7)}
    plugin = measured(TargetLoadPacking, measurements(LOADS | loads))
    assert check_plugin(plugin, nodes=NODES, rounds=5).scored
