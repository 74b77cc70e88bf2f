"""Dialer: new connections to a server, direct or through a proxy.

Sockets are plain non-blocking ones: asyncio's TLS is written in Python and costs more than all the
rest of a bind.
"""

# Go: net/http/transport.go (dialConn)

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import os
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import msgspec

from mooring.client.deadlines import ConnectError, Deadlines, client_closed
from mooring.client.http1 import ResponseReader
from mooring.client.protocol import ProtocolError
from mooring.client.tunnel import TunnelledTls

# client-go: transport/cache.go and apimachinery's util/net/http.go dial within 30 s.
CONNECT_SECONDS = 30.0
# Notices a dead peer within a minute, as HTTP/2 pings would (30 s and 15 s).
_PROBES = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
#: The size of a TLS record. With a larger one, Python allocates and clears more per response.
READ_SIZE = 2**14
#: Raised by a socket that would block.
WAIT_ERRORS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LATE = "connecting took too long"


class Socket(Protocol):
    """A connected non-blocking socket, or TLS on top of one. Raises one of WAIT_ERRORS."""

    def fileno(self) -> int:
        """Return the file descriptor, for a selector."""
        ...

    def send(self, data: memoryview | bytes, /) -> int:
        """Send some of the data; return the number of bytes sent."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end of the stream."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class ProxyError(Exception):
    """A proxy that cannot be reached or refuses; the text gives the reason."""


class PinError(OSError):
    """A server that showed another certificate than the only one that is trusted."""


class _TlsSocket(ssl.SSLSocket):
    """A TLS socket that is closed if the server has reset the connection before TLS begins.

    `SSLContext.wrap_socket` moves the file descriptor to the new socket, and then looks for the
    peer. If there is none any more, it raises, and nobody has the new socket to close it.
    """

    def getpeername(self) -> Any:
        """Return the address of the server; close the socket if there is no connection."""
        try:
            return super().getpeername()
        except OSError:
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)) from None


class Proxy(msgspec.Struct, frozen=True):
    """An HTTP proxy, as its URL describes it."""

    host: str
    port: int
    #: Whether the connection to the proxy itself is secured.
    secured: bool = False
    #: The Proxy-Authorization header, empty if the URL names no user.
    authorization: str = ""


def parse_proxy(url: str) -> Proxy:
    """Parse the URL of a proxy; its user and password are sent to the proxy."""
    parts = urlsplit(url)
    authorization = ""
    if parts.username is not None:
        shown = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(shown.encode()).decode()
    secured = parts.scheme == "https"
    port = parts.port or (443 if secured else 80)
    return Proxy(parts.hostname or "", port, secured, authorization)


class Dialer:
    """A factory of connections to one host and port. Belongs to one event loop.

    `proxy_context` is for a TLS connection to the proxy if the server itself does not use TLS, or
    is known by its `pin`: the SHA-256 of the only certificate that it may show.
    """

    def __init__(
        self,
        host: str,
        port: int,
        server_name: str = "",
        *,
        proxy: Proxy | None = None,
        proxy_context: Callable[[], ssl.SSLContext] | None = None,
        pin: str = "",
    ) -> None:
        self._host = host
        self._port = port
        self._server_name = server_name or host
        self._proxy = proxy
        self._proxy_context = proxy_context
        self._pin = pin
        self._deadlines = Deadlines()

    async def dial(self, context: ssl.SSLContext | None, deadline: float) -> Socket:
        """Make a connection, secured if there is a context; raise ConnectError if that fails."""
        loop = asyncio.get_running_loop()
        deadline = min(deadline, loop.time() + CONNECT_SECONDS)
        try:
            async with self._deadlines.until(deadline, _LATE):
                made = await self._dial(loop, context)
        except (OSError, ProxyError) as error:
            raise ConnectError(error) from None
        if self._deadlines.closed:
            # It was complete when the client was closed, which no longer knows of it.
            made.close()
            raise client_closed()
        return made

    def close(self) -> None:
        """End the attempts in progress; later ones fail."""
        self._deadlines.close()

    async def _dial(
        self, loop: asyncio.AbstractEventLoop, context: ssl.SSLContext | None
    ) -> Socket:
        if self._proxy is not None:
            return await self._dial_proxy(loop, self._proxy, context)
        sock = await _connect(loop, self._host, self._port)
        return self._checked(await _secured(loop, sock, context, self._server_name))

    async def _dial_proxy(
        self, loop: asyncio.AbstractEventLoop, proxy: Proxy, context: ssl.SSLContext | None
    ) -> Socket:
        shown = context if proxy.secured and not self._pin else None
        if proxy.secured and shown is None:
            assert self._proxy_context is not None
            shown = self._proxy_context()
        try:
            sock = await _connect(loop, proxy.host, proxy.port)
            outer = await _secured(loop, sock, shown, proxy.host)
        except OSError as error:
            raise ProxyError(f"cannot connect to the proxy: {_words(error)}") from None
        if context is None:
            # Without TLS to the server, the proxy reads the requests itself and needs no tunnel.
            return outer
        try:
            await self._ask_tunnel(loop, outer, proxy)
            if isinstance(outer, ssl.SSLSocket):
                inner = TunnelledTls(outer, context, self._server_name)
                await _handshake(loop, inner.do_handshake, inner)
                return self._checked(inner)
        except BaseException:
            outer.close()
            raise
        return self._checked(await _secured(loop, sock, context, self._server_name))

    def _checked(self, sock: Socket) -> Socket:
        """Return a socket whose server showed the pinned certificate; close it otherwise."""
        if not self._pin:
            return sock
        shown = None
        if isinstance(sock, ssl.SSLSocket | TunnelledTls):
            shown = sock.getpeercert(binary_form=True)
        found = hashlib.sha256(shown or b"").hexdigest()
        if found != self._pin:
            sock.close()
            raise PinError(
                f"the server's certificate has the SHA-256 {found}, and {self._pin} is expected"
            )
        return sock

    async def _ask_tunnel(
        self, loop: asyncio.AbstractEventLoop, sock: Socket, proxy: Proxy
    ) -> None:
        """Ask the proxy to connect to the server."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        shown = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
        name = f"{host}:{self._port}"
        unsent = f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n{shown}\r\n".encode()
        while unsent:
            try:
                unsent = unsent[sock.send(unsent) :]
            except WAIT_ERRORS as error:
                await wait_ready(loop, error, sock, writing=True)
        reader = ResponseReader(None)
        while not reader.status:
            try:
                # The server sends nothing before the handshake, so all data is the proxy's.
                data = sock.recv(READ_SIZE)
            except WAIT_ERRORS as error:
                await wait_ready(loop, error, sock)
                continue
            try:
                if not data:
                    reader.end()
                reader.feed(data)
            except ProtocolError as error:
                raise ProxyError(f"the proxy did not answer: {error}") from None
        if not 200 <= reader.status < 300:
            answered = f"{reader.status} {_phrase(reader.status)}".rstrip()
            raise ProxyError(f"the proxy answered {answered}")
        if reader.take():
            raise ProxyError("the proxy sent data before the server was spoken to")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _words(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host"
    return (error.strerror or str(error)).lower()


def make_socket(address: Any) -> socket.socket:
    """Return a socket for an address from getaddrinfo, with keep-alive probes."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


async def _connect(loop: asyncio.AbstractEventLoop, host: str, port: int) -> socket.socket:
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
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


async def _secured(
    loop: asyncio.AbstractEventLoop,
    sock: socket.socket,
    context: ssl.SSLContext | None,
    server_name: str,
) -> Socket:
    """Return the socket with TLS, or unchanged without a context; close it on failure."""
    if context is None:
        return sock
    context.sslsocket_class = _TlsSocket
    try:
        secured = context.wrap_socket(
            sock, server_hostname=server_name, do_handshake_on_connect=False
        )
    except BaseException:
        sock.close()
        raise
    try:
        await _handshake(loop, secured.do_handshake, secured)
    except BaseException:
        secured.close()
        raise
    return secured


async def _handshake(
    loop: asyncio.AbstractEventLoop, shake: Callable[[], object], sock: Socket
) -> None:
    while True:
        try:
            shake()
            return
        except WAIT_ERRORS as error:
            await wait_ready(loop, error, sock)


async def wait_ready(
    loop: asyncio.AbstractEventLoop, error: OSError, sock: Socket, *, writing: bool = False
) -> None:
    """Wait until a socket is ready again after one of WAIT_ERRORS."""
    if isinstance(error, ssl.SSLWantWriteError) or (writing and isinstance(error, BlockingIOError)):
        add: Callable[..., Any] = loop.add_writer
        remove: Callable[[int], Any] = loop.remove_writer
    else:
        add, remove = loop.add_reader, loop.remove_reader
    ready = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    add(sock.fileno(), note)
    try:
        await ready
    finally:
        remove(sock.fileno())
