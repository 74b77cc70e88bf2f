"""WatchPacer: resumes silent watches, because their connections may have failed unnoticed.

A proxy may keep a connection alive and pass nothing on: keep-alive probes are answered, and nothing
else shows it. A silent watch is therefore ended and resumed on a new connection; the server then
sends what the old connection lost. On an idle cluster every watch is silent, so the pacer limits
how many are resumed: two a minute, of pods and nodes, each of which is thus silent for a minute at
most. A short idle timeout of each watch would cost twenty kinds forty requests a minute. The others
are resumed while pods or nodes are not silent. If a resumed watch gets events immediately, its old
connection had failed; the other watches probably share the fault, and are resumed one after
another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

#: A watch without events and bookmarks for this many seconds is silent.
SILENT_SECONDS = 30.0
#: At most this many urgent watches are resumed in any period of this many seconds, only because
#: they are silent; others are resumed while fewer than this many of all were.
MOST_RESUMES, PERIOD_SECONDS = 2, 60.0
#: Events this soon after a watch was resumed show that its old connection had failed.
PROOF_SECONDS = 1.0


class WatchPacer:
    """The watches of a process that may be silent. Owned by the event loop of its client."""

    def __init__(
        self, silent_seconds: float = SILENT_SECONDS, period_seconds: float = PERIOD_SECONDS
    ) -> None:
        self._silent_seconds = silent_seconds
        self._period_seconds = period_seconds
        self._open: dict[PacedWatch, None] = {}
        #: The watch that was ended and has no new connection yet.
        self._resuming: PacedWatch | None = None
        #: The times of the last resumes of watches that were only silent, and of urgent ones.
        self._resumes: deque[float] = deque(maxlen=MOST_RESUMES)
        self._urgent_resumes: deque[float] = deque(maxlen=MOST_RESUMES)
        #: Connections that nothing came from since this time have probably failed.
        self._suspicion = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, watch: PacedWatch) -> None:
        """Resume this watch if it is silent; it has a connection now."""
        self._open[watch] = None
        if self._resuming is watch:
            self._resuming = None
            watch.resumed = watch.heard_at
        self._step()

    def remove(self, watch: PacedWatch, *, interrupted: bool) -> None:
        """Forget a connection, which the pacer has interrupted or which has ended by itself."""
        self._open.pop(watch, None)
        if self._resuming is watch and not interrupted:
            self._resuming = None
        self._step()

    def suspect(self, since: float) -> None:
        """Resume all connections that nothing has come from since a time."""
        self._suspicion = since
        self._step()

    def _step(self) -> None:
        """Resume a watch if one is due, or else set the timer for the next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._resuming is not None or not self._open:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        watch = self._next(now)
        if watch is None:
            self._timer = loop.call_at(min(map(self._due_at, self._open)), self._step)
        else:
            self._resuming = watch
            watch.interrupt()

    def _next(self, now: float) -> PacedWatch | None:
        """Return the watch to resume now, and count it; None if there is none."""
        suspects = [watch for watch in self._open if watch.heard_at < self._suspicion]
        if suspects:
            return min(suspects, key=_order)
        due = [watch for watch in self._open if self._due_at(watch) <= now]
        if not due:
            return None
        watch = min(due, key=_order)
        self._resumes.append(now)
        if watch.urgent:
            self._urgent_resumes.append(now)
        return watch

    def _due_at(self, watch: PacedWatch) -> float:
        """Return when a watch is resumed if it stays silent until then."""
        # Resumes of other kinds must not delay those of urgent ones.
        before = self._urgent_resumes if watch.urgent else self._resumes
        free = before[0] + self._period_seconds if len(before) == MOST_RESUMES else 0.0
        return max(watch.heard_at + self._silent_seconds, free)


class PacedWatch:
    """The watch of one kind, whose connections come and go. Owned by its reflector."""

    def __init__(self, pacer: WatchPacer, *, urgent: bool = False) -> None:
        self._pacer = pacer
        #: Whether it is resumed before those that are not urgent.
        self.urgent = urgent
        #: The time of the last events or bookmark, or of the response headers.
        self.heard_at = 0.0
        #: When the pacer resumed it, until its next events.
        self.resumed: float | None = None
        self._scope: asyncio.Timeout | None = None
        #: Whether it has a connection on which events come.
        self.is_open = False

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Use one connection within this block."""
        try:
            yield
        finally:
            scope, self._scope, self.is_open = self._scope, None, False
            self.resumed = None
            self._pacer.remove(self, interrupted=scope is not None and scope.expired())

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Read events within this block, which ends early if the pacer resumes the watch."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scope = scope
                yield
        except TimeoutError:
            if not scope.expired():
                raise

    @property
    def interrupted(self) -> bool:
        """Return whether the pacer has ended the block that reads."""
        return self._scope is not None and self._scope.expired()

    def opened(self) -> None:
        """Take note that the server sends events from now on."""
        self.heard_at = asyncio.get_running_loop().time()
        self.is_open = True
        self._pacer.add(self)

    def heard(self, *, events: bool) -> None:
        """Take note of events, or only of a bookmark."""
        if not self.is_open:
            self.opened()
            return
        self.heard_at = asyncio.get_running_loop().time()
        if events and self.resumed is not None:
            since, self.resumed = self.resumed, None
            if self.heard_at - since <= PROOF_SECONDS:
                self._pacer.suspect(since)

    def silence(self) -> float:
        """Return for how many seconds nothing has come."""
        return asyncio.get_running_loop().time() - self.heard_at

    def interrupt(self) -> None:
        """End the block that reads."""
        assert self._scope is not None
        self._scope.reschedule(asyncio.get_running_loop().time())


def _order(watch: PacedWatch) -> tuple[bool, float]:
    """Return the sort key of a watch: the first is resumed first."""
    return not watch.urgent, watch.heard_at
