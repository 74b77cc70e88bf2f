"""What happens to the pods of groups between their arrival and their binding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from mooring.api import Pod, WorkloadPodGroup
from mooring.framework.pod_groups import PodGroups
from mooring.observe.metrics import Metrics
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place
from mooring.testing import make_pod_group
from tests.queue.pods import NODE_ADD, Queue, gate, held, node, pod, refuser

SCHEDULED, ERROR = GroupOutcome.SCHEDULED, GroupOutcome.ERROR
UNSCHEDULABLE = GroupOutcome.UNSCHEDULABLE


def member(name: str, group: str = "g", **options: Any) -> Pod:
    one = pod(name, **options)
    data = msgspec.to_builtins(one)
    data["spec"]["schedulingGroup"] = {"podGroupName": group}
    return msgspec.convert(data, Pod)


class GroupQueue(Queue):
    """A queue with pod groups: Fit waits for nodes, Hold gates pods with the label."""

    def __init__(self, **settings: Any) -> None:
        self.pod_groups = PodGroups()
        super().__init__(
            refuser("Fit", NODE_ADD),
            refuser("GangScheduling"),
            gate("Hold", held("hold")),
            pod_groups=self.pod_groups,
            **settings,
        )

    def group(self, name: str = "g", **options: Any) -> WorkloadPodGroup:
        group = make_pod_group(name, **options)
        self.pod_groups.set_group(group)
        self.add_group(group)
        return group

    def drop(self, group: WorkloadPodGroup) -> None:
        self.pod_groups.remove_group(group)
        self.delete_group(group)

    def take_group(self) -> QueuedPodGroupInfo:
        info = self.take()
        assert isinstance(info, QueuedPodGroupInfo)
        return info

    def fail(self, info: QueuedPodGroupInfo, names: Iterable[str], by: Iterable[str]) -> None:
        """Put some members back that plugins have refused; the others go on to be bound."""
        wanted = set(names)
        for one in info.in_order():
            if one.pod.name in wanted:
                self.add_unschedulable(one, one.pod, tuple(by))
            else:
                self.done(one.uid)

    def attempt(self, names: Iterable[str], by: Iterable[str], outcome: GroupOutcome) -> None:
        info = self.take_group()
        self.fail(info, names, by)
        self.group_attempted(info, outcome)
        self.validate()


def members_of(info: QueuedPodGroupInfo) -> list[str]:
    return [one.pod.name for one in info.in_order()]


def test_the_pods_of_a_group_are_popped_as_one() -> None:
    queue = GroupQueue()
    queue.group()
    for name in ("b", "a"):
        queue.add(member(name))
    queue.add(pod("single"))
    info = queue.take_group()
    assert members_of(info) == ["a", "b"]
    assert [one.attempts for one in info.in_order()] == [1, 1]
    assert queue.popped() == "single"
    queue.validate()


def test_pods_of_a_missing_group_wait_until_it_exists() -> None:
    queue = GroupQueue()
    queue.add(member("a"))
    assert queue.popped() is None
    queue.validate()
    queue.group()
    assert members_of(queue.take_group()) == ["a"]


def test_a_group_that_is_deleted_leaves_the_queue_and_a_new_one_brings_it_back() -> None:
    queue = GroupQueue()
    group = queue.group()
    queue.add(member("a"))
    queue.drop(group)
    assert queue.popped() is None
    queue.group()
    assert members_of(queue.take_group()) == ["a"]


def test_a_group_that_is_deleted_during_its_attempt_loses_no_pod() -> None:
    queue = GroupQueue()
    group = queue.group()
    queue.add(member("a"))
    queue.add(member("b"))
    info = queue.take_group()
    first, second = info.in_order()
    queue.add_unschedulable(first, first.pod, ("Fit",))
    queue.drop(group)
    queue.add_unschedulable(second, second.pod, ("Fit",))
    queue.group_attempted(info, UNSCHEDULABLE)
    queue.validate()
    assert not queue.in_flight()
    queue.group()
    queue.clock.advance(2.5)
    queue.flush()
    assert members_of(queue.take_group()) == ["a", "b"]


def test_one_gated_pod_gates_the_whole_group() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b", hold="x"))
    assert queue.popped() is None
    queue.update(member("b", hold="x"), member("b"))
    # No event says so to the hint; the arrival of another pod asks again.
    queue.add(member("c"))
    assert members_of(queue.take_group()) == ["a", "b", "c"]


def test_a_gated_pod_that_is_deleted_lets_the_others_go() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b", hold="x"))
    queue.delete(member("b", hold="x"))
    assert members_of(queue.take_group()) == ["a"]


def test_a_refused_group_waits_for_an_event_that_a_refusing_plugin_has_registered() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b"))
    queue.attempt("ab", ["Fit"], UNSCHEDULABLE)
    queue.clock.advance(60)
    queue.flush()
    assert queue.popped() is None
    queue.move_all(NODE_ADD, None, node())
    assert members_of(queue.take_group()) == ["a", "b"]


def test_an_event_does_not_shorten_the_backoff_of_a_group_even_if_the_scheduler_is_idle() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.attempt("a", ["Fit"], UNSCHEDULABLE)
    queue.move_all(NODE_ADD, None, node())
    assert queue.names(Place.BACKOFF) == ["a"]
    assert queue.popped() is None
    queue.clock.advance(2.5)
    queue.flush()
    assert members_of(queue.take_group()) == ["a"]


def test_the_longest_backoff_grows_with_the_root_of_the_size() -> None:
    queue = GroupQueue(initial_backoff=100.0, max_backoff=10.0)
    queue.group()
    names = "abcd"
    for name in names:
        queue.add(member(name))
    queue.attempt(names, [], ERROR)
    queue.clock.advance(19.5)
    queue.flush()
    assert queue.popped() is None
    queue.clock.advance(2)
    queue.flush()
    assert members_of(queue.take_group()) == list(names)


def test_an_error_is_retried_after_the_backoff_without_an_event() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.attempt("a", [], ERROR)
    assert queue.names(Place.BACKOFF) == ["a"]


def test_a_pod_that_no_plugin_refused_makes_the_group_retry_after_its_backoff() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.attempt("a", [], UNSCHEDULABLE)
    assert queue.names(Place.BACKOFF) == ["a"]


def test_what_is_left_over_of_a_scheduled_group_is_tried_again_at_once_in_its_old_place() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b"))
    queue.clock.advance(1)
    queue.add(pod("later"))
    queue.attempt("b", ["Fit"], SCHEDULED)
    assert members_of(queue.take_group()) == ["b"]


def test_a_pod_that_arrives_during_the_attempt_joins_the_group_afterwards() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    info = queue.take_group()
    queue.add(member("b"))
    queue.validate()
    queue.fail(info, "a", ["Fit"])
    queue.group_attempted(info, UNSCHEDULABLE)
    # It is untried, so the group does not wait for an event.
    assert queue.names(Place.BACKOFF) == ["a", "b"]


def test_a_pod_that_arrives_during_a_successful_attempt_is_next() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    info = queue.take_group()
    queue.add(member("b"))
    queue.done("a")
    queue.group_attempted(info, SCHEDULED)
    assert members_of(queue.take_group()) == ["b"]


def test_a_pod_whose_bind_failed_comes_back_with_a_backoff() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    info = queue.take_group()
    (one,) = info.in_order()
    queue.group_attempted(info, SCHEDULED)
    queue.add_unschedulable(one, one.pod)
    queue.validate()
    assert queue.names(Place.BACKOFF) == ["a"]


def test_a_member_that_leaves_an_unschedulable_group_gives_the_others_another_chance() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b"))
    queue.attempt("ab", ["Fit"], UNSCHEDULABLE)
    assert queue.names(Place.UNSCHEDULABLE) == ["a", "b"]
    queue.delete(member("a"))
    assert queue.names(Place.BACKOFF) == ["b"]
    queue.delete(member("b"))
    assert queue.next_wakeup() is None
    queue.validate()


def test_activation_of_a_member_activates_its_group() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.add(member("b"))
    queue.attempt("ab", ["Fit"], UNSCHEDULABLE)
    queue.activate([member("b")])
    assert queue.names(Place.ACTIVE) == ["a", "b"]


def test_events_during_the_attempt_count_afterwards() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    info = queue.take_group()
    queue.move_all(NODE_ADD, None, node())
    queue.fail(info, "a", ["Fit"])
    queue.group_attempted(info, UNSCHEDULABLE)
    assert queue.names(Place.BACKOFF) == ["a"]
    queue.validate()


def test_an_update_reaches_a_pod_wherever_it_waits() -> None:
    queue = GroupQueue()
    old, new = member("a"), member("a", tier="new")
    queue.add(old)
    queue.update(old, new)
    queue.group()
    assert queue.get("default/a") is not None
    queue.update(new, old)
    (one,) = queue.take_group().in_order()
    assert one.pod is old
    arriving = member("b")
    queue.add(arriving)
    queue.update(arriving, member("b", tier="new"))
    queue.update(member("c"), member("c", tier="new"))
    queue.validate()


def test_the_group_of_highest_priority_comes_first() -> None:
    queue = GroupQueue()
    for name, priority in (("low", 1), ("high", 9)):
        queue.group(name, priority=priority)
        queue.add(member(f"{name}-0", name, priority=priority))
    queue.add(pod("middle", priority=5))
    assert [queue.popped() for _ in range(3)] == ["high-0", "middle", "low-0"]


def test_a_new_object_of_a_group_is_the_one_that_is_popped() -> None:
    queue = GroupQueue()
    queue.group(min_count=2)
    queue.add(member("a"))
    newer = make_pod_group("g", min_count=1)
    queue.update_group(newer)
    assert queue.take_group().group is newer


def test_pods_are_counted_where_they_wait() -> None:
    metrics = Metrics(lambda gate: True)
    queue = GroupQueue(metrics=metrics)
    queue.add(member("x", "missing"))
    queue.group()
    for name in "abc":
        queue.add(member(name))
    pending = metrics.pending_pods
    assert (pending["active"].value, pending["incomplete"].value) == (3, 1)
    info = queue.take_group()
    queue.add(member("d"))
    assert (pending["active"].value, pending["pending"].value) == (0, 1)
    queue.fail(info, "abc", ["Fit"])
    queue.group_attempted(info, UNSCHEDULABLE)
    assert pending["backoff"].value == 4
    assert "incompletePodGroupPods:1" in queue.summary()


def test_a_flush_after_five_minutes_tries_a_group_again() -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.attempt("a", ["Fit"], UNSCHEDULABLE)
    queue.clock.advance(331)
    queue.flush()
    info = queue.take_group()
    assert info.was_flushed
    assert all(one.was_flushed for one in info.each())


@pytest.mark.parametrize("outcome", GroupOutcome)
def test_an_attempt_that_leaves_no_pod_leaves_nothing_behind(outcome: GroupOutcome) -> None:
    queue = GroupQueue()
    queue.group()
    queue.add(member("a"))
    queue.attempt("", [], outcome)
    assert queue.popped() is None
    assert queue.get("default/a") is None
