"""The decisions that a follower of a cluster sees."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.explain.attempt_record import AttemptRecord
from mooring.informers.store import Store
from mooring.testing.builders import make_pod
from mooring.ui.seen_decisions import HOLD_SECONDS, SeenDecision, SeenDecisions


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
    uid = make_pod("p").metadata.uid
    assert found.after(0, 10) == [
        SeenDecision(1, 7.0, "default", "p", "bound", "default-scheduler", "n1", uid=uid)
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


class Watched:
    """Pods that change, a leader that reports its attempts, and a clock."""

    def __init__(self, most: int = 100) -> None:
        self.now = 100.0
        self.decisions = SeenDecisions(lambda: self.now, most)
        self._store: Store[Pod] = Store()
        self._store.add_handler(self.decisions.handler())

    def pods(self, *pods: Pod) -> None:
        for pod in pods:
            self._store.add(pod)

    def bind(self, name: str = "p", **more: Any) -> None:
        uid = {"uid": f"uid-{name}"}
        self.pods(make_pod(name, metadata=uid, **more))
        self.pods(make_pod(name, metadata=uid, node="n1", **more))

    def refuse(self, message: str, name: str = "p") -> None:
        uid = {"uid": f"uid-{name}"}
        if self._store.get(name, "default") is None:
            self.pods(make_pod(name, metadata=uid))
        self.pods(make_pod(name, metadata=uid, status=condition("Unschedulable", message)))

    def report(self, attempt: int = 1, outcome: str = "scheduled", **more: Any) -> None:
        self.decisions.add_record(record(attempt, outcome, **{"time": self.now, **more}))

    def shown(self) -> list[tuple[str, int]]:
        """Return outcome and attempt of the decisions that are shown."""
        self.decisions.settle()
        return [(one.outcome, one.attempt) for one in self.decisions.after(0, 100)]


def record(attempt: int, outcome: str, name: str = "p", **more: Any) -> AttemptRecord:
    return AttemptRecord(
        sequence=attempt,
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        attempt=attempt,
        outcome=outcome,
        **{"profile": "default-scheduler", **more},
    )


def test_the_leader_reports_an_attempt() -> None:
    watched = Watched()
    watched.decisions.add_record(record(2, "scheduled", time=5.0, node="n1"))
    watched.decisions.add_record(
        record(1, "unschedulable", "q", time=4.0, message="0/1", node="n2")
    )
    assert watched.decisions.after(0, 10) == [
        # A pod that is unschedulable has lost its node.
        SeenDecision(
            2, 4.0, "default", "q", "unschedulable", "default-scheduler", "", "0/1", "uid-q", 1
        ),
        SeenDecision(
            1, 5.0, "default", "p", "scheduled", "default-scheduler", "n1", "", "uid-p", 2
        ),
    ]


def test_an_observation_after_the_record_is_left_out() -> None:
    watched = Watched()
    watched.report(1, "unschedulable", message="0/1")
    watched.refuse("0/1")
    watched.report(2)
    watched.bind()
    assert watched.shown() == [("unschedulable", 1), ("scheduled", 2)]
    assert watched.decisions.revision == 0


def test_an_observation_before_the_record_is_withdrawn() -> None:
    watched = Watched()
    watched.refuse("0/1")
    watched.bind()
    assert watched.shown() == [("unschedulable", 0), ("bound", 0)]
    watched.report(1, "unschedulable", message="0/1")
    assert watched.decisions.revision == 1
    watched.report(2)
    assert watched.decisions.revision == 2
    assert watched.shown() == [("unschedulable", 1), ("scheduled", 2)]


def test_an_observation_is_held_while_the_leader_reports() -> None:
    watched = Watched()
    watched.decisions.leader_reports = True
    watched.report(1, name="other")
    watched.bind()
    assert watched.shown() == [("scheduled", 1)]
    watched.report(1)
    watched.now += HOLD_SECONDS + 1
    assert watched.shown() == [("scheduled", 1), ("scheduled", 1)]
    assert watched.decisions.revision == 0


@pytest.mark.parametrize("ends", ["no record comes", "the leader is lost"])
def test_an_observation_is_shown_if_no_record_follows(ends: str) -> None:
    watched = Watched()
    watched.decisions.leader_reports = True
    watched.report(1, name="other")
    watched.bind()
    assert watched.shown() == [("scheduled", 1)]
    if ends == "the leader is lost":
        watched.decisions.leader_reports = False
    else:
        watched.now += HOLD_SECONDS
    assert watched.shown() == [("scheduled", 1), ("bound", 0)]


def test_pods_of_other_schedulers_and_gated_pods_do_not_wait() -> None:
    watched = Watched()
    watched.decisions.leader_reports = True
    watched.report(1, name="other")
    watched.bind(scheduler_name="another")
    watched.pods(make_pod("g", metadata={"uid": "g"}))
    gated = condition("SchedulingGated", "waits")
    watched.pods(make_pod("g", metadata={"uid": "g"}, status=gated))
    assert watched.shown() == [("scheduled", 1), ("bound", 0), ("gated", 0)]


def test_decisions_during_a_broken_connection_are_shown_once() -> None:
    watched = Watched()
    watched.decisions.leader_reports = True
    watched.report(1, "unschedulable", message="first")
    watched.decisions.leader_reports = False
    watched.now += 10
    second = watched.now
    watched.refuse("second")
    watched.now += 10
    watched.refuse("first")
    assert watched.shown() == [("unschedulable", 1), ("unschedulable", 0), ("unschedulable", 0)]
    watched.decisions.leader_reports = True
    # The clock of the leader is ahead by a second.
    watched.report(2, "unschedulable", message="second", time=second + 1)
    watched.report(3, "unschedulable", message="first", time=second + 11)
    assert watched.shown() == [("unschedulable", 1), ("unschedulable", 2), ("unschedulable", 3)]


def test_decisions_of_a_lost_leader_stay_if_the_next_one_does_not_know_them() -> None:
    watched = Watched()
    watched.refuse("by the old one")
    watched.now += 60
    watched.report(1, "unschedulable", message="by the new one")
    assert watched.shown() == [("unschedulable", 0), ("unschedulable", 1)]


def test_an_attempt_that_is_reported_twice_is_shown_once() -> None:
    watched = Watched()
    watched.report(1)
    last = watched.decisions.last
    watched.report(1)
    assert (watched.shown(), watched.decisions.last) == ([("scheduled", 1)], last)
    assert watched.decisions.revision == 0
    # Its binding failed.
    watched.report(1, "error", message="refused")
    assert watched.shown() == [("error", 1)]
    assert watched.decisions.revision == 1


def test_only_the_newest_of_the_leader_are_kept_and_do_not_displace_others() -> None:
    watched = Watched(most=3)
    watched.bind("seen")
    for attempt in range(1, 6):
        watched.now += 1
        watched.report(attempt, "unschedulable", message=str(attempt))
    kept = [("bound", 0), ("unschedulable", 3), ("unschedulable", 4), ("unschedulable", 5)]
    assert watched.shown() == kept
    # Attempts that were dropped can be reported again.
    watched.report(1, "unschedulable", message="1")
    assert watched.shown()[1:] == [*kept[2:], ("unschedulable", 1)]
