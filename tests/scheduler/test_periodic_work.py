"""Periodic work runs beside the loop, at its period, whatever it raises."""

from __future__ import annotations

import asyncio

import pytest

from mooring.scheduler.periodic_work import PeriodicWork


class Gate:
    """A clock whose sleeps end when the test says so."""

    def __init__(self) -> None:
        self.slept: asyncio.Queue[float] = asyncio.Queue()
        self._go: asyncio.Queue[None] = asyncio.Queue()

    def now(self) -> float:
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
