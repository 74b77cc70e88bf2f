"""HttpPool: warm HTTP/1.1 connections to one server, for small requests in large numbers.

The sockets are driven directly: asyncio's TLS is written in Python and costs more than all the
rest of a bind. A connection that the server closes is noticed while it idles, so that a write does
not meet a connection that is gone.
"""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any

from mooring.client.http1 import ProtocolError, ResponseReader
from mooring.client.transport import Response

# client-go: transport/cache.go and apimachinery's util/net/http.go dial within 30 s.
CONNECT_SECONDS = 30.0
# kube-apiserver closes what idles for 90 s.
KEEP_ALIVE_SECONDS = 60.0
REQUEST_CONNECTIONS = 32
# A peer that vanished is noticed within a minute, as HTTP/2's pings would (30 s and 15 s).
_PROBES = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
# What a TLS record holds. A read of more makes Python set aside, and clear, more for every answer.
READ_SIZE = 2**14


class ConnectError(Exception):
    """Report, by its cause, that no connection could be made: nothing was sent."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def make_socket(address: Any) -> socket.socket:
    """Make a socket for an address of getaddrinfo's, which notices that its peer has gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


class HttpConnection:
    """One connection. It carries one request at a time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        context: ssl.SSLContext | None,
        on_idle_end: Callable[[HttpConnection], None],
    ) -> None:
        #: What it was made with; one made with an older context is not used again.
        self.context = context
        self.idle_since = 0.0
        #: When the exchange under way has taken too long, by the loop's clock.
        self.deadline = math.inf
        self.closed = False
        self._loop = loop
        self._sock = sock
        self._on_idle_end = on_idle_end
        self._reader: ResponseReader | None = None
        self._answer: asyncio.Future[Response] | None = None
        self._unsent = memoryview(b"")
        self._recv = sock.recv
        # TLS data may wait in the socket object, where the selector does not see it.
        self._pending: Callable[[], int] | None = getattr(sock, "pending", None)
        loop.add_reader(sock.fileno(), self._readable)

    async def exchange(self, data: bytes, check: Callable[[], None] | None = None) -> Response:
        """Send a request and return its answer. After a failure the connection is closed.

        `check` is called right before the first bytes are sent; if it raises, nothing is sent and
        the connection stays open.
        """
        if check is not None:
            check()
        answer = self._answer = self._loop.create_future()
        reader = self._reader = ResponseReader()
        try:
            self._unsent = memoryview(data)
            self._send()
            response: Response = await answer
        except BaseException:
            # Whatever the server says to a request that nobody waits for must not meet the next.
            self.close()
            raise
        finally:
            self._answer = self._reader = None
        if not reader.keep_alive:
            self.close()
        return response

    def give_up(self) -> None:
        """End the exchange under way: its time is over."""
        self._fail(TimeoutError())

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            self._loop.add_writer(self._sock.fileno(), self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock.fileno())
        try:
            self._send()
        except OSError as error:
            self._fail(error)

    def _readable(self) -> None:
        try:
            data = self._recv(READ_SIZE)
            while data and self._pending is not None and self._pending():
                data += self._recv(READ_SIZE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError as error:
            self._fail(error)
            return
        reader, answer = self._reader, self._answer
        if reader is None or answer is None or answer.done():
            # Nobody has asked: the server ends the connection.
            self._fail(ConnectionResetError())
            return
        try:
            response = reader.feed(data) if data else reader.end()
        except ProtocolError as error:
            self._fail(error)
            return
        if response is not None:
            answer.set_result(response)
        if not data:
            self.close()

    def _fail(self, error: Exception) -> None:
        self.close()
        if self._answer is None:
            self._on_idle_end(self)
        elif not self._answer.done():
            self._answer.set_exception(error)

    def close(self) -> None:
        """End the connection."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._sock.fileno())
            self._loop.remove_writer(self._sock.fileno())
            self._sock.close()


