"""PeriodicWork: what plugins do beside the scheduling loop, again and again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

#: Seconds that work gets to end once it is cancelled.
_GRACE = 5.0

Work = Callable[[], Coroutine[Any, Any, None]]


class PeriodicWork:
    """The periodic work of all plugins. Owned by the scheduler, on its event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[tuple[float, Work]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False

    def add(self, seconds: float, work: Work) -> None:
        """Run `work` when started, and again `seconds` after the end of each run."""
        self._waiting.append((seconds, work))
        if self._started:
            self.start()

    def start(self) -> None:
        """Begin with the work that was added; further calls do nothing."""
        self._started = True
        for seconds, work in self._waiting:
            self._tasks.append(asyncio.create_task(self._repeat(seconds, work)))
        self._waiting.clear()

    async def _repeat(self, seconds: float, work: Work) -> None:
        while True:
            try:
                await work()
            except BaseException as error:
                raise_if_external(error)
                log_error(log, error_text(error), "Periodic work of a plugin failed")
            await self._clock.sleep(seconds)
            # A virtual clock does not wait.
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Cancel all work and wait until it has ended."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            # A plugin may ignore that its task is cancelled.
            await asyncio.wait(tasks, timeout=_GRACE)
