"""HttpPool: idle HTTP/1.1 connections to one server, for many small requests.

A connection that the server closes is noticed while it is idle, so that a write is not sent on a
dead connection. Deadlines are times of the loop's clock; one timer serves all requests, because
nearly every response arrives long before its deadline.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections import deque
from collections.abc import Callable

import msgspec

from mooring.client.deadlines import CLIENT_CLOSED, ConnectError, client_closed
from mooring.client.dialer import READ_SIZE, WAIT_ERRORS, Dialer, Socket
from mooring.client.http1 import ResponseReader
from mooring.client.protocol import CLOSED, ProtocolError
from mooring.client.transport import MAX_OBJECT, Response

# kube-apiserver closes connections that are idle for 90 s.
KEEP_ALIVE_SECONDS = 60.0
REQUEST_CONNECTIONS = 32
_LATE = "no connection became free within the time allowed"


class BodyTimeoutError(TimeoutError):
    """The body of a response was late after its head had arrived."""


class HttpConnection:
    """One connection. It carries one request at a time."""

    #: When the exchange under way has taken too long, and when the last one ended.
    deadline: float
    idle_since: float
    #: What is left to send of the request under way.
    _unsent: memoryview

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: Socket,
        context: ssl.SSLContext | None,
        on_idle_end: Callable[[HttpConnection], None],
    ) -> None:
        #: The TLS context it was made with; a connection with an older context is not reused.
        self.context = context
        self.closed = False
        self._loop = loop
        self._sock = sock
        self._on_idle_end = on_idle_end
        self._reader = ResponseReader()
        self._answer: asyncio.Future[Response] | None = None
        #: Called before the first bytes are sent; None once some were sent.
        self._check: Callable[[], None] | None = None
        self._recv = sock.recv
        # TLS data may wait in the socket object, where the selector does not see it.
        self._pending: Callable[[], int] | None = getattr(sock, "pending", None)
        loop.add_reader(sock.fileno(), self._readable)

    async def exchange(
        self, data: bytes, check: Callable[[], None] | None = None, max_bytes: int = MAX_OBJECT
    ) -> Response:
        """Send a request and return its response. After a failure the connection is closed.

        `check` is called right before the first bytes are sent; if it raises, nothing is sent and
        the connection stays open.
        """
        if check is not None:
            check()
        answer = self._answer = self._loop.create_future()
        reader = self._reader
        reader.reset(max_bytes)
        try:
            self._unsent = memoryview(data)
            self._send()
            if check is not None:
                self._check = check if len(self._unsent) == len(data) else None
            response: Response = await answer
        except BaseException:
            # The response to an abandoned request must not be taken for the response to the next.
            self.close()
            raise
        finally:
            self._answer = None
        if not reader.keep_alive or self._unsent:
            # The rest of this request must not be taken for the beginning of the next.
            self.close()
        return response

    def expire(self) -> None:
        """Close the connection because the deadline of the exchange in progress has passed."""
        self.fail(BodyTimeoutError() if self._reader.status else TimeoutError())

    def fail(self, error: Exception) -> None:
        """Close the connection; the exchange in progress raises the error."""
        self.close()
        if self._answer is None:
            self._on_idle_end(self)
        elif not self._answer.done():
            self._answer.set_exception(error)

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._sock.send(self._unsent) :]
        except WAIT_ERRORS:
            self._loop.add_writer(self._sock.fileno(), self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._sock.fileno())
        try:
            if self._check is not None:
                # Nothing was sent at the first attempt, and time has passed since that check.
                self._check()
                self._check = None
            self._send()
        except Exception as error:
            self.fail(error)

    def _receive_pending(self, data: bytes) -> bytes:
        """Return the data plus what is buffered in the socket object."""
        assert self._pending is not None
        try:
            while data and self._pending():
                data += self._recv(READ_SIZE)
        except WAIT_ERRORS:
            # The rest of a TLS record is still to come.
            pass
        return data

    def _readable(self) -> None:
        try:
            data = self._recv(READ_SIZE)
            if self._pending is not None:
                data = self._receive_pending(data)
        except WAIT_ERRORS:
            return
        except OSError as error:
            self.fail(error)
            return
        reader, answer = self._reader, self._answer
        if answer is None or answer.done():
            # No request is in progress: the server closes the connection.
            self.fail(ConnectionResetError())
            return
        try:
            if not data:
                reader.end()
            if not data or reader.feed(data):
                answer.set_result(reader.response())
        except ProtocolError as error:
            self.fail(error)

    def close(self) -> None:
        """Close the connection."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._sock.fileno())
            self._loop.remove_writer(self._sock.fileno())
            self._sock.close()


