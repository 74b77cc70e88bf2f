"""HttpStream: a response that arrives over minutes, on a dedicated connection.

The socket is read only when the caller asks for more, so a slow reader slows down the server. All
data that has arrived is taken at once: a list of thousands of objects is decoded in large pieces.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any

from mooring.client.deadlines import CLIENT_CLOSED
from mooring.client.dialer import READ_SIZE, WAIT_ERRORS, Socket
from mooring.client.http1 import ResponseReader

#: The most that one read returns: 16 full TLS records.
_BATCH = 2**18


class HttpStream:
    """One request and its response. Belongs to the event loop it was made on.

    The head must arrive by `deadline`, a time of the loop's clock; after that, some data must
    arrive at least every `idle_timeout` seconds.
    """

    def __init__(
        self, sock: Socket, idle_timeout: float | None, deadline: float = math.inf
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._idle_timeout = math.inf if idle_timeout is None else idle_timeout
        #: The deadline of the head; infinite once the head has arrived.
        self._deadline = deadline
        self._reader = ResponseReader(None)
        self._closed = False
        #: Whether all data that has arrived was read, and whether the connection has ended.
        self._drained = True
        self._ended = False
        self._ready: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last = self._loop.time()

    @property
    def status(self) -> int:
        """Return the status of the response."""
        return self._reader.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of the response."""
        return self._reader.headers

    async def begin(self, data: bytes, check: Callable[[], None] | None = None) -> None:
        """Send the request and read the head of its response.

        `check` is called right before the first bytes are sent; if it raises, nothing is sent.
        """
        self._set_timer()
        await self._send(memoryview(data), check)
        reader = self._reader
        while not reader.status:
            await self._feed()
        self._deadline = math.inf

    async def receive(self) -> bytes:
        """Return the next piece of the body; empty at its end."""
        reader = self._reader
        piece = reader.take()
        while not piece and not reader.complete:
            await self._feed()
            piece = reader.take()
        return piece

    def close(self) -> None:
        """Close the connection; a call that is waiting raises ConnectionAbortedError."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionAbortedError(CLIENT_CLOSED))
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()

    async def _send(self, unsent: memoryview, check: Callable[[], None] | None) -> None:
        while unsent:
            if check is not None:
                check()
            try:
                sent = self._sock.send(unsent)
            except WAIT_ERRORS:
                await self._wait(self._loop.add_writer, self._loop.remove_writer)
                continue
            check = None
            unsent = unsent[sent:]

    async def _feed(self) -> None:
        """Feed the reader with the data that has arrived; wait if there is none."""
        data = await self._read()
        if data:
            self._reader.feed(data)
        else:
            self._reader.end()

    async def _read(self) -> bytes:
        """Return the data that has arrived; wait if there is none. Empty at the end."""
        parts: list[bytes] = []
        size = 0
        if not self._drained:
            # Yield to other tasks, however much data there is.
            await asyncio.sleep(0)
        while size < _BATCH and not self._ended:
            if self._drained:
                if parts:
                    break
                await self._wait(self._loop.add_reader, self._loop.remove_reader)
            try:
                data = self._sock.recv(READ_SIZE)
            except WAIT_ERRORS:
                self._drained = True
                continue
            self._drained, self._ended = False, not data
            parts.append(data)
            size += len(data)
        self._last = self._loop.time()
        return b"".join(parts)

    async def _wait(self, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        if self._closed:
            raise ConnectionAbortedError(CLIENT_CLOSED)
        number = self._sock.fileno()
        ready = self._ready = self._loop.create_future()
        add(number, _set, ready)
        try:
            await ready
        finally:
            self._ready = None
            if not self._closed:
                # Otherwise the file descriptor may belong to another connection by now.
                remove(number)

    def _set_timer(self) -> None:
        # If nothing is waiting, the caller is processing what has arrived.
        last = self._loop.time() if self._ready is None else self._last
        end = min(last + self._idle_timeout, self._deadline)
        self._timer = None if end == math.inf else self._loop.call_at(end, self._check_time)

    def _check_time(self) -> None:
        """Time out if the deadline has passed or the stream was idle too long; else rearm."""
        now = self._loop.time()
        late = now >= min(self._last + self._idle_timeout, self._deadline)
        if late and self._ready is not None and not self._ready.done():
            self._ready.set_exception(TimeoutError())
        else:
            self._set_timer()


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
