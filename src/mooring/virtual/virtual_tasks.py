"""VirtualTasks: what runs beside a scheduling loop in a simulation, without an event loop.

A coroutine runs until it has ended, or waits for the virtual clock or at Permit; then others run.
Most binding cycles never wait, so they cost no task of asyncio. A coroutine that waits for
something outside, such as a response, is waited for: no virtual time passes meanwhile. That needs
an asyncio loop; without one it is an error of the caller.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.binding.binding_cycle import StartTask
from mooring.binding.binding_pods import PermitWait
from mooring.framework.plugin_errors import abandon, raise_if_external
from mooring.observe.clock import Sleep, VirtualClock
from mooring.observe.logs import log_error
from mooring.scheduler.plugin_tasks import FAILED, log_failure

log = logging.getLogger(__name__)


class _Work(msgspec.Struct, eq=False):
    """A coroutine that has not ended."""

    coroutine: Coroutine[Any, Any, None]
    #: The pod on whose behalf a plugin spawned it.
    pod: Pod | None = None
    #: Whether it never ends, so that nothing waits for its end.
    is_periodic: bool = False


class _PermitSuspension(msgspec.Struct, frozen=True):
    """An awaitable that suspends a coroutine while a pod waits at Permit."""

    wait: PermitWait

    def __await__(self) -> Generator[PermitWait, None, None]:
        yield self.wait


class VirtualTasks:
    """The coroutines of a simulation (`scheduler.plugin_tasks.Tasks`). Owned by the simulation."""

    #: PreBind runs in place: it ends before anything could cancel it, unless it sleeps.
    start_task: StartTask | None = None

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._ready: deque[_Work] = deque()
        self._to_repeat: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._suspended: set[_Work] = set()
        #: Whether work that will end does not suspend to sleep, but moves the clock.
        self.sleep_moves_clock = False
        #: How many coroutines that will end wait for the clock.
        self.sleeping = 0

    @property
    def are_ready(self) -> bool:
        """Whether `run` has something to do."""
        return bool(self._ready or self._to_repeat)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a coroutine run at the next `run`; what it raises is logged."""
        self._ready.append(_Work(work))

    def start_periodic(self, repeat: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Let a coroutine run that never ends; it is made when it begins."""
        self._to_repeat.append(repeat)

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Let a plugin's work on behalf of a pod run; what it raises is logged."""
        self._ready.append(_Work(work, pod))

    async def wait_for(self, wait: PermitWait) -> None:
        """Suspend the current coroutine until a wait at Permit has ended."""
        await _PermitSuspension(wait)

    async def run(self) -> None:
        """Run everything that can go on, in the order in which it was started or resumed."""
        ready = self._ready
        if self._to_repeat:
            periodic = [_Work(repeat(), is_periodic=True) for repeat in self._to_repeat]
            ready.extendleft(reversed(periodic))
            self._to_repeat.clear()
        while ready:
            work = ready.popleft()
            try:
                lets_sleep = work.is_periodic or not self.sleep_moves_clock
                wait = await _Step(work.coroutine, self._clock, lets_sleep)
            except BaseException as error:
                raise_if_external(error)
                if work.pod is None:
                    log_error(log, error, FAILED)
                else:
                    log_failure(error, work.pod)
                continue
            if wait is not None:
                self._suspend(work, wait)

    def _suspend(self, work: _Work, wait: Sleep | PermitWait) -> None:
        sleeps = isinstance(wait, Sleep) and not work.is_periodic
        self.sleeping += sleeps
        self._suspended.add(work)
        wait.when_done(partial(self._resume, work, sleeps))

    def _resume(self, work: _Work, slept: bool) -> None:
        if work in self._suspended:
            self.sleeping -= slept
            self._suspended.discard(work)
            self._ready.append(work)

    def take_spawned(self) -> list[Coroutine[Any, Any, None]]:
        """Take back what plugins spawned and what has not run yet."""
        spawned = [work for work in self._ready if work.pod is not None]
        for work in spawned:
            self._ready.remove(work)
        return [work.coroutine for work in spawned]

    async def stop(self, grace: float) -> None:
        """Drop everything."""
        for work in self._ready:
            work.coroutine.close()
        for work in self._suspended:
            abandon(work.coroutine)
        self._ready.clear()
        self._to_repeat.clear()
        self._suspended.clear()
        self.sleeping = 0


class _Step(msgspec.Struct, frozen=True):
    """An awaitable that runs a coroutine until it ends, or waits in virtual time."""

    coroutine: Coroutine[Any, Any, None]
    clock: VirtualClock
    lets_sleep: bool

    def __await__(self) -> Generator[Any, Any, Sleep | PermitWait | None]:
        clock = self.clock
        resume: Callable[[], Any] = partial(self.coroutine.send, None)
        while True:
            before, clock.lets_sleep = clock.lets_sleep, self.lets_sleep
            try:
                awaited = resume()
            except StopIteration:
                return None
            finally:
                clock.lets_sleep = before
            if isinstance(awaited, Sleep | PermitWait):
                return awaited
            try:
                # Not ours: the event loop in which the simulation runs resumes it.
                resume = partial(self.coroutine.send, (yield awaited))
            except BaseException as error:
                resume = partial(self.coroutine.throw, error)
