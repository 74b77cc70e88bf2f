"""What the points and plugins of a profile take is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.metrics import Metrics
from mooring.offline.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, plugin, refuse, refuse_each

PROFILE = "default-scheduler"
NODES = ("n1", "n2", "n3")


def metrics_of(scheduler: MemoryScheduler) -> Metrics:
    return scheduler.profiles[PROFILE].handle.metrics


def run(scheduler: MemoryScheduler, *, timed: bool = False) -> None:
    state = CycleState()
    state.record_plugin_metrics = timed
    scheduler.cycle.run_sync(make_pod(), state)


def points(metrics: Metrics) -> dict[tuple[str, str], int]:
    """Return how often each point ended with each status."""
    return {
        (point, status): sum(series.counts)
        for (point, status, _), series in metrics.extension_point_duration.items()
    }


def plugins(metrics: Metrics) -> dict[tuple[str, str, str], int]:
    return {key: sum(series.counts) for key, series in metrics.plugin_duration.items()}


def evaluations(metrics: Metrics, point: str) -> dict[str, float]:
    return {
        name: series.value
        for (name, where, _), series in metrics.plugin_evaluations.items()
        if where == point
    }


async def test_every_point_of_a_pod_that_is_bound_is_recorded() -> None:
    score = plugin("S", score_nodes=lambda state, pod, nodes: np.zeros(len(nodes), np.int64))
    scheduler = make_scheduler([score], make_nodes(*NODES))
    pod = make_pod()
    scheduler.cluster.add(pod)
    await scheduler.schedule_one(pod)
    found = points(metrics_of(scheduler))
    found.pop(("Sign", "Success"), None)
    assert found == {
        ("PreFilter", "Success"): 1,
        ("Filter", "Success"): 1,
        ("PreScore", "Success"): 1,
        ("Score", "Success"): 1,
        ("Reserve", "Success"): 1,
        ("Permit", "Success"): 1,
        ("PreBindPreFlight", "Skip"): 1,
        ("PreBind", "Success"): 1,
        ("Bind", "Success"): 1,
        ("PostBind", "Success"): 1,
    }


def test_a_point_carries_the_status_it_came_to() -> None:
    no = plugin("No", pre_filter=lambda state, pod, nodes: Status.unresolvable("no"))
    last = plugin("Last", post_filter=lambda state, pod, statuses: Status.unschedulable("no"))
    scheduler = make_scheduler([no, last], make_nodes(*NODES))
    run(scheduler)
    assert points(metrics_of(scheduler)) == {
        ("PreFilter", "UnschedulableAndUnresolvable"): 1,
        ("PostFilter", "Unschedulable"): 1,
    }


@pytest.mark.parametrize("form", [refuse, refuse_each], ids=["vector form", "node form"])
def test_a_filter_is_evaluated_on_the_nodes_that_those_before_it_left(form: Any) -> None:
    scheduler = make_scheduler(
        [form("n1", called="First"), form("n2", called="Second"), form(called="Third")],
        make_nodes(*NODES),
    )
    run(scheduler)
    assert evaluations(metrics_of(scheduler), "Filter") == {"First": 3, "Second": 2, "Third": 1}


def test_a_plugin_that_steps_aside_is_not_evaluated() -> None:
    def score(state: Any, pod: Any, nodes: Any) -> Any:
        return np.zeros(len(nodes), np.int64)

    def skip(state: Any, pod: Any, nodes: Any) -> Status:
        return Status.skip()

    scheduler = make_scheduler(
        [
            plugin("Aside", pre_filter=skip, filter_nodes=skip, pre_score=skip, score_nodes=score),
            plugin("There", pre_filter=lambda *_: None, pre_score=lambda *_: None),
        ],
        make_nodes(*NODES),
    )
    run(scheduler)
    metrics = metrics_of(scheduler)
    assert evaluations(metrics, "PreFilter") == {"Aside": 0, "There": 1}
    assert evaluations(metrics, "PreScore") == {"Aside": 0, "There": 1}
    assert evaluations(metrics, "Filter") == {"Aside": 0}
    assert evaluations(metrics, "Score") == {"Aside": 0}


def test_plugins_are_timed_in_the_cycles_that_are_sampled_alone() -> None:
    def score(state: Any, pod: Any, nodes: Any) -> Any:
        return np.zeros(len(nodes), np.int64)

    scheduler = make_scheduler(
        [
            refuse("n1", called="Vector"),
            refuse_each("n1", called="Node"),
            plugin("Score", score_nodes=score, normalize_score=lambda state, pod, given: given),
        ],
        make_nodes(*NODES),
    )
    run(scheduler)
    assert plugins(metrics_of(scheduler)) == {}
    run(scheduler, timed=True)
    assert plugins(metrics_of(scheduler)) == {
        ("Vector", "Filter", "Unschedulable"): 1,
        ("Node", "Filter", "Success"): 2,
        ("Score", "Score", "Success"): 1,
        ("Score", "ScoreExtensionNormalize", "Success"): 1,
    }


def test_a_timed_plugin_that_raises_is_named_as_ever() -> None:
    def broken(state: Any, pod: Any, nodes: Any) -> Any:
        raise ValueError("boom")

    scheduler = make_scheduler([plugin("Broken", pre_filter=broken)], make_nodes(*NODES))
    state = CycleState()
    state.record_plugin_metrics = True
    decision = scheduler.cycle.run_sync(make_pod(), state)
    assert "plugin Broken, point PreFilter: ValueError: boom" in decision.message
    assert plugins(metrics_of(scheduler)) == {("Broken", "PreFilter", "Error"): 1}
