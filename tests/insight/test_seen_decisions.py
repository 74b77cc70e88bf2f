"""The decisions that a follower of a cluster sees."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.informers.store import Store
from mooring.insight.seen_decisions import SeenDecision, SeenDecisions
from mooring.testing.builders import make_pod


def condition(reason: str, message: str) -> dict[str, Any]:
    said = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"conditions": [said]}


def seen(*pods: Pod, most: int = 10) -> SeenDecisions:
    """Return what is seen of pods that replace each other."""
    store: Store[Pod] = Store([make_pod("there", node="n")])
    decisions = SeenDecisions(lambda: 7.0, most)
    store.add_handler(decisions.handler())
    for pod in pods:
        store.add(pod)
    return decisions


def test_a_pod_that_gets_a_node() -> None:
    found = seen(
        make_pod("p"), make_pod("p", node="n1"), make_pod("p", node="n1", labels={"a": "b"})
    )
    assert found.after(0, 10) == [
        SeenDecision(1, 7.0, "default", "p", "bound", "default-scheduler", "n1")
    ]


def test_a_pod_that_fits_nowhere() -> None:
    full = make_pod("p", status=condition("Unschedulable", "0/1 nodes"))
    again = make_pod("p", status=condition("Unschedulable", "0/2 nodes"))
    found = seen(make_pod("p"), full, full, again)
    assert [(one.outcome, one.message, one.node) for one in found.after(0, 10)] == [
        ("unschedulable", "0/1 nodes", ""),
        ("unschedulable", "0/2 nodes", ""),
    ]


def test_a_gated_pod_and_other_conditions() -> None:
    gated = make_pod("p", status=condition("SchedulingGated", "waits"))
    other = make_pod("p", status=condition("SomethingElse", "?"))
    assert [one.outcome for one in seen(make_pod("p"), gated, other).after(0, 10)] == ["gated"]


def test_a_pod_of_the_same_name_is_another_one() -> None:
    first = make_pod("p", metadata={"uid": "1"})
    second = make_pod("p", node="n1", metadata={"uid": "2"})
    assert seen(first, second).after(0, 10) == []


def test_only_the_newest_are_kept() -> None:
    pods = [pod for i in range(5) for pod in (make_pod(f"p{i}"), make_pod(f"p{i}", node="n"))]
    found = seen(*pods, most=3)
    assert found.last == 5
    assert [one.sequence for one in found.after(0, 10)] == [3, 4, 5]
    assert [one.sequence for one in found.after(0, 2)] == [4, 5]
    assert [one.sequence for one in found.after(4, 10)] == [5]
    assert found.after(5, 10) == []
