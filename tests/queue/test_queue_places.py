"""Where pods are in the queue, and what they wait for."""

from __future__ import annotations

import pytest

from mooring.framework.pod_groups import PodGroups
from mooring.queue.queue_places import QueuePlace, Whereabouts
from mooring.testing import make_composite_pod_group, make_pod, make_pod_group
from tests.queue.pods import Queue, a_queue, pod


def place(queue: Queue, name: str = "web") -> QueuePlace:
    found = queue.where.of(pod(name))
    assert found is not None
    return found


def test_the_position_of_active_pods_is_that_of_the_order() -> None:
    queue = a_queue()
    for name, priority in (("low", 1), ("high", 9), ("mid", 5), ("gone", 7)):
        queue.add(pod(name, priority=priority))
    queue.delete(pod("gone", priority=7))
    found = {name: place(queue, name) for name in ("low", "high", "mid")}
    assert {name: one.position for name, one in found.items()} == {"high": 1, "mid": 2, "low": 3}
    assert {one.place for one in found.values()} == {Whereabouts.ACTIVE}
    assert [one.name for one in queue.where.all()] == ["high", "mid", "low"]


def test_a_position_is_unknown_if_the_order_cannot_be_compared() -> None:
    class Odd:
        """A key that can be compared once."""

        left = 1

        def __lt__(self, other: object) -> bool:
            Odd.left -= 1
            if Odd.left < 0:
                raise ValueError("no order")
            return True

    from mooring.framework.plugin import Plugin

    sort = type("Sort", (Plugin,), {"sort_key": lambda self, queued: Odd()})()
    queue = a_queue(sort=sort)
    queue.add(pod("a"))
    queue.add(pod("b"))
    assert place(queue, "a").position is None
    assert {one.name for one in queue.where.all()} == {"a", "b"}


def test_a_gated_pod_names_its_gate() -> None:
    queue = a_queue()
    queue.add(pod(hold="true"))
    assert (place(queue).place, place(queue).plugins) == (Whereabouts.GATED, ("Hold",))


def test_a_pod_that_backs_off_until_a_time() -> None:
    queue = a_queue(gates={"SchedulerPopFromBackoffQ": False})
    queue.refuse(pod())
    found = place(queue)
    assert found.place is Whereabouts.BACKING_OFF
    assert found.until == 1001.0
    queue.clock.advance(1.001)
    queue.flush()
    assert place(queue).place is Whereabouts.ACTIVE


def test_the_end_of_a_backoff_in_whole_seconds_is_that_of_the_window() -> None:
    queue = a_queue()
    queue.refuse(pod())
    found = place(queue)
    assert found.until == queue.next_wakeup() == 1002.0


def test_an_unschedulable_pod_waits_for_the_events_of_its_refusers() -> None:
    queue = a_queue(max_in_unschedulable=300.0)
    queue.refuse(pod(), by=["Fit", "Labels"])
    queue.clock.advance(12.0)
    found = place(queue)
    assert found.place is Whereabouts.UNSCHEDULABLE
    assert (found.since, found.attempts) == (1000.0, 1)
    assert list(found.plugins) == ["Fit", "Labels"]
    assert found.events == ["Node Add", "Pod Update (labels)"]
    assert found.latest == 1330.0


def test_a_pod_that_an_extender_refused_waits_for_anything() -> None:
    queue = a_queue()
    queue.refuse(pod(), by=["SomeExtender"])
    assert place(queue).events == ["any event"]


def test_a_popped_pod_is_in_flight() -> None:
    queue = a_queue()
    queue.add(pod())
    queue.pop()
    assert place(queue).place is Whereabouts.IN_FLIGHT
    assert [one.place for one in queue.where.all()] == [Whereabouts.IN_FLIGHT]
    queue.done("web")
    assert queue.where.of(pod()) is None


def test_the_pods_of_a_tree_name_its_top_or_the_missing_group() -> None:
    groups = PodGroups(composites=True)
    queue = a_queue(pod_groups=groups)
    groups.set_group(make_pod_group("g", parent="part"))
    groups.set_group(make_composite_pod_group("part", parent="job"))
    member = make_pod("m", group="g", metadata={"uid": "m"})
    queue.add(member)
    found = queue.where.of(member)
    assert found is not None and found.place is Whereabouts.WITHOUT_GROUP
    assert (found.pod_group, found.composite_pod_group) == ("default/g", "default/job")
    top = make_composite_pod_group("job")
    groups.set_group(top)
    queue.add_group(top)
    found = queue.where.of(member)
    assert found is not None and found.place is Whereabouts.ACTIVE
    assert (found.pod_group, found.composite_pod_group) == ("default/g", "default/job")


@pytest.mark.parametrize("exists", [True, False])
def test_the_pods_of_a_group_are_where_the_group_is(exists: bool) -> None:
    groups = PodGroups()
    group = make_pod_group("g", metadata={"uid": "g"}, min_count=1)
    queue = a_queue(pod_groups=groups)
    if exists:
        groups.set_group(group)
    member = make_pod("m", group="g", metadata={"uid": "m"})
    queue.add(member)
    found = queue.where.of(member)
    assert found is not None
    assert found.pod_group == "default/g"
    expected = Whereabouts.ACTIVE if exists else Whereabouts.WITHOUT_GROUP
    assert found.place is expected
    assert [one.place for one in queue.where.all()] == [expected]
    if exists:
        assert found.position == 1
        queue.pop()
        flying = queue.where.of(member)
        assert flying is not None and flying.place is Whereabouts.IN_FLIGHT
