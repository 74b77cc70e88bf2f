"""The listener: HTTP/1.1 over TLS, with optional gzip and a limit on request bodies."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs

from aiohttp import web

from mooring.apiserver import refusals
from mooring.apiserver.auth.certificate_authority import Authority
from mooring.apiserver.http import (
    ANONYMOUS,
    BODY_LIMIT,
    ApiRequest,
    ApiResponse,
    BodyReader,
    RequestUser,
    header_pairs,
)
from mooring.serve.acceptor import BACKLOG
from mooring.serve.http_server import (
    BodyError,
    HttpServer,
    authenticated,
    read_body,
    readable,
    send_chunks,
)

Handler = Callable[[ApiRequest, BodyReader], Awaitable[ApiResponse]]

#: apiserver: pkg/endpoints/handlers/responsewriters/writers.go, defaultGzipThresholdBytes
_WORTH_PACKING = 128 * 1024
#: Bytes of a body that are encrypted at a time; a list of pods may be many megabytes.
_PIECE = 2**18
_SHUTDOWN_SECONDS = 1.0
_BODY_REFUSALS = {413: refusals.too_large, 504: refusals.timed_out}


def tls(authority: Authority, host: str) -> ssl.SSLContext:
    """Return a TLS context with a certificate from the authority.

    Client certificates are optional.
    """
    pair = authority.server(host)
    with tempfile.TemporaryDirectory(prefix="mooring-") as folder:
        file = Path(folder, "server.pem")
        file.touch(mode=0o600)
        file.write_bytes(pair.key + pair.certificate)
        return tls_from_files(file, None, authority.pem.decode())


def tls_from_files(certificate: Path, key: Path | None, authority: str) -> ssl.SSLContext:
    """Return a TLS context with a certificate from files.

    Client certificates are optional, and are verified with `authority`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


class ApiListener:
    """An HTTPS server that passes requests to one handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: HttpServer | None = None
        self._listeners: list[socket.socket] = []

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> int:
        """Start listening and return the port; port 0 picks a free one."""
        self._listeners = await _listen(host, port)
        self._server = HttpServer(
            self._serve, shutdown_seconds=_SHUTDOWN_SECONDS, handler_cancellation=True
        )
        self._server.start(self._listeners, lambda: context)
        return int(self._listeners[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening, and end the requests in progress."""
        if self._server is not None:
            await self._server.stop()
        for listener in self._listeners:
            listener.close()

    async def _serve(self, raw: web.BaseRequest) -> web.StreamResponse:
        request = ApiRequest(
            method=raw.method,
            path=raw.rel_url.raw_path,
            query=parse_qs(raw.rel_url.raw_query_string, keep_blank_values=True),
            headers=_joined(raw),
            certificate=_certificate(raw),
        )

        async def take_body() -> bytes:
            if request.user is not ANONYMOUS:
                authenticated(raw)
            return await _body(raw)

        response = await self._handler(request, take_body)
        if response.stream is not None:
            return await _stream(raw, response)
        packs = "gzip" in request.headers.get("accept-encoding", "")
        if packs and len(response.body) > _WORTH_PACKING:
            await _pack(response)
        if len(response.body) > _PIECE:
            return await _in_pieces(raw, response)
        return _plain(response)


async def _listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of a host; raise OSError if one cannot be used."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((one[0], one[4]) for one in found):
            listeners.append(socket.create_server(address, family=family, backlog=BACKLOG))
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners


def _joined(raw: web.BaseRequest) -> dict[str, str]:
    """Return the headers by lower-case name; several values of one name are joined by newlines."""
    headers: dict[str, str] = {}
    for name, value in raw.headers.items():
        key, value = name.lower(), readable(value)
        headers[key] = f"{headers[key]}\n{value}" if key in headers else value
    return headers


async def _body(raw: web.BaseRequest) -> bytes:
    try:
        return await read_body(raw, BODY_LIMIT)
    except BodyError as error:
        raise _BODY_REFUSALS.get(error.status, refusals.bad_request)(str(error)) from None


async def _pack(response: ApiResponse) -> None:
    # In a thread: a list of ten thousand pods takes most of a second, which would block the loop.
    body = response.body
    response.body = await asyncio.to_thread(gzip.compress, body, 1)
    response.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}


def _plain(response: ApiResponse) -> web.Response:
    answer = web.Response(status=response.code, body=response.body)
    answer.headers.popall("Content-Type", None)
    answer.headers.extend(header_pairs(response))
    return answer


async def _in_pieces(raw: web.BaseRequest, response: ApiResponse) -> web.StreamResponse:
    """Send a large body in pieces, yielding to other requests between them."""
    answer = web.StreamResponse(status=response.code)
    answer.headers.extend(header_pairs(response))
    answer.content_length = len(response.body)
    await answer.prepare(raw)
    body = memoryview(response.body)
    for at in range(0, len(body), _PIECE):
        await answer.write(body[at : at + _PIECE])
        await asyncio.sleep(0)
    await answer.write_eof()
    return answer


async def _stream(raw: web.BaseRequest, response: ApiResponse) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.code)
    answer.headers.extend(header_pairs(response))
    assert response.stream is not None
    try:
        await send_chunks(raw, answer, response.stream)
    finally:
        await response.stream.aclose()
    return answer


def _certificate(raw: web.BaseRequest) -> RequestUser | None:
    """Return the user named by the client's certificate, which the TLS handshake verified."""
    transport = raw.transport
    found = transport.get_extra_info("peercert") if transport is not None else None
    if not found:
        return None
    name, groups = "", []
    for part in found.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return RequestUser(name, tuple(groups)) if name else None
