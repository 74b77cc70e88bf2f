"""PeriodicWork: the work that plugins repeat beside the scheduling loop.

Taps learn when a run of the work begins and which work sent a request (`running_work`). A replay
can then start each run at the recorded position and give it the recorded answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error
from mooring.scheduler.taps import Taps

log = logging.getLogger(__name__)

#: Seconds that work gets to end once it is cancelled.
_GRACE = 5.0

Work = Callable[[], Coroutine[Any, Any, None]]
StartWork = Callable[[Work], None]

#: The name of the work that the current task runs; tasks inherit it from the task that made them.
_RUNNING: ContextVar[str] = ContextVar("running", default="")


def running_work() -> str:
    """Return the name of the periodic work that the current task runs; "" if it runs none."""
    return _RUNNING.get()


class WorkNames:
    """Names for periodic work; the names depend only on the order in which work is added."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def name(self, work: Work) -> str:
        """Return a unique name for newly added work, such as "LoadSource.fetch 2"."""
        kind = getattr(work, "__qualname__", type(work).__qualname__)
        self._counts[kind] += 1
        return f"{kind} {self._counts[kind]}"


class RepeatedWork(Protocol):
    """The interface to what repeats plugins' work: `PeriodicWork`, or another one in a replay."""

    def add(self, seconds: float, work: Work) -> None:
        """Repeat work after each period."""
        ...

    def start(self) -> None:
        """Begin with the work that was added."""
        ...

    async def close(self) -> None:
        """End all work."""
        ...


class PeriodicWork:
    """The periodic work of all plugins. Owned by the scheduler, on its event loop."""

    def __init__(
        self,
        clock: Clock,
        taps: Taps | None = None,
        start: StartWork | None = None,
    ) -> None:
        """Prepare the work; `start` runs what never ends, instead of an asyncio task."""
        self._clock = clock
        self._taps = taps
        self._start = start
        self._names = WorkNames()
        self._waiting: list[tuple[float, Work, str]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False

    def add(self, seconds: float, work: Work) -> None:
        """Run `work` when started, and again `seconds` after the end of each run."""
        self._waiting.append((seconds, work, self._names.name(work)))
        if self._started:
            self.start()

    def start(self) -> None:
        """Begin with the work that was added; further calls do nothing."""
        self._started = True
        for seconds, work, name in self._waiting:
            repeat = partial(self._repeat, seconds, work, name)
            if self._start is None:
                self._tasks.append(asyncio.create_task(repeat()))
            else:
                self._start(repeat)
        self._waiting.clear()

    async def _repeat(self, seconds: float, work: Work, name: str) -> None:
        if self._start is None:
            # Each asyncio task has a context of its own.
            _RUNNING.set(name)
        while True:
            if self._taps is not None:
                self._taps.work_begins(name)
            try:
                await work()
            except BaseException as error:
                raise_if_external(error)
                log_error(log, error_text(error), "Periodic work of a plugin failed")
            await self._clock.sleep(seconds)
            if self._start is None:
                # A virtual clock's sleep does not yield to other tasks.
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Cancel all work and wait until it has ended."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            # A plugin may ignore that its task is cancelled.
            await asyncio.wait(tasks, timeout=_GRACE)
