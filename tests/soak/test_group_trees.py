"""Trees of composite groups keep their quorums despite faults; planted bugs are found."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import AnyPodGroup, CompositePodGroup, WorkloadPodGroup
from mooring.framework.pod_groups import PodGroups
from mooring.plugins.gang_scheduling import GangScheduling
from mooring.preemption import executor
from mooring.queue.pod_group_queue import PodGroupQueue
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.scheduler.composite_placing import CompositePlacing
from tests.soak.group_trees import run_group_trees

SEEDS = 100


def test_trees_keep_their_quorums_despite_faults() -> None:
    reports = [run_group_trees(seed) for seed in range(SEEDS)]
    assert [str(report) for report in reports if report.violations] == []
    # The runs are not trivial: schedulers are killed while they bind, objects are deleted, and some
    # pods do not fit at first.
    assert sum(report.binds for report in reports) > 5 * SEEDS
    assert sum(report.kills_in_binding for report in reports) > 0
    assert all(sum(kind) > 0 for kind in zip(*(one.deletions for one in reports), strict=True))
    assert sum(report.pending for report in reports) > 0


def test_trees_keep_their_quorums_without_faults() -> None:
    reports = [run_group_trees(seed, faults=False) for seed in range(30)]
    assert [str(report) for report in reports if report.violations] == []


def do_nothing(*given: Any) -> None:
    """Replace a method that refuses, undoes or requeues something."""


def always(*given: Any) -> bool:
    """Report a quorum in every case."""
    return True


_group_deleted = PodGroupQueue.group_deleted


def forget(queue: PodGroupQueue, group: AnyPodGroup) -> None:
    """Drop the pods below a group that was deleted, instead of keeping them for its return."""
    _group_deleted(queue, group)
    for member in list(queue.waiting()):
        queue.delete(member.pod)


#: Replaces the attribute in which an attempt records the plugins that refused a pod.
FORGOTTEN = property(lambda info: frozenset(), do_nothing)


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        pytest.param(
            (
                (GangScheduling, "pre_enqueue", do_nothing),
                (PodGroups, "has_quorum", always),
                (CompositePodGroup, "min_count", 1),
            ),
            "without a quorum of compositepodgroup",
            id="the quorum of child groups is not checked",
        ),
        pytest.param(
            (
                (GangScheduling, "pre_enqueue", do_nothing),
                (PodGroups, "has_quorum", always),
                (WorkloadPodGroup, "min_count", 1),
            ),
            "without a quorum of podgroup",
            id="the minCount of a child group is not checked",
        ),
        pytest.param(
            ((CompositePlacing, "_undo", do_nothing),),
            "left assumed by a failed attempt",
            id="a child group stays assumed after its sibling failed",
        ),
        pytest.param(
            ((SchedulingQueue, "add_group", do_nothing),),
            "its pods wait for it",
            id="a tree is not requeued when a missing group is created",
        ),
        pytest.param(
            ((QueuedPodGroupInfo, "refusers", FORGOTTEN),),
            "not bound although there is room",
            id="a tree is not requeued when resources become free",
        ),
        pytest.param(
            ((PodGroupQueue, "group_deleted", forget),),
            "is lost",
            id="the pods below a deleted group are lost",
        ),
        pytest.param(
            ((CompositePodGroup, "topology_key", ""),),
            "is placed in",
            id="a composite group is spread over domains",
        ),
        pytest.param(
            ((SchedulingQueue, "group_attempted", do_nothing),),
            "still in flight",
            id="a failed tree is not put back",
        ),
        pytest.param(
            ((executor, "RETRY_WAIT", 0.0),),
            "was sent more than 25 times",
            id="a preemption that cannot succeed is repeated at once",
        ),
    ],
)
def test_a_planted_bug_is_found(planted: Any, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, value in planted:
        monkeypatch.setattr(owner, name, value)
    violations = (one for seed in range(40) for one in run_group_trees(seed).violations)
    assert any(found in violation for violation in violations)
