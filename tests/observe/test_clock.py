from __future__ import annotations

import asyncio
import time

import pytest

from mooring.observe.clock import Progress, SystemClock, VirtualClock


def test_the_system_clock_tells_the_machines_time() -> None:
    before = time.time()
    assert before <= SystemClock().now() <= time.time()


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
