"""The history of attempts for pods of groups: of several cycles, the one that counts is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin
from mooring.explain.attempt_details import recorded_examination
from mooring.explain.attempt_history import AttemptDetail, AttemptHistory
from mooring.explain.explainer import Explainer
from mooring.explain.live_explanation import LiveExplanation
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from tests.scheduler.groups import GroupWorld

GATES = {"TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}


class Reserving(Plugin):
    """Reserves something, so that placements are tried one after another."""

    def reserve(self, state: Any, pod: Any, node_name: str) -> None:
        return None


class RecordedGroups(GroupWorld):
    """A world of racks with a history of attempts."""

    def __init__(self, *plugins: type[Plugin]) -> None:
        self.history = AttemptHistory()
        super().__init__(*plugins, taps=[self.history], gates=GATES)

    def add_rack(self, name: str, count: int, cpu: int = 2) -> None:
        nodes = (f"{name}-{number}" for number in range(count))
        self.add_nodes(*nodes, cpu=cpu, labels={"rack": name})

    def kept(self, name: str) -> AttemptDetail:
        """Return the only attempt of a pod."""
        self.history.validate()
        (record,) = self.history.records("default", name)
        found = self.history.find("default", name)
        assert found is not None and found.record is record
        return found


def asked(found: AttemptDetail) -> list[str]:
    """Return the nodes that the kept answers are about."""
    assert found.details is not None
    verdicts = recorded_examination(found.record, found.details).verdicts
    return [name for name, one in zip(verdicts.names, verdicts.asked, strict=True) if one]


@pytest.fixture(
    params=[
        pytest.param((), id="placements are searched together"),
        pytest.param((Reserving,), id="placements are tried one after another"),
    ]
)
def world(request: pytest.FixtureRequest) -> RecordedGroups:
    return RecordedGroups(*request.param)


async def test_the_chosen_placement_counts_if_a_later_one_fits_too(world: RecordedGroups) -> None:
    world.add_rack("a", 2, cpu=2)
    world.add_rack("b", 2, cpu=8)
    world.gang("gang", 2, topology="rack")
    await world.settle()
    assert set(world.bound().values()) <= {"a-0", "a-1"}, "the fuller rack is better"
    for name in ("gang-0", "gang-1"):
        found = world.kept(name)
        assert (found.record.outcome, found.record.bound) == ("scheduled", True)
        assert found.record.node == world.bound()[name]
        assert found.record.node in asked(found)
        assert set(asked(found)) <= {"a-0", "a-1"}


async def test_the_chosen_placement_counts_if_a_later_one_does_not_fit(
    world: RecordedGroups,
) -> None:
    world.add_rack("a", 2)
    world.add_rack("b", 1, cpu=1)
    world.gang("gang", 2, cpu=2, topology="rack")
    await world.settle()
    record = world.kept("gang-0").record
    assert (record.outcome, record.node) == ("scheduled", world.bound()["gang-0"])
    assert (record.message, record.refusing_plugins) == ("", ())


async def test_the_first_placement_counts_if_none_fits(world: RecordedGroups) -> None:
    world.add_rack("a", 2)
    world.add_rack("b", 1, cpu=1)
    world.gang("gang", 3, cpu=2, topology="rack")
    await world.settle()
    for name, feasible in (("gang-0", 2), ("gang-1", 1), ("gang-2", 0)):
        found = world.kept(name)
        assert found.record.outcome == "unschedulable"
        assert (found.record.evaluated, found.record.feasible) == (2, feasible)
        assert asked(found) == ["a-0", "a-1"]
    message = "0/2 nodes are available: 2 Insufficient cpu."
    assert world.kept("gang-2").record.message == message


@pytest.mark.parametrize(
    ("full", "other"),
    [pytest.param("a", "b", id="the first"), pytest.param("b", "a", id="the last")],
)
async def test_a_pod_that_its_gang_can_do_without_is_told_about_the_chosen_placement(
    full: str, other: str, world: RecordedGroups
) -> None:
    world.add_rack(full, 1, cpu=2)
    world.add_rack(other, 1, cpu=3)
    world.gang("gang", 2, min_count=1, cpu=2, topology="rack")
    await world.scheduler.turn()
    assert world.kept("gang-0").record.node == f"{full}-0", "the fuller rack is better"
    found = world.kept("gang-1")
    # It is told the same in both racks.
    assert found.record.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert asked(found) == [f"{full}-0"]


async def test_what_preemption_tries_does_not_count(world: RecordedGroups) -> None:
    world.add_rack("a", 1)
    world.add_rack("b", 1)
    for name in ("low", "lower"):
        world.add_pod(name, cpu=2)
        await world.settle()
    world.gang("gang", 2, topology="rack", priority=5)
    await world.scheduler.turn()
    tried, untried = world.kept("gang-0"), world.kept("gang-1").record
    assert tried.record.nominated_node and untried.nominated_node
    assert (tried.record.outcome, tried.record.node) == ("unschedulable", "")
    assert tried.record.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert asked(tried) == ["a-0"]
    # The group was refused after its first pod; only preemption has tried the second one.
    assert (untried.outcome, untried.node, untried.evaluated) == ("unschedulable", "", 0)
    assert "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining" in untried.message
    assert (untried.pod_group, untried.attempt) == ("default/gang", 1)
    assert world.kept("gang-1").details is None


@pytest.mark.parametrize(
    ("fitting", "kept"),
    [
        pytest.param((), ["r00-0"], id="none fits, and the first one counts"),
        pytest.param(("r18",), ["r18-0", "more-r18"], id="one of the last fits"),
        pytest.param(("r02", "r19"), None, id="the third of twenty is chosen"),
    ],
)
async def test_of_many_placements_the_answers_of_the_first_and_of_the_last_are_kept(
    fitting: tuple[str, ...], kept: list[str] | None
) -> None:
    world = RecordedGroups(Reserving)
    for number in range(20):
        world.add_rack(f"r{number:02}", 1, cpu=1)
    for cpu, rack in enumerate(fitting, start=3):
        world.add_nodes(f"more-{rack}", cpu=cpu, labels={"rack": rack})
    world.gang("gang", 1, cpu=3, topology="rack")
    await world.settle()
    found = world.kept("gang-0")
    assert found.record.node == world.bound().get("gang-0", "")
    assert found.record.node == (f"more-{fitting[0]}" if fitting else "")
    assert (found.details and asked(found)) == kept


async def try_tree(world: RecordedGroups, *, a: int, b: int) -> None:
    """Try a tree of three pods in two racks with so many processors."""
    world.add_rack("a", 1, cpu=a)
    world.add_rack("b", 1, cpu=b)
    world.add_composite("job", min_group_count=2, topology="rack")
    world.gang("left", 1, parent="job")
    world.gang("right", 2, parent="job")
    await world.settle()


async def test_a_pod_of_a_tree_is_kept_with_the_placement_of_its_tree(
    world: RecordedGroups,
) -> None:
    await try_tree(world, a=3, b=8)
    bound = world.bound()
    assert set(bound.values()) == {"a-0"}
    for name, node in bound.items():
        record = world.kept(name).record
        assert (record.outcome, record.node, record.bound) == ("scheduled", node, True)


async def test_a_pod_that_fits_in_a_tree_that_does_not_is_kept_with_the_first_placement(
    world: RecordedGroups,
) -> None:
    await try_tree(world, a=2, b=1)
    left = world.kept("left-0")
    assert (left.record.outcome, left.record.node) == ("unschedulable", "a-0")
    assert asked(left) == ["a-0"]


class InterruptedHistory(AttemptHistory):
    """A history whose scheduler is stopped before it tells how a group's attempt ended."""

    is_stopped = True

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        if not self.is_stopped:
            super().failed(info, failure)

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        if not self.is_stopped:
            super().group_ends(info, outcome)


