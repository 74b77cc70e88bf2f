"""Waiting at Permit, and cancelling a binding in PreBind."""

from __future__ import annotations

from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.framework.status import Code, Status
from tests.cycle.scheduling import make_pod


def wait(name: str = "web", **waits: float) -> PermitWait:
    return PermitWait(make_pod(name), waits, now=100.0)


def test_the_last_yes_lets_the_pod_go_on() -> None:
    told: list[PermitWait] = []
    waiting = PermitWait(make_pod(), {"A": 5, "B": 9}, 100.0)
    waiting.when_done(lambda: told.append(waiting))
    waiting.allow("B")
    waiting.allow("stranger")
    assert waiting.outcome is None
    assert told == []
    waiting.allow("A")
    assert waiting.outcome == Status.success()
    assert told == [waiting]
    assert not waiting.reject("A", "too late")
    assert waiting.outcome == Status.success()


def test_one_no_is_enough() -> None:
    waiting = wait(A=5, B=9)
    assert waiting.reject("B", "no")
    assert waiting.outcome == Status(Code.UNSCHEDULABLE, ("no",), plugin="B")
    waiting.allow("A")
    waiting.allow("B")
    assert waiting.outcome.message == "no"


def test_the_shortest_patience_counts() -> None:
    waiting = wait(A=9, B=5)
    waiting.expire(104.9)
    assert waiting.outcome is None
    waiting.expire(105.0)
    assert waiting.outcome == Status(
        Code.UNSCHEDULABLE,
        ("rejected due to timeout after waiting 5s at plugin B",),
        plugin="B",
    )


def test_the_next_deadline_is_of_pods_that_still_wait() -> None:
    pods = BindingPods()
    assert pods.next_deadline() is None
    first, second = wait("a", A=5), wait("b", A=9)
    pods.add_waiting(first)
    pods.add_waiting(second)
    assert pods.next_deadline() == 105.0
    first.allow("A")
    assert pods.next_deadline() == 109.0
    pods.expire(200.0)
    assert second.outcome is not None
    assert pods.next_deadline() is None
    pods.remove_waiting("a")
    assert pods.get("a") is None
    assert list(pods.waiting()) == [second]


def test_a_pod_that_is_deleted_while_it_waits_is_rejected() -> None:
    pods = BindingPods()
    waiting = wait(A=5)
    pods.add_waiting(waiting)
    assert pods.reject_removed("web")
    assert not pods.reject_removed("web")
    assert not pods.reject_removed("stranger")
    assert waiting.outcome == Status(Code.UNSCHEDULABLE, ("removed",))


def test_pre_bind_can_be_called_off_until_it_is_over() -> None:
    pods = BindingPods()
    binding = pods.add_pre_binding("a")
    found = pods.pre_binding("a")
    assert found is not None and found.cancel("preempted") and found.cancel("again")
    assert not binding.finish()
    assert binding.cancelled == "preempted"
    other = pods.add_pre_binding("b")
    assert other.finish()
    assert not other.cancel("too late")
    pods.remove_pre_binding("b")
    assert pods.pre_binding("b") is None


def test_a_pod_is_preempted_only_while_it_waits() -> None:
    waiting = wait(A=5)
    assert waiting.preempt("DefaultPreemption", "preempted") is True
    assert waiting.outcome == Status(Code.ERROR, ("preempted",), plugin="DefaultPreemption")
    assert waiting.preempt("DefaultPreemption", "again") is False
    assert waiting.outcome.message == "preempted"


def test_a_pod_that_waits_is_found_by_its_uid() -> None:
    pods = BindingPods()
    waiting = wait(A=5)
    pods.add_waiting(waiting)
    assert (pods.get("web"), pods.get("stranger")) == (waiting, None)


def test_the_plugins_that_have_not_allowed_a_pod_are_named_with_their_patience() -> None:
    waiting = wait(A=9, B=5)
    waiting.allow("A")
    assert waiting.waits == {"B": 5}
