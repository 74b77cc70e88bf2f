"""Trees of groups in the queue: the top stands for all pods below it."""

from __future__ import annotations

from typing import Any

from mooring.api import AnyPodGroup
from mooring.framework.pod_groups import PodGroups
from mooring.queue.queued_pod_info import Place
from mooring.testing import make_composite_pod_group, make_pod_group
from tests.queue.pods import NODE_ADD, Queue, gate, held, node, refuser
from tests.queue.test_pod_group_queue import (
    SCHEDULED,
    UNSCHEDULABLE,
    GroupQueue,
    member,
    members_of,
)


class TreeQueue(GroupQueue):
    """A queue with composite pod groups."""

    def __init__(self, **settings: Any) -> None:
        self.pod_groups = PodGroups(composites=True)
        Queue.__init__(
            self,
            refuser("Fit", NODE_ADD),
            refuser("GangScheduling"),
            gate("Hold", held("hold")),
            pod_groups=self.pod_groups,
            **settings,
        )

    def tree(self) -> dict[str, AnyPodGroup]:
        """Add job, with the group left and the composite group part, which has the group right."""
        return {
            group.name: self.put(group)
            for group in (
                make_composite_pod_group("job"),
                make_composite_pod_group("part", parent="job"),
                make_pod_group("left", parent="job"),
                make_pod_group("right", parent="part"),
            )
        }

    def put(self, group: AnyPodGroup) -> AnyPodGroup:
        self.pod_groups.set_group(group)
        self.add_group(group)
        self.validate()
        return group


def test_the_pods_of_a_tree_are_popped_as_one() -> None:
    queue = TreeQueue()
    queue.tree()
    queue.add(member("a", "left"))
    queue.add(member("b", "right"))
    info = queue.take_group()
    assert members_of(info) == ["a", "b"]
    assert (info.key, info.size) == ("compositepodgroup/default/job", 2)
    queue.validate()


def test_pods_wait_until_every_group_above_them_exists() -> None:
    queue = TreeQueue()
    queue.put(make_pod_group("right", parent="part"))
    queue.add(member("b", "right"))
    queue.put(make_composite_pod_group("part", parent="job"))
    assert queue.popped() is None
    assert [one.name for one in queue.pods_without_group()] == ["b"]
    queue.put(make_composite_pod_group("job"))
    assert members_of(queue.take_group()) == ["b"]


def test_a_part_that_is_deleted_leaves_the_rest_of_its_tree_in_the_queue() -> None:
    queue = TreeQueue()
    groups = queue.tree()
    queue.add(member("a", "left"))
    queue.add(member("b", "right"))
    queue.drop(groups["part"])
    queue.validate()
    assert members_of(queue.take_group()) == ["a"]
    assert [one.name for one in queue.pods_without_group()] == ["b"]


def test_the_top_that_is_deleted_takes_all_pods_out() -> None:
    queue = TreeQueue()
    groups = queue.tree()
    queue.add(member("a", "left"))
    queue.add(member("b", "right"))
    queue.drop(groups["job"])
    queue.validate()
    assert queue.popped() is None
    queue.put(make_composite_pod_group("job", priority=3))
    info = queue.take_group()
    assert members_of(info) == ["a", "b"]
    assert info.as_queued_pod().priority == 3


def test_a_part_that_is_deleted_during_the_attempt_loses_no_pod() -> None:
    queue = TreeQueue()
    groups = queue.tree()
    queue.add(member("a", "left"))
    queue.add(member("b", "right"))
    info = queue.take_group()
    first, second = info.in_order()
    queue.add_unschedulable(second, second.pod, ("Fit",))
    queue.drop(groups["part"])
    queue.add_unschedulable(first, first.pod, ("Fit",))
    queue.group_attempted(info, UNSCHEDULABLE)
    queue.validate()
    assert not queue.in_flight()
    assert [one.name for one in queue.pods_without_group()] == ["b"]
    assert [one.name for one in queue.pods_in(Place.UNSCHEDULABLE)] == ["a"]


def test_what_fails_and_what_arrives_comes_back_as_one() -> None:
    queue = TreeQueue()
    queue.tree()
    for name, group in (("a", "left"), ("b", "right")):
        queue.add(member(name, group))
    info = queue.take_group()
    queue.add(member("c", "right"))
    queue.fail(info, ["a"], ["Fit"])
    queue.group_attempted(info, SCHEDULED)
    queue.validate()
    assert members_of(queue.take_group()) == ["a", "c"]


def test_one_gated_pod_gates_the_whole_tree_and_an_event_may_help_any_part() -> None:
    queue = TreeQueue()
    queue.tree()
    queue.add(member("a", "left", hold="yes"))
    queue.add(member("b", "right"))
    assert queue.popped() is None
    queue.delete(member("a", "left", hold="yes"))
    queue.attempt(["b"], ["Fit"], UNSCHEDULABLE)
    assert [one.name for one in queue.pods_in(Place.UNSCHEDULABLE)] == ["b"]
    queue.move_all(NODE_ADD, None, node())
    queue.clock.advance(2.5)
    queue.flush()
    assert members_of(queue.take_group()) == ["b"]


def test_a_new_object_of_the_top_counts() -> None:
    queue = TreeQueue()
    queue.tree()
    queue.add(member("a", "left"))
    changed = make_composite_pod_group("job", min_group_count=2)
    queue.pod_groups.set_group(changed)
    queue.update_group(changed)
    queue.update_group(make_pod_group("left", parent="job", min_count=4))
    assert queue.take_group().group.min_count == 2
