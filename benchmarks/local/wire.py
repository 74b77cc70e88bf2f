"""A lean client for both servers: requests on open connections, and watches that count events."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.tls_settings import TlsContexts
from mooring.client.transport import Request, Response
from mooring.client.transports import make_transport
from mooring.observe.clock import SystemClock

ADDED = b'{"type":"ADDED"'
ANY_EVENT = b'{"type":"'


class Wire:
    """A client of one server that does not decode responses."""

    def __init__(self, kubeconfig: Path) -> None:
        connection = load_kubeconfig(str(kubeconfig))
        self._transport = make_transport(connection, user_agent="bench")
        self._tls = TlsContexts(connection.tls, SystemClock())
        parts = urlsplit(connection.server)
        self._address = (parts.hostname or "", parts.port or 443)

    async def send(self, request: Request) -> Response:
        """Send a request; raise RuntimeError if the server refuses it."""
        response = await self._transport.send(request)
        if response.status >= 300:
            raise RuntimeError(f"{request.method} {request.target}: {response.body[:300]!r}")
        return response

    async def send_all(self, requests: Iterable[Request], connections: int) -> float:
        """Send requests over a number of connections; return how many seconds it took."""
        pending: Iterator[Request] = iter(requests)

        async def work() -> None:
            for request in pending:
                await self.send(request)

        begin = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return time.perf_counter() - begin

    async def watch(self, target: str, pattern: bytes, changed: Callable[[], None]) -> Watch:
        """Open a watch on a separate connection; `changed` is called when events arrive."""
        loop = asyncio.get_running_loop()
        raw = await loop.run_in_executor(None, socket.create_connection, self._address)
        context = self._tls.context()
        secured = await loop.run_in_executor(None, lambda: _wrap(context, raw, self._address[0]))
        head = f"GET {target} HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n\r\n"
        secured.sendall(head.encode())
        return Watch(secured, pattern, changed)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


def _wrap(context: ssl.SSLContext, raw: socket.socket, host: str) -> ssl.SSLSocket:
    return context.wrap_socket(raw, server_hostname=host)


class Watch:
    """One watch: the number of matching events, and the time of the last one."""

    def __init__(
        self, connection: ssl.SSLSocket, pattern: bytes, changed: Callable[[], None]
    ) -> None:
        self.count = 0
        self.last = 0.0
        self.ended = False
        self._answered = False
        self._missing = 0
        self._rest = b""
        self._connection = connection
        self._pattern = pattern
        self._changed = changed
        self._tail = b""
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(connection.fileno(), self._read)

    def _read(self) -> None:
        try:
            while True:
                data = self._connection.recv(2**18)
                if not data:
                    self.ended = True
                    self.close()
                    self._changed()
                    return
                self._take(data)
        except (ssl.SSLWantReadError, BlockingIOError):
            return

    def _take(self, data: bytes) -> None:
        if not self._answered:
            head, end, data = (self._rest + data).partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            if not head.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"a watch was refused: {head!r}")
            self._answered, self._rest = True, b""
        text = self._tail + b"".join(self._chunks(data))
        found = text.count(self._pattern)
        # A pattern may span two reads; the tail is too short to count a complete one twice.
        self._tail = text[1 - len(self._pattern) :]
        if found:
            self.count += found
            self.last = time.perf_counter()
            self._changed()

    def _chunks(self, data: bytes) -> Iterator[bytes]:
        """Yield the contents of HTTP chunks; a chunk may begin anywhere in an event."""
        data, at = self._rest + data, 0
        while True:
            if self._missing:
                part = data[at : at + self._missing]
                yield part
                self._missing -= len(part)
                at += len(part)
                if self._missing:
                    break
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                break
            # An empty line ends a chunk.
            if line := data[at:line_end]:
                self._missing = int(line, 16)
            at = line_end + 2
        self._rest = data[at:]

    def close(self) -> None:
        """End the watch."""
        if self._connection.fileno() >= 0:
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
