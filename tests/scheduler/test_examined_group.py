"""What an attempt of a group looked at is kept for an examiner, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mooring.api import AnyPodGroup, KubeObject
from mooring.framework.features import FeatureGates
from mooring.framework.tried_groups import TriedGroup
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.testing import make_composite_pod_group, make_node, make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import OutcomeRecorder, Outcomes
from mooring.virtual.simulation import schedule_all

RACK = "example.com/rack"


class Examining(OutcomeRecorder):
    """A recorder that examines the attempts of the groups of some name."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.wanted = wanted
        self.found: list[ExaminedGroup] = []

    def wants(self, group: AnyPodGroup) -> bool:
        return group.name == self.wanted

    def take(self, examined: ExaminedGroup) -> None:
        self.found.append(examined)


def run(
    objects: Sequence[KubeObject],
    wanted: str = "g",
    *,
    topology: bool = True,
    reuse: bool | None = None,
) -> tuple[list[ExaminedGroup], Outcomes]:
    gates = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": topology}
    gates["CompositePodGroup"] = topology
    examining = Examining(wanted)
    scheduler = MemoryScheduler(
        objects, features=FeatureGates(gates), reuse=reuse, recorder=examining
    )
    outcomes = drive(schedule_all(scheduler))
    scheduler.cache.validate()
    return examining.found, outcomes


def cluster(cpu: int = 2, pods: int = 2) -> list[KubeObject]:
    """Return three racks of one node: two with room for two cpus, and one for one."""
    nodes = [
        make_node(name, cpu=room, labels={RACK: name})
        for name, room in (("a", 1), ("b", 2), ("c", 3))
    ]
    group = make_pod_group("g", min_count=pods, topology=RACK)
    members = [make_pod(f"g-{i}", cpu=cpu / pods, group="g") for i in range(pods)]
    return [*nodes, group, *members]


@pytest.mark.parametrize("reuse", [True, False], ids=["searched together", "one after another"])
def test_every_placement_is_told_with_its_pods_and_scores(reuse: bool) -> None:
    (found,), outcomes = run(cluster(), reuse=reuse)
    assert found.status is None
    assert (found.attempt, [pod.name for pod in found.pods]) == (1, ["g-0", "g-1"])
    a, b, c = found.tried.placements
    assert [one.name for one in found.tried.placements] == ["a", "b", "c"]
    assert [one.num_nodes for one in found.tried.placements] == [1, 1, 1]
    assert a.status is not None
    assert a.status.message == "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert [(one.node_name, one.message) for one in a.pods] == [
        ("a", ""),
        ("", "0/1 nodes are available: 1 Insufficient cpu."),
    ]
    assert (a.placed, a.total, a.scores) == (1, None, {})
    assert (b.status, b.placed, b.is_chosen) == (None, 2, True)
    assert b.total == sum(b.scores.values())
    assert set(b.scores) == {"NodeResourcesFit", "PodGroupPodsCount"}
    assert c.total is not None and b.total > c.total, "the fuller rack is chosen"
    assert not c.is_chosen
    assert {one.node_name for one in outcomes.decisions.values()} == {"b"}


@pytest.mark.parametrize("reuse", [True, False], ids=["searched together", "one after another"])
def test_a_group_that_fits_nowhere_tells_what_preemption_said(reuse: bool) -> None:
    (found, *_), _ = run(cluster(cpu=8), reuse=reuse)
    assert found.status is not None
    assert "pod group preemption: No preemption victims" in found.status.message
    assert [one.status is None for one in found.tried.placements] == [False] * 3
    assert not any(one.is_chosen for one in found.tried.placements)


def test_all_nodes_are_one_placement_without_a_topology() -> None:
    (found,), _ = run(cluster(), topology=False)
    (only,) = found.tried.placements
    assert (only.name, only.num_nodes, only.is_chosen) == ("", 3, True)


def test_a_group_whose_pods_do_not_agree_has_no_placements() -> None:
    objects = [make_node("n"), make_pod_group("g", priority=5), make_pod("g-0", group="g")]
    (found, *_), _ = run(objects)
    assert found.tried.placements == ()
    assert found.status is not None
    assert found.status.is_error
    assert "same priority" in found.status.message


