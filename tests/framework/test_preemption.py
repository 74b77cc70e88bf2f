"""The rules in which preempting plugins differ."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import CycleState, Status
from mooring.framework.decision import NodeStatuses
from mooring.framework.preemption import (
    NEVER,
    VICTIM_TERMINATING,
    PreemptionPolicy,
    candidate_node_errors,
)
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler

LEAVING = {"deletionTimestamp": "2026-03-01T12:00:00Z"}


def policy_of(*pods: Any) -> tuple[PreemptionPolicy, NodeStatuses]:
    scheduler = MemoryScheduler([make_node("n"), *pods])
    (profile,) = scheduler.profiles.values()
    return PreemptionPolicy(profile.handle), NodeStatuses(scheduler.cache.nodes)


@pytest.mark.parametrize(
    ("victim", "pod", "expected"),
    [
        pytest.param({}, {"spec": {"preemptionPolicy": "Never"}}, NEVER, id="never preempts"),
        pytest.param({}, {"nominated": True}, "", id="nobody leaves"),
        pytest.param({"metadata": LEAVING}, {"nominated": True}, VICTIM_TERMINATING, id="leaving"),
        pytest.param({"metadata": LEAVING}, {}, "", id="not nominated"),
        pytest.param(
            {"metadata": LEAVING, "priority": 9}, {"nominated": True}, "", id="an important pod"
        ),
    ],
)
def test_when_a_pod_may_preempt(victim: Any, pod: Any, expected: str) -> None:
    nominated = {"status": {"nominatedNodeName": "n"}} if pod.pop("nominated", False) else {}
    policy, statuses = policy_of(make_pod("v", node="n", **victim))
    statuses.absent = Status.unschedulable("full")
    preemptor = make_pod("p", priority=5, **pod, **nominated)
    assert policy.ineligible(CycleState(), preemptor, statuses) == expected


def test_a_nominated_node_that_cannot_be_helped_does_not_hold_a_pod_back() -> None:
    policy, statuses = policy_of(make_pod("v", node="n", metadata=LEAVING))
    statuses.absent = Status.unresolvable("gone")
    preemptor = make_pod("p", priority=5, status={"nominatedNodeName": "n"})
    assert policy.ineligible(CycleState(), preemptor, statuses) == ""


def test_pods_of_lower_priority_are_potential_victims() -> None:
    pods = [make_pod(f"p{priority}", node="n", priority=priority) for priority in (3, 5, 7)]
    policy, _ = policy_of(*pods)
    node = policy.handle.snapshot.info(0)
    found = policy.potential_victims(CycleState(), make_pod("new", priority=5), node)
    assert [one.pod.name for one in found if not isinstance(one, Status)] == ["p3"]


def test_the_texts() -> None:
    policy, statuses = policy_of()
    refusal = policy.no_victims(make_pod("web"), "n")
    assert refusal == Status.unresolvable("No victims found on node n for preemptor pod web")
    assert policy.failed(["a", "a"]) == Status.error("a")
    assert policy.failed(["a", "b", "a"]) == Status.error("[a, b]")
    assert policy.search(CycleState(), make_pod("web"), statuses) is None


@pytest.mark.parametrize(
    ("percentage", "absolute", "paths"),
    [
        (10, 100, []),
        (101, 0, ["args.minCandidateNodesPercentage"]),
        (-1, -1, ["args.minCandidateNodesPercentage", "args.minCandidateNodesAbsolute"]),
        (0, 0, ["args.minCandidateNodesPercentage", "args.minCandidateNodesAbsolute"]),
        (0, 1, []),
    ],
)
def test_the_bounds_of_the_search(percentage: int, absolute: int, paths: list[str]) -> None:
    errors = candidate_node_errors("args", percentage, absolute)
    assert [error.path for error in errors] == paths
