from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from mooring.serve import http_server
from mooring.serve.connections import Limits, Stage
from mooring.serve.http_server import (
    HEAD_LIMIT,
    BodyError,
    HttpServer,
    authenticated,
    read_body,
    readable,
)
from mooring.serve.serving_options import SecureServing
from mooring.serve.serving_tls import ServingTls
from tests.support.waiting import PATIENCE

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Site:
    """A server of plain HTTP whose handler a test sets; time passes by `tick`."""

    def __init__(self, *, cancels: bool = True) -> None:
        self.answer: Answer = ok
        self.listener = socket.create_server(("127.0.0.1", 0))
        with pytest.MonkeyPatch.context() as patch:
            # Time passes by `tick` alone.
            patch.setattr(http_server, "_TICK_SECONDS", 1e6)
            self.server = HttpServer(
                self._handle, shutdown_seconds=0.1, handler_cancellation=cancels
            )
        self.server.start([self.listener], None)
        self.connections = self.server.connections
        self._writers: list[asyncio.StreamWriter] = []

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        return await self.answer(request)

    async def connect(self, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self.listener.getsockname())
        self._writers.append(writer)
        writer.write(data)
        return reader, writer

    async def say(self, data: bytes) -> bytes:
        """Send bytes and return everything received until the connection ends."""
        reader, _ = await self.connect(data)
        async with asyncio.timeout(PATIENCE):
            return await reader.read()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0)

    async def in_stage(self, stage: Stage, number: int = 1) -> None:
        await self.until(lambda: self.connections.count(stage) == number)

    async def close(self) -> None:
        await self.server.stop()
        self.listener.close()
        for writer in self._writers:
            writer.transport.abort()
        # The loop closes the sockets of aborted connections in its next iterations.
        for _ in range(3):
            await asyncio.sleep(0)

    def tick(self, seconds: int) -> None:
        for _ in range(seconds + 1):
            self.connections.tick()


async def ok(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="ok")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    yield site
    await site.close()


async def test_a_connection_goes_from_stage_to_stage(site: Site) -> None:
    go_on = asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        await go_on.wait()
        return await ok(request)

    site.answer = slow
    reader, writer = await site.connect()
    await site.in_stage(Stage.WAITING)
    for _ in range(2):
        writer.write(GET[:5])
        await site.in_stage(Stage.HEAD)
        writer.write(GET[5:])
        await site.in_stage(Stage.SERVING)
        go_on.set()
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        await site.in_stage(Stage.IDLE)
        go_on.clear()
    writer.close()
    await site.until(lambda: len(site.connections) == 0)


@pytest.mark.parametrize(
    ("data", "stage", "seconds"),
    [
        (b"", Stage.WAITING, Limits().waiting.seconds),
        (GET[:5], Stage.HEAD, Limits().head.seconds),
        (GET, Stage.IDLE, Limits().idle.seconds),
        (GET + GET[:5], Stage.IDLE, Limits().idle.seconds),
    ],
    ids=["silent", "half a head", "idle", "half of a second head"],
)
async def test_slow_connections_are_closed(
    site: Site, data: bytes, stage: Stage, seconds: int
) -> None:
    reader, _ = await site.connect(data)
    await site.in_stage(stage)
    site.tick(seconds)
    assert len(site.connections) == 0
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionError):
            await reader.read()


async def test_an_authenticated_connection_is_kept_for_longer(site: Site) -> None:
    async def known(request: web.BaseRequest) -> web.StreamResponse:
        authenticated(request)
        return await ok(request)

    site.answer = known
    reader, writer = await site.connect(GET)
    await reader.readuntil(b"ok")
    await site.in_stage(Stage.IDLE)
    site.tick(Limits().idle.seconds)
    writer.write(GET)
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")


async def test_a_client_that_does_not_read_is_cut_off(site: Site) -> None:
    ended = asyncio.Event()

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 2**16)
        finally:
            ended.set()

    site.answer = endless
    _, writer = await site.connect(GET)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await site.until(lambda: site.connections.stalled > 0)
    site.tick(Limits().stalled_seconds)
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    assert len(site.connections) == 0


async def test_a_head_is_limited_as_a_whole(site: Site) -> None:
    header = b"A%d: " + b"a" * 60_000 + b"\r\n"
    lines = b"".join(header % number for number in range(18))
    assert len(lines) > HEAD_LIMIT
    # The end of the head never arrives: the response does not wait for it.
    answer = await site.say(b"GET / HTTP/1.1\r\nHost: x\r\n" + lines)
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


async def test_what_is_no_http_is_answered_without_a_word_in_the_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await site.say(b"HELLO\r\n\r\n")
    assert answer.partition(b"\r\n")[0].endswith(b" 400 Bad Request")
    assert answer.endswith(b"\r\n\r\n400 Bad Request")
    assert not caplog.records


async def test_a_body_that_nobody_reads_ends_the_connection(site: Site) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    reader, writer = await site.connect(head)
    assert b"Connection: close" in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"x" * 100_000)
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b"ok"


