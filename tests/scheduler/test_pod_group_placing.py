"""Placing a group and undoing it leave the snapshot as it was."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.pod_group_placing import PodGroupPlacing
from mooring.testing import make_node
from tests.scheduler.groups import NOBODY, UNSCHEDULABLE, GroupWorld


def placing(world: GroupWorld, count: int) -> PodGroupPlacing:
    """Return the placing of a gang, whose pods are not in the queue."""
    world.scheduler.inbox.drain()
    scheduler = world.scheduler
    group = world.groups.get("g", "default")
    assert group is not None
    assert scheduler.pod_groups is not None
    pods = [world.pods.get(f"g-{index}", "default") for index in range(count)]
    return PodGroupPlacing(
        scheduler.attempts,
        scheduler.cache,
        scheduler.pod_groups,
        world.clock,
        profile=scheduler.profiles["default-scheduler"],
        group=group,
        members=[QueuedPodInfo(pod, 0.0, 0) for pod in pods if pod is not None],
        timed=False,
    )


def free(world: GroupWorld) -> list[int]:
    world.scheduler.cache.validate()
    free: list[int] = world.scheduler.cache.nodes.free("cpu").tolist()
    return free


async def test_a_group_that_fits_stays_placed_until_it_is_undone() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 2)
    one = placing(world, 2)
    before = free(world)
    assert await one.place() is None
    assert [node for _, node in one.assignments] == ["a", "a"]
    assert free(world) == [0]
    one.undo()
    assert free(world) == before
    assert one.assignments == []


async def test_a_group_that_does_not_fit_leaves_nothing_behind() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 3)
    one = placing(world, 3)
    status = await one.place()
    assert status is not None
    assert status.is_rejected
    assert free(world) == [2000]
    assert [refusal.pod.name for refusal in one.refusals] == ["g-2"]
    assert len(one.results) == 3


async def test_pods_that_are_removed_for_a_trial_come_back_if_there_is_room_for_them() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=3)
    world.add_pod("low", node="a", cpu=1)
    world.add_pod("large", node="a", cpu=2)
    world.gang("g", 2)
    one = placing(world, 2)
    low, large = (world.scheduler.cache.pod(name) for name in ("low", "large"))
    assert low is not None
    assert large is not None
    assert await one.place() is not None
    one.remove([low, large])
    assert await one.place() is None
    assert one.put_back([low])
    assert not one.put_back([large])
    assert world.scheduler.cache.nodes.free("cpu").tolist() == [0]
    one.reset()
    assert free(world) == [0]
    assert sorted(world.scheduler.cache.nodes.info(0).pods) == ["large", "low"]


RACK = "example.com/rack"
TOPOLOGY = {"TopologyAwareWorkloadScheduling": True}


def racks(**nodes: str) -> GroupWorld:
    world = GroupWorld(gates=TOPOLOGY)
    for rack, names in nodes.items():
        world.add_nodes(*names, labels={RACK: rack})
    return world


async def test_all_pods_go_to_the_one_rack_with_room() -> None:
    world = racks(r1="ab", r2="cd", r3="ef")
    world.add_pod("x", node="a")
    world.add_pod("y", node="e")
    world.gang("g", 2, cpu=2, topology=RACK)
    await world.settle()
    bound = world.bound()
    assert sorted((bound["g-0"], bound["g-1"])) == ["c", "d"]
    assert world.told("g") == ("Scheduled", "")


async def test_no_rack_has_room() -> None:
    world = racks(r1="a", r2="b")
    world.gang("g", 2, cpu=2, topology=RACK)
    await world.settle()
    assert world.bound() == {}
    text = (
        f"{UNSCHEDULABLE}, 0/2 placements are available, first placement status: "
        f"minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, {NOBODY}"
    )
    assert world.told("g") == ("Unschedulable", text)
    assert world.told("g-0") == ("Unschedulable", f"{UNSCHEDULABLE}, {text}")
    # The text counts only the nodes of the placement.
    assert world.told("g-1") == ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")


#: Anti-affinity to pods that do not exist.
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": RACK, "labelSelector": {"matchLabels": {"app": "other"}}}
        ]
    }
}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="if the racks are searched together"),
        pytest.param({"affinity": APART}, id="if they are tried one after another"),
    ],
)
async def test_a_group_waits_for_what_it_lacks_in_any_rack(more: dict[str, Any]) -> None:
    world = racks(r1="a")
    world.nodes.add(make_node("b", cpu=4, labels={RACK: "r2"}, taints=["old:NoSchedule"]))
    world.gang("g", 3, topology=RACK, **more)
    await world.settle()
    assert world.bound() == {}
    world.nodes.update(make_node("b", cpu=4, labels={RACK: "r2"}))
    world.clock.advance(60)
    await world.settle()
    assert set(world.bound().values()) == {"b"}


async def test_a_label_that_no_node_has() -> None:
    world = racks(r1="a")
    world.gang("g", 2, topology="nowhere")
    await world.settle()
    assert world.told("g") == ("Unschedulable", f"no feasible placements found, {NOBODY}")
    world.add_nodes("new", labels={"nowhere": "here"})
    await world.after(3)
    assert set(world.bound().values()) == {"new"}


async def test_a_node_that_joins_a_rack_makes_room() -> None:
    world = racks(r1="a")
    world.add_nodes("bare")
    world.gang("g", 4, topology=RACK)
    await world.settle()
    assert not world.bound()
    world.add_nodes("bare", labels={RACK: "r1"})
    await world.after(3)
    assert set(world.bound().values()) == {"a", "bare"}


async def test_the_fuller_rack_and_the_one_for_more_pods_are_preferred() -> None:
    world = racks(r1="ab", r2="cd", r3="ef")
    world.add_pod("x", node="c", cpu=1, memory="8Gi")
    world.gang("g", 2, cpu="500m", topology=RACK)
    await world.settle()
    bound = world.bound()
    assert {bound["g-0"], bound["g-1"]} <= {"c", "d"}
    world = racks(r1="a", r2="bc")
    world.gang("g", 4, min_count=2, topology=RACK)
    await world.settle()
    assert sorted(world.bound().values()) == ["b", "b", "c", "c"]


async def test_a_late_pod_joins_the_rack_of_the_others() -> None:
    world = racks(r1="a", r2="b")
    world.gang("g", 2, min_count=1, cpu=1, topology=RACK)
    await world.settle()
    first = set(world.bound().values())
    assert len(first) == 1
    world.add_pod("late", group="g", cpu=1)
    await world.settle()
    assert "late" not in world.bound()


async def test_a_late_pod_is_free_to_go_elsewhere_when_the_others_are_gone() -> None:
    world = racks(r1="a")
    world.add_nodes("b", labels={RACK: "r2", "disk": "fast"})
    world.add_pod("other", group="x", node="b")
    world.gang("g", 1, topology=RACK, cpu=2)
    await world.settle()
    assert world.bound()["g-0"] == "a"
    world.add_pod("late", group="g", node_selector={"disk": "fast"})
    await world.settle()
    world.pods.delete("other", "default")
    await world.after(3)
    assert "late" not in world.bound()
    world.pods.delete("g-0", "default")
    await world.after(3)
    assert world.bound() == {"late": "b"}


async def test_enough_pods_run_and_their_rack_takes_no_more() -> None:
    world = racks(r1="a", r2="b")
    world.add_group("g", min_count=1, topology=RACK)
    world.add_pod("g-0", group="g", node="a", cpu=2)
    world.add_pod("late", group="g")
    await world.settle()
    assert world.told("g") == ("Unschedulable", f"{UNSCHEDULABLE}, {NOBODY}")
    evaluations = world.scheduler.metrics.placement_evaluations
    assert {key[0]: one.value for key, one in evaluations.items()} == {"feasible": 1}


async def test_a_group_without_a_constraint_uses_all_racks() -> None:
    world = racks(r1="a", r2="b")
    world.gang("g", 2, cpu=2)
    await world.settle()
    assert sorted(world.bound().values()) == ["a", "b"]


async def test_preemption_makes_room_in_one_rack() -> None:
    world = racks(r1="ab", r2="cd")
    for name in "abcd":
        world.add_pod(f"low-{name}", node=name, cpu=2, priority=1)
    world.gang("g", 2, cpu=2, priority=9, topology=RACK)
    await world.settle()
    await world.after(3)
    bound = world.bound()
    assert {bound["g-0"], bound["g-1"]} in ({"a", "b"}, {"c", "d"})
    assert len([name for name in bound if name.startswith("low")]) == 2


async def test_a_pod_that_fits_nowhere_keeps_its_nomination_and_the_others_lose_theirs() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    world.add_group("g", min_count=2)
    world.add_pod("fits", group="g", nominated_node="b")
    world.add_pod("large", group="g", cpu=3, nominated_node="b")
    await world.settle()
    nodes = {pod.name: pod.status.nominated_node_name for pod in world.pods}
    assert nodes == {"fits": "", "large": "b"}


async def test_without_nodes_nominations_are_cleared() -> None:
    world = GroupWorld()
    world.add_group("g", min_count=1)
    world.add_pod("g-0", group="g", nominated_node="gone")
    await world.settle()
    assert [pod.status.nominated_node_name for pod in world.pods] == [""]
