"""The socket: TLS on loopback, HTTP/1.1 with aiohttp, gzip where asked, bodies up to a limit."""

from __future__ import annotations

import asyncio
import gzip
import logging
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.http import HttpProcessingError

from mooring.apiserver import refusals
from mooring.apiserver.auth.certificate_authority import Authority
from mooring.apiserver.http import (
    BODY_LIMIT,
    ApiRequest,
    ApiResponse,
    RequestUser,
    header_pairs,
    refuse,
)

log = logging.getLogger(__name__)

Handler = Callable[[ApiRequest], Awaitable[ApiResponse]]

_WORTH_PACKING = 128 * 1024
"""apiserver: pkg/endpoints/handlers/responsewriters/writers.go, defaultGzipThresholdBytes"""
_PIECE = 2**18
"""How much of a body is encrypted in one go; a list of pods may have many megabytes."""
_HEAD_LIMIT = 2**20
"""Go: net/http, DefaultMaxHeaderBytes; a selector may be long."""
_KEEP_ALIVE_SECONDS = 120.0
"""Longer than client-go keeps a connection that idles, 90 s: the client ends it, not we."""


def tls(authority: Authority, host: str) -> ssl.SSLContext:
    """Return a context that serves with a certificate of ours and takes those of clients."""
    pair = authority.server(host)
    with tempfile.TemporaryDirectory(prefix="mooring-") as folder:
        file = Path(folder, "server.pem")
        file.touch(mode=0o600)
        file.write_bytes(pair.key + pair.certificate)
        return tls_from_files(file, None, authority.pem.decode())


def tls_from_files(certificate: Path, key: Path | None, authority: str) -> ssl.SSLContext:
    """Return a context with a certificate of files; clients' are checked with an authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


class _ServerLog(logging.Logger):
    """The log of aiohttp's server, without the tracebacks of input that is not HTTP.

    Malformed input is the sender's mistake and is answered with 400. This logger is not registered
    by its name, so it changes nothing for others.
    """

    def __init__(self, parent: logging.Logger) -> None:
        super().__init__(parent.name)
        self.parent: logging.Logger = parent

    def isEnabledFor(self, level: int) -> bool:
        """Return whether the parent takes records of a level, which may change at any time."""
        return self.parent.isEnabledFor(level)

    def handle(self, record: logging.LogRecord) -> None:
        """Pass a record on, unless it reports malformed input."""
        if record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError):
            super().handle(record)


class ApiListener:
    """Serve a handler on one address. `start` returns the port."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._stop: Callable[[], Awaitable[None]] | None = None

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> int:
        """Listen; port 0 takes a free one."""
        server = web.Server(
            self._serve,
            handler_cancellation=True,
            access_log=None,
            logger=_ServerLog(log),
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
            max_line_size=_HEAD_LIMIT,
            max_field_size=_HEAD_LIMIT,
        )
        runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, host, port, ssl_context=context, reuse_address=True)
        await site.start()
        self._stop = runner.cleanup
        address: Any = runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Listen no more, and end what is under way."""
        if self._stop is not None:
            await self._stop()

    async def _serve(self, raw: web.BaseRequest) -> web.StreamResponse:
        request = ApiRequest(
            method=raw.method,
            path=raw.rel_url.raw_path,
            query=parse_qs(raw.rel_url.raw_query_string, keep_blank_values=True),
            headers=_joined(raw),
            certificate=_certificate(raw),
        )
        try:
            request.body = await _body(raw)
        except refusals.Refusal as refusal:
            return _plain(refuse(refusal))
        response = await self._handler(request)
        if response.stream is not None:
            return await _stream(raw, response)
        packs = "gzip" in request.headers.get("accept-encoding", "")
        if packs and len(response.body) > _WORTH_PACKING:
            await _pack(response)
        if len(response.body) > _PIECE:
            return await _in_pieces(raw, response)
        return _plain(response)


def _joined(raw: web.BaseRequest) -> dict[str, str]:
    """Return the headers by name in lower case; several values of one are joined by newlines."""
    headers: dict[str, str] = {}
    for name, value in raw.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}\n{value}" if key in headers else value
    return headers


async def _body(raw: web.BaseRequest) -> bytes:
    if not raw.can_read_body:
        return b""
    if raw.content_length is not None and raw.content_length > BODY_LIMIT:
        raise refusals.too_large()
    parts: list[bytes] = []
    size = 0
    async for chunk in raw.content.iter_any():
        size += len(chunk)
        if size > BODY_LIMIT:
            raise refusals.too_large()
        parts.append(chunk)
    return b"".join(parts)


async def _pack(response: ApiResponse) -> None:
    # A list of ten thousand pods takes most of a second, which nobody else should wait for.
    body = response.body
    response.body = await asyncio.to_thread(gzip.compress, body, 1)
    response.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}


def _plain(response: ApiResponse) -> web.Response:
    answer = web.Response(status=response.code, body=response.body)
    answer.headers.popall("Content-Type", None)
    answer.headers.extend(header_pairs(response))
    return answer


async def _in_pieces(raw: web.BaseRequest, response: ApiResponse) -> web.StreamResponse:
    """Send a large body so that others have their turns meanwhile."""
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
        await answer.prepare(raw)
        async for chunk in response.stream:
            await answer.write(chunk)
        await answer.write_eof()
    except ConnectionError:
        log.debug("A client ended a stream")
    finally:
        await response.stream.aclose()
    return answer


def _certificate(raw: web.BaseRequest) -> RequestUser | None:
    """Return the user that the client's certificate names; the handshake has verified it."""
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
