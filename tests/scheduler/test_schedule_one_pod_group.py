"""Attempts for pod groups: who is bound, who is told what, and when a group is tried again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.testing import make_node, make_pod_group
from tests.scheduler.groups import NOBODY, UNSCHEDULABLE, GroupWorld


async def test_a_gang_that_fits_is_bound_as_a_whole() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    world.gang("g", 4)
    await world.settle()
    assert sorted(world.bound().values()) == ["a", "a", "b", "b"]
    assert world.told("g") == ("Scheduled", "")


async def test_a_gang_that_does_not_fit_keeps_nothing_and_everybody_is_told() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 3)
    await world.settle()
    assert world.bound() == {}
    assert not world.scheduler.cache.assumed
    text = f"minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, {NOBODY}"
    assert world.told("g") == ("Unschedulable", text)
    assert world.told("g-0") == ("Unschedulable", f"{UNSCHEDULABLE}, {text}")
    own = "0/1 nodes are available: 1 Insufficient cpu."
    assert world.told("g-2") == ("Unschedulable", own)
    assert f"g-2: FailedScheduling: {own}" in world.events.lines


async def test_pods_that_are_not_tried_share_the_text_without_the_preemption() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 4, cpu=3)
    await world.settle()
    text = "minCount (4) cannot be satisfied: 0 scheduled, 3 remaining"
    assert world.told("g") == ("Unschedulable", f"{text}, {NOBODY}")
    assert {world.told(f"g-{index}") for index in (1, 2, 3)} == {("Unschedulable", text)}


async def test_more_pods_than_the_minimum_and_room_for_some() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=3)
    world.gang("g", 4, min_count=2)
    await world.settle()
    assert len(world.bound()) == 3
    assert world.told("g") == ("Scheduled", "")
    assert world.told("g-3") == ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")


async def test_the_condition_does_not_fall_back_when_leftovers_fail() -> None:
    world = GroupWorld()
    world.client.lags = True
    world.add_nodes("a", cpu=1)
    world.add_group("g")
    world.add_pod("one", group="g")
    world.add_pod("two", group="g")
    await world.settle()
    written = [entry[1] for entry in world.client.writes if entry[0] == "g"]
    assert written == ["Scheduled"]


async def test_a_gang_waits_for_its_pods_in_silence() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=8)
    world.add_group("g", min_count=3)
    for name in ("x", "y"):
        world.add_pod(name, group="g")
    await world.settle()
    assert world.client.writes == []
    assert world.events.lines == []
    world.add_pod("z", group="g")
    await world.settle()
    assert sorted(world.bound()) == ["x", "y", "z"]


async def test_pods_of_another_scheduler_count_only_once_they_are_bound() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=8)
    world.add_group("g", min_count=2)
    world.add_pod("ours", group="g")
    other = world.add_pod("other", group="g", scheduler_name="other")
    await world.settle()
    assert world.bound() == {}
    world.pods.add(replace(other, spec=replace(other.spec, node_name="a")))
    await world.settle()
    # It counts, but pods that differ in their scheduler are refused.
    assert world.told("g")[0] == "SchedulerError"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param(
            {"priority": 50},
            "all pods in a single pod group should have the same priority as the pod group's "
            "priority, got 50 and 100",
            id="priorities",
        ),
        pytest.param(
            {"priority": 100, "spec": {"preemptionPolicy": "Never"}},
            "all pods in a single pod group should have the same preemption policy, "
            "got Never and PreemptLowerPriority",
            id="preemption policies",
        ),
    ],
)
async def test_pods_that_do_not_agree_are_refused(options: dict[str, Any], text: str) -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.add_group("g", min_count=2, priority=100)
    world.add_pod("p", group="g", priority=100)
    world.add_pod("q", group="g", **options)
    await world.settle()
    assert {world.told(name) for name in ("g", "p", "q")} == {("SchedulerError", text)}
    assert world.bound() == {}


async def test_pods_of_two_profiles_are_refused() -> None:
    names = ("default-scheduler", "second")
    world = GroupWorld(profiles=[{"schedulerName": name} for name in names])
    world.add_nodes("a")
    world.add_group("g", min_count=2)
    for name in names:
        world.add_pod(name, group="g", scheduler_name=name)
    await world.settle()
    text = (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        'got: "second" and "default-scheduler"'
    )
    assert world.told("g") == ("SchedulerError", text)


async def test_without_gang_scheduling_a_gang_is_a_basic_group() -> None:
    disabled = {"multiPoint": {"disabled": [{"name": "GangScheduling"}]}}
    world = GroupWorld(profiles=[{"plugins": disabled}])
    world.add_nodes("a")
    world.gang("g", 3, 4)
    await world.settle()
    assert len(world.bound()) == 2
    assert world.told("g") == ("Scheduled", "")


async def test_the_policy_of_the_group_counts_if_its_gate_is_on() -> None:
    world = GroupWorld(gates={"PodGroupPreemptionPolicy": True})
    world.add_nodes("a")
    world.add_group("g", spec={"preemptionPolicy": "Never"})
    world.add_pod("p", group="g")
    await world.settle()
    assert world.told("g") == (
        "SchedulerError",
        "all pods in a single pod group should have the same preemption policy as the pod group's "
        "preemption policy, got PreemptLowerPriority and Never",
    )


async def test_an_event_wakes_an_unschedulable_gang_but_not_before_its_backoff() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 4)
    await world.settle()
    await world.after(30)
    assert world.scheduler.cycles == 1
    world.add_nodes("b")
    await world.settle()
    assert len(world.bound()) == 4


async def test_a_gang_is_not_retried_more_often_than_its_backoff_allows() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=1)
    world.gang("g", 3)
    await world.settle()
    for index in range(5):
        world.add_nodes(f"small-{index}", cpu=1, unschedulable=True)
        await world.settle()
    assert world.scheduler.cycles == 1


async def test_without_nodes_a_gang_waits_with_a_condition() -> None:
    world = GroupWorld()
    world.gang("g", 2)
    await world.settle()
    assert world.told("g")[0] == "Unschedulable"
    world.add_nodes("a")
    await world.after(3)
    assert len(world.bound()) == 2


async def test_enough_pods_run_already_and_the_late_one_does_not_fit() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 2)
    await world.settle()
    world.add_pod("late", group="g")
    await world.settle()
    assert world.told("late") == ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
    assert world.told("g") == ("Scheduled", "")


async def test_a_lower_minimum_helps() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 3)
    await world.settle()
    world.groups.add(make_pod_group("g", min_count=2, metadata={"uid": "group-g"}))
    await world.after(3)
    assert len(world.bound()) == 2


async def test_a_higher_minimum_is_told() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=1)
    world.gang("g", 3, 2)
    await world.settle()
    assert world.told("g")[1].startswith("minCount (2) cannot be satisfied: 1 scheduled, ")
    world.groups.add(make_pod_group("g", min_count=3, metadata={"uid": "group-g"}))
    await world.after(3)
    assert world.told("g")[1].startswith("minCount (3) cannot be satisfied: 1 scheduled, ")


async def test_pods_that_are_being_deleted_are_not_tried() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.add_group("g")
    world.add_pod("p", group="g")
    pod = world.add_pod("q", group="g")
    meta = replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z", resource_version="2")
    world.pods.add(replace(pod, metadata=meta))
    await world.settle()
    assert list(world.bound()) == ["p"]


class Refuses(Plugin):
    """A plugin that refuses one pod at one point."""

    point = "permit"
    pod = "g-1"
    answer = Status.unschedulable("no")

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self.answer if self.point == "reserve" and pod.name == self.pod else None

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return self.answer if self.point == "permit" and pod.name == self.pod else None


class RefusesReserve(Refuses):
    name = "RefusesReserve"
    point = "reserve"


class FailsReserve(Refuses):
    name = "FailsReserve"
    point = "reserve"
    answer = Status.error("broken")


@pytest.mark.parametrize("plugin", [Refuses, RefusesReserve], ids=["permit", "reserve"])
async def test_a_gang_that_loses_a_pod_before_it_is_bound_is_not_bound(
    plugin: type[Plugin],
) -> None:
    world = GroupWorld(plugin)
    world.add_nodes("a", cpu=8)
    world.gang("g", 3)
    await world.settle()
    assert world.bound() == {}
    assert not world.scheduler.cache.assumed


async def test_an_error_of_one_pod_fails_the_whole_group() -> None:
    world = GroupWorld(FailsReserve)
    world.add_nodes("a", cpu=8)
    world.gang("g", 3)
    await world.settle()
    own = 'running Reserve plugin "FailsReserve": broken'
    assert world.told("g-1") == ("SchedulerError", own)
    shared = f"failed to schedule other pod from a pod group: {own}"
    assert {world.told(name) for name in ("g", "g-0", "g-2")} == {("SchedulerError", shared)}
    assert not world.scheduler.cache.assumed


async def test_a_node_that_helps_no_pod_alone_but_the_group() -> None:
    """The small pod may leave its node to the large one when a small node comes."""
    world = GroupWorld()
    world.add_nodes("a", cpu=4)
    world.add_group("g", min_count=2)
    world.add_pod("large", group="g", cpu=4)
    world.add_pod("small", group="g", cpu=1)
    await world.settle()
    assert world.bound() == {}
    world.nodes.add(make_node("tiny", cpu=1))
    await world.after(3)
    assert len(world.bound()) == 2


async def test_attempts_are_counted_by_result() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.gang("g", 2)
    world.gang("h", 2)
    await world.settle()
    attempts = world.scheduler.metrics.pod_group_schedule_attempts
    profile = "default-scheduler"
    assert attempts["scheduled", profile].value == 1
    assert attempts["unschedulable", profile].value == 1
