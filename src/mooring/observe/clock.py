"""Clocks: the core is given a clock and never reads the time itself; and what it counts instead."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    #: Returns seconds since the epoch. It is the function itself, because every event calls it.
    now = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        # Imported here: every plugin imports this module, and few need an event loop.
        import asyncio

        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that moves only when told to.

    >>> clock = VirtualClock(start=100.0)
    >>> clock.advance(5.0)
    >>> clock.now()
    105.0
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def now(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        if seconds < 0:
            raise ValueError(f"a clock moves forward only, got {seconds}")
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Move the clock forward without waiting."""
        self.advance(seconds)


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
