"""Periodic work runs beside the loop, at its period, whatever it raises."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from mooring.observe.attempt_random import AttemptRandom
from mooring.scheduler.periodic_work import PeriodicWork, WorkNames, running_work
from mooring.scheduler.taps import SilentTap, make_taps


class Gate:
    """A clock whose sleeps end when the test says so."""

    def __init__(self) -> None:
        self.slept: asyncio.Queue[float] = asyncio.Queue()
        self._go: asyncio.Queue[None] = asyncio.Queue()

    def now(self) -> float:
        return 0.0

    def wall_time(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.put_nowait(seconds)
        await self._go.get()

    def wake(self) -> None:
        self._go.put_nowait(None)


async def test_work_runs_at_the_start_and_after_each_period() -> None:
    clock, runs = Gate(), []
    periodic = PeriodicWork(clock)

    async def work() -> None:
        runs.append("run")

    periodic.add(30, work)
    assert not runs
    periodic.start()
    assert await clock.slept.get() == 30
    clock.wake()
    await clock.slept.get()
    assert len(runs) == 2
    await periodic.close()


async def test_taps_are_notified_of_each_run_before_it_begins() -> None:
    clock, told = Gate(), []

    class Hearing(SilentTap):
        def work_begins(self, work: str) -> None:
            told.append(work)

    periodic = PeriodicWork(clock, make_taps([Hearing()], AttemptRandom(1)))

    async def work() -> None:
        told.append(f"run of {running_work()}")

    periodic.add(30, work)
    periodic.start()
    await clock.slept.get()
    clock.wake()
    await clock.slept.get()
    name = "test_taps_are_notified_of_each_run_before_it_begins.<locals>.work 1"
    assert told == [name, f"run of {name}"] * 2
    assert running_work() == ""
    await periodic.close()


def test_names_count_work_of_one_kind() -> None:
    names = WorkNames()
    assert [names.name(Gate().sleep) for _ in range(2)] == ["Gate.sleep 1", "Gate.sleep 2"]  # type: ignore[arg-type]
    assert names.name(partial(Gate().sleep, 1.0)) == "partial 1"


async def test_a_failure_is_logged_and_the_next_run_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Gate()
    periodic = PeriodicWork(clock)

    async def work() -> None:
        raise ValueError("no measurement")

    periodic.start()
    periodic.add(1, work)
    await clock.slept.get()
    clock.wake()
    await clock.slept.get()
    assert [record.message for record in caplog.records] == [
        "Periodic work of a plugin failed",
        "Periodic work of a plugin failed",
    ]
    await periodic.close()


async def test_closing_ends_work_under_way() -> None:
    periodic = PeriodicWork(Gate())
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    periodic.add(1, work)
    periodic.start()
    await asyncio.sleep(0)
    await periodic.close()
    assert ended == [True]
    await periodic.close()
