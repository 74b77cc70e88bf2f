"""What reuse counts and measures."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mooring.cycle import reuse
from mooring.framework.decision import Outcome
from mooring.observe.metrics import Metrics
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.reuse_scenes import EVERY, hits, place, recording, start
from tests.cycle.scheduling import make_scheduler


@pytest.fixture
def asked() -> list[tuple[str, list[str]]]:
    """Collect the calls of the recording plugin, with their nodes."""
    return []


def metrics_of(scheduler: MemoryScheduler) -> Metrics:
    return scheduler.profiles["default-scheduler"].handle.metrics


def dropped(scheduler: MemoryScheduler) -> dict[str, float]:
    """Return how often answers could not be reused, by reason."""
    family = metrics_of(scheduler).batch_cache_flushed
    return {reason: series.value for (_, reason), series in family.items() if series.value}


def attempts(scheduler: MemoryScheduler) -> dict[str, float]:
    family = metrics_of(scheduler).batch_attempts
    return {result: series.value for (_, result), series in family.items() if series.value}


def test_a_pod_that_takes_over_answers_is_counted(asked: Any) -> None:
    scheduler = start(asked)
    assert attempts(scheduler) == {"no_hint": 1}
    place(scheduler, asked)
    place(scheduler, asked)
    assert attempts(scheduler) == {"no_hint": 1, "hint_used": 2}
    assert dropped(scheduler) == {}


def test_answers_that_no_longer_hold_are_counted(asked: Any) -> None:
    scheduler = start(asked)
    scheduler.cluster.add(make_node("n3", labels={"x": "y"}))
    place(scheduler, asked)
    assert attempts(scheduler) == {"no_hint": 2}
    assert dropped(scheduler) == {"expired": 1}


def test_answers_that_give_way_to_others_are_counted(asked: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(reuse, "_SIGNATURES", 1)
    scheduler = start(asked)
    place(scheduler, asked, labels={"team": "blue"})
    assert dropped(scheduler) == {"pod_incompatible": 1}


def test_pods_that_cannot_be_signed_are_counted(asked: Any) -> None:
    scheduler = start(asked, sign_pod=lambda self, pod: None)
    assert attempts(scheduler) == {"no_hint": 1}
    assert dropped(scheduler) == {"pod_not_batchable": 1}


def test_pods_whose_filters_fail_are_counted() -> None:
    fails = recording([], filter_nodes=lambda *_: 1 / 0)
    scheduler = make_scheduler([fails], [make_node(name) for name in EVERY])
    decision = drive(scheduler.decide(make_pod("a"))).decision
    assert decision.outcome is Outcome.ERROR
    assert dropped(scheduler) == {"pod_failed": 1}
    assert hits(scheduler) == 0


@pytest.mark.parametrize("signs", [True, False], ids=["signed", "not signed"])
def test_every_duration_is_the_time_that_has_passed(asked: Any, signs: bool) -> None:
    """The clock advances by one per reading; no part of a cycle reads it a hundred times."""
    methods = {} if signs else {"sign_pod": lambda self, pod: None}
    scheduler = make_scheduler([recording(asked, **methods)], [make_node(name) for name in EVERY])
    scheduler.profiles["default-scheduler"].recorder.now = itertools.count(1_000_000).__next__
    for _ in range(3):
        place(scheduler, asked)
    metrics = metrics_of(scheduler)
    families = [metrics.extension_point_duration, metrics.get_node_hint_duration]
    if signs:
        families.append(metrics.store_schedule_results_duration)
    for family in families:
        assert family
        for key, series in family.items():
            assert 0 < series.sum < 100, key
    points = {point for point, _, _ in metrics.extension_point_duration}
    assert {"Sign", "Filter", "Score"} <= points
