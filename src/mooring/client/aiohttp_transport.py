"""AiohttpTransport: requests over HTTP/1.1 and TLS.

Watches hold their connections for minutes, so aiohttp has no limit for them. Everything else
shares a few connections that stay warm: an HttpPool of our own, which takes a third of the time
that aiohttp does over a bind, or aiohttp again where a proxy stands between.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from mooring.client.connection import Connection, is_secure
from mooring.client.http1 import ProtocolError, header_lines, request_bytes
from mooring.client.http_pool import (
    CONNECT_SECONDS,
    KEEP_ALIVE_SECONDS,
    REQUEST_CONNECTIONS,
    ConnectError,
    HttpPool,
    make_socket,
)
from mooring.client.tls import TlsContexts, expiry
from mooring.client.transport import JSON, Request, Response
from mooring.errors import ConfigError, NoAnswerError
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)


_KEPT_LINES = 32
_FAILURES = (TimeoutError, aiohttp.ClientError, OSError, ConfigError)


class AiohttpTransport:
    """Carry requests to the server of a connection. Belongs to one event loop."""

    def __init__(
        self, connection: Connection, *, user_agent: str = "mooring", clock: Clock | None = None
    ) -> None:
        self.server = connection.server
        self._clock = SystemClock() if clock is None else clock
        self._connection = connection
        self._tls = None
        if is_secure(connection.server):
            self._tls = TlsContexts(connection.tls, self._clock)
            # Made now, so that a mistake shows at the start.
            self._tls.context()
        self._credentials = connection.credentials(self._clock)
        self._proxy = connection.proxy or environment_proxy(connection.server)
        parts = urlsplit(connection.server)
        self._prefix = parts.path
        self._host = parts.netloc.rpartition("@")[2]
        self._headers = [("User-Agent", user_agent), ("Accept", JSON), *connection.headers]
        #: Whole heads but for their first line: all requests have one of a few.
        self._lines: dict[tuple[str, str, bool], bytes] = {}
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        port = parts.port or (443 if self._tls is not None else 80)
        self._pool = HttpPool(parts.hostname or "", port, connection.tls.server_name)

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer, whatever its status."""
        try:
            shown = await self._credentials.authorization()
            response = await self._send(request, shown)
            if response.status == 401 and await self._renew(shown):
                response = await self._send(request, await self._credentials.authorization())
            return response
        except (*_FAILURES, ConnectError, ProtocolError) as error:
            raise self._no_answer(request, error) from None

    async def _send(self, request: Request, authorization: str) -> Response:
        compressed = self._connection.compression and request.method == "GET"
        if not self._proxy:
            kind = request.content_type if request.body else ""
            lines = self._lines.get((authorization, kind, compressed))
            if lines is None:
                lines = self._write_lines(authorization, kind, compressed)
            data = request_bytes(request.method, self._prefix + request.target, lines, request.body)
            context = None if self._tls is None else self._tls.context(self._credentials.key_pair)
            again = request.method == "GET"
            return await self._pool.send(data, context, request.timeout, again=again)
        async with self._session(streaming=False).request(
            request.method,
            URL(self.server + request.target, encoded=True),
            data=request.body or None,
            headers=self._all_headers(authorization, request, compressed),
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
            shown = await self._credentials.authorization()
            response = await self._open(request, shown, idle_timeout)
            if response.status == 401 and await self._renew(shown):
                response.close()
                shown = await self._credentials.authorization()
                response = await self._open(request, shown, idle_timeout)
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
        return await self._session(streaming=True).request(
            request.method,
            URL(self.server + request.target, encoded=True),
            headers=self._all_headers(authorization, request, compressed=False),
            timeout=aiohttp.ClientTimeout(None, sock_connect=CONNECT_SECONDS, sock_read=idle),
            **self._options(),
        )

    def refusal_hint(self) -> str:
        """Say where the client certificate has expired, which the server does not."""
        pair = self._credentials.key_pair or self._connection.tls.key_pair
        ended = expiry(pair.certificate) if pair is not None else None
        if pair is None or ended is None or ended.timestamp() > self._clock.now():
            return ""
        return f"the client certificate {pair.certificate.where} expired at {ended:%FT%TZ}"

    async def close(self) -> None:
        """End all connections."""
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        self._pool.close()

    async def _renew(self, refused: str) -> bool:
        try:
            return await self._credentials.renew(refused)
        except ConfigError as error:
            log_error(log, error, "refreshing credentials")
            return False

    def _all_headers(
        self, authorization: str, request: Request, compressed: bool
    ) -> CIMultiDict[str]:
        kind = request.content_type if request.body else ""
        return CIMultiDict([*self._headers, *_own_headers(authorization, kind, compressed)])

    def _write_lines(self, authorization: str, content_type: str, compressed: bool) -> bytes:
        own = _own_headers(authorization, content_type, compressed)
        try:
            lines = header_lines([("Host", self._host), *self._headers, *own])
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if len(self._lines) >= _KEPT_LINES:
            # Tokens that have been renewed are of no use any more.
            self._lines.clear()
        self._lines[authorization, content_type, compressed] = lines
        return lines

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self._proxy:
            options["proxy"] = self._proxy
        if self._tls is not None:
            options["ssl"] = self._tls.context(self._credentials.key_pair)
            if self._connection.tls.server_name:
                options["server_hostname"] = self._connection.tls.server_name
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
            )
        return session

    def _no_answer(self, request: Request, error: BaseException) -> NoAnswerError:
        message, sent = _explain(error)
        # A query is long and says little about what went wrong.
        url = self.server + request.target.partition("?")[0]
        return NoAnswerError(message, sent=sent, method=request.method, url=url)


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


