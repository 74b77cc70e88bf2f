"""WatchStream: one watch of a simulated API server, with delays, duplicates and early ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.errors import NoAnswerError
from tests.soak.faults import StreamEnd
from tests.soak.object_store import ADDED, DELETED, MODIFIED, Change, Json
from tests.support.virtual_loop import current_process

if TYPE_CHECKING:
    from tests.soak.api_server import ApiServer

#: Seconds between two bookmarks. # kube-apiserver: one a minute
BOOKMARK_SECONDS = 60.0

Matches = Callable[[Json], bool]


class WatchStream:
    """A stream of the changes of one collection to one client (`client.transport.Stream`)."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(
        self,
        server: ApiServer,
        collection: str,
        matches: Matches,
        *,
        version: int | None,
        seconds: float,
        idle_timeout: float | None,
    ) -> None:
        self._server = server
        self._collection = collection
        self._matches = matches
        #: Changes up to this version have been sent; None if the initial state must be sent.
        self._version = version
        self._seconds = seconds
        self._idle_timeout = idle_timeout
        self.process = current_process()
        self._cut = False
        self._wake = asyncio.Event()

    def cut(self) -> None:
        """Break the connection."""
        self._cut = True
        self._wake.set()

    def changed(self, collection: str) -> None:
        """Wake up if this collection has changed."""
        if collection == self._collection:
            self._wake.set()

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the changes as they happen."""
        server, plan = self._server, self._server.faults
        loop = asyncio.get_running_loop()
        token = server.store.listen(self.changed)
        server.streams[self] = None
        try:
            lasts, end = plan.stream()
            breaks = loop.time() + lasts if end is not None else float("inf")
            ends = loop.time() + self._seconds
            bookmark = loop.time() + BOOKMARK_SECONDS
            if self._version is None:
                for chunk in self._initial():
                    await self._pass(plan.delay(), breaks)
                    if loop.time() >= breaks:
                        break
                    yield chunk
            while True:
                now = loop.time()
                if self._cut or now >= breaks:
                    async for chunk in self._end(StreamEnd.CUT if self._cut else end):
                        yield chunk
                    return
                if now >= ends:
                    return
                chunk = self.next_lines()
                if chunk:
                    await self._pass(plan.delay(), breaks)
                    if not self._cut and loop.time() < breaks:
                        yield chunk
                elif now >= bookmark:
                    bookmark = now + BOOKMARK_SECONDS
                    yield self._bookmark({})
                else:
                    await self._wait(min(breaks, ends, bookmark) - now)
        finally:
            server.store.unlisten(token)
            server.streams.pop(self, None)

    async def _pass(self, seconds: float, breaks: float) -> None:
        """Wait while a message is in transit; a connection that breaks meanwhile loses it."""
        left = breaks - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, min(seconds, left)))
        if self.process is not None:
            await self.process.link.wait()

    async def _wait(self, seconds: float) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _end(self, how: StreamEnd | None) -> AsyncIterator[bytes]:
        if how is StreamEnd.SILENT:
            await self._wait_until_cut(self._idle_timeout)
        if how in (StreamEnd.CUT, StreamEnd.SILENT):
            raise NoAnswerError("the connection was cut within the answer", sent=True)
        if how is StreamEnd.GONE:
            yield error_line(410, "Expired", "too old resource version")
        elif how is StreamEnd.ERROR:
            yield error_line(500, "InternalError", "etcdserver: leader changed")

    async def _wait_until_cut(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not self._cut:
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            return

    def _initial(self) -> list[bytes]:
        """Return the initial state, and the bookmark that ends it."""
        found = [obj for obj in self._server.store.list(self._collection) if self._matches(obj)]
        chunks = []
        while found:
            number = self._server.faults.batch(len(found))
            chunks.append(b"".join(event_line(ADDED, obj) for obj in found[:number]))
            found = found[number:]
        self._version = self._server.store.version
        chunks.append(self._bookmark({"k8s.io/initial-events-end": "true"}))
        return chunks

    def next_lines(self) -> bytes:
        """Return the next changes as lines; empty if there are none."""
        assert self._version is not None
        changes = list(self._server.store.since(self._collection, self._version))
        if not changes:
            return b""
        plan = self._server.faults
        lines = []
        for change in changes[: plan.batch(len(changes))]:
            self._version = change.version
            told = self._told(change)
            if told:
                line = event_line(told, change.object)
                lines += [line, line] if plan.is_duplicated() else [line]
        return b"".join(lines) or b"\n"

    def _told(self, change: Change) -> str:
        """Return the event type of a change for a watch with a selector."""
        was = change.before is not None and self._matches(change.before)
        is_now = change.type != DELETED and self._matches(change.object)
        if was:
            return MODIFIED if is_now else DELETED
        return ADDED if is_now else ""

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        # The watch's own version: one that is behind must not get a newer one.
        meta = {"resourceVersion": str(self._version), "annotations": annotations}
        return event_line("BOOKMARK", {"metadata": meta})


def event_line(type: str, obj: Any) -> bytes:
    """Return one line of a watch."""
    return msgspec.json.encode({"type": type, "object": obj}) + b"\n"


def error_line(code: int, reason: str, message: str) -> bytes:
    """Return the line of a failure within a watch."""
    return event_line("ERROR", status_body(code, reason, message))


def status_body(code: int, reason: str, message: str) -> Json:
    """Return a `Status` of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
