"""Peaks prefers nodes on which a pod raises the power the least."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.contrib.peaks import MODEL_FILE, Peaks
from mooring.testing import check_plugin, make_node, make_pod, run_score
from tests.contrib.load.measured import Loads, measured, measurements

LOADS: Loads = {"a": (20, 0, 0, 0), "b": (20, 0, 0, 0), "full": (99, 0, 0, 0), "none": (5, 0, 0, 0)}
NODES = [make_node(name, cpu=10) for name in (*LOADS, "unmeasured")]
MODELS = {
    "a": {"k0": 100.0, "k1": 5.0, "k2": 0.02},
    "b": {"k0": 100.0, "k1": 9.0, "k2": 0.02},
    "full": {"k0": 100.0, "k1": 9.0, "k2": 0.02},
}
ARGS: dict[str, Any] = {"WatcherAddress": "http://w.example", "NodePowerModel": MODELS}


def scores(args: dict[str, Any], cpu: str | None = "1", **pod: Any) -> dict[str, int]:
    plugin = measured(Peaks, measurements(LOADS))
    result = run_score(plugin, pod=make_pod("p", cpu=cpu, **pod), nodes=NODES, args=args)
    return result.normalized


def test_the_smallest_jump_is_best_and_so_is_nothing_known() -> None:
    found = scores(ARGS)
    assert found["a"] in (44, 45)
    assert {name: found[name] for name in ("b", "full", "none", "unmeasured")} == {
        "b": 0,
        "full": 100,
        "none": 100,
        "unmeasured": 100,
    }


def test_a_pod_without_a_request_makes_no_jump() -> None:
    assert set(scores(ARGS, cpu=None).values()) == {0}
    assert set(scores(ARGS, cpu=None, spec={"overhead": {"cpu": "1"}}).values()) == {0}


def test_pod_level_requests_go_before_those_of_containers() -> None:
    level = {"resources": {"requests": {"cpu": "0"}, "limits": {"memory": "1Gi"}}}
    assert set(scores(ARGS, spec=level).values()) == {0}


def test_an_empty_map_stands_for_the_file_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "models.json"
    file.write_text('{"a": {"k0": 1, "k1": 5, "k2": 0.02}}')
    monkeypatch.setenv(MODEL_FILE, str(file))
    assert scores(ARGS | {"NodePowerModel": {}})["a"] == 0
    assert set(scores({"WatcherAddress": "http://w.example"}).values()) == {0}
    file.write_text('{"a": {"k9": 1}}')
    with pytest.raises(Exception, match="not a power model"):
        scores(ARGS | {"NodePowerModel": {}})


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"NodePowerModel": MODELS}, "WatcherAddress must be given, or metricProvider"),
        (
            {"NodePowerModel": MODELS, "metricProvider": {"type": "SignalFx"}},
            "SignalFx is not supported",
        ),
        ({"watcherAddress": "http://w"}, 'unknown field "watcherAddress"'),
        ({"WatcherAddress": "http://w"}, "NODE_POWER_MODEL"),
        (ARGS | {"NodePowerModel": {"a": {"k3": 1}}}, "k3"),
    ],
    ids=["no source", "unusable source", "lower case", "no model", "unknown factor"],
)
def test_bad_arguments(args: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MODEL_FILE, raising=False)
    with pytest.raises(Exception, match=problem):
        scores(args)


def test_a_metric_provider_takes_the_place_of_a_load_watcher() -> None:
    args = {"NodePowerModel": MODELS, "metricProvider": {"type": "KubernetesMetricsServer"}}
    assert scores(args) == scores(ARGS)
    parsed = msgspec.convert(args, Peaks.Args)
    assert (parsed.source.watcher_address, parsed.source.metric_provider.type) == (
        None,
        "KubernetesMetricsServer",
    )
    both = msgspec.convert(args | ARGS, Peaks.Args)
    assert both.source.watcher_address == "http://w.example"


def test_it_keeps_the_contract() -> None:
    loads: Loads = {f"n{index}": (13.0 * index, 0, 0, 0) for index in range(7)}
    models = MODELS | {f"n{index}": MODELS["a"] for index in range(7)}
    plugin = measured(Peaks, measurements(LOADS | loads))
    args = ARGS | {"NodePowerModel": models}
    assert check_plugin(plugin, args=args, nodes=NODES, rounds=5).scored


def test_a_node_whose_power_would_be_infinite_has_no_jump() -> None:
    found = measurements({"over": (10_000, 0, 0, 0), "a": (10, 0, 0, 0)})
    model = {"k0": 0.0, "k1": 1e-3, "k2": 0.1}
    args = {"WatcherAddress": "http://w", "NodePowerModel": {"over": model, "a": model}}
    scores = run_score(
        measured(Peaks, found),
        pod=make_pod("p", cpu="1"),
        nodes=[make_node("over"), make_node("a")],
        args=args,
    )
    assert scores.raw["over"] == 0 < scores.raw["a"]
