"""Watchdog: notices, from another thread, that the scheduling loop is stuck.

Two things can go wrong. A plugin blocks the event loop: then the loop does not respond, and the
stack of its thread shows where it is. Or a cycle awaits something that does not come: then the loop
responds, but the cycle does not end, and what its task awaits shows why.

A cycle may take long without being stuck: it counts its steps, such as the nodes that it has
filtered, and only a step that does not end counts as a problem.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Protocol

from mooring.api import Pod
from mooring.app.plugin_calls import PluginCall, awaited_call, running_call, running_place
from mooring.framework.plugin_errors import error_text
from mooring.observe.clock import Progress
from mooring.observe.logs import kv, log_error, vlog

log = logging.getLogger(__name__)

#: Seconds between two checks.
INTERVAL = 0.25
#: Seconds that a call may block the loop before it is logged.
BLOCKED_SECONDS = 1.0
#: The longest interval between two log lines about one call, in seconds; the first are shorter.
LONGEST_PAUSE = 60.0
#: How long a step of a cycle may last before the process counts as dead. A plugin may be slow, but
#: nothing healthy takes a minute for a node.
CYCLE_SECONDS = 60.0


class Cycles(Protocol):
    """What a scheduler shows of its cycles; implemented by `scheduler.scheduler.Scheduler`."""

    @property
    def cycles(self) -> int:
        """Return how many cycles have begun."""
        ...

    @property
    def trying(self) -> Pod | None:
        """Return the pod of the current cycle; None between two cycles."""
        ...

    @property
    def progress(self) -> Progress:
        """Return the count of the steps of all cycles."""
        ...

    @property
    def turning(self) -> asyncio.Task[None] | None:
        """Return the task of the loop."""
        ...


class _Pause:
    """When to log a lasting problem: after some seconds, then at growing intervals."""

    def __init__(self, first: float) -> None:
        self._first = self._next = first

    def is_over(self, lasted: float) -> bool:
        """Return whether it is time for a log line."""
        if lasted < self._next:
            return False
        self._next = lasted + min(lasted, LONGEST_PAUSE)
        return True

    def restart(self) -> bool:
        """Reset; return whether a line was logged."""
        logged, self._next = self._next > self._first, self._first
        return logged


class LoopWatchdog:
    """A view of a scheduling loop for another thread, which calls `run` and `problem`.

    `attach` is called on the thread of the loop.
    """

    def __init__(
        self, cycle_seconds: float = CYCLE_SECONDS, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.cycle_seconds = cycle_seconds
        self._now = now
        self._problem: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread_id = 0
        self._scheduler: Cycles | None = None
        #: When the loop was last pinged; None once it has responded.
        self._asked: float | None = None
        self._is_blocked = False
        self._blocked = _Pause(BLOCKED_SECONDS)
        #: The cycle that was in progress at the last check, and when it was first seen.
        self._cycle = 0
        self._since = 0.0
        self._long = _Pause(cycle_seconds)
        self._progress = Progress()
        #: The steps counted at the last check, and when their number last changed.
        self._steps = 0
        self._stepped = -math.inf
        self._last_look = now()

    def attach(
        self,
        loop: asyncio.AbstractEventLoop,
        scheduler: Cycles | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        """Start watching a loop that runs on this thread, and its scheduler if it has one.

        `progress` counts the steps of a loop without a scheduler.
        """
        self._thread_id = threading.get_ident()
        self._scheduler = scheduler
        if progress is not None:
            self._progress = progress
        elif scheduler is not None:
            self._progress = scheduler.progress
        self._loop = loop

    def problem(self) -> str | None:
        """Return why the loop counts as dead, or None."""
        return self._problem

    async def run(self) -> None:
        """Check regularly until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(INTERVAL)

    def look(self) -> None:
        """Check the loop once, and log what is stuck."""
        now = self._now()
        late = now - self._last_look - INTERVAL
        self._last_look = now
        if late > BLOCKED_SECONDS:
            # This thread was stopped too, as after SIGSTOP: it cannot know how long others were.
            self._since += late
            self._stepped += late
            asked = self._asked
            if asked is not None:
                self._asked = asked + late
        if self._progress.steps != self._steps:
            self._steps, self._stepped = self._progress.steps, now
        self._problem = self._look_at_loop(now) or self._look_at_cycle(now)

    def _look_at_loop(self, now: float) -> str | None:
        """Return a problem if the loop has not responded for too long; else ping it again."""
        if self._loop is None:
            return None
        # Read once: the loop may respond at any moment.
        asked = self._asked
        self._is_blocked = asked is not None and now - asked >= BLOCKED_SECONDS
        if asked is None:
            self._asked = now
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:
                # The loop has been closed: the process is about to end.
                self._loop = self._asked = None
            return None
        blocked = now - asked
        if self._blocked.is_over(blocked):
            self._log_blocked(blocked)
        if now - max(asked, self._stepped) <= self.cycle_seconds:
            return None
        return f"the scheduling loop has been blocked for {blocked:.0f} s{_where(self._running())}"

    def _answer(self) -> None:
        """Record, on the thread of the loop, that the loop runs."""
        asked, self._asked = self._asked, None
        if self._blocked.restart() and asked is not None:
            log.info(
                "The scheduling loop continues", extra=kv(seconds=round(self._now() - asked, 1))
            )

    def _look_at_cycle(self, now: float) -> str | None:
        """Return a problem if one cycle has lasted for too long."""
        scheduler = self._scheduler
        pod = None if scheduler is None else scheduler.trying
        if scheduler is None or pod is None:
            self._cycle = 0
            return None
        if scheduler.cycles != self._cycle:
            self._cycle, self._since = scheduler.cycles, now
            self._long.restart()
            return None
        lasted = now - self._since
        if now - max(self._since, self._stepped) <= self.cycle_seconds:
            self._long.restart()
            return None
        call = self._running() if self._is_blocked else self._awaited()
        if self._long.is_over(lasted) and not self._is_blocked:
            self._log_long(pod, lasted, call)
        return f"the scheduling cycle of pod {pod.key} has lasted {lasted:.0f} s{_where(call)}"

    def _running(self) -> PluginCall | None:
        try:
            return running_call(self._thread_id)
        except Exception as error:
            # The attributes of a plugin may be anything.
            vlog(log, 2, "The stack of the scheduling loop cannot be read", err=error_text(error))
            return None

    def _awaited(self) -> PluginCall | None:
        try:
            return None if self._scheduler is None else awaited_call(self._scheduler.turning)
        except Exception as error:
            vlog(log, 2, "What the scheduling cycle awaits cannot be read", err=error_text(error))
            return None

    def _log_blocked(self, seconds: float) -> None:
        call = self._running()
        if call is None:
            # For example while decoding a long list, about which the user can do nothing.
            place = running_place(self._thread_id)
            vlog(log, 2, "The scheduling loop is busy", seconds=round(seconds, 1), at=place)
            return
        log_error(
            log,
            None,
            "A plugin blocks the scheduling loop",
            plugin=call.plugin,
            point=call.point,
            pod=call.pod,
            seconds=round(seconds, 1),
            at=call.place,
        )

    def _log_long(self, pod: Pod, seconds: float, call: PluginCall | None) -> None:
        log_error(
            log,
            None,
            "A scheduling cycle does not end",
            pod=pod,
            plugin="" if call is None else call.plugin,
            point="" if call is None else call.point,
            seconds=round(seconds, 1),
            at="" if call is None else call.place,
        )


def _where(call: PluginCall | None) -> str:
    return "" if call is None else f", in plugin {call.plugin} at {call.point}"
