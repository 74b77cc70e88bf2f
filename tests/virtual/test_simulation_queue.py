"""The queue of a simulation: closed, open, held, and copied."""

from __future__ import annotations

import pytest

from mooring.queue.event_types import ASSIGNED_POD_DELETE
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation_queue import SimulationQueue
from tests.cycle.scheduling import make_nodes, make_pod, make_scheduler, refuse


@pytest.fixture
def scheduler() -> MemoryScheduler:
    return make_scheduler([refuse("n1")], [*make_nodes("n1"), make_pod("a"), make_pod("b")])


def test_closed_queue_keeps_nothing_and_records_activations(scheduler: MemoryScheduler) -> None:
    queue: SimulationQueue = scheduler.queue
    assert queue.count_queued() == 0
    queue.activate([make_pod("a")])
    assert [pod.name for pod in scheduler.activated] == ["a"]
    scheduler.start()
    assert queue.count_queued() == 2


def test_changes_while_held_are_handled_at_the_end(scheduler: MemoryScheduler) -> None:
    scheduler.start()
    with scheduler.queue.held():
        scheduler.cluster.add(make_pod("c"))
        scheduler.cluster.delete(make_pod("a"))
        assert scheduler.queue.count_queued() == 2
        assert scheduler.queue.get("default/a") is not None
    assert scheduler.queue.get("default/a") is None
    assert scheduler.queue.get("default/c") is not None
    scheduler.queue.validate()


def test_end_of_a_nomination_is_an_event_of_a_live_scheduler_only(
    scheduler: MemoryScheduler,
) -> None:
    queue = scheduler.queue
    for like_live, events in ((False, 0), (True, 1)):
        queue.like_live = like_live
        before = queue.events
        queue.move_all(ASSIGNED_POD_DELETE, make_pod("a", nominated="n1"), None)
        assert queue.events - before == events
        queue.move_all(ASSIGNED_POD_DELETE, make_pod("a", node="n1"), None)
        assert queue.events - before == events + 1


def test_copied_queue_has_places_and_history(scheduler: MemoryScheduler) -> None:
    scheduler.start()
    assert drive(scheduler.step())
    (refused,) = (one for one in "ab" if scheduler.queue.get(f"default/{one}").attempts)  # type: ignore[union-attr]
    twin = scheduler.copy().queue
    for name in "ab":
        mine, copied = scheduler.queue.get(f"default/{name}"), twin.get(f"default/{name}")
        assert mine is not None and copied is not None and mine is not copied
        assert (copied.place, copied.attempts) == (mine.place, int(name == refused))
        assert copied.unschedulable_plugins == mine.unschedulable_plugins
    twin.validate()
