"""The work that plugins repeat, for a scheduler in memory, where nothing runs by itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from mooring.framework.plugin_errors import raise_if_external
from mooring.observe.clock import Clock

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


class _Periodic(msgspec.Struct):
    """Work that a plugin repeats."""

    seconds: float
    work: Work
    #: When it is due.
    next: float


class MemoryPeriodicWork:
    """The periodic work of all plugins; its owner runs what is due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._all: list[_Periodic] = []

    def every(self, seconds: float, work: Work) -> None:
        """Repeat work after each period; it is due at once."""
        self._all.append(_Periodic(seconds, work, self._clock.now()))

    async def run_due(self) -> None:
        """Run the work that is due."""
        for one in self._all:
            if one.next <= self._clock.now():
                try:
                    await one.work()
                except BaseException as error:
                    raise_if_external(error)
                    log.exception("Periodic work of a plugin failed")
                one.next = self._clock.now() + one.seconds
