"""OwnClock: virtual time for a scheduler whose tasks sleep."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class OwnClock:
    """A clock that its owner moves forward; sleepers are woken when their time has come."""

    def __init__(self, start: float) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the virtual time, in seconds since the epoch."""
        return self._now

    def wall_time(self) -> float:
        """Return the virtual time, in seconds since the epoch."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait for some virtual seconds."""
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    @property
    def next_wakeup(self) -> float | None:
        """Return when the next one wakes up; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].cancelled():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def move_to(self, time: float) -> None:
        """Move the clock, never backwards, and wake up those whose time has come."""
        self._now = max(self._now, time)
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
