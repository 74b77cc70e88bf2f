"""HttpServer: HTTP/1.1 with aiohttp, with or without TLS, for clients that may be hostile.

`connections` describes the attacks and the defence, `acceptor` what happens before the first byte.
This module connects them to aiohttp, and responds to invalid HTTP as Go's server does: without a
traceback in the log.
"""

# Go: net/http/server.go (conn.serve)

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from msgspec.structs import replace

from mooring.serve.acceptor import Acceptor, Incoming, connections_possible
from mooring.serve.connections import Connections, Limits, Stage

log = logging.getLogger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
#: Returns the TLS context for a new connection.
Context = Callable[[], ssl.SSLContext]

#: Go: net/http, DefaultMaxHeaderBytes; a selector may be long.
HEAD_LIMIT = 2**20
#: How much is buffered for a client that does not read, before writing waits.
WRITE_BUFFER = 2**16
#: How long the body of a request may take to arrive. kube-apiserver: --request-timeout.
BODY_SECONDS = 60.0

_TICK_SECONDS = 1.0
# Go: net/http/server.go, initialReadLimitSize.
_HEAD_SLACK = 4096
_HEAD_TOO_LARGE = b"431 Request Header Fields Too Large"
_READ_BUFFER = 2**16
# How long to wait for a client that does not close TLS properly.
_TLS_CLOSE_SECONDS = 5.0


class HttpServer:
    """A server of one handler on listening sockets. Owned by the loop that serves."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits | None = None,
        shutdown_seconds: float,
        handler_cancellation: bool = False,
    ) -> None:
        limits = limits or Limits()
        most = min(limits.connections, connections_possible())
        self.connections = Connections(replace(limits, connections=most))
        self._handler = handler
        self._shutdown_seconds = shutdown_seconds
        self._loop = asyncio.get_running_loop()
        self._server = web.Server(self._serve, handler_cancellation=handler_cancellation)
        self._acceptors: list[Acceptor] = []
        self._opening: set[asyncio.Task[Any]] = set()
        self._timer = self._loop.call_later(_TICK_SECONDS, self._tick)
        #: Shared by all TLS connections: what arrives is copied out at once.
        self._buffer = bytearray(_READ_BUFFER)

    def start(self, listeners: Sequence[socket.socket], context: Context | None) -> None:
        """Accept connections from listening sockets; without a context, serve plain HTTP."""

        def open_connection(connection: Incoming) -> None:
            self._open(connection, context)

        for listener in listeners:
            self._acceptors.append(
                Acceptor(listener, self.connections, open_connection, secure=context is not None)
            )

    async def stop(self) -> None:
        """Stop accepting, and wait some seconds for requests in progress."""
        for acceptor in self._acceptors:
            acceptor.stop()
        # Let requests that have arrived begin before idle connections are closed.
        await asyncio.sleep(0)
        self.connections.close(Stage.WAITING, Stage.HANDSHAKE)
        self._server.pre_shutdown()
        await self._server.shutdown(self._shutdown_seconds)
        self._timer.cancel()

    def _tick(self) -> None:
        self.connections.tick()
        self._timer = self._loop.call_later(_TICK_SECONDS, self._tick)

    def _open(self, connection: Incoming, context: Context | None) -> None:
        handler = _Requests(self._server, self._loop, connection, self.connections)
        protocol: asyncio.BaseProtocol = handler
        if context is not None:
            self.connections.move(connection, Stage.HANDSHAKE)
            protocol = _Tls(self._loop, handler, context(), self._buffer)
        task = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: protocol, connection.socket)
        )
        self._opening.add(task)
        task.add_done_callback(lambda done: self._opened(done, connection))

    def _opened(self, task: asyncio.Task[Any], connection: Incoming) -> None:
        self._opening.discard(task)
        if task.cancelled() or task.exception() is not None:
            self.connections.remove(connection)
            connection.socket.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        protocol = request.protocol
        assert isinstance(protocol, _Requests)
        protocol.begin()
        try:
            response = await self._handler(request)
        except BaseException:
            protocol.finish(unread=True)
            raise
        unread = not request.content.is_eof()
        if unread and not response.prepared:
            # Without reading the rest of the body, it cannot be told from the next request.
            response.force_close()
        protocol.finish(unread=unread)
        return response


def authenticated(request: web.BaseRequest) -> None:
    """Record that the client of a request has authenticated, so its connection is kept."""
    protocol = request.protocol
    assert isinstance(protocol, _Requests)
    protocol.authenticated()


def readable(text: str) -> str:
    """Return a header's value with U+FFFD for bytes that are not UTF-8, as Go's JSON has them.

    aiohttp leaves them as lone surrogates, which cannot be encoded.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def send_chunks(
    request: web.BaseRequest, response: web.StreamResponse, chunks: AsyncIterable[bytes]
) -> None:
    """Send a response whose body arrives in chunks, until they end or the client is gone."""
    try:
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
    except ConnectionError:
        log.debug("A client ended a stream")


