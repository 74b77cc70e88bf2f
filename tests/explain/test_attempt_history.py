"""The history of attempts: what it keeps, and within how many bytes."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

from mooring import Plugin, Status
from mooring.explain.attempt_history import AttemptHistory, make_history
from mooring.explain.record_store import ATTEMPTS_PER_POD
from tests.app.world import make_node, make_pod
from tests.explain.histories import RecordedWorld
from tests.scheduler.groups import GroupWorld


async def test_the_record_of_a_pod_that_was_bound() -> None:
    world = RecordedWorld()
    world.add_nodes(3)
    state = world.scheduler.random.state
    await world.try_pod("p")
    (record,) = world.history.records("default", "p")
    assert (record.outcome, record.attempt, record.bound) == ("scheduled", 1, True)
    assert record.node == world.client.writes[0][2]
    assert (record.evaluated, record.feasible, record.seed) == (3, 3, state)
    assert (record.time, record.profile) == (world.clock.now(), "default-scheduler")
    assert record.sequence == world.history.latest == 1


async def test_the_record_of_a_pod_that_found_no_node() -> None:
    world = RecordedWorld()
    world.add_nodes(2, cpu=1)
    await world.try_pod("p", cpu=3)
    (record,) = world.history.records("default", "p")
    assert record.outcome == "unschedulable"
    assert record.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert record.refusing_plugins == ("NodeResourcesFit",)
    assert (record.evaluated, record.feasible, record.node) == (2, 0, "")


async def test_the_record_of_a_preemption_names_the_victims() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=2)
    await world.try_pod("low", cpu=2, priority=1)
    world.pods.add(make_pod("high", cpu=2, priority=9))
    await world.scheduler.turn()
    (record,) = world.history.records("default", "high")
    assert (record.nominated_node, record.victims) == ("n0", ("default/low",))


async def test_a_binding_that_fails_changes_the_record_and_its_sequence() -> None:
    failing = type("Failing", (Plugin,), {"pre_bind": lambda *_: Status.error("no disk")})
    world = RecordedWorld(failing)
    world.add_nodes(1)
    world.pods.add(make_pod("p"))
    await world.scheduler.turn()
    (record,) = world.history.since(0).records
    assert (record.outcome, record.sequence) == ("scheduled", 1)
    await world.settle()
    (again,) = world.history.since(1).records
    assert again is record
    assert (record.outcome, record.bound, record.sequence) == ("error", False, 2)
    assert "no disk" in record.binding_error
    assert record.node == "n0"
    world.history.validate()


async def test_the_last_attempts_of_a_pod_are_kept_also_when_it_is_gone() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    for _ in range(ATTEMPTS_PER_POD + 3):
        # After five minutes it is tried again although nothing has changed.
        await world.after(400.0)
    attempts = [record.attempt for record in world.history.records("default", "p")]
    assert len(attempts) == ATTEMPTS_PER_POD
    assert attempts[-1] > ATTEMPTS_PER_POD
    assert attempts == list(range(attempts[0], attempts[0] + ATTEMPTS_PER_POD))
    world.pods.delete("p", "default")
    await world.settle()
    assert len(world.history.records("default", "p")) == ATTEMPTS_PER_POD


async def test_attempts_are_found_by_number() -> None:
    world = RecordedWorld()
    world.add_nodes(1, cpu=1)
    await world.try_pod("p", cpu=3)
    world.nodes.add(make_node("n1", cpu=4))
    await world.after(30.0)
    first, last = (world.history.find("default", "p", attempt) for attempt in (1, None))
    assert first is not None and last is not None
    assert (first.record.outcome, last.record.outcome) == ("unschedulable", "scheduled")
    assert world.history.find("default", "p", 7) is None
    assert world.history.find("default", "other") is None


async def test_details_are_dropped_before_records_and_the_oldest_first() -> None:
    world = RecordedWorld(limit=100_000)
    world.add_nodes(200)
    names = [f"p{number:02}" for number in range(40)]
    for name in names:
        await world.try_pod(name, cpu=0.01)
        assert world.history.size <= world.history.limit
    found = [world.history.find("default", name) for name in names]
    have_record = [one is not None for one in found]
    have_details = [one is not None and one.details is not None for one in found]
    # Of both, those of the newest pods are there, and of fewer pods the details.
    assert have_record == sorted(have_record) and have_details == sorted(have_details)
    assert 0 < sum(have_details) < sum(have_record)


async def test_records_go_when_nothing_else_is_left_to_drop() -> None:
    world = RecordedWorld(limit=5000)
    world.add_nodes(500)
    for number in range(20):
        await world.try_pod(f"p{number}", cpu=0.01)
    assert 0 < world.history.count < 20
    assert world.history.size <= 5000
    assert world.history.records("default", "p0") == []
    assert world.history.records("default", "p19") != []
    assert world.history.since(0).missed
    assert not world.history.since(world.history.latest - 1).missed


async def test_the_size_is_about_what_is_allocated() -> None:
    world = RecordedWorld()
    world.add_nodes(2000)
    await world.try_pod("warm", cpu=0.01)
    gc.collect()
    tracemalloc.start()
    try:
        before, counted = tracemalloc.get_traced_memory()[0], world.history.size
        for number in range(30):
            await world.try_pod(f"p{number}", cpu=0.01, labels={"app": f"{number % 3}"})
        gc.collect()
        with_history = tracemalloc.get_traced_memory()[0]
        grown = world.history.size - counted
        # Dropping everything frees what was counted.
        world.history.limit = 0
        await world.try_pod("last", cpu=0.01)
        gc.collect()
        freed = with_history - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert with_history > before
    assert world.history.count == 0 and world.history.size == 0
    assert 0.5 * grown < freed < 2.0 * grown


async def test_attempts_of_identical_pods_share_their_arrays() -> None:
    world = RecordedWorld(gates={"OpportunisticBatching": True})
    world.add_nodes(1000)
    sizes = []
    for number in range(4):
        await world.try_pod(f"p{number}", cpu=0.01)
        sizes.append(world.history.size)
    first, second, third = sizes[0], sizes[2] - sizes[1], sizes[3] - sizes[2]
    assert max(second, third) < first


async def test_an_array_that_a_plugin_writes_to_again_is_kept_as_it_was() -> None:
    class Reusing(Plugin):
        """Returns the same array each time."""

        scores = np.zeros(2, dtype=np.int64)

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            self.scores += 1
            return self.scores

    world = RecordedWorld(Reusing, gates={"OpportunisticBatching": False})
    world.add_nodes(2)
    await world.try_pod("a")
    await world.try_pod("b")
    kept = [world.history.find("default", name) for name in "ab"]
    raw = [one.details.scores["Reusing"].raw.tolist() for one in kept if one and one.details]
    assert raw == [[1, 1], [2, 2]]


async def test_details_survive_nodes_that_go_and_come() -> None:
    world = RecordedWorld()
    world.add_nodes(3)
    await world.try_pod("p")
    world.nodes.delete("n0")
    world.nodes.add(make_node("other"))
    await world.settle()
    found = world.history.find("default", "p")
    assert found is not None and found.details is not None
    assert found.details.names == ("n0", "n1", "n2")


async def test_readers_follow_by_sequence() -> None:
    world = RecordedWorld()
    world.add_nodes(1)
    waiting = asyncio.ensure_future(world.history.wait(0))
    cancelled = asyncio.ensure_future(world.history.wait(0))
    await asyncio.sleep(0)
    cancelled.cancel()
    for name in ("a", "b", "c"):
        await world.try_pod(name, cpu=0.01)
    await waiting
    batch = world.history.since(1)
    assert [record.name for record in batch.records] == ["b", "c"]
    assert [record.name for record in world.history.since(0, 2).records] == ["a", "b"]
    assert world.history.since(3).records == []
    await world.history.wait(2)


async def test_pods_of_a_group_are_recorded_once_each() -> None:
    history = AttemptHistory()
    world = GroupWorld(taps=[history])
    world.add_nodes("n", cpu=2)
    world.gang("fits", 2)
    await world.settle()
    world.gang("large", 3, cpu=5)
    await world.settle()
    history.validate()
    records = {record.name: record for record in history.since(0).records}
    assert records["fits-0"].outcome == "scheduled" and records["fits-0"].bound
    assert records["large-0"].outcome == "unschedulable"
    assert {record.pod_group for record in records.values()} == {"default/fits", "default/large"}
    assert len(records) == history.count == 5


TREES = {"TopologyAwareWorkloadScheduling": True, "CompositePodGroup": True}


async def test_the_last_attempt_of_a_tree_is_kept() -> None:
    history = AttemptHistory()
    world = GroupWorld(taps=[history], gates=TREES)
    world.add_nodes("n", cpu=3, labels={"rack": "r1"})
    world.add_composite("job", min_group_count=2)
    world.gang("left", 2, parent="job", topology="rack")
    world.gang("right", 2, parent="job")
    await world.settle()
    (record,) = history.records("default", "left-0")
    assert (record.pod_group, record.composite_pod_group) == ("default/left", "default/job")
    found = [(one.name, one.fits, one.placed, one.placement) for one in history.tree("default/job")]
    assert found == [
        ("job", False, "1 of 2 groups", "all nodes"),
        ("left", True, "2 of 2 pods", "r1"),
        ("right", False, "1 of 2 pods", "all nodes"),
    ]
    world.add_nodes("m", labels={"rack": "r2"})
    await world.after(60)
    assert [one.fits for one in history.tree("default/job")] == [True] * 3
    assert history.tree("default/other") == ()


async def test_a_tree_that_fails_before_its_placements_is_kept_too() -> None:
    history = AttemptHistory()
    world = GroupWorld(taps=[history], gates=TREES)
    world.add_composite("job", min_group_count=1)
    world.gang("left", 1, parent="job", priority=4)
    await world.settle()
    (top,) = history.tree("default/job")
    assert "same priority as the pod group's priority, got 4 and 0" in top.result


@pytest.mark.parametrize(("limit", "kept"), [(0, False), (1, True)])
def test_no_memory_means_no_history(limit: int, kept: bool) -> None:
    assert (make_history(limit) is not None) == kept


async def test_under_a_high_rate_answers_are_kept_for_some_of_the_scheduled_pods_only() -> None:
    world = RecordedWorld()
    world.add_nodes(500, cpu=100)

    async def kept(names: list[str]) -> int:
        for name in names:
            await world.try_pod(name)
        found = [world.history.find("default", name) for name in names]
        assert all(one is not None for one in found)
        return sum(one is not None and one.details is not None for one in found)

    # All at one moment, as far as the clock shows.
    assert await kept([f"first-{number}" for number in range(80)]) == 64
    await world.try_pod("huge", cpu=1000)
    failed = world.history.find("default", "huge")
    assert failed is not None and failed.details is not None
    # Answers are kept for 50,000 nodes a second: for five and a half attempts in this time.
    world.clock.advance(0.055)
    assert await kept([f"later-{number}" for number in range(10)]) == 5
