"""WorkQueue: keys to reconcile, each by one worker at a time."""

# client-go: util/workqueue

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mooring.errors import ApiError
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)

#: Namespace and name.
Key = tuple[str, str]
#: Reconciles a key. Returns the seconds after which to do so again; None to wait for a change.
Work = Callable[[Key], Awaitable[float | None]]

# client-go: default_rate_limiters.go: 5 ms, doubled after each failure. client-go's maximum is
# 1,000 s, which is too long for the user of a local cluster.
FIRST_DELAY = 0.005
LAST_DELAY = 30.0


class WorkQueue:
    """A queue that calls `work` for every key that is added. Owned by one event loop.

    A key that is added while it is being processed is processed again afterwards. A key whose
    work fails is retried after a growing delay.
    """

    def __init__(self, name: str, work: Work, clock: Clock, *, limit: int = 4) -> None:
        self._name = name
        self._work = work
        self._clock = clock
        self._limit = limit
        self._running = False
        self._ready: dict[Key, None] = {}
        self._again: set[Key] = set()
        self._active: dict[Key, asyncio.Task[None]] = {}
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, tuple[float, asyncio.Task[None]]] = {}

    def start(self) -> None:
        """Start processing, beginning with the keys added so far."""
        self._running = True
        self._pump()

    async def close(self) -> None:
        """Drop the waiting keys and cancel the work in progress."""
        self._running = False
        tasks: list[asyncio.Task[Any]] = [*self._active.values()]
        tasks += [task for _, task in self._timers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._ready.clear()
        self._timers.clear()

    @property
    def idle(self) -> bool:
        """Return whether no key is ready or being processed; timers do not count."""
        return not self._ready and not self._active

    def add(self, key: Key) -> None:
        """Process a key as soon as a worker is free."""
        if key in self._active:
            self._again.add(key)
        else:
            self._ready[key] = None
            self._pump()

    def add_after(self, key: Key, seconds: float) -> None:
        """Process a key after this many seconds, or earlier if an earlier timer is set."""
        due = self._clock.now() + seconds
        known = self._timers.get(key)
        if known is not None:
            if known[0] <= due:
                return
            known[1].cancel()
        task = asyncio.get_running_loop().create_task(self._wait(key, due))
        self._timers[key] = (due, task)

    async def _wait(self, key: Key, due: float) -> None:
        await self._clock.sleep(max(0.0, due - self._clock.now()))
        del self._timers[key]
        self.add(key)

    def _pump(self) -> None:
        while self._running and self._ready and len(self._active) < self._limit:
            key = next(iter(self._ready))
            del self._ready[key]
            task = asyncio.get_running_loop().create_task(self._run(key), name=self._name)
            self._active[key] = task

    async def _run(self, key: Key) -> None:
        try:
            after = await self._work(key)
        except ApiError as error:
            # A conflict with another writer is expected, so it is not logged as an error.
            if error.is_conflict or error.is_already_exists or error.is_not_found:
                vlog(log, 4, "Will try again", controller=self._name, key=key, err=error)
            else:
                log_error(log, error, "Reconcile failed", controller=self._name, key=key)
            self._fail(key)
        except Exception:
            log.exception(
                "Reconcile failed", extra={"kv": {"controller": self._name, "key": "/".join(key)}}
            )
            self._fail(key)
        else:
            self._failures.pop(key, None)
            if after is not None:
                self.add_after(key, after)
        finally:
            del self._active[key]
            if key in self._again:
                self._again.discard(key)
                self._ready[key] = None
            self._pump()

    def _fail(self, key: Key) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.add_after(key, min(LAST_DELAY, FIRST_DELAY * 2 ** min(failures, 20)))
