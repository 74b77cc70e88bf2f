"""Groups of groups: what is placed together, where, and what everybody is told."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.scheduler.groups import NOBODY, UNSCHEDULABLE, GroupWorld

NONE_OF = "0/{} placements are available, first placement status: {}"


def composite_world(**options: Any) -> GroupWorld:
    gates = {"TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}
    return GroupWorld(gates=gates, **options)


def in_racks(world: GroupWorld, **racks: str) -> None:
    """Add a node with 2 CPUs for each name, with the label rack."""
    for name, rack in racks.items():
        world.add_nodes(name, labels={"rack": rack})


async def test_all_groups_of_a_gang_of_groups_are_bound_together() -> None:
    world = composite_world()
    world.add_nodes("a", "b")
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    assert world.bound() == {}
    world.add_composite("job", min_group_count=2)
    await world.settle()
    assert len(world.bound()) == 4
    assert world.told("left") == world.told("right") == ("Scheduled", "")


async def test_a_gang_of_groups_waits_for_its_groups_in_silence() -> None:
    world = composite_world()
    world.add_nodes("a", "b")
    world.add_composite("job", min_group_count=2)
    world.gang("left", 2, parent="job")
    await world.settle()
    assert (world.bound(), world.client.writes) == ({}, [])
    world.gang("right", 2, parent="job")
    await world.settle()
    assert len(world.bound()) == 4


async def test_nothing_is_bound_if_one_of_two_groups_does_not_fit() -> None:
    world = composite_world()
    world.add_nodes("a", cpu=3)
    world.add_composite("job", min_group_count=2)
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    assert world.bound() == {}
    why = NONE_OF.format(1, "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    # The group that fits shares the fate of the whole.
    assert world.told("left") == ("Unschedulable", f"{UNSCHEDULABLE}, {why}, {NOBODY}")
    assert world.told("left-0") == ("Unschedulable", f"{UNSCHEDULABLE}, {why}")
    right = NONE_OF.format(1, "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    assert world.told("right") == ("Unschedulable", f"{UNSCHEDULABLE}, {right}, {NOBODY}")
    assert world.told("right-1") == (
        "Unschedulable",
        "0/1 nodes are available: 1 Insufficient cpu.",
    )
    assert world.told("right-0")[1].startswith(f"{UNSCHEDULABLE}, {UNSCHEDULABLE}, ")


async def test_the_groups_that_fit_are_bound_if_they_are_enough() -> None:
    world = composite_world()
    world.add_nodes("a", cpu=3)
    world.add_composite("job", min_group_count=1)
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    assert set(world.bound()) == {"left-0", "left-1"}
    assert world.told("left") == ("Scheduled", "")
    reason, message = world.told("right")
    assert (reason, message[: len(UNSCHEDULABLE)]) == ("Unschedulable", UNSCHEDULABLE)
    world.add_nodes("b")
    world.clock.advance(60)
    await world.settle()
    assert len(world.bound()) == 4
    assert world.told("right") == ("Scheduled", "")


async def test_a_lower_minimum_of_groups_helps() -> None:
    world = composite_world()
    world.add_nodes("a")
    world.add_composite("job", min_group_count=2)
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    assert not world.bound()
    world.add_composite("job", min_group_count=1)
    await world.after(3)
    assert set(world.bound()) == {"left-0", "left-1"}


async def test_each_group_in_its_own_rack_within_the_zone_of_all() -> None:
    world = composite_world()
    for name, rack, zone in (
        ("a", "r1", "z1"),
        ("b", "r2", "z1"),
        ("c", "r3", "z2"),
        ("d", "r3", "z2"),
    ):
        world.add_nodes(name, cpu=1 if zone == "z1" else 2, labels={"rack": rack, "zone": zone})
    world.add_composite("job", min_group_count=2, topology="zone")
    world.gang("left", 2, parent="job", topology="rack")
    world.gang("right", 2, parent="job", topology="rack")
    await world.settle()
    nodes = world.bound()
    assert set(nodes.values()) == {"c", "d"}


async def test_no_zone_has_room_for_all_groups() -> None:
    world = composite_world()
    in_racks(world, a="r1", b="r2")
    world.add_composite("job", min_group_count=2, topology="rack")
    world.gang("left", 2, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()
    assert world.bound() == {}
    text = NONE_OF.format(2, "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining")
    assert world.told("left") == ("Unschedulable", f"{UNSCHEDULABLE}, {text}, {NOBODY}")
    world.add_nodes("c", cpu=4, labels={"rack": "r3"})
    world.clock.advance(60)
    await world.settle()
    assert set(world.bound().values()) == {"c"}


async def test_a_tree_of_three_levels() -> None:
    world = composite_world()
    world.add_nodes("a", "b", cpu=4)
    world.add_composite("job", min_group_count=2)
    for part in ("x", "y"):
        world.add_composite(part, min_group_count=2, parent="job")
        for leaf in ("1", "2"):
            world.gang(part + leaf, 2, parent=part)
    await world.settle()
    assert len(world.bound()) == 8


async def test_a_part_of_a_tree_that_does_not_fit_gives_its_room_to_another() -> None:
    world = composite_world()
    world.add_nodes("a", cpu=3)
    world.add_composite("job")
    world.add_composite("big", min_group_count=2, parent="job")
    world.gang("big1", 2, parent="big")
    world.gang("big2", 2, parent="big")
    world.add_composite("small", parent="job")
    world.gang("small1", 3, parent="small")
    await world.settle()
    assert set(world.bound()) == {"small1-0", "small1-1", "small1-2"}
    reason, text = world.told("big1")
    assert reason == "Unschedulable"
    assert text.startswith(f"{UNSCHEDULABLE}, 0/1 placements are available")


async def test_pods_that_arrive_later_join_their_tree() -> None:
    world = composite_world()
    world.add_nodes("a", "b")
    world.add_composite("job", min_group_count=2)
    world.gang("left", 1, parent="job")
    world.gang("right", 1, parent="job")
    await world.settle()
    world.add_pod("late", group="left")
    await world.settle()
    assert len(world.bound()) == 3


async def test_a_late_pod_that_fits_nowhere_does_not_unsettle_the_others() -> None:
    world = composite_world()
    world.add_nodes("a")
    world.add_composite("job", min_group_count=2)
    world.gang("left", 1, parent="job")
    world.gang("right", 1, parent="job")
    await world.settle()
    world.add_pod("late", group="left")
    await world.settle()
    assert set(world.bound()) == {"left-0", "right-0"}
    assert world.told("late") == ("Unschedulable", UNSCHEDULABLE)
    # The message is about the tree, but the tree waits for the resources that the pod lacks.
    world.add_nodes("b")
    world.clock.advance(60)
    await world.settle()
    assert set(world.bound()) == {"left-0", "right-0", "late"}


async def test_the_whole_tree_has_the_priority_of_its_top() -> None:
    world = composite_world()
    world.add_nodes("a")
    world.add_composite("job", min_group_count=1, priority=5)
    world.add_group("left", min_count=1, parent="job", priority=7)
    world.add_pod("p", group="left", priority=7)
    await world.settle()
    text = (
        "all pods in a single pod group should have the same priority as the pod group's "
        "priority, got 7 and 5"
    )
    assert world.told("p") == world.told("left") == ("SchedulerError", text)


async def test_a_tree_preempts_as_one() -> None:
    world = composite_world()
    world.add_nodes("a", "b")
    for name, node in (("v1", "a"), ("v2", "a"), ("v3", "b"), ("v4", "b")):
        world.add_pod(name, node=node)
    world.add_composite("job", min_group_count=2, priority=5)
    world.gang("left", 2, parent="job", priority=5)
    world.gang("right", 2, parent="job", priority=5)
    await world.settle()
    names = {pod.name for pod in world.pods}
    assert names == {"left-0", "left-1", "right-0", "right-1"}
    world.clock.advance(60)
    await world.settle()
    assert len(world.bound()) == 4


@pytest.mark.parametrize(("mode", "left"), [("all", set()), ("single", {"right-0"})])
async def test_a_tree_that_is_disrupted_whole_goes_as_one(mode: str, left: set[str]) -> None:
    world = composite_world()
    world.add_nodes("a", "b", cpu=1)
    world.add_composite("job", min_group_count=2, disruption_mode=mode)
    world.gang("left", 1, parent="job")
    world.gang("right", 1, parent="job")
    await world.settle()
    placed = world.bound()
    assert len(placed) == 2
    world.add_pod("high", priority=9)
    await world.settle()
    survivors = {pod.name for pod in world.pods} - {"high"}
    assert len(survivors) == len(left)


async def test_without_the_gate_parents_are_ignored() -> None:
    world = GroupWorld(gates={"TopologyAwareWorkloadScheduling": True})
    world.add_nodes("a")
    world.gang("left", 1, parent="job")
    await world.settle()
    assert set(world.bound()) == {"left-0"}


def grow(world: GroupWorld, rng: random.Random) -> dict[str, int]:
    """Add a random tree, its pods and nodes; return the gangs with their minimum."""
    for index in range(rng.randrange(1, 6)):
        labels = {"rack": f"r{rng.randrange(3)}", "zone": f"z{rng.randrange(2)}"}
        world.add_nodes(f"n{index}", cpu=rng.randrange(1, 5), labels=labels)
    names = ["job"]
    world.add_composite("job", min_group_count=rng.choice([None, 1, 2]))
    for index in range(rng.randrange(3)):
        parent, topology = rng.choice(names), rng.choice(["", "rack", "zone"])
        names.append(f"c{index}")
        count = rng.choice([None, 1, 2])
        world.add_composite(names[-1], min_group_count=count, parent=parent, topology=topology)
    gangs = {f"g{index}": rng.randrange(1, 4) for index in range(rng.randrange(1, 5))}
    for name, count in gangs.items():
        options = {"parent": rng.choice(names), "topology": rng.choice(["", "rack"])}
        world.gang(name, count + rng.randrange(2), count, cpu=rng.choice([1, 2]), **options)
    return gangs


@pytest.mark.parametrize("seed", range(25))
async def test_no_partial_gang_is_bound_in_any_tree(seed: int) -> None:
    rng, world = random.Random(seed), composite_world()
    gangs = grow(world, rng)
    for name in ("", "more", "last"):
        if name:
            world.add_nodes(name, cpu=4, labels={"rack": "r0", "zone": "z0"})
            world.clock.advance(40)
        await world.settle()
        for part in (world.scheduler.cache, world.scheduler.queue, world.scheduler.pod_groups):
            assert part is not None
            part.validate()
        bound = Counter(pod.rpartition("-")[0] for pod in world.bound())
        assert all(count >= gangs[gang] for gang, count in bound.items())
        groups = world.scheduler.pod_groups
        assert groups is not None
        roots = [groups.root_of(f"default/{gang}") for gang in bound]
        assert all(root and groups.has_quorum(root, groups.count_placed) for root in roots)
