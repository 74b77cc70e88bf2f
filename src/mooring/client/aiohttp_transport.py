"""AiohttpTransport: requests through a proxy.

aiohttp knows all that a proxy may ask for. It costs a multiple of what HttpTransport does for a
bind, and a good part of a start, so it is loaded only where a proxy stands between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from mooring.client.checked_request import CheckedRequest, before_send
from mooring.client.connection import Connection
from mooring.client.environment_proxy import environment_proxy
from mooring.client.failures import CLOSED, CUT, explain, no_answer, tls_failure, words
from mooring.client.http_pool import (
    CONNECT_SECONDS,
    KEEP_ALIVE_SECONDS,
    REQUEST_CONNECTIONS,
    make_socket,
)
from mooring.client.identity import Identity
from mooring.client.transport import BeforeSend, Request, Response, WithheldError, check_of
from mooring.errors import ConfigError, NoAnswerError
from mooring.observe.clock import Clock, SystemClock

_FAILURES = (TimeoutError, aiohttp.ClientError, OSError, ConfigError)


class AiohttpTransport:
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
        self._server_name = connection.tls.server_name
        self._proxy = connection.proxy or environment_proxy(connection.server)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

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
        except _FAILURES as error:
            raise self._no_answer(request, error) from None

    async def _send(self, request: Request, authorization: str) -> Response:
        compressed = self._compression and request.method == "GET"
        before_send.set(check_of(self._before_send, request))
        async with self._session(streaming=False).request(
            request.method,
            URL(self.server + request.target, encoded=True),
            data=request.body or None,
            headers=self._headers(authorization, request, compressed),
            timeout=aiohttp.ClientTimeout(request.timeout, sock_connect=CONNECT_SECONDS),
            **self._options(),
        ) as response:
            return Response(response.status, response.headers, await response.read())

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[_Stream]:
        """Send a request and read its answer as it comes."""
        try:
            shown = await self._identity.authorization()
            response = await self._open(request, shown, idle_timeout)
            if response.status == 401 and await self._identity.renew(shown):
                response.close()
                shown = await self._identity.authorization()
                response = await self._open(request, shown, idle_timeout)
        except WithheldError as error:
            raise error.cause from None
        except _FAILURES as error:
            raise self._no_answer(request, error) from None
        try:
            yield _Stream(self, request, response)
        finally:
            # What is left of the body is not waited for: the connection goes with it.
            response.close()

    async def _open(
        self, request: Request, authorization: str, idle: float | None
    ) -> aiohttp.ClientResponse:
        before_send.set(check_of(self._before_send, request))
        return await self._session(streaming=True).request(
            request.method,
            URL(self.server + request.target, encoded=True),
            headers=self._headers(authorization, request, compressed=False),
            timeout=aiohttp.ClientTimeout(None, sock_connect=CONNECT_SECONDS, sock_read=idle),
            **self._options(),
        )

    def refusal_hint(self) -> str:
        """Say where the client certificate has expired, which the server does not."""
        return self._identity.refusal_hint()

    async def close(self) -> None:
        """End all connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    def _headers(self, authorization: str, request: Request, compressed: bool) -> CIMultiDict[str]:
        kind = request.content_type if request.body else ""
        headers = self._identity.headers(authorization, kind, compressed, request.accept)
        return CIMultiDict(headers)

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self._proxy:
            options["proxy"] = self._proxy
        context = self._identity.context()
        if context is not None:
            options["ssl"] = context
            if self._server_name:
                options["server_hostname"] = self._server_name
        return options

    def _session(self, *, streaming: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(streaming)
        if session is None:
            # Connections are told apart by their SSLContext, so renewed certificates get new
            # ones from the same pool, and watches on old ones go on.
            session = self._sessions[streaming] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0 if streaming else REQUEST_CONNECTIONS,
                    keepalive_timeout=KEEP_ALIVE_SECONDS,
                    socket_factory=make_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent"),
                read_bufsize=2**18,
                request_class=CheckedRequest,
            )
        return session

    def _no_answer(self, request: Request, error: BaseException) -> NoAnswerError:
        message, sent = _explain(error)
        return no_answer(self.server, request, message, sent=sent)


class _Stream:
    """An answer under way."""

    def __init__(
        self, transport: AiohttpTransport, request: Request, response: aiohttp.ClientResponse
    ) -> None:
        self._transport = transport
        self._request = request
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        read = self._response.content.readany
        try:
            while chunk := await read():
                yield chunk
        except _FAILURES as error:
            raise self._transport._no_answer(self._request, error) from None

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])


def _explain(error: BaseException) -> tuple[str, bool]:
    """Say in a line what broke, and whether the server may have received the request."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = error.certificate_error
        text = getattr(reason, "verify_message", "") or str(reason)
        return f"the server's certificate is not valid: {text}", False
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return tls_failure(error.os_error), False
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"no such host: {error.host}", False
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "connecting took too long", False
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy: {words(error.os_error)}", False
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status} {error.message}", False
    if isinstance(error, aiohttp.ClientConnectorError):
        return words(error.os_error), False
    if isinstance(error, aiohttp.ClientPayloadError):
        return CUT, True
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return CLOSED, True
    return explain(error)