class BodyError(Exception):
    """A body that cannot be read; `status` is the response's status: 400, 413 or 504."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_body(request: web.BaseRequest, limit: int) -> bytes:
    """Return the body of a request; raise BodyError if it is too large, too slow or broken."""
    if not request.can_read_body:
        return b""
    too_large = f"limit is {limit}"
    if request.content_length is not None and request.content_length > limit:
        raise BodyError(413, too_large)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                size += len(chunk)
                if size > limit:
                    raise BodyError(413, too_large)
                parts.append(chunk)
    except TimeoutError:
        raise BodyError(504, "request did not complete within the allotted timeout") from None
    except RequestPayloadError as error:
        raise BodyError(400, str(error)) from None
    except ConnectionError:
        # The client is gone, so nobody reads this response.
        raise BodyError(400, "the client has closed the connection") from None
    return b"".join(parts)


class _Requests(RequestHandler):
    """The request handler of one connection, which tracks the connection's stage."""

    __slots__ = ("_connection", "_connections", "_draining", "_head_size")

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        connection: Incoming,
        connections: Connections,
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]
            logger=log,
            max_line_size=HEAD_LIMIT,
            max_field_size=HEAD_LIMIT,
            # The API server does not inflate the bodies of requests.
            auto_decompress=False,
        )
        self._connection = connection
        self._connections = connections
        self._head_size = 0
        #: Whether the rest of an unread body is being discarded.
        self._draining = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(WRITE_BUFFER)
        super().connection_made(transport)
        if self._connection.transport is None:
            self._connection.take(transport)
        self._connections.move(self._connection, Stage.HEAD)
        if transport.get_extra_info("peercert"):
            self.authenticated()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self._connection)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        stage = self._connection.stage
        if stage is Stage.IDLE and not self._draining and data:
            self._connections.move(self._connection, Stage.HEAD)
            stage = Stage.HEAD
        super().data_received(data)
        if stage is Stage.HEAD:
            self._head_size += len(data)
            if self._head_size > HEAD_LIMIT + _HEAD_SLACK and not self._messages:
                self._refuse_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._connections.stall(self._connection)

    def resume_writing(self) -> None:
        self._connections.flow(self._connection)
        super().resume_writing()

    def begin(self) -> None:
        """Record that the head of a request is complete."""
        self._head_size = 0
        self._draining = False
        self._connections.move(self._connection, Stage.SERVING)

    def finish(self, *, unread: bool) -> None:
        """Record that a request is finished; `unread` means that its body was not read."""
        self._draining = unread
        self._connections.move(self._connection, Stage.IDLE)

    def authenticated(self) -> None:
        """Record that the client has authenticated."""
        self._connections.authenticate(self._connection)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Respond to invalid HTTP without logging: it is the client's fault."""
        if isinstance(exc, ConnectionError):
            # The client has gone during the response: aiohttp closes the connection.
            raise exc
        if not isinstance(exc, HttpProcessingError):
            return super().handle_error(request, status, exc, message)
        response = web.Response(status=400, text="400 Bad Request")
        response.force_close()
        return response

    def _refuse_head(self) -> None:
        assert self.transport is not None
        self.transport.write(
            b"HTTP/1.1 "
            + _HEAD_TOO_LARGE
            + b"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
            + _HEAD_TOO_LARGE
        )
        self.force_close()


class _Tls(SSLProtocol):
    """TLS for one connection, reading into a buffer that all connections share.

    asyncio would allocate a buffer of 256 KiB for each connection.
    """

    max_size = _READ_BUFFER

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        requests: _Requests,
        context: ssl.SSLContext,
        buffer: bytearray,
    ) -> None:
        waiter: Any = None
        super().__init__(
            loop,
            requests,
            context,
            waiter,
            server_side=True,
            ssl_shutdown_timeout=_TLS_CLOSE_SECONDS,
        )
        self._requests = requests
        self._ssl_buffer = buffer
        self._ssl_buffer_view = memoryview(buffer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        self._requests._connection.take(transport)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Remove the connection; aiohttp's handler is not called during the handshake."""
        self._requests._connections.remove(self._requests._connection)
        super().connection_lost(exc)
