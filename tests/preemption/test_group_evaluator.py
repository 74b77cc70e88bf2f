"""Preemption by a pod group: who goes, who stays, and what the group is told."""

from __future__ import annotations

from mooring.api import PodDisruptionBudget, decode
from tests.scheduler.groups import NOBODY, GroupWorld

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "kept"}}},
    "status": {"disruptionsAllowed": 0},
}


def victims(world: GroupWorld) -> list[str]:
    return sorted(entry[0] for entry in world.client.writes if entry[1] == "deleted")


def nominated(world: GroupWorld) -> dict[str, str]:
    return {entry[0]: entry[2] for entry in world.client.writes if entry[1] == "nominated"}


async def test_a_gang_takes_the_place_of_lower_pods_on_several_nodes() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    for name in ("a", "b"):
        world.add_pod(f"low-{name}", node=name, cpu=2, priority=1)
    world.gang("g", 2, cpu=2, priority=9)
    await world.settle()
    assert victims(world) == ["low-a", "low-b"]
    await world.after(3)
    bound = world.bound()
    assert sorted((bound["g-0"], bound["g-1"])) == ["a", "b"]


async def test_the_victims_are_told_of_the_group() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.add_pod("low", node="a", cpu=2, priority=1)
    world.gang("g", 2, priority=9)
    await world.settle()
    text = "default-scheduler: preempting to accommodate a higher priority podgroup"
    assert ("low", "PreemptionByScheduler", text) in world.client.writes
    assert "low: Preempted: Preempted by podgroup group-g on node cluster" in world.events.lines
    found = "pod group preemption: found a placement for podgroup, preempting 1 victims"
    groups = [entry[2] for entry in world.client.writes if entry[0] == "g"]
    assert groups[0] == f"minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, {found}"
    assert nominated(world)["g-0"] == "a"


async def test_only_the_necessary_and_least_important_pods_go() -> None:
    world = GroupWorld()
    world.add_nodes("a", cpu=4)
    for priority in (10, 20, 30, 40):
        world.add_pod(f"p{priority}", node="a", priority=priority)
    world.gang("g", 2, priority=99)
    await world.settle()
    assert victims(world) == ["p10", "p20"]


async def test_nobody_goes_if_it_does_not_help() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    for name in ("a", "b"):
        world.add_pod(f"low-{name}", node=name, cpu=2, priority=1)
    world.gang("g", 3, cpu=2, priority=9)
    await world.settle()
    assert victims(world) == []
    assert world.told("g") == (
        "Unschedulable",
        "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining, "
        "deallocation and deletion of ResourceClaims completed, "
        "pod group preemption: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
    )


async def test_equal_priorities_stay() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.add_pod("same", node="a", cpu=2, priority=9)
    world.gang("g", 2, priority=9)
    await world.settle()
    assert victims(world) == []
    assert world.told("g")[1].endswith(NOBODY)


async def test_a_gang_that_never_preempts() -> None:
    world = GroupWorld()
    world.add_nodes("a")
    world.add_pod("low", node="a", cpu=2, priority=1)
    world.gang("g", 2, priority=9, spec={"preemptionPolicy": "Never"})
    await world.settle()
    assert victims(world) == []
    assert world.told("g")[1].endswith("not eligible due to preemptionPolicy=Never.")


async def test_higher_priorities_are_spared_if_the_gang_fits_elsewhere() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b", "c", "d")
    for name, priority in (("a", 500), ("b", 10), ("c", 500), ("d", 20)):
        world.add_pod(f"on-{name}", node=name, cpu=2, priority=priority)
    world.gang("g", 2, cpu=2, priority=999)
    await world.settle()
    assert victims(world) == ["on-b", "on-d"]


async def test_a_budget_is_not_broken_if_the_gang_fits_elsewhere() -> None:
    world = GroupWorld()
    world.informers.lister(PodDisruptionBudget).add(decode(BUDGET))
    world.add_nodes("a", "b")
    world.add_pod("kept", node="a", cpu=2, priority=1, labels={"app": "kept"})
    world.add_pod("free", node="b", cpu=2, priority=500)
    world.gang("g", 1, cpu=2, priority=999)
    await world.settle()
    assert victims(world) == ["free"]


async def test_each_pod_that_breaks_a_budget_is_counted() -> None:
    world = GroupWorld()
    world.informers.lister(PodDisruptionBudget).add(decode(BUDGET))
    world.add_nodes("a", "b")
    world.gang("v", 2, cpu=2, priority=1, mode="all", labels={"app": "kept"})
    await world.settle()
    world.gang("g", 1, cpu=2, priority=9)
    await world.settle()
    assert victims(world) == ["v-0", "v-1"]
    series = world.scheduler.metrics.preemption_pdb_violations
    assert {key: one.value for key, one in series.items()} == {"podgroup": 2}


async def test_a_group_that_is_disrupted_whole_goes_as_a_whole() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b", "c")
    world.gang("v", 3, cpu=2, priority=1, mode="all")
    await world.settle()
    assert len(world.bound()) == 3
    world.gang("g", 1, cpu=2, priority=9)
    await world.settle()
    assert victims(world) == ["v-0", "v-1", "v-2"]


async def test_a_single_pod_that_preempts_takes_the_whole_group_with_it() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    world.gang("v", 2, cpu=2, priority=1, mode="all")
    await world.settle()
    world.add_pod("high", cpu=2, priority=9)
    await world.settle()
    assert victims(world) == ["v-0", "v-1"]


async def test_members_that_repel_each_other_are_still_checked_when_pods_come_back() -> None:
    world = GroupWorld()
    world.add_nodes("a", "b")
    for name in ("a", "b"):
        world.add_pod(f"low-{name}", node=name, cpu=1, priority=1)
        world.add_pod(f"mid-{name}", node=name, cpu=1, priority=2)
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "g"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world.gang("g", 2, cpu=1, priority=9, labels={"app": "g"}, affinity=apart)
    await world.settle()
    assert victims(world) == ["low-a", "low-b"]
