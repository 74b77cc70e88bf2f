"""The work that plugins repeat, in a scheduler in memory."""

from __future__ import annotations

import pytest

from mooring.observe.clock import VirtualClock
from mooring.virtual.driving import drive
from mooring.virtual.memory_periodic_work import MemoryPeriodicWork


def test_work_is_due_at_once_and_after_each_period() -> None:
    clock = VirtualClock()
    periodic = MemoryPeriodicWork(clock)
    runs: list[float] = []

    async def work() -> None:
        runs.append(clock.now())

    begin = clock.now()
    periodic.every(30, work)
    for seconds in (0, 29, 1, 60):
        clock.advance(seconds)
        drive(periodic.run_due())
    assert [when - begin for when in runs] == [0, 30, 90]


def test_work_that_fails_is_logged_and_repeated(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    periodic = MemoryPeriodicWork(clock)

    async def fail() -> None:
        raise ValueError("no server")

    periodic.every(1, fail)
    drive(periodic.run_due())
    clock.advance(1)
    drive(periodic.run_due())
    assert caplog.text.count("Periodic work of a plugin failed") == 2
    assert "no server" in caplog.text