class HttpPool:
    """Connections to one host and port. Belongs to the event loop it is first used on."""

    def __init__(self, host: str, port: int, server_name: str = "") -> None:
        self._host = host
        self._port = port
        self._server_name = server_name or host
        self._idle: list[HttpConnection] = []
        self._busy: set[HttpConnection] = set()
        self._open = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        #: One timer for all: nearly every request is answered long before its time is over.
        self._timer: asyncio.TimerHandle | None = None

    async def send(
        self,
        data: bytes,
        context: ssl.SSLContext | None,
        timeout: float | None,
        *,
        again: bool,
        check: Callable[[], None] | None = None,
    ) -> Response:
        """Send a request and return its answer.

        With `again`, one that a warm connection lost is sent once more on a fresh one. `check` is
        called right before the first bytes are sent, each time.
        """
        loop = asyncio.get_running_loop()
        while self._open >= REQUEST_CONNECTIONS and not self._idle:
            await self._wait(loop)
        connection = self._take(loop, context)
        warm = connection is not None
        if connection is None:
            connection = await self._connect(loop, context)
        try:
            return await self._exchange(loop, connection, data, timeout, check)
        except (ConnectionError, ProtocolError) as error:
            if not (again and warm and _is_closed(error)):
                raise
        connection = await self._connect(loop, context)
        return await self._exchange(loop, connection, data, timeout, check)

    def close(self) -> None:
        """End all connections."""
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._open -= len(self._idle)
        self._idle.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _exchange(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: HttpConnection,
        data: bytes,
        timeout: float | None,
        check: Callable[[], None] | None,
    ) -> Response:
        self._busy.add(connection)
        connection.deadline = math.inf if timeout is None else loop.time() + timeout
        timer = self._timer
        if timer is None or connection.deadline < timer.when():
            self._set_timer(loop, connection.deadline)
        try:
            return await connection.exchange(data, check)
        finally:
            self._busy.discard(connection)
            if connection.closed:
                self._open -= 1
            else:
                connection.idle_since = loop.time()
                self._idle.append(connection)
            self._wake()

    def _set_timer(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if when == math.inf else loop.call_at(when, self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give up what has taken too long, and look again when the next could."""
        self._timer = None
        now = loop.time()
        for connection in tuple(self._busy):
            if connection.deadline <= now:
                connection.give_up()
        late = (connection.deadline for connection in self._busy if connection.deadline > now)
        self._set_timer(loop, min(late, default=math.inf))

    def _take(
        self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext | None
    ) -> HttpConnection | None:
        """Take the warmest connection that may still be used; let the others go."""
        oldest = loop.time() - KEEP_ALIVE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.context is context and connection.idle_since >= oldest:
                return connection
            connection.close()
            self._open -= 1
        return None

    def _forget(self, connection: HttpConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
            self._open -= 1
            self._wake()

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        turn = loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done():
                # Woken and cancelled at once: the turn is someone else's.
                self._wake()
            else:
                self._waiting.remove(turn)
            raise

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    async def _connect(
        self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext | None
    ) -> HttpConnection:
        self._open += 1
        try:
            sock = await self.dial(context)
        except BaseException:
            self._open -= 1
            self._wake()
            raise
        return HttpConnection(loop, sock, context, self._forget)

    async def dial(self, context: ssl.SSLContext | None) -> socket.socket:
        """Make a connection that is not the pool's; raise ConnectError where that fails."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                sock = await self._dial(loop)
                try:
                    if context is not None:
                        sock = await self._secure(loop, sock, context)
                except BaseException:
                    sock.close()
                    raise
        except OSError as error:
            raise ConnectError(error) from None
        return sock

    async def _dial(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        addresses = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        failure: OSError = OSError("the name has no address")
        for address in addresses:
            sock = make_socket(address)
            try:
                await loop.sock_connect(sock, address[4])
            except OSError as error:
                failure = error
                sock.close()
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise failure

    async def _secure(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, context: ssl.SSLContext
    ) -> ssl.SSLSocket:
        secured = context.wrap_socket(
            sock, server_hostname=self._server_name, do_handshake_on_connect=False
        )
        try:
            while True:
                try:
                    secured.do_handshake()
                    return secured
                except ssl.SSLWantReadError:
                    await _ready(loop.add_reader, loop.remove_reader, secured)
                except ssl.SSLWantWriteError:
                    await _ready(loop.add_writer, loop.remove_writer, secured)
        except BaseException:
            secured.close()
            raise


def _is_closed(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or str(error) == "closed"


async def _ready(
    add: Callable[..., Any], remove: Callable[[int], Any], sock: socket.socket
) -> None:
    ready = asyncio.get_running_loop().create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    add(sock.fileno(), note)
    try:
        await ready
    finally:
        remove(sock.fileno())
