"""Trees of groups in the queue: the top stands for all pods below it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mooring.api import AnyPodGroup, Pod
from mooring.framework.pod_groups import PodGroups
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
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


def test_deleting_a_part_without_pending_pods_requeues_the_rest_of_its_tree() -> None:
    queue = TreeQueue()
    groups = queue.tree()
    queue.add(member("a", "left"))
    info = queue.take_group()
    queue.fail(info, ["a"], by=["Fit"])
    queue.group_attempted(info, UNSCHEDULABLE)
    assert info.place is Place.UNSCHEDULABLE
    # The pods of the group run; after its deletion the others need not share their domain.
    queue.drop(groups["part"])
    queue.clock.advance(60)
    queue.flush()
    assert members_of(queue.take_group()) == ["a"]


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


GROUPS = (
    make_composite_pod_group("job"),
    make_composite_pod_group("part", parent="job"),
    make_pod_group("left", parent="job"),
    make_pod_group("right", parent="part"),
    make_pod_group("alone"),
)


class Life:
    """A queue to which groups and pods come at random, and from which they go."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.queue = TreeQueue()
        self.known: list[AnyPodGroup] = []
        self.pods: dict[str, Pod] = {}
        self.steps = (self.come, self.go, self.add, self.add, self.remove, self.attempt, self.wait)

    def come(self) -> None:
        group = self.random.choice(GROUPS)
        if group not in self.known:
            self.known.append(group)
            self.queue.put(group)

    def go(self) -> None:
        if self.known and self.random.random() < 0.5:
            group = self.random.choice(self.known)
            self.known.remove(group)
            self.queue.drop(group)

    def add(self) -> None:
        labels = {"hold": "yes"} if self.random.random() < 0.1 else {}
        name = f"p{len(self.pods)}-{self.random.random()}"
        pod = member(name, self.random.choice(["left", "right", "alone"]), **labels)
        self.pods[pod.name] = pod
        self.queue.add(pod)

    def remove(self) -> None:
        if self.pods:
            self.queue.delete(self.pods.pop(self.random.choice(sorted(self.pods))))

    def attempt(self) -> None:
        info = self.queue.pop()
        if info is None:
            return
        assert isinstance(info, QueuedPodGroupInfo)
        for one in info.in_order():
            if self.random.random() < 0.7:
                self.queue.add_unschedulable(one, one.pod, ("Fit",))
            else:
                self.queue.done(one.uid)
                del self.pods[one.pod.name]
        self.queue.group_attempted(info, self.random.choice([SCHEDULED, UNSCHEDULABLE]))

    def wait(self) -> None:
        self.queue.move_all(NODE_ADD, None, node())
        self.queue.clock.advance(self.random.random() * 30)
        self.queue.flush()

    def found(self) -> list[str]:
        waiting = [pod.name for place in Place for pod in self.queue.pods_in(place)]
        return sorted([*waiting, *(pod.name for pod in self.queue.pods_without_group())])


@pytest.mark.parametrize("seed", range(40))
def test_no_pod_is_lost_whatever_happens_to_the_groups(seed: int) -> None:
    life = Life(seed)
    for _ in range(60):
        life.random.choice(life.steps)()
        life.queue.validate()
        assert life.found() == sorted(life.pods)
