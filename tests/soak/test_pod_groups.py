"""Gangs of pod groups are bound wholly or not at all, whatever fails; planted bugs are found."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import WorkloadPodGroup
from mooring.plugins.gang_scheduling import GangScheduling
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.scheduler.pod_group_placing import PodGroupPlacing
from tests.soak.gangs import GANGS, MEMBERS
from tests.soak.pod_groups import run_pod_groups

SEEDS = 100


def test_both_gangs_run_as_a_whole_although_the_scheduler_is_killed() -> None:
    reports = [run_pod_groups(seed) for seed in range(SEEDS)]
    assert [str(report) for report in reports if report.violations] == []
    assert {len(report.binds) for report in reports} == {len(GANGS) * MEMBERS}
    assert sum(report.kills_at_permit for report in reports) > 0


@pytest.mark.parametrize("seed", range(3))
def test_without_faults_too(seed: int) -> None:
    assert run_pod_groups(seed, faults=False).violations == ()


def do_nothing(*given: Any) -> None:
    """Agree to a placement of any number of pods, keep no failed pod, or undo nothing."""


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(
            (
                (GangScheduling, "pre_enqueue", do_nothing),
                (GangScheduling, "permit", do_nothing),
                (WorkloadPodGroup, "min_count", 1),
            ),
            id="a partial gang is bound",
        ),
        pytest.param(((SchedulingQueue, "group_attempted", do_nothing),), id="a group is lost"),
        pytest.param(((PodGroupPlacing, "undo", do_nothing),), id="a group is left half-assumed"),
        pytest.param(
            ((WorkloadPodGroup, "topology_key", ""),), id="a gang goes to more than one rack"
        ),
    ],
)
def test_a_planted_bug_is_found(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, value in planted:
        monkeypatch.setattr(owner, name, value)
    assert any(run_pod_groups(seed, faults=False).violations for seed in range(5))
