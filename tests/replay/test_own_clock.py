"""Virtual time for tasks that sleep."""

from __future__ import annotations

import asyncio

from mooring.replay.own_clock import OwnClock


def test_sleepers_are_woken_when_the_clock_has_come_that_far() -> None:
    async def live() -> list[str]:
        clock, woken = OwnClock(100.0), []

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(f"{name} at {clock.now():.0f}")

        tasks = [asyncio.create_task(sleep("late", 20.0)), asyncio.create_task(sleep("soon", 5.0))]
        await asyncio.sleep(0)
        assert clock.next_wakeup == 105.0
        clock.move_to(105.0)
        await asyncio.sleep(0)
        assert woken == ["soon at 105"]
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert clock.next_wakeup is None
        clock.move_to(50.0)
        assert clock.now() == 105.0
        return woken

    assert asyncio.run(live()) == ["soon at 105"]
