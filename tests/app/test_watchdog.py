"""The watchdog: what it reports about a blocked loop and about a cycle that does not end."""

from __future__ import annotations

import asyncio
import logging
import threading
from itertools import pairwise
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.app.watchdog import BLOCKED_SECONDS, INTERVAL, LoopWatchdog
from mooring.observe.clock import Progress, VirtualClock
from tests.app.world import World, make_node, make_pod
from tests.support.waiting import PATIENCE

NO = Status.unschedulable("no")
BLOCKS = "A plugin blocks the scheduling loop"
LASTS = "A scheduling cycle does not end"


class Loop:
    """An event loop that runs the calls posted to it when a test says so."""

    def __init__(self) -> None:
        self.posted: list[Any] = []
        self.closed = False

    def call_soon_threadsafe(self, call: Any) -> None:
        if self.closed:
            raise RuntimeError("Event loop is closed")
        self.posted.append(call)

    def turn(self) -> None:
        for call in self.posted:
            call()
        self.posted.clear()


class Scheduler:
    """A scheduler whose current cycle a test sets."""

    def __init__(self) -> None:
        self.cycles = 0
        self.progress = Progress()
        self.trying: Any = None
        self.turning: Any = None

    def begin(self, name: str) -> None:
        self.cycles += 1
        self.trying = make_pod(name)


class Watched:
    """A watchdog with a virtual clock."""

    def __init__(self, cycle_seconds: float = 60.0) -> None:
        self.clock = VirtualClock()
        self.loop, self.scheduler = Loop(), Scheduler()
        self.watchdog = LoopWatchdog(cycle_seconds, self.clock.now)
        self.watchdog.attach(self.loop, self.scheduler)  # type: ignore[arg-type]

    def look(self, seconds: float, *, blocked: bool = False) -> None:
        """Let the watchdog check for some seconds, while the loop runs or is blocked."""
        for _ in range(round(seconds / INTERVAL)):
            self.clock.advance(INTERVAL)
            self.watchdog.look()
            if not blocked:
                self.loop.turn()


def pairs(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [record.kv for record in caplog.records if record.getMessage() == message]  # type: ignore[attr-defined]


def test_a_loop_that_turns_is_healthy_however_long_it_is_idle() -> None:
    watched = Watched()
    watched.look(600)
    assert watched.watchdog.problem() is None


def test_many_cycles_are_healthy_however_long_they_take_together() -> None:
    watched = Watched(cycle_seconds=2)
    for _ in range(20):
        watched.scheduler.begin("same")
        watched.look(1)
        assert watched.watchdog.problem() is None


def test_a_cycle_that_lasts_too_long_is_a_problem_and_is_named_while_it_lasts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = Watched(cycle_seconds=60)
    watched.scheduler.begin("p")
    watched.look(60)
    assert watched.watchdog.problem() is None
    assert pairs(caplog, LASTS) == []
    watched.look(1)
    assert watched.watchdog.problem() == ("the scheduling cycle of pod default/p has lasted 61 s")
    watched.look(300)
    lines = pairs(caplog, LASTS)
    # One line a minute, not one per check.
    assert 4 <= len(lines) <= 6
    assert {line["pod"].key for line in lines} == {"default/p"}
    watched.scheduler.trying = None
    watched.look(INTERVAL)
    assert watched.watchdog.problem() is None


def test_a_loop_that_is_blocked_is_a_problem_after_the_same_time() -> None:
    watched = Watched(cycle_seconds=60)
    watched.look(10)
    watched.look(60, blocked=True)
    assert watched.watchdog.problem() is None
    watched.look(2, blocked=True)
    found = watched.watchdog.problem()
    assert found is not None and found.startswith("the scheduling loop has been blocked for 6")
    watched.loop.turn()
    watched.look(1)
    assert watched.watchdog.problem() is None


def test_a_process_that_was_stopped_is_not_blamed_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = Watched(cycle_seconds=60)
    watched.scheduler.begin("p")
    watched.look(INTERVAL, blocked=True)
    watched.clock.advance(3600)
    watched.watchdog.look()
    assert watched.watchdog.problem() is None
    assert caplog.records == []


def test_a_loop_that_is_closed_is_left_alone() -> None:
    watched = Watched(cycle_seconds=60)
    watched.look(1)
    watched.loop.closed = True
    watched.look(600)
    assert watched.watchdog.problem() is None


def watch(watchdog: LoopWatchdog, until: threading.Event) -> threading.Thread:
    """Run a watchdog on another thread until an event is set."""

    async def look() -> None:
        looking = asyncio.create_task(watchdog.run())
        await asyncio.to_thread(until.wait)
        looking.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(look()))
    thread.start()
    return thread


