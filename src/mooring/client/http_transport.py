"""HttpTransport: requests over HTTP/1.1 and TLS, directly to the server or through a proxy.

Requests share a few connections that stay open; each watch has its own. Sockets are driven
directly, which costs a third of what a bind through a general library costs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from msgspec.structs import replace

from mooring.client.connection import Connection, is_secure
from mooring.client.deadlines import Deadlines
from mooring.client.dialer import Dialer, Proxy, parse_proxy
from mooring.client.environment_proxy import environment_proxy
from mooring.client.failures import FAILURES, failure
from mooring.client.http1 import header_lines, request_bytes
from mooring.client.http_pool import HttpPool
from mooring.client.http_stream import HttpStream
from mooring.client.identity import Identity
from mooring.client.protocol import TooLargeError
from mooring.client.tls_settings import TlsContexts
from mooring.client.transport import BeforeSend, Request, Response, WithheldError, check_of
from mooring.errors import ApiError, ConfigError
from mooring.observe.clock import Clock, SystemClock

_KEPT_LINES = 32
_LATE = "no credentials within the time allowed"
#: What the headers of a request depend on: its authorization, its content type, whether the
#: response may be compressed, and the accepted format of the response.
_Shape = tuple[str, str, bool, str]


class HttpTransport:
    """A transport to the server of a connection. Belongs to one event loop.

    If the connection names no proxy, the environment's is used.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "mooring",
        clock: Clock | None = None,
        before_send: BeforeSend | None = None,
    ) -> None:
        self.server = connection.server
        clock = clock or SystemClock()
        self._identity = Identity(connection, user_agent, clock)
        self._before_send = before_send
        self._compression = connection.compression
        parts = urlsplit(connection.server)
        self._prefix = parts.path
        host = parts.netloc.rpartition("@")[2]
        self._own_headers = [("Host", host)]
        #: Complete heads except the first line: all requests use one of a few.
        self._lines: dict[_Shape, bytes] = {}
        port = parts.port or (443 if parts.scheme == "https" else 80)
        named = connection.proxy or environment_proxy(connection.server)
        proxy: Proxy | None = None
        if named:
            proxy = parse_proxy(named)
            if not is_secure(connection.server):
                # Without a TLS tunnel, the proxy needs the full URL.
                self._prefix = f"http://{host}{parts.path}"
                if proxy.authorization:
                    self._own_headers.append(("Proxy-Authorization", proxy.authorization))
        self._dialer = Dialer(
            parts.hostname or "",
            port,
            connection.tls.server_name,
            proxy=proxy,
            proxy_context=TlsContexts(replace(connection.tls, pin=""), clock).context,
            pin=connection.tls.pin,
        )
        self._pool = HttpPool(self._dialer)
        self._streams: set[HttpStream] = set()
        self._deadlines = Deadlines()

    async def send(self, request: Request) -> Response:
        """Send a request and return the complete response, whatever its status."""
        deadline = _deadline(request)
        try:
            shown = self._identity.known()
            if shown is None:
                shown = await self._authorize(deadline)
            response = await self._send(request, shown, deadline)
            if response.status == 401 and (renewed := await self._renew(shown, deadline)):
                response = await self._send(request, renewed[0], deadline)
            return response
        except WithheldError as error:
            raise error.cause from None
        except FAILURES as error:
            raise failure(self.server, request, error) from None

    async def _send(self, request: Request, authorization: str, deadline: float) -> Response:
        compressed = self._compression and request.method == "GET"
        return await self._pool.send(
            self._write(request, authorization, compressed),
            self._identity.context(),
            deadline,
            again=request.method == "GET",
            check=check_of(self._before_send, request),
            max_bytes=request.max_bytes,
        )

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[_Stream]:
        """Send a request and read its response as it arrives."""
        deadline = _deadline(request)
        try:
            shown = self._identity.known()
            if shown is None:
                shown = await self._authorize(deadline)
            opened = await self._open(request, shown, idle_timeout, deadline)
            if opened.status == 401:
                try:
                    renewed = await self._renew(shown, deadline)
                except BaseException:
                    self._close(opened)
                    raise
                if renewed:
                    self._close(opened)
                    opened = await self._open(request, renewed[0], idle_timeout, deadline)
        except WithheldError as error:
            raise error.cause from None
        except FAILURES as error:
            raise failure(self.server, request, error) from None
        try:
            yield _Stream(self.server, request, opened)
        finally:
            # Do not wait for the rest of the body: close the connection.
            self._close(opened)

    async def _open(
        self, request: Request, authorization: str, idle: float | None, deadline: float
    ) -> HttpStream:
        data = self._write(request, authorization, compressed=False)
        sock = await self._dialer.dial(self._identity.context(), deadline)
        opened = HttpStream(sock, idle, deadline)
        self._streams.add(opened)
        try:
            await opened.begin(data, check_of(self._before_send, request))
        except BaseException:
            self._close(opened)
            raise
        return opened

    async def _authorize(self, deadline: float) -> str:
        async with self._deadlines.until(deadline, _LATE):
            return await self._identity.authorization()

    async def _renew(self, refused: str, deadline: float) -> tuple[str] | None:
        """Return new credentials after the server refused the old ones; None if there are none."""
        async with self._deadlines.until(deadline, _LATE):
            if await self._identity.renew(refused):
                return (await self._identity.authorization(),)
            return None

    def _close(self, stream: HttpStream) -> None:
        self._streams.discard(stream)
        stream.close()

    def refusal_hint(self) -> str:
        """Return a text if the client certificate has expired, which the server does not report."""
        return self._identity.refusal_hint()

    async def close(self) -> None:
        """Close all connections; requests waiting or in progress fail."""
        self._deadlines.close()
        self._pool.close()
        for stream in tuple(self._streams):
            self._close(stream)
        await self._identity.close()

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
            lines = header_lines([*self._own_headers, *headers])
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if len(self._lines) >= _KEPT_LINES:
            # Most entries belong to tokens that have been renewed since.
            self._lines.clear()
        self._lines[shape] = lines
        return lines


def _deadline(request: Request) -> float:
    """Return the deadline of a request, by the loop's clock."""
    if request.timeout is None:
        return math.inf
    return asyncio.get_running_loop().time() + request.timeout


class _Stream:
    """A response in progress."""

    def __init__(self, server: str, request: Request, stream: HttpStream) -> None:
        self._server = server
        self._request = request
        self._stream = stream
        self.status = stream.status
        self.headers: Mapping[str, str] = stream.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        receive = self._stream.receive
        try:
            while chunk := await receive():
                yield chunk
        except FAILURES as error:
            raise self._failure(error) from None

    async def read(self) -> bytes:
        """Return the complete body; raise ApiError if it is larger than the request allows."""
        parts: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > self._request.max_bytes:
                raise self._failure(TooLargeError(self._request.max_bytes))
            parts.append(chunk)
        return b"".join(parts)

    def _failure(self, error: BaseException) -> ApiError:
        return failure(self._server, self._request, error)
