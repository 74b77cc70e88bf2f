"""A group in the queue and its members."""

from __future__ import annotations

from mooring.framework.cluster_events import (
    ALL_EVENTS,
    ActionType,
    ClusterEvent,
    EventResource,
)
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.testing import make_pod, make_pod_group


def member(name: str, *, priority: int = 0, attempts: int = 0, at: float = 0.0) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name, group="g", priority=priority), at, 0)
    info.attempts = attempts
    return info


def group(*members: QueuedPodInfo) -> QueuedPodGroupInfo:
    first, *others = members
    info = QueuedPodGroupInfo(make_pod_group("g", priority=4), first, 1.0, 0)
    for one in others:
        info.add(one)
    return info


def test_members_are_tried_by_priority_then_attempts_then_time_then_name() -> None:
    members = [
        member("young", at=2.0),
        member("b", at=1.0),
        member("a", at=1.0),
        member("tried", attempts=2, at=9.0),
        member("high", priority=1, at=9.0),
    ]
    ordered = [one.pod.name for one in group(*members).in_order()]
    assert ordered == ["high", "tried", "a", "b", "young"]


def test_a_group_is_queued_under_a_key_that_no_pod_has_with_its_own_priority() -> None:
    info = group(member("a"), member("b"))
    assert info.key == "podgroup/default/g"
    assert (info.size, info.is_group) == (2, True)
    assert info.as_queued_pod().priority == 4


def test_another_member_stands_for_the_group_when_the_first_one_leaves() -> None:
    first, second = member("a"), member("b")
    info = group(first, second)
    info.gating_member = first
    assert info.remove(first.key) is first
    assert info.pod is second.pod
    assert info.gating_member is None
    assert info.remove("default/x") is None


def test_a_member_that_is_held_back_gates_the_group() -> None:
    held = member("a")
    held.gating_plugin = "Hold"
    info = group(held, member("b"))
    info.gate(held)
    assert info.is_gated
    assert info.rejectors == {"Hold"}


def test_an_event_about_one_pod_concerns_this_member_alone() -> None:
    first, second = member("a"), member("b")
    info = group(first, second)
    status = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
    deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
    # A group that no plugin refused is tried again after any event.
    assert list(info.concerned(status, make_pod("x"))) == [first, second]
    info.unschedulable_plugins = {"NodeResourcesFit"}
    for event in (status, ALL_EVENTS):
        assert list(info.concerned(event, second.pod)) == [second]
        assert list(info.concerned(event, make_pod("x"))) == []
    assert list(info.concerned(deleted, second.pod)) == [first, second]
    assert list(info.concerned(ALL_EVENTS, None)) == [first, second]
    info.gating_member = first
    assert list(info.concerned(status, second.pod)) == [first]
