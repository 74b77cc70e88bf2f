"""HttpTransport: requests over HTTP/1.1 and TLS, straight to the server.

Requests share a few connections that stay warm; each watch has one of its own. Sockets are driven
directly: of what a bind costs through a general library, this takes a third.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from mooring.client.connection import Connection
from mooring.client.failures import FAILURES, explain, no_answer
from mooring.client.http1 import header_lines, request_bytes
from mooring.client.http_pool import HttpPool
from mooring.client.http_stream import HttpStream
from mooring.client.identity import Identity
from mooring.client.transport import BeforeSend, Request, Response, WithheldError, check_of
from mooring.errors import ConfigError, NoAnswerError
from mooring.observe.clock import Clock, SystemClock

_KEPT_LINES = 32
#: What the headers of a request depend on: its authorization, content type, whether its answer may
#: be compressed, and how that is to be written.
_Shape = tuple[str, str, bool, str]


class HttpTransport:
    """Carry requests to the server of a connection. Belongs to one event loop."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "mooring",
        clock: Clock | None = None,
        before_send: BeforeSend | None = None,
    ) -> None:
        self.server = connection.server
        self._identity = Identity(connection, user_agent, clock or SystemClock())
        self._before_send = before_send
        self._compression = connection.compression
        parts = urlsplit(connection.server)
        self._prefix = parts.path
        self._host = parts.netloc.rpartition("@")[2]
        #: Whole heads but for their first line: all requests have one of a few.
        self._lines: dict[_Shape, bytes] = {}
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._pool = HttpPool(parts.hostname or "", port, connection.tls.server_name)
        self._streams: set[HttpStream] = set()

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer, whatever its status."""
        try:
            shown = await self._identity.authorization()
            response = await self._send(request, shown)
            if response.status == 401 and await self._identity.renew(shown):
                response = await self._send(request, await self._identity.authorization())
            return response
        except WithheldError as error:
            raise error.cause from None
        except FAILURES as error:
            raise self._no_answer(request, error) from None

    async def _send(self, request: Request, authorization: str) -> Response:
        compressed = self._compression and request.method == "GET"
        data = self._write(request, authorization, compressed)
        context = self._identity.context()
        again = request.method == "GET"
        check = check_of(self._before_send, request)
        return await self._pool.send(data, context, request.timeout, again=again, check=check)

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[_Stream]:
        """Send a request and read its answer as it comes."""
        try:
            shown = await self._identity.authorization()
            opened = await self._open(request, shown, idle_timeout)
            if opened.status == 401 and await self._identity.renew(shown):
                self._close(opened)
                shown = await self._identity.authorization()
                opened = await self._open(request, shown, idle_timeout)
        except WithheldError as error:
            raise error.cause from None
        except FAILURES as error:
            raise self._no_answer(request, error) from None
        try:
            yield _Stream(self, request, opened)
        finally:
            # What is left of the body is not waited for: the connection goes with it.
            self._close(opened)

    async def _open(self, request: Request, authorization: str, idle: float | None) -> HttpStream:
        data = self._write(request, authorization, compressed=False)
        sock = await self._pool.dial(self._identity.context())
        opened = HttpStream(sock, idle)
        self._streams.add(opened)
        try:
            await opened.begin(data, check_of(self._before_send, request))
        except BaseException:
            self._close(opened)
            raise
        return opened

    def _close(self, stream: HttpStream) -> None:
        self._streams.discard(stream)
        stream.close()

    def refusal_hint(self) -> str:
        """Say where the client certificate has expired, which the server does not."""
        return self._identity.refusal_hint()

    async def close(self) -> None:
        """End all connections."""
        self._pool.close()
        for stream in tuple(self._streams):
            self._close(stream)

    def _write(self, request: Request, authorization: str, compressed: bool) -> bytes:
        kind = request.content_type if request.body else ""
        shape = (authorization, kind, compressed, request.accept)
        lines = self._lines.get(shape)
        if lines is None:
            lines = self._write_lines(shape)
        return request_bytes(request.method, self._prefix + request.target, lines, request.body)

    def _write_lines(self, shape: _Shape) -> bytes:
        headers = self._identity.headers(*shape)
        try:
            lines = header_lines([("Host", self._host), *headers])
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if len(self._lines) >= _KEPT_LINES:
            # Tokens that have been renewed are of no use any more.
            self._lines.clear()
        self._lines[shape] = lines
        return lines

    def _no_answer(self, request: Request, error: BaseException) -> NoAnswerError:
        message, sent = explain(error)
        return no_answer(self.server, request, message, sent=sent)


class _Stream:
    """An answer under way."""

    def __init__(self, transport: HttpTransport, request: Request, stream: HttpStream) -> None:
        self._transport = transport
        self._request = request
        self._stream = stream
        self.status = stream.status
        self.headers: Mapping[str, str] = stream.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        receive = self._stream.receive
        try:
            while chunk := await receive():
                yield chunk
        except FAILURES as error:
            raise self._transport._no_answer(self._request, error) from None

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])
