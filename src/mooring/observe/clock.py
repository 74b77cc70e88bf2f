"""Clocks: the core is given a clock and never reads the time itself; and what it counts instead.

The time of a machine may be set, forward and back, by hours. All that waits, expires or is measured
therefore uses `now`, which never jumps. Only what is written into objects, or compared with times
that others wrote there, uses `wall_time`. (In Go, each time.Time carries both.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from typing import Protocol


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> float:
        """Return seconds since the epoch, by a clock that never jumps."""
        ...

    def wall_time(self) -> float:
        """Return seconds since the epoch, by the clock that the machine shows, which may jump."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        ...


def boot_time() -> float:
    """Return the seconds of a clock that also runs while the machine is suspended, if possible."""
    return time.clock_gettime(_CLOCK)


# CLOCK_MONOTONIC stops while the machine is suspended, but the clocks of others do not.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
#: What the machine's clock showed at the beginning of `boot_time`, when this process began.
_EPOCH = time.time() - boot_time()


def _steady_time() -> float:
    """Return seconds since the epoch; they pass evenly even if the machine's clock is set."""
    return _EPOCH + time.clock_gettime(_CLOCK)


class SystemClock:
    """The clock of this machine."""

    #: Plain functions instead of methods, because every event calls `now`.
    now = staticmethod(_steady_time)
    wall_time = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        # Imported here: every plugin imports this module, and few need an event loop.
        import asyncio

        await asyncio.sleep(seconds)


class Sleep:
    """A wait on a virtual clock; `VirtualTasks` resumes the coroutine that awaits it."""

    def __init__(self) -> None:
        self._is_over = False
        self._when_done: Callable[[], object] | None = None

    def when_done(self, call: Callable[[], object]) -> None:
        """Call `call()` when the wait ends; now if it has already ended."""
        self._when_done = call
        if self._is_over:
            call()

    def end(self) -> None:
        """End the wait."""
        self._is_over = True
        if self._when_done is not None:
            self._when_done()

    def __await__(self) -> Generator[Sleep, None, None]:
        if not self._is_over:
            yield self


class VirtualClock:
    """A clock that moves only when told to.

    If its owner runs coroutines alongside each other (`lets_sleep`), `sleep` suspends a coroutine
    until the clock has moved so far. Otherwise nobody else could move the clock, so `sleep` does.

    >>> clock = VirtualClock(start=100.0)
    >>> clock.advance(5.0)
    >>> clock.now()
    105.0
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sleeps: list[tuple[float, int, Sleep]] = []
        self._order = count()
        #: Whether the code that runs now can be suspended. Set by the owner.
        self.lets_sleep = False

    def now(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def wall_time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        if seconds < 0:
            raise ValueError(f"a clock moves forward only, got {seconds}")
        self.move_to(self._now + seconds)

    def move_to(self, moment: float) -> None:
        """Move the clock to a moment, never backwards, and end the waits that are over by then."""
        self._now = max(self._now, moment)
        while self._sleeps and self._sleeps[0][0] <= self._now:
            heappop(self._sleeps)[2].end()

    @property
    def next_wakeup(self) -> float | None:
        """When the next wait ends; None if nothing sleeps."""
        return self._sleeps[0][0] if self._sleeps else None

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved this far, or move it without waiting."""
        if not self.lets_sleep:
            self.advance(seconds)
            return
        sleep = Sleep()
        heappush(self._sleeps, (self._now + seconds, next(self._order), sleep))
        await sleep


class Progress:
    """A count of steps, such as nodes that were filtered.

    The scheduling loop counts; the watchdog, on another thread, notices that a long cycle goes on.
    """

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