async def test_the_cycles_of_an_attempt_that_did_not_end_are_forgotten() -> None:
    history = InterruptedHistory()
    world = GroupWorld(taps=[history], gates=GATES)
    world.add_nodes("small", cpu=1)
    world.gang("gang", 1, cpu=2)
    await world.settle()
    assert history.records("default", "gang-0") == []
    history.is_stopped = False
    world.add_nodes("large", cpu=2)
    await world.after(30)
    history.validate()
    (record,) = history.records("default", "gang-0")
    assert (record.attempt, record.outcome, record.node) == (2, "scheduled", "large")


async def explained(world: RecordedGroups, name: str) -> LiveExplanation:
    explainer = Explainer(world.scheduler, world.history)
    asked_for = asyncio.create_task(explainer.explain_pod("default", name))
    await asyncio.sleep(0)
    await world.scheduler.turn()
    return await asked_for


async def test_the_explanation_of_a_pod_shows_only_the_nodes_of_the_placement(
    world: RecordedGroups,
) -> None:
    world.add_rack("a", 1, cpu=1)
    world.add_rack("b", 1, cpu=2)
    world.gang("gang", 2, cpu=2, topology="rack")
    await world.settle()
    found = await explained(world, "gang-0")
    # What the plugins say now about all nodes is something else: it fits on b-0.
    assert found.found.recorded and not found.asked_now
    assert "Filter: 0 of 2 nodes pass" in found.lines()
    assert "  not asked, outside the group's placement or not needed: 1 node" in found.lines()


async def test_the_explanation_of_a_pod_that_was_not_tried_says_why_its_group_failed(
    world: RecordedGroups,
) -> None:
    world.add_rack("a", 1, cpu=1)
    world.gang("gang", 2, cpu=2, topology="rack")
    await world.settle()
    found = await explained(world, "gang-1")
    assert found.asked_now
    assert "cannot be satisfied: 0 scheduled, 1 remaining" in found.lines()[1]
