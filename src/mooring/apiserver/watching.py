"""Watch: events since a version, with bookmarks, initial events and a timeout."""

# apiserver: pkg/endpoints/handlers/watch.go, pkg/storage/cacher

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable

from mooring.apiserver import list_options, refusals, selecting
from mooring.apiserver.http import ApiRequest, ApiResponse
from mooring.apiserver.printing import rendering
from mooring.apiserver.printing.rendering import ObjectForm
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import (
    ADDED,
    DELETED,
    MODIFIED,
    Gone,
    Stored,
    StoreEvent,
    encode,
)
from mooring.apiserver.resource_table import Served
from mooring.apiserver.selecting import RequestSelection
from mooring.apiserver.server_state import ServerState

BOOKMARK = "BOOKMARK"
OTHER_NAME = "fieldSelector metadata.name doesn't match requested name"
BOOKMARK_SECONDS = 60.0
#: Seconds; a watch ends after one to two times this. kube-apiserver: --min-request-timeout
LEAST_TIMEOUT = 1800
#: A watch that is this many events behind is ended; its client can resume from its last version.
BACKLOG = 10_000

#: How many events are written before yielding to other tasks.
_SLICE = 200

INITIAL_END = {"k8s.io/initial-events-end": "true"}


class Watcher:
    """A buffer of the events of a resource that a request selects, until they are read."""

    def __init__(
        self, cluster: ServerState, served: Served, namespace: str, what: RequestSelection
    ) -> None:
        self._prefix = f"{namespace}/" if namespace else ""
        self._selection = what
        self._store = cluster.store
        self._served = served
        self._waiting: deque[tuple[str, Stored]] = deque()
        self._woken: asyncio.Future[None] | None = None
        self.overrun = False
        #: Every event after this version is collected, even before the first `next`.
        self.since = cluster.store.version
        self._stop = cluster.store.listen(served.store, self._take)

    def close(self) -> None:
        """Stop collecting."""
        self._stop()

    def replay(self, version: int) -> None:
        """Collect the past events after a version; raise Gone if that is too old."""
        for event in self._store.since(self._served.store, version):
            self._take(event)

    def _take(self, event: StoreEvent) -> None:
        stored = event.stored
        if self._prefix and not stored.key.startswith(self._prefix):
            return
        type = event.type
        if not self._selection.empty:
            after = type != DELETED and self._selection.matches(stored)
            before = event.old is not None and self._selection.matches(event.old)
            if not after and not before:
                return
            type = (MODIFIED if before else ADDED) if after else DELETED
        if len(self._waiting) >= BACKLOG:
            # The client does not read; its events must not fill the memory.
            self.overrun = True
            self._waiting.clear()
            self.close()
        else:
            self._waiting.append((type, stored))
        self._wake()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def next(self, seconds: float) -> list[tuple[str, Stored]]:
        """Return the collected events; if there are none, wait up to `seconds` for one."""
        if not self._waiting:
            # Not wait_for: in Python 3.11 it loses a cancellation that arrives just as the wait
            # ends, and its task is most of the cost of sending an event to many watches.
            loop = asyncio.get_running_loop()
            self._woken = loop.create_future()
            timer = loop.call_later(seconds, self._wake)
            try:
                await self._woken
            finally:
                timer.cancel()
                self._woken = None
        found = [*self._waiting]
        self._waiting.clear()
        return found


def watch(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Return a response with a stream of events."""
    form = rendering.form(cluster, request, served)
    selection = selecting.read(request, served)
    if info.name and selection.has_fields:
        if selection.name != info.name:
            raise refusals.bad_request(OTHER_NAME)
    elif info.name:
        selection = selection.and_name(info.name)
    seconds = _seconds(request)
    initial = list_options.check_watch(request)
    try:
        version = list_options.version_of(request.parameter("resourceVersion"))
    except ValueError as error:
        raise refusals.failure(str(error)) from None
    watcher = Watcher(cluster, served, info.namespace, selection)
    first: list[Stored] = []
    try:
        if initial or (version == 0 and initial is None):
            items = cluster.store.items(served.store, info.namespace)
            first = [one for one in items if selection.empty or selection.matches(one)]
        elif version and not initial:
            watcher.replay(version)
    except Gone as gone:
        watcher.close()
        return _lost(str(gone), form)
    events = _events(cluster, request, form, watcher, first, bool(initial), seconds)
    stream = _WatchStream(watcher, events)
    content = f"{form.content_type};stream=watch" if ";" in form.content_type else form.content_type
    return ApiResponse(200, content_type=content, stream=stream)


class _WatchStream:
    """The stream of a watcher's events; closing it also closes the watcher.

    A generator is not enough: closing one that has not started runs none of its code.
    """

    def __init__(self, watcher: Watcher, events: AsyncGenerator[bytes, None]) -> None:
        self._watcher = watcher
        self._events = events

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        return anext(self._events)

    async def aclose(self) -> None:
        """End the watch."""
        self._watcher.close()
        await self._events.aclose()


def _lost(message: str, form: ObjectForm) -> ApiResponse:
    async def one() -> AsyncGenerator[bytes, None]:
        yield encode({"type": "ERROR", "object": refusals.expired(message).status}) + b"\n"

    return ApiResponse(200, content_type=form.content_type, stream=one())


def _line(type: str, data: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (type.encode(), data)


def _seconds(request: ApiRequest) -> float:
    seconds = list_options.whole(request, "timeoutSeconds")
    return seconds if seconds > 0 else LEAST_TIMEOUT * (1 + random.random())


async def _events(
    cluster: ServerState,
    request: ApiRequest,
    form: ObjectForm,
    watcher: Watcher,
    first: list[Stored],
    announce: bool,
    seconds: float,
) -> AsyncGenerator[bytes, None]:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    bookmarks = request.flag("allowWatchBookmarks")
    try:
        for at in range(0, len(first), _SLICE):
            yield b"".join([_line(ADDED, form.one(stored)) for stored in first[at : at + _SLICE]])
            await asyncio.sleep(0)
        if announce and bookmarks:
            yield _line(BOOKMARK, form.bookmark(watcher.since, INITIAL_END))
        if not first:
            # Send the headers now, so that the client knows that the watch has started.
            yield b""
        mark = loop.time() + BOOKMARK_SECONDS
        while True:
            now = loop.time()
            if now >= end or watcher.overrun:
                return
            seen = cluster.store.version
            found = await watcher.next(min(end, mark) - now)
            for at in range(0, len(found), _SLICE):
                some = found[at : at + _SLICE]
                yield b"".join([_line(type, form.one(stored)) for type, stored in some])
            if not found and bookmarks and loop.time() >= mark:
                yield _line(BOOKMARK, form.bookmark(seen, None))
            if loop.time() >= mark:
                mark = loop.time() + BOOKMARK_SECONDS
    finally:
        watcher.close()