class PoolUsage(msgspec.Struct, frozen=True):
    """The state of a pool: its open connections, how many of them idle, the requests that wait."""

    open: int
    idle: int
    waiting: int


class HttpPool:
    """Connections made by one dialer, up to a limit. Belongs to the loop it is first used on."""

    def __init__(self, dialer: Dialer, connections: int | None = None) -> None:
        self._dialer = dialer
        self._limit = connections or REQUEST_CONNECTIONS
        self._closed = False
        self._idle: list[HttpConnection] = []
        self._busy: set[HttpConnection] = set()
        self._open = 0
        #: The requests waiting for a connection, with their deadlines, in order.
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def usage(self) -> PoolUsage:
        """The open and idle connections, and the requests that wait for one."""
        return PoolUsage(self._open, len(self._idle), len(self._waiting))

    async def send(
        self,
        data: bytes,
        context: ssl.SSLContext | None,
        deadline: float = math.inf,
        *,
        again: bool,
        check: Callable[[], None] | None = None,
        max_bytes: int = MAX_OBJECT,
    ) -> Response:
        """Send a request and return its response.

        With `again`, a request that was lost on an idle connection is retried once on a new one.
        `check` is called right before the first bytes are sent, each time.
        """
        loop = asyncio.get_running_loop()
        while self._open >= self._limit and not self._idle:
            await self._wait(loop, deadline)
        connection = self._take(loop, context)
        warm = connection is not None
        if connection is None:
            connection = await self._connect(loop, context, deadline)
        try:
            return await self._exchange(loop, connection, data, deadline, check, max_bytes)
        except (ConnectionError, ProtocolError) as error:
            if not (again and warm and _is_closed(error)):
                raise
        connection = await self._connect(loop, context, deadline)
        return await self._exchange(loop, connection, data, deadline, check, max_bytes)

    def close(self) -> None:
        """Close all connections; requests waiting or in progress fail, as do later ones."""
        self._closed = True
        self._dialer.close()
        for connection in self._idle:
            connection.close()
        self._open -= len(self._idle)
        self._idle.clear()
        for connection in tuple(self._busy):
            connection.fail(ConnectionAbortedError(CLIENT_CLOSED))
        while self._waiting:
            _, turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(client_closed())
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _exchange(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: HttpConnection,
        data: bytes,
        deadline: float,
        check: Callable[[], None] | None,
        max_bytes: int,
    ) -> Response:
        self._busy.add(connection)
        connection.deadline = deadline
        self._keep_deadline(loop, deadline)
        try:
            return await connection.exchange(data, check, max_bytes)
        finally:
            self._busy.discard(connection)
            if connection.closed:
                self._open -= 1
            else:
                connection.idle_since = loop.time()
                self._idle.append(connection)
            self._wake()

    def _keep_deadline(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        """Make the timer fire at the deadline at the latest."""
        timer = self._timer
        if timer is None or deadline < timer.when():
            if timer is not None:
                timer.cancel()
            self._timer = (
                None if deadline == math.inf else loop.call_at(deadline, self._expire, loop)
            )

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Fail the requests whose deadline has passed, and set the timer for the next."""
        self._timer = None
        now = loop.time()
        for connection in tuple(self._busy):
            if connection.deadline <= now:
                connection.expire()
        for deadline, turn in self._waiting:
            if deadline <= now and not turn.done():
                turn.set_exception(ConnectError(TimeoutError(_LATE)))
        self._waiting = deque(one for one in self._waiting if not one[1].done())
        deadlines = [connection.deadline for connection in self._busy if not connection.closed]
        deadlines += [deadline for deadline, _ in self._waiting]
        self._keep_deadline(loop, min(deadlines, default=math.inf))

    def _take(
        self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext | None
    ) -> HttpConnection | None:
        """Take the most recently used connection that is still usable; close unusable ones."""
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

    async def _wait(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        if self._closed:
            raise client_closed()
        turn = loop.create_future()
        entry = (deadline, turn)
        self._waiting.append(entry)
        self._keep_deadline(loop, deadline)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # Woken and cancelled at the same time: wake another request instead.
                self._wake()
            elif entry in self._waiting:
                self._waiting.remove(entry)
            raise

    def _wake(self) -> None:
        while self._waiting:
            _, turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    async def _connect(
        self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext | None, deadline: float
    ) -> HttpConnection:
        self._open += 1
        try:
            sock = await self._dialer.dial(context, deadline)
        except BaseException:
            self._open -= 1
            self._wake()
            raise
        return HttpConnection(loop, sock, context, self._forget)


def _is_closed(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or str(error) == CLOSED
