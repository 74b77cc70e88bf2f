from __future__ import annotations

import asyncio
import time

import pytest

from mooring.observe.clock import Progress, SystemClock, VirtualClock, boot_time


def test_the_system_clock_shows_the_machines_time() -> None:
    before = time.time()
    assert before <= SystemClock().wall_time() <= time.time()
    # The machine's clock may have been set since this process began, but not in this test.
    assert abs(SystemClock().now() - time.time()) < 3600.0


def test_the_steady_time_of_the_system_clock_is_that_since_the_boot() -> None:
    clock = SystemClock()
    before, first = boot_time(), clock.now()
    second, after = clock.now(), boot_time()
    assert 0.0 <= second - first <= after - before + 1e-6


def test_boot_time_counts_suspension_if_the_machine_does() -> None:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before = time.clock_gettime(clock)
    assert before <= boot_time() <= time.clock_gettime(clock)


async def test_sleeping_on_the_system_clock_lets_others_run() -> None:
    ran: list[str] = []

    async def other() -> None:
        ran.append("other")

    task = asyncio.create_task(other())
    await SystemClock().sleep(0)
    assert ran == ["other"]
    await task


async def test_a_virtual_clock_moves_when_told_or_slept_on() -> None:
    clock = VirtualClock(start=10.0)
    clock.advance(2.5)
    assert clock.now() == 12.5
    await clock.sleep(7.5)
    assert clock.now() == 20.0


def test_a_virtual_clock_never_goes_back() -> None:
    with pytest.raises(ValueError, match="forward only"):
        VirtualClock().advance(-1)


def test_progress_counts_steps() -> None:
    progress = Progress()
    progress.step()
    progress.step()
    assert progress.steps == 2