def _own_headers(authorization: str, content_type: str, compressed: bool) -> list[tuple[str, str]]:
    headers = []
    if authorization:
        headers.append(("Authorization", authorization))
    if content_type:
        headers.append(("Content-Type", content_type))
    if compressed:
        headers.append(("Accept-Encoding", "gzip"))
    return headers


def environment_proxy(server: str) -> str:
    """Return the proxy that the environment names for a server, or nothing."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    proxy = urllib.request.getproxies().get(parts.scheme, "")
    if not proxy or _is_loopback(host) or _is_excepted(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_excepted(host: str) -> bool:
    """Tell whether no_proxy names a host: by name, by domain or, as Go reads it, by network."""
    if urllib.request.proxy_bypass(host):
        return True
    for entry in urllib.request.getproxies().get("no", "").split(","):
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_PROTOCOL = {
    "cut": "the connection was cut within the answer",
    "closed": "the server closed the connection without an answer",
}


def _explain(error: BaseException) -> tuple[str, bool]:
    """Say in a line what broke, and whether the server may have received the request."""
    if isinstance(error, ConnectError):
        return _explain(error.cause)[0], False
    if isinstance(error, ConfigError):
        return str(error), False
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not valid: {error.verify_message}", False
    if isinstance(error, socket.gaierror):
        return f"no such host: {_words(error)}", False
    if isinstance(error, ProtocolError):
        return _PROTOCOL.get(str(error), "the answer is not HTTP"), True
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = error.certificate_error
        words = getattr(reason, "verify_message", "") or str(reason)
        return f"the server's certificate is not valid: {words}", False
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        cause = getattr(error, "os_error", error)
        words = (getattr(cause, "reason", None) or str(cause)).lower().replace("_", " ")
        return f"TLS failed: {words}", False
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"no such host: {error.host}", False
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "connecting took too long", False
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy: {_words(error.os_error)}", False
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status} {error.message}", False
    if isinstance(error, aiohttp.ClientConnectorError):
        return _words(error.os_error), False
    if isinstance(error, aiohttp.ClientPayloadError):
        return _PROTOCOL["cut"], True
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return _PROTOCOL["closed"], True
    if isinstance(error, asyncio.TimeoutError):
        return "no answer within the time allowed", True
    if isinstance(error, OSError):
        return _words(error), True
    return str(error) or type(error).__name__, True


def _words(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    text = error.strerror or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]
