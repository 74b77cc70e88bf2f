"""What a transport keeps, what it frees, and where it goes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from mooring.client import environment_proxy, http_transport
from mooring.client.connection import Connection
from mooring.client.credentials import Static
from mooring.client.dialer import Dialer
from mooring.client.http_stream import HttpStream
from mooring.client.http_transport import HttpTransport
from mooring.client.identity import Identity
from mooring.client.tls_settings import TlsSettings
from mooring.client.transport import Request
from mooring.errors import ApiError, ConfigError, NoAnswerError
from tests.client.fakes import bounded, serving, settle
from tests.support.waiting import PATIENCE

__all__ = ["bounded"]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_proxy.urllib.request, "getproxies", dict)


@asynccontextmanager
async def transport_to(server: str, **connection: Any) -> AsyncIterator[HttpTransport]:
    made = HttpTransport(Connection(server=server, **connection))
    try:
        yield made
    finally:
        await made.close()


async def hello(request: web.Request) -> web.Response:
    return web.Response(body=b"hello")


@pytest.mark.parametrize(
    ("server", "host", "port", "named"),
    [
        pytest.param("https://a", "a", 443, "a", id="the port of https"),
        pytest.param("http://a", "a", 80, "a", id="the port of http"),
        pytest.param("https://a:6443/prefix", "a", 6443, "a:6443", id="a port that is named"),
        pytest.param("http://ada:x@a:81", "a", 81, "a:81", id="a user is not a part of the host"),
        pytest.param("https://[fd00::1]:6443", "fd00::1", 6443, "[fd00::1]:6443", id="brackets"),
    ],
)
async def test_where_a_transport_goes(
    server: str, host: str, port: int, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = socket.socketpair()
    near.setblocking(False)
    goes: list[tuple[str, int]] = []

    class Recording(Dialer):
        def __init__(self, host: str, port: int, *more: Any, **named: Any) -> None:
            super().__init__(host, port, *more, **named)
            goes.append((host, port))

        async def dial(self, context: Any, deadline: float) -> Any:
            return near

    monkeypatch.setattr(http_transport, "Dialer", Recording)
    with far:
        async with transport_to(server, tls=TlsSettings(insecure=True)) as transport:
            far.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await transport.send(Request("GET", "/"))
            assert f"Host: {named}\r\n".encode() in far.recv(2**16)
    assert goes == [(host, port)]


async def test_a_server_may_have_a_prefix() -> None:
    async def path(request: web.Request) -> web.Response:
        return web.Response(text=request.path)

    async with serving(path) as server, transport_to(f"{server}/prefix") as transport:
        assert (await transport.send(Request("GET", "/api"))).body == b"/prefix/api"


async def test_heads_are_kept_for_a_few_sorts_of_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    headers = Identity.headers

    def recording(self: Identity, *shape: Any) -> list[tuple[str, str]]:
        made.append(shape[-1])
        return headers(self, *shape)

    monkeypatch.setattr(Identity, "headers", recording)
    async with serving(hello) as server, transport_to(server) as transport:
        for number in [*range(32), *range(32), 32, 0, 32]:
            await transport.send(Request("GET", "/", accept=f"x/{number}"))
    # The 33rd sort has the others forgotten.
    assert made == [f"x/{number}" for number in [*range(33), 0]]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[HttpStream]:
    """Return the list of streams that are closed; closing a transport closes those it keeps."""
    found: list[HttpStream] = []
    close = HttpStream.close

    def recording(self: HttpStream) -> None:
        found.append(self)
        close(self)

    monkeypatch.setattr(HttpStream, "close", recording)
    return found


async def assert_none_is_kept(transport: HttpTransport, closed: list[HttpStream]) -> None:
    assert closed
    closed.clear()
    await transport.close()
    assert closed == []


async def test_streams_that_have_ended_are_not_kept(closed: list[HttpStream]) -> None:
    async with serving(hello) as server, transport_to(server) as transport:
        async with transport.stream(Request("GET", "/")) as stream:
            assert await stream.read() == b"hello"
        await assert_none_is_kept(transport, closed)


async def test_a_stream_whose_head_never_comes_is_not_kept(closed: list[HttpStream]) -> None:

    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(never) as server, transport_to(server) as transport:
        with pytest.raises(NoAnswerError, match="no answer within the time allowed"):
            async with transport.stream(Request("GET", "/", timeout=0.1)):
                raise AssertionError
        await assert_none_is_kept(transport, closed)


class Refused(Static):
    """Credentials that are renewed as often as they are refused, or fail to be."""

    error: BaseException | None = None

    async def renew(self, refused: str) -> bool:
        if self.error is not None:
            raise self.error
        return True


@pytest.mark.parametrize("fails", [False, True], ids=["renewed", "not renewed"])
async def test_a_stream_that_was_refused_is_closed(fails: bool, closed: list[HttpStream]) -> None:
    seen = 0

    async def refuse(request: web.Request) -> web.Response:
        nonlocal seen
        seen += 1
        return web.Response(status=401)

    refused = Refused("Bearer x")
    if fails:
        refused.error = ValueError("a fault")
    async with (
        serving(refuse) as server,
        transport_to(server, credentials=lambda clock: refused) as transport,
    ):
        if fails:
            with pytest.raises(ValueError, match="a fault"):
                async with transport.stream(Request("GET", "/")):
                    raise AssertionError
        else:
            async with transport.stream(Request("GET", "/")) as stream:
                assert stream.status == 401
            await assert_none_is_kept(transport, closed)
    assert seen == (1 if fails else 2)


async def test_credentials_that_cannot_be_renewed_leave_the_refusal() -> None:
    seen = 0

    async def refuse(request: web.Request) -> web.Response:
        nonlocal seen
        seen += 1
        return web.Response(status=401, body=b"who are you")

    refused = Refused("Bearer x")
    refused.error = ConfigError("no luck")
    async with (
        serving(refuse) as server,
        transport_to(server, credentials=lambda clock: refused) as transport,
    ):
        assert (await transport.send(Request("GET", "/"))).body == b"who are you"
        async with transport.stream(Request("GET", "/")) as stream:
            assert await stream.read() == b"who are you"
    assert seen == 2


async def test_closing_ends_what_is_under_way() -> None:
    arrived = asyncio.Semaphore(0)

    async def never(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if request.path == "/stream":
            await response.prepare(request)
        arrived.release()
        await asyncio.Event().wait()
        return response

    async with serving(never) as server:
        transport = HttpTransport(Connection(server=server))

        async def read() -> bytes:
            async with transport.stream(Request("GET", "/stream")) as stream:
                return await stream.read()

        tasks = [
            asyncio.create_task(read()),
            asyncio.create_task(transport.send(Request("GET", "/"))),
        ]
        for _ in tasks:
            await arrived.acquire()
        await settle()
        await transport.close()
        async with asyncio.timeout(PATIENCE):
            for task in tasks:
                with pytest.raises(NoAnswerError, match="the client was closed"):
                    await task


async def test_a_body_may_be_as_large_as_allowed() -> None:
    async with serving(hello) as server, transport_to(server) as transport:
        exact = Request("GET", "/", max_bytes=5)
        assert (await transport.send(exact)).body == b"hello"
        async with transport.stream(exact) as stream:
            assert await stream.read() == b"hello"
        small = Request("GET", "/", max_bytes=4)
        async with transport.stream(small) as stream:
            with pytest.raises(ApiError, match="larger than 4 bytes"):
                await stream.read()


@pytest.mark.parametrize(
    ("method", "answered"), [("GET", True), ("POST", False), ("PUT", False), ("DELETE", False)]
)
async def test_only_a_read_that_a_warm_connection_lost_is_sent_again(
    method: str, answered: bool
) -> None:
    requests = 0

    async def second_is_lost(request: web.Request) -> web.Response:
        nonlocal requests
        requests += 1
        if requests == 2:
            assert request.transport is not None
            request.transport.close()
        return web.Response(body=b"hello")

    async with serving(second_is_lost) as server, transport_to(server) as transport:
        await transport.send(Request("GET", "/"))
        request = Request(method, "/", b"{}" if method != "GET" else b"", timeout=10.0)
        if answered:
            assert (await transport.send(request)).body == b"hello"
        else:
            with pytest.raises(NoAnswerError) as raised:
                await transport.send(request)
            assert raised.value.sent
    assert requests == (3 if answered else 2)


@pytest.mark.parametrize(
    ("method", "compression", "expected"),
    [("GET", True, "gzip"), ("POST", True, "none"), ("GET", False, "none")],
)
async def test_only_reads_may_be_compressed(method: str, compression: bool, expected: str) -> None:
    async def encoding(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Accept-Encoding", "none"))

    async with (
        serving(encoding) as server,
        transport_to(server, compression=compression) as transport,
    ):
        assert (await transport.send(Request(method, "/"))).body == expected.encode()
        async with transport.stream(Request(method, "/")) as stream:
            assert await stream.read() == b"none"


async def test_a_header_that_cannot_be_sent_is_a_mistake_of_the_configuration() -> None:
    headers = (("Impersonate-User", "a\nb"),)
    async with transport_to("http://127.0.0.1:1", headers=headers) as transport:
        with pytest.raises(NoAnswerError, match="cannot be sent") as raised:
            await transport.send(Request("GET", "/"))
    assert not raised.value.sent
