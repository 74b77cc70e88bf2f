"""EventBroadcaster: writing Events to the API server without blocking the scheduling loop.

Events that differ only in note and time form a series. The second one turns the first into a
series; later ones are only counted here, and the count is written when the series ends, or twice an
hour so that it does not expire. Writes about one Event keep their order: a series is never written
before its first Event.

client-go starts a goroutine for each Event, however many there are. Here a few tasks write them,
and once `MAX_PENDING` Events are pending, further ones are dropped, so that a slow server does not
exhaust the scheduler's memory. For the same reason at most `MAX_KNOWN` Events are kept in memory;
if a series is dropped early, the next such Event starts a new one.

# client-go: tools/events/event_broadcaster.go
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
import socket
from collections import deque
from collections.abc import Coroutine, Iterator
from itertools import count
from typing import Any

import msgspec

from mooring.api import Event, EventSeries
from mooring.api.timestamps import format_micro_time
from mooring.binding.event_recorder import EventRecorder
from mooring.errors import ApiError, LeaseExpiredError, NoAnswerError
from mooring.framework.handle import ApiClient
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)

MAX_PENDING = 20_000
MAX_KNOWN = 10_000
#: Concurrent writes. Few, so that a busy server handles binds before the Events about them.
SENDERS = 2
# client-go: maxTriesPerEvent, defaultSleepDuration with wait.Jitter(…, 0.25), finishTime,
# refreshTime.
MAX_TRIES = 12
RETRY_SECONDS = 10.0
RETRY_JITTER = 0.25
FINISH_SECONDS = 6 * 60.0
REFRESH_SECONDS = 30 * 60.0
#: How long `close` waits for pending writes.
CLOSE_SECONDS = 5.0

RETRY_LIMIT = "Unable to write event (retry limit exceeded!)"
REJECTED = "Server rejected event (will not retry!)"
MAY_RETRY = "Unable to write event (may retry after sleeping)"
DROPPED = "Events come faster than they can be written, dropping some"


class _Known:
    """An Event that was recorded, and the series it grew into."""

    __slots__ = ("again", "created", "event", "last_observed", "repeats", "tries", "under_way")
    #: How often the current write was tried.
    tries: int

    def __init__(self, event: Event, now: float) -> None:
        self.event = event
        #: How often the Event occurred in total; 0 before it is a series.
        self.repeats = 0
        self.last_observed = now
        self.created = False
        #: Whether a write is queued or in progress, and whether another must follow it.
        self.under_way = False
        self.again = False

    def series(self) -> EventSeries:
        return EventSeries(
            count=self.repeats, last_observed_time=format_micro_time(self.last_observed)
        )


class EventBroadcaster:
    """The writer of the Events of all recorders. Owned by the scheduling loop."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        *,
        random: random.Random,
        hostname: str | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._random = random
        self._hostname = socket.gethostname() if hostname is None else hostname
        self._known: dict[tuple[Any, ...], _Known] = {}
        self._pending: deque[_Known] = deque()
        #: Writes to be retried: (when, number, Event).
        self._later: list[tuple[float, int, _Known]] = []
        self._numbers = count()
        self._dropping = False
        self._closed = False
        self._sending = 0
        self._senders: set[asyncio.Task[None]] = set()
        self._sleepers: set[asyncio.Task[None]] = set()

    def recorder(self, scheduler_name: str) -> EventRecorder:
        """Return the recorder of a profile."""
        instance = f"{scheduler_name}-{self._hostname}"
        return EventRecorder(scheduler_name, instance, self._clock, self.record)

    def start(self) -> None:
        """Start the task that ends and refreshes series; needs a running event loop."""
        self._begin(self._sleepers, self._keep())

    async def close(self) -> None:
        """Write the queued Events, for at most `CLOSE_SECONDS`, and stop."""
        self._closed = True
        for task in self._sleepers:
            task.cancel()
        if self._senders:
            await asyncio.wait(self._senders, timeout=CLOSE_SECONDS)
        for task in self._senders:
            task.cancel()
        await asyncio.gather(*self._senders, *self._sleepers, return_exceptions=True)

    # Series.

    def record(self, event: Event) -> None:
        """Queue an Event for writing, or count it if it continues a series."""
        if self._closed:
            return
        key = _key(event)
        now = self._clock.now()
        known = self._known.get(key)
        if known is None:
            if len(self._pending) + len(self._later) >= MAX_PENDING:
                self._drop()
                return
            known = self._known[key] = _Known(event, now)
            self._write(known)
            if len(self._known) > MAX_KNOWN:
                self._forget(next(iter(self._known)))
            return
        known.last_observed = now
        if known.repeats:
            known.repeats += 1
            return
        known.repeats = 2
        self._write(known)

    def finish_series(self) -> None:
        """Write the last count of series that have ended, and drop old Events from memory."""
        past = self._clock.now() - FINISH_SECONDS
        for key in [key for key, known in self._known.items() if known.last_observed < past]:
            self._forget(key)

    def refresh_series(self) -> None:
        """Write the count of every series, so that it does not expire."""
        for known in self._known.values():
            if known.repeats:
                self._write(known)

    def _forget(self, key: tuple[Any, ...]) -> None:
        known = self._known.pop(key)
        if known.repeats:
            self._write(known)

    async def _keep(self) -> None:
        refreshed = self._clock.now()
        while True:
            await self._clock.sleep(FINISH_SECONDS)
            self.finish_series()
            if self._clock.now() - refreshed >= REFRESH_SECONDS:
                refreshed = self._clock.now()
                self.refresh_series()

    def _drop(self) -> None:
        if not self._dropping:
            self._dropping = True
            log_error(log, None, DROPPED, pending=MAX_PENDING)

    # Writing.

    def _write(self, known: _Known) -> None:
        if known.under_way:
            known.again = True
            return
        known.under_way = True
        known.tries = 0
        self._queue(known)

    def _queue(self, known: _Known) -> None:
        self._pending.append(known)
        if self._sending < SENDERS:
            self._sending += 1
            self._begin(self._senders, self._send())

    async def _send(self) -> None:
        pending = self._pending
        while pending:
            known = pending.popleft()
            try:
                retry = await self._attempt(known)
            except Exception as error:
                log_error(log, error, REJECTED, event=known.event)
                retry = False
            if retry and self._try_later(known):
                continue
            known.created = True
            known.under_way = False
            if known.again:
                known.again = False
                self._write(known)
        # Counted down here and not in the task's done callback, which runs a moment later: an Event
        # recorded in between would start no sender, and nothing would send it.
        self._sending -= 1
        self._dropping = False

    async def _attempt(self, known: _Known) -> bool:
        """Write an Event or its series; return whether to retry."""
        is_series = known.created and known.repeats > 0
        try:
            if is_series:
                await self._patch(known)
            else:
                await self._client.create(known.event)
        except LeaseExpiredError as error:
            # Every Event fails like this once the lease is lost; leader election logs why.
            vlog(log, 4, MAY_RETRY, err=error)
            return True
        except NoAnswerError as error:
            log_error(log, error, MAY_RETRY)
            return True
        except ApiError as error:
            if not error.is_already_exists:
                log_error(log, error, REJECTED, event=known.event)
                return False
            # For a series: the patch found no Event, but creating it failed because it now exists.
            if not is_series:
                vlog(log, 5, REJECTED, event=known.event, err=error)
            return is_series
        return False

    async def _patch(self, known: _Known) -> None:
        event, series = known.event, known.series()
        metadata = event.metadata
        patch = {"series": msgspec.to_builtins(series)}
        try:
            await self._client.patch(Event, metadata.name, metadata.namespace, patch)
        except ApiError as error:
            if not error.is_not_found:
                raise
            await self._client.create(msgspec.structs.replace(event, series=series))

    def _try_later(self, known: _Known) -> bool:
        known.tries += 1
        if known.tries >= MAX_TRIES:
            log_error(log, None, RETRY_LIMIT, event=known.event)
            return False
        delay = RETRY_SECONDS * (1 + RETRY_JITTER * self._random.random())
        heapq.heappush(self._later, (self._clock.now() + delay, next(self._numbers), known))
        if len(self._later) == 1 and not self._closed:
            self._begin(self._sleepers, self._wake())
        return True

    async def _wake(self) -> None:
        while self._later:
            await self._clock.sleep(max(0.0, self._later[0][0] - self._clock.now()))
            for known in self._due():
                self._queue(known)

    def _due(self) -> Iterator[_Known]:
        while self._later and self._later[0][0] <= self._clock.now():
            yield heapq.heappop(self._later)[2]

    def _begin(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def _key(event: Event) -> tuple[Any, ...]:
    return (
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        event.reporting_instance,
        event.regarding,
        event.related,
    )