async def reading(request: web.BaseRequest) -> web.StreamResponse:
    try:
        body = await read_body(request, 10)
    except BodyError as error:
        return web.Response(text=str(error), status=error.status)
    return web.Response(text=f"read {len(body)}")


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        (b"Content-Length: 10\r\n", b"0123456789", 200),
        (b"Content-Length: 11\r\n", b"", 413),
        (b"Transfer-Encoding: chunked\r\n", b"b\r\n0123456789a\r\n", 413),
        (b"Transfer-Encoding: chunked\r\n", b"zz\r\n", 400),
        (b"Content-Length: 10\r\n", b"01234", 504),
        (b"", b"", 200),
    ],
    ids=["whole", "announced as too large", "too large", "broken", "too slow", "none"],
)
async def test_bodies_are_read_up_to_a_limit_and_a_time(
    site: Site, head: bytes, body: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if status == 504:
        monkeypatch.setattr(http_server, "BODY_SECONDS", 0.05)
    site.answer = reading
    reader, _ = await site.connect(b"POST / HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n" + body)
    async with asyncio.timeout(PATIENCE):
        line = await reader.readline()
    assert line.split()[1] == str(status).encode()


@pytest.mark.parametrize("cancels", [True, False], ids=["cancelled", "not cancelled"])
@pytest.mark.parametrize("what", ["body", "answer"])
async def test_a_client_that_leaves_in_the_middle_is_no_failure(
    what: str, cancels: bool, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(cancels=cancels)
    ended = asyncio.Event()

    async def sending(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 2**16)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await (reading if what == "body" else sending)(request)
        finally:
            ended.set()

    site.answer = answer
    _, writer = await site.connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n012")
    await site.in_stage(Stage.SERVING)
    writer.transport.abort()
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    await site.close()
    assert not caplog.records


async def test_stopping_closes_everything(site: Site) -> None:
    silent, _ = await site.connect()
    idle, _ = await site.connect(GET)
    await site.in_stage(Stage.IDLE)
    await site.in_stage(Stage.WAITING)
    await site.server.stop()
    async with asyncio.timeout(PATIENCE):
        assert await silent.read() == b""
        await idle.read()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("é", "é"), ("a\udcffb", "a\N{REPLACEMENT CHARACTER}b")],
)
def test_headers_are_made_readable(text: str, expected: str) -> None:
    assert readable(text) == expected


class TlsSite(Site):
    """An HTTPS server."""

    def __init__(self) -> None:
        super().__init__()
        tls = ServingTls(SecureServing(bind_address="127.0.0.1"), ask=False, authorities=b"")
        self._client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client.check_hostname = False
        self._client.verify_mode = ssl.CERT_NONE
        self._plain = self.listener
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.server.start([self.listener], lambda: tls.context)

    async def connect_securely(
        self, data: bytes
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self.listener.getsockname()
        reader, writer = await asyncio.open_connection(*address, ssl=self._client)
        self._writers.append(writer)
        writer.write(data)
        return reader, writer

    async def close(self) -> None:
        await super().close()
        self._plain.close()

    def hello(self) -> bytes:
        """Return the first message of a handshake."""
        out = ssl.MemoryBIO()
        with contextlib.suppress(ssl.SSLWantReadError):
            self._client.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
        return out.read()


@pytest.fixture
async def tls_site() -> AsyncIterator[TlsSite]:
    site = TlsSite()
    yield site
    await site.close()


async def test_a_handshake_that_does_not_go_on_is_closed(tls_site: TlsSite) -> None:
    reader, _ = await tls_site.connect(tls_site.hello())
    await tls_site.in_stage(Stage.HANDSHAKE)
    tls_site.tick(Limits().handshake.seconds)
    assert len(tls_site.connections) == 0
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionError):
            await reader.read()


async def test_what_is_no_tls_is_closed_at_once(tls_site: TlsSite) -> None:
    reader, _ = await tls_site.connect(GET)
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(ConnectionError):
            await reader.read()
    await tls_site.until(lambda: len(tls_site.connections) == 0)


async def test_a_head_in_tls_is_waited_for_and_served(tls_site: TlsSite) -> None:
    reader, writer = await tls_site.connect_securely(GET[:5])
    await tls_site.in_stage(Stage.HEAD)
    writer.write(GET[5:])
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
    await tls_site.in_stage(Stage.IDLE)


async def test_a_client_that_does_not_read_tls_is_cut_off(tls_site: TlsSite) -> None:
    ended = asyncio.Event()
    kept: list[int] = []

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        assert request.transport is not None
        try:
            while True:
                await response.write(b"x" * 2**16)
                kept.append(request.transport.get_write_buffer_size())
        finally:
            ended.set()

    tls_site.answer = endless
    _, writer = await tls_site.connect_securely(GET)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    await tls_site.until(lambda: tls_site.connections.stalled > 0)
    assert max(kept) <= 2 * http_server.WRITE_BUFFER
    tls_site.tick(Limits().stalled_seconds)
    async with asyncio.timeout(PATIENCE):
        await ended.wait()
    assert len(tls_site.connections) == 0


async def test_pipelined_requests_are_all_answered(tls_site: TlsSite) -> None:
    number = 500
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    reader, _ = await tls_site.connect_securely(GET * (number - 1) + last)
    async with asyncio.timeout(PATIENCE):
        answers = await reader.read()
    assert answers.count(b"HTTP/1.1 200") == number
