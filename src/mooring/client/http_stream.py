"""HttpStream: an answer that comes over minutes, on a connection of its own.

The socket is read when somebody asks for more, so a slow reader slows the server down and not the
other way round. All that has come is taken at once: a list of thousands of objects is decoded in
large pieces.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from mooring.client.http1 import ResponseReader
from mooring.client.http_pool import READ_SIZE

#: What one read takes at most; a record of TLS brings a sixteenth of it.
_BATCH = 2**18
_WAIT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class HttpStream:
    """One request and its answer. Belongs to the event loop it was made on."""

    def __init__(self, sock: socket.socket, idle_timeout: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._idle_timeout = idle_timeout
        self._reader = ResponseReader()
        self._first = b""
        self._complete = False
        self._closed = False
        #: Whether all that has come was read, and whether nothing more will come.
        self._drained = True
        self._ended = False
        self._ready: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last = self._loop.time()

    @property
    def status(self) -> int:
        """Return the status of the answer."""
        return self._reader.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers of the answer."""
        return self._reader.headers

    async def begin(self, data: bytes, check: Callable[[], None] | None = None) -> None:
        """Send the request and read the head of its answer.

        `check` is called right before the first bytes are sent; if it raises, nothing is sent.
        """
        if check is not None:
            check()
        if self._idle_timeout is not None:
            self._timer = self._loop.call_later(self._idle_timeout, self._check_idle)
        await self._send(memoryview(data))
        rest = None
        while rest is None:
            rest = self._reader.begin(await self._read())
        self._first = self._take(rest)

    async def receive(self) -> bytes:
        """Return the next piece of the body, empty at its end."""
        piece, self._first = self._first, b""
        while not piece and not self._complete:
            piece = self._take(await self._read())
        return piece

    def close(self) -> None:
        """End the connection; whoever waits for more is told."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionAbortedError("the connection was closed"))
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._sock.close()

    def _take(self, data: bytes) -> bytes:
        piece, complete = self._reader.body(data)
        self._complete = self._complete or complete
        return piece

    async def _send(self, unsent: memoryview) -> None:
        while unsent:
            try:
                unsent = unsent[self._sock.send(unsent) :]
            except _WAIT:
                await self._wait(self._loop.add_writer, self._loop.remove_writer)

    async def _read(self) -> bytes:
        """Return what has come, at least something, or nothing where the answer ends so."""
        parts: list[bytes] = []
        size = 0
        if not self._drained:
            # Others get their turn, however much there is.
            await asyncio.sleep(0)
        while size < _BATCH and not self._ended:
            if self._drained:
                if parts:
                    break
                await self._wait(self._loop.add_reader, self._loop.remove_reader)
            try:
                data = self._sock.recv(READ_SIZE)
            except _WAIT:
                self._drained = True
                continue
            self._drained, self._ended = False, not data
            parts.append(data)
            size += len(data)
        self._last = self._loop.time()
        if not size:
            self._reader.finish()
            self._complete = True
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _wait(self, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        number = self._sock.fileno()
        ready = self._ready = self._loop.create_future()
        add(number, _set, ready)
        try:
            await ready
        finally:
            self._ready = None
            if not self._closed:
                # Else the number may be another connection's by now.
                remove(number)

    def _check_idle(self) -> None:
        """Give up where nothing has come for too long; else look again when that could be."""
        assert self._idle_timeout is not None
        end = self._last + self._idle_timeout
        if self._ready is None:
            # Whoever reads is busy with what has come.
            end = self._loop.time() + self._idle_timeout
        if end > self._loop.time():
            self._timer = self._loop.call_at(end, self._check_idle)
        elif self._ready is not None and not self._ready.done():
            self._ready.set_exception(TimeoutError())


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
