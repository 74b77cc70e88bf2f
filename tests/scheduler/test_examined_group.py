"""What an attempt of a group looked at is kept for an examiner, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mooring.api import KubeObject, WorkloadPodGroup
from mooring.framework.features import FeatureGates
from mooring.framework.status import Status
from mooring.offline.backlog import Outcomes, schedule_all
from mooring.offline.driving import drive
from mooring.offline.memory_scheduler import MemoryScheduler
from mooring.scheduler.examined_group import ExaminedGroup, TriedPlacement, TriedPod
from mooring.testing import make_node, make_pod, make_pod_group

RACK = "example.com/rack"


class Examining(MemoryScheduler):
    """A scheduler that examines the attempts of the groups of some name."""

    wanted = ""

    def wants(self, group: WorkloadPodGroup) -> bool:
        return group.name == self.wanted

    def take(self, examined: ExaminedGroup) -> None:
        self.found = [*getattr(self, "found", ()), examined]


def run(
    objects: Sequence[KubeObject],
    wanted: str = "g",
    *,
    topology: bool = True,
    reuse: bool | None = None,
) -> tuple[list[ExaminedGroup], Outcomes]:
    gates = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": topology}
    scheduler = Examining(objects, features=FeatureGates(gates), reuse=reuse)
    scheduler.wanted = wanted
    outcomes = drive(schedule_all(scheduler))
    scheduler.cluster.cache.validate()
    return getattr(scheduler, "found", []), outcomes


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
    a, b, c = found.placements
    assert [one.name for one in found.placements] == ["a", "b", "c"]
    assert [one.num_nodes for one in found.placements] == [1, 1, 1]
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
    assert [one.status is None for one in found.placements] == [False] * 3
    assert not any(one.is_chosen for one in found.placements)


def test_all_nodes_are_one_placement_without_a_topology() -> None:
    (found,), _ = run(cluster(), topology=False)
    (only,) = found.placements
    assert (only.name, only.num_nodes, only.is_chosen) == ("", 3, True)


def test_a_group_whose_pods_do_not_agree_has_no_placements() -> None:
    objects = [make_node("n"), make_pod_group("g", priority=5), make_pod("g-0", group="g")]
    (found, *_), _ = run(objects)
    assert found.placements == ()
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


def test_pods_without_a_node_are_not_counted_as_placed() -> None:
    pods = [TriedPod(make_pod("a"), "n"), TriedPod(make_pod("b"), message="full")]
    assert TriedPlacement("r", 1, pods, Status.unschedulable("too few")).placed == 1