def test_groups_that_nobody_asks_for_are_not_examined() -> None:
    found, outcomes = run(cluster(), wanted="other")
    assert found == []
    examined, others = run(cluster())
    assert len(examined) == 1
    assert [one.node_name for one in outcomes.decisions.values()] == [
        one.node_name for one in others.decisions.values()
    ]


def forest(nodes: Sequence[KubeObject]) -> list[KubeObject]:
    """Return a tree whose groups left and right each need a rack with two cpus."""
    top = make_composite_pod_group("job", min_group_count=2, topology="zone")
    parts = [
        make_pod_group(name, parent="job", min_count=2, topology=RACK) for name in ("left", "right")
    ]
    members = [make_pod(f"{part.name}-{i}", cpu=1, group=part.name) for part in parts for i in "ab"]
    return [*nodes, top, *parts, *members]


def rack(name: str, zone: str, cpu: int = 2) -> KubeObject:
    return make_node(name, cpu=cpu, labels={RACK: name, "zone": zone})


def fates(tried: TriedGroup) -> dict[str, bool]:
    return {one.group.name: one.fits for _, one in tried.walk()}


def test_a_tree_is_examined_in_every_placement_of_its_top() -> None:
    nodes = [rack("a", "z1"), rack("b", "z1", cpu=1), rack("c", "z2"), rack("d", "z2")]
    (found,), outcomes = run(forest(nodes), "job")
    assert found.status is None
    assert (found.tried.group.name, found.tried.size, len(found.pods)) == ("job", 2, 4)
    z1, z2 = found.tried.placements
    assert (z1.name, z1.num_nodes, z1.placed, z1.is_chosen) == ("z1", 2, 1, False)
    assert z1.status is not None
    assert z1.status.message == "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    assert {part.group.name: part.fits for part in z1.parts} == {"left": True, "right": False}
    assert (z2.name, z2.placed, z2.is_chosen, z2.status) == ("z2", 2, True, None)
    assert fates(found.tried) == {"job": True, "left": True, "right": True}
    places = {one.pod.name: one.node_name for one in outcomes.decisions.values()}
    for name in ("left", "right"):
        chosen = z2.part(name).chosen
        assert chosen is not None
        assert {one.pod.name: one.node_name for one in chosen.pods}.items() <= places.items()


def test_the_scores_of_the_zones_of_a_tree_are_recorded() -> None:
    nodes = [rack("a", "z1"), rack("b", "z1"), rack("c", "z2"), rack("d", "z2", cpu=8)]
    (found,), _ = run(forest(nodes), "job")
    first, second = found.tried.placements
    assert (first.is_chosen, second.is_chosen) == (True, False), "the fuller zone is chosen"
    assert first.total == sum(first.scores.values())
    assert second.total is not None and first.total is not None and first.total > second.total


def test_groups_after_a_required_one_that_failed_are_not_tried() -> None:
    nodes = [rack("a", "z1", cpu=1), rack("b", "z1", cpu=1)]
    (found, *_), _ = run(forest(nodes), "job")
    (only,) = found.tried.placements
    assert [part.is_tried for part in only.parts] == [True, False]
    assert found.status is not None
    assert "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining" in found.status.message


def test_pods_that_run_already_are_counted() -> None:
    nodes = [rack("a", "z1", cpu=4), rack("b", "z1", cpu=4)]
    running = [make_pod(f"left-{i}", cpu=1, group="left", node="a") for i in "xy"]
    (found,), _ = run([*forest(nodes), *running], "job")
    left = found.tried.find("left")
    assert left is not None
    assert (left.running, left.size, left.progress) == (2, 2, "4 of 4 pods")


def test_a_tree_whose_pods_do_not_agree_has_no_placements() -> None:
    objects = [*forest([rack("a", "z1")]), make_pod("left-c", group="left", priority=5)]
    (found, *_), _ = run(objects, "job")
    assert (found.tried.placements, found.tried.group.name) == ((), "job")
    assert found.status is not None and "same priority" in found.status.message
