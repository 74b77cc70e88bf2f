"""The durations of a profile's points and plugins are recorded."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mooring.binding.binding_points import (
    run_bind,
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
    run_reserve,
    run_unreserve,
)
from mooring.cycle.post_filter import run_post_filter
from mooring.cycle.pre_filter import run_pre_filter
from mooring.cycle.profile_handle import ProfileHandle
from mooring.cycle.scoring import rank
from mooring.cycle.timing import SilentTimer
from mooring.framework.decision import NodeStatuses
from mooring.framework.plugin import Nominate
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.observe.metrics import Metrics
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
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


def test_a_silent_timer_records_nothing() -> None:
    score = plugin("S", score_nodes=lambda state, pod, nodes: np.zeros(len(nodes), np.int64))
    scheduler = make_scheduler([score], make_nodes(*NODES))
    metrics, profile = metrics_of(scheduler), scheduler.profiles[PROFILE]
    profile.recorder = SilentTimer(metrics, PROFILE)
    run(scheduler)
    run(scheduler)
    assert points(metrics) == {}
    assert sum(series.value for series in metrics.batch_attempts.values()) == 0


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


async def nothing(*_: Any) -> None: ...


#: The methods of a plugin at every point, all of which agree.
EVERY = {
    "pre_filter": lambda *_: None,
    "add_pod": lambda *_: None,
    "remove_pod": lambda *_: None,
    "filter": lambda *_: None,
    "post_filter": lambda *_: Nominate("n1"),
    "pre_score": lambda *_: None,
    "score": lambda *_: 1,
    "normalize_score": lambda state, pod, scores: scores,
    "reserve": lambda *_: None,
    "unreserve": lambda *_: None,
    "permit": lambda *_: Status.wait(1),
    "pre_bind_pre_flight": lambda *_: None,
    "pre_bind": nothing,
    "bind": nothing,
    "post_bind": nothing,
}


def attempt(scheduler: MemoryScheduler, *, timed: bool) -> None:
    """Run every point of a profile once, on one node."""
    profile = scheduler.profiles[PROFILE]
    handle = profile.handle
    assert isinstance(handle, ProfileHandle)
    pod, nodes, state = make_pod(), handle.snapshot, CycleState()
    state.record_plugin_metrics = timed
    one = WhatIf(nodes, np.array([0]))
    other = handle.pod_info(make_pod("other"))
    run_pre_filter(profile, state, pod, nodes)
    handle.run_add_pod(state, pod, other, one.info(0))
    handle.run_remove_pod(state, pod, other, one.info(0))
    handle.run_filters(state, pod, one)
    drive(run_post_filter(profile, state, pod, NodeStatuses(nodes)))
    rank(profile, state, pod, nodes)
    run_reserve(profile, state, pod, "n1")
    run_unreserve(profile, state, pod, "n1")
    run_permit(profile, state, pod, "n1")
    run_pre_bind_pre_flights(profile, state, pod, "n1")
    drive(run_pre_bind(profile, state, pod, "n1"))
    drive(run_bind(profile, state, pod, "n1"))
    drive(run_post_bind(profile, state, pod, "n1"))


def test_every_method_of_a_plugin_is_timed_in_an_attempt_that_is_sampled() -> None:
    scheduler = make_scheduler([plugin("Every", **EVERY)], make_nodes("n1"), binder=False)
    attempt(scheduler, timed=False)
    assert plugins(metrics_of(scheduler)) == {}
    attempt(scheduler, timed=True)
    assert plugins(metrics_of(scheduler)) == {
        ("Every", point, "Success"): 1
        for point in (
            "PreFilter",
            "PreFilterExtensionAddPod",
            "PreFilterExtensionRemovePod",
            "Filter",
            "PostFilter",
            "PreScore",
            "Score",
            "ScoreExtensionNormalize",
            "Reserve",
            "Unreserve",
            "PreBindPreFlight",
            "PreBind",
            "Bind",
            "PostBind",
        )
    } | {("Every", "Permit", "Wait"): 1}


def test_every_duration_is_the_time_that_has_passed() -> None:
    """The clock advances by one per reading; no call reads it a hundred times."""
    scheduler = make_scheduler([plugin("Every", **EVERY)], make_nodes("n1"), binder=False)
    recorder = scheduler.profiles[PROFILE].recorder
    recorder.now = itertools.count(1_000_000).__next__
    attempt(scheduler, timed=True)
    metrics = metrics_of(scheduler)
    for family in (metrics.extension_point_duration, metrics.plugin_duration):
        assert len(family) >= 11
        for key, series in family.items():
            assert 0 < series.sum < 100, key


async def fails(*_: Any) -> None:
    raise ValueError("boom")


async def refuses(*_: Any) -> Status:
    return Status.unschedulable("no")


@pytest.mark.parametrize(
    ("method", "label"), [(nothing, "Success"), (fails, "Error"), (refuses, "Unschedulable")]
)
def test_a_method_that_is_awaited_is_timed_until_it_ends(method: Any, label: str) -> None:
    scheduler = make_scheduler([plugin("Slow", pre_bind=method)], make_nodes("n1"))
    state = CycleState()
    state.record_plugin_metrics = True
    drive(run_pre_bind(scheduler.profiles[PROFILE], state, make_pod(), "n1"))
    assert plugins(metrics_of(scheduler)) == {("Slow", "PreBind", label): 1}


def test_a_timed_vector_form_that_raises_is_named_as_ever() -> None:
    def broken(state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable("no"), np.zeros(len(nodes), np.bool_)
        raise ValueError("boom")

    scheduler = make_scheduler([plugin("Broken", filter_nodes=broken)], make_nodes(*NODES))
    run(scheduler, timed=True)
    assert plugins(metrics_of(scheduler)) == {("Broken", "Filter", "Error"): 1}


def test_a_timed_vector_form_that_is_not_asked_for_more_is_counted_once() -> None:
    def some(state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.error("lost"), np.ones(len(nodes), np.bool_)
        raise AssertionError("asked for more")

    slow = plugin("Slow", filter_nodes=some)
    slow.filters_slowly = True
    scheduler = make_scheduler([slow], make_nodes(*NODES))
    run(scheduler, timed=True)
    assert plugins(metrics_of(scheduler)) == {("Slow", "Filter", "Error"): 1}


def test_a_timed_vector_form_has_the_status_of_the_first_refusal() -> None:
    def some(state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable("nobody"), np.zeros(len(nodes), np.bool_)
        yield Status.unresolvable("all"), np.ones(len(nodes), np.bool_)

    scheduler = make_scheduler([plugin("Some", filter_nodes=some)], make_nodes(*NODES))
    run(scheduler, timed=True)
    label = "UnschedulableAndUnresolvable"
    assert plugins(metrics_of(scheduler)) == {("Some", "Filter", label): 1}


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (None, 1),
        (Status.success(), 1),
        (Status.skip(), 0),
        (Status.unschedulable("no"), 1),
        (Status.unresolvable("no"), 1),
        (Status.error("no"), 1),
        ({"n1"}, 1),
        ("n1", 1),
    ],
    ids=str,
)
def test_pre_filter_counts_as_evaluated_unless_it_skips(answer: Any, count: int) -> None:
    scheduler = make_scheduler([plugin("A", pre_filter=lambda *_: answer)], make_nodes(*NODES))
    run(scheduler)
    assert evaluations(metrics_of(scheduler), "PreFilter") == {"A": count}


@pytest.mark.parametrize(
    "methods",
    [
        {"score": lambda *_: 1},
        {"score_nodes": lambda state, pod, nodes: np.ones(len(nodes), np.int64)},
        {"score_nodes": lambda state, pod, nodes: 1},
    ],
    ids=["node form", "vector form", "one score for all"],
)
def test_a_score_is_evaluated_on_every_feasible_node(methods: Any) -> None:
    scheduler = make_scheduler([refuse("n2"), plugin("A", **methods)], make_nodes(*NODES))
    run(scheduler)
    assert evaluations(metrics_of(scheduler), "Score") == {"A": 2}


@pytest.mark.parametrize("form", [refuse, refuse_each], ids=["vector form", "node form"])
def test_a_filter_is_evaluated_once_for_a_single_node(form: Any) -> None:
    scheduler = make_scheduler(
        [form(called="A"), form("n1", called="B"), form(called="C")], make_nodes(*NODES)
    )
    handle = scheduler.profiles[PROFILE].handle
    assert isinstance(handle, ProfileHandle)
    handle.run_filters(CycleState(), make_pod(), WhatIf(handle.snapshot, np.array([0])))
    assert evaluations(metrics_of(scheduler), "Filter") == {"A": 1, "B": 1, "C": 0}
