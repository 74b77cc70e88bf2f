"""AiohttpTransport: requests over HTTP/1.1 and TLS.

Watches hold their connections for minutes, so they have a pool without a limit; everything else
shares a small one, whose connections stay warm.
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
from mooring.client.tls import TlsContexts, expiry
from mooring.client.transport import JSON, Request, Response
from mooring.errors import ConfigError, NoAnswerError
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

# client-go: transport/cache.go and apimachinery's util/net/http.go dial within 30 s.
CONNECT_SECONDS = 30.0
# kube-apiserver closes what idles for 90 s; a request must not meet a connection being closed.
KEEP_ALIVE_SECONDS = 60.0
REQUEST_CONNECTIONS = 32
# A peer that vanished is noticed within a minute, as HTTP/2's pings would (30 s and 15 s).
_PROBES = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


class AiohttpTransport:
    """Carry requests to the server of a connection. Belongs to one event loop."""

    def __init__(
        self, connection: Connection, *, user_agent: str = "mooring", clock: Clock | None = None
    ) -> None:
        self.server = connection.server
        clock = SystemClock() if clock is None else clock
        self._clock = clock
        self._connection = connection
        self._tls = TlsContexts(connection.tls, clock) if is_secure(connection.server) else None
        self._credentials = connection.credentials(clock)
        if self._tls is not None:
            # Made now, so that a mistake shows at the start.
            self._tls.context()
        self._proxy = connection.proxy or environment_proxy(connection.server)
        self._headers = CIMultiDict[str](connection.headers)
        self._headers["User-Agent"] = user_agent
        self._headers["Accept"] = JSON
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer, whatever its status."""
        headers = await self._prepare(request)
        response = await self._send(request, headers)
        if response.status == 401 and await self._renew(headers):
            response = await self._send(request, await self._prepare(request))
        return response

    async def _send(self, request: Request, headers: CIMultiDict[str]) -> Response:
        if self._connection.compression and request.method == "GET":
            headers["Accept-Encoding"] = "gzip"
        try:
            async with self._session(streaming=False).request(
                request.method,
                URL(self.server + request.target, encoded=True),
                data=request.body or None,
                headers=headers,
                timeout=aiohttp.ClientTimeout(request.timeout, sock_connect=CONNECT_SECONDS),
                **self._options(),
            ) as response:
                body = await response.read()
                return Response(response.status, response.headers, body)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._no_answer(request, error) from None

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[_Stream]:
        """Send a request and read its answer as it comes."""
        headers = await self._prepare(request)
        response = await self._open(request, headers, idle_timeout)
        try:
            if response.status == 401 and await self._renew(headers):
                response.close()
                headers = await self._prepare(request)
                response = await self._open(request, headers, idle_timeout)
            yield _Stream(self, request, response)
        finally:
            # What is left of the body is not waited for: the connection goes with it.
            response.close()

    async def _open(
        self, request: Request, headers: CIMultiDict[str], idle: float | None
    ) -> aiohttp.ClientResponse:
        try:
            return await self._session(streaming=True).request(
                request.method,
                URL(self.server + request.target, encoded=True),
                headers=headers,
                timeout=aiohttp.ClientTimeout(None, sock_connect=CONNECT_SECONDS, sock_read=idle),
                **self._options(),
            )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._no_answer(request, error) from None

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

    async def _prepare(self, request: Request) -> CIMultiDict[str]:
        try:
            authorization = await self._credentials.authorization()
        except ConfigError as error:
            raise self._no_answer(request, error) from None
        headers = self._headers.copy()
        if authorization:
            headers["Authorization"] = authorization
        if request.body:
            headers["Content-Type"] = request.content_type
        return headers

    async def _renew(self, headers: CIMultiDict[str]) -> bool:
        try:
            return await self._credentials.renew(headers.get("Authorization", ""))
        except ConfigError as error:
            log_error(log, error, "refreshing credentials")
            return False

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
                    socket_factory=_make_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent"),
                read_bufsize=2**18,
            )
        return session

    def _no_answer(self, request: Request, error: BaseException) -> NoAnswerError:
        message, sent = _explain(error)
        url = self.server + request.target
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
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._transport._no_answer(self._request, error) from None

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])


def environment_proxy(server: str) -> str:
    """Return the proxy that the environment names for a server, or nothing."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    proxy = urllib.request.getproxies().get(parts.scheme, "")
    if not proxy or _is_loopback(host) or urllib.request.proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _make_socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def _explain(error: BaseException) -> tuple[str, bool]:
    """Say in a line what broke, and whether the server may have received the request."""
    if isinstance(error, ConfigError):
        return str(error), False
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
        return "the connection was cut within the answer", True
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer", True
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
