"""DecisionStream: decisions as server-sent events, for one reader.

Nothing is buffered for a reader: it reads from what the scheduler keeps anyway, and is dropped if
it falls too far behind. It may then connect again and name the last event that it got.
"""

# https://html.spec.whatwg.org/multipage/server-sent-events.html

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.serve.explanations import Explanations, RecordPage

CONTENT_TYPE = "text/event-stream"
#: A reader that has kept up, and falls this many records behind, is dropped.
BACKLOG = 10_000
#: Seconds without a decision after which a comment is sent, so that both sides notice a connection
#: that is broken.
QUIET_SECONDS = 15.0
#: Seconds between two looks, so that a reader costs the scheduling loop little.
LOOK_SECONDS = 0.1
#: Seconds after which a stream ends, so that the rights of its reader are checked again.
LONGEST_SECONDS = 1800.0
#: Records that are sent at once.
_PAGE = 1000

_COMMENT = b":\n\n"


class DecisionStream:
    """The records after a sequence number, as they are made (`apiserver.http.ByteStream`).

    Belongs to the loop that serves. `closed` is called with the stream when it is closed.
    """

    def __init__(
        self, source: Explanations, since: int, closed: Callable[[DecisionStream], None]
    ) -> None:
        self._source = source
        self._after = since
        self._closed = closed
        self._ended = asyncio.Event()
        self._events = self._run()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        return anext(self._events)

    def end(self) -> None:
        """End the stream after what is being sent: the server stops."""
        self._ended.set()

    async def aclose(self) -> None:
        """Stop following the scheduler."""
        self._closed(self)
        await self._events.aclose()

    async def _run(self) -> AsyncGenerator[bytes, None]:
        # The head of the response is sent with the first bytes.
        yield _COMMENT
        is_current = False
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST_SECONDS
        while not self._ended.is_set() and loop.time() < end:
            page = await self._source.records_since(self._after, _PAGE)
            if self._after > page.latest:
                # The number is of another run of the scheduler.
                yield _event("reset", self._after, page)
                self._after = 0
                continue
            if is_current and page.latest - self._after > BACKLOG:
                yield _event("dropped", self._after, page)
                return
            if page.missed and self._after:
                yield _event("gap", self._after, page)
            if page.records:
                yield b"".join(map(_decision, page.records))
                self._after = page.records[-1].sequence
                if len(page.records) < _PAGE:
                    is_current = True
                    await self._pause()
                continue
            is_current = True
            if not await self._wait():
                yield _COMMENT

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._ended.wait()

    async def _wait(self) -> bool:
        """Wait for a record or the end of the stream; False if neither comes for some time."""
        waits = [
            asyncio.ensure_future(self._source.wait_for_records(self._after)),
            asyncio.ensure_future(self._ended.wait()),
        ]
        try:
            done, _ = await asyncio.wait(
                waits, timeout=QUIET_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


def _decision(record: AttemptRecord) -> bytes:
    data = msgspec.json.encode(record)
    return b"id: %d\nevent: decision\ndata: %s\n\n" % (record.sequence, data)


def _event(name: str, after: int, page: RecordPage) -> bytes:
    """Return an event that says why records are missing."""
    data = {"since": after, "latest": page.latest}
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