class Heard(logging.Handler):
    """A log handler that sets an event when a message is logged."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.event = threading.Event()
        self.records: list[Any] = []
        self._message = message

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._message:
            self.records.append(record)
            self.event.set()


async def test_a_plugin_that_blocks_is_named_while_it_does() -> None:
    heard, over = Heard(BLOCKS), threading.Event()

    class Sleepy(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> None:
            # The line is written while this blocks.
            assert heard.event.wait(PATIENCE)

    world = World(Sleepy)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    watchdog = LoopWatchdog()
    watchdog.attach(asyncio.get_running_loop(), world.scheduler)
    log = logging.getLogger("mooring.app.watchdog")
    log.addHandler(heard)
    watching = watch(watchdog, over)
    try:
        await world.settle()
    finally:
        over.set()
        watching.join()
        log.removeHandler(heard)
    (record,) = heard.records
    said = record.kv
    assert (said["plugin"], said["point"], said["pod"]) == ("Sleepy", "Filter", "default/p")
    assert said["seconds"] >= BLOCKED_SECONDS
    assert ("p", "bound", "n") in world.client.writes


async def test_a_cycle_that_awaits_forever_is_a_problem_and_is_named() -> None:
    heard, over = Heard(LASTS), threading.Event()

    class Patient(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return NO

        async def post_filter(self, state: Any, pod: Any, statuses: Any) -> Status:
            await asyncio.Event().wait()
            return NO

    world = World(Patient)
    world.nodes.add(make_node("n"))
    world.pods.add(make_pod("p"))
    watchdog = LoopWatchdog(cycle_seconds=0.5)
    watchdog.attach(asyncio.get_running_loop(), world.scheduler)
    log = logging.getLogger("mooring.app.watchdog")
    log.addHandler(heard)
    running = asyncio.create_task(world.scheduler.run())
    watching = watch(watchdog, over)
    try:
        assert await asyncio.to_thread(heard.event.wait, 30)
    finally:
        over.set()
        await asyncio.to_thread(watching.join)
        problem = watchdog.problem()
        log.removeHandler(heard)
        running.cancel()
        await asyncio.wait((running,))
        await world.scheduler.stop()
    assert problem is not None
    assert problem.startswith("the scheduling cycle of pod default/p has lasted")
    assert problem.endswith(", in plugin Patient at PostFilter")
    said = heard.records[0].kv
    assert (said["plugin"], said["point"]) == ("Patient", "PostFilter")


def test_a_long_cycle_that_goes_on_is_healthy() -> None:
    watched = Watched(cycle_seconds=60)
    watched.scheduler.begin("p")
    for _ in range(10):
        watched.scheduler.progress.step()
        watched.look(50, blocked=True)
        assert watched.watchdog.problem() is None
    watched.look(20, blocked=True)
    found = watched.watchdog.problem()
    assert found is not None and found.startswith("the scheduling loop has been blocked for 5")


def test_a_long_cycle_that_awaits_between_its_steps_is_healthy() -> None:
    watched = Watched(cycle_seconds=60)
    watched.scheduler.begin("p")
    for _ in range(10):
        watched.scheduler.progress.step()
        watched.look(50)
        assert watched.watchdog.problem() is None
    watched.look(20)
    found = watched.watchdog.problem()
    assert found is not None and found.startswith("the scheduling cycle of pod default/p has last")


def test_a_loop_without_a_scheduler_is_healthy_while_it_counts_steps() -> None:
    watched, progress = Watched(cycle_seconds=60), Progress()
    watched.watchdog.attach(watched.loop, progress=progress)  # type: ignore[arg-type]
    for _ in range(3):
        progress.step()
        watched.look(50, blocked=True)
        assert watched.watchdog.problem() is None
    watched.look(20, blocked=True)
    assert watched.watchdog.problem() is not None


async def test_a_cycle_counts_the_nodes_that_it_filters_and_scores() -> None:
    class Each(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> None:
            steps.append(world.scheduler.progress.steps)

        def score(self, state: Any, pod: Any, node: Any) -> int:
            steps.append(world.scheduler.progress.steps)
            return 0

    steps: list[int] = []
    world = World(Each)
    for name in "abc":
        world.nodes.add(make_node(name))
    world.pods.add(make_pod("p"))
    await world.settle()
    assert len(steps) == 6
    assert all(before < after for before, after in pairwise(steps))
