"""The HTTP transport: a server that misbehaves, TLS, credentials that change."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mooring.client.connection import Connection
from mooring.client.credentials import Static, TokenFile
from mooring.client.http_pool import HttpPool
from mooring.client.http_transport import HttpTransport
from mooring.client.transport import Request
from mooring.errors import ApiError, ConfigError, NoAnswerError
from tests.client.fakes import serving
from tests.client.opened import GET, POST, Opened, transport_to
from tests.support.processes import free_port
from tests.support.waiting import PATIENCE

__all__ = ["transport_to"]


async def cut(request: web.Request) -> web.StreamResponse:
    """Close the connection instead of responding."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def test_a_request_arrives_as_it_was_made(transport_to: Opened) -> None:
    seen: list[Any] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, dict(request.headers), await request.read()))
        return web.Response(status=201, body=b"made", headers={"Retry-After": "3"})

    headers = (("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with serving(handle) as server, transport_to(server, headers=headers) as transport:
        response = await transport.send(POST)
        await transport.send(GET)
    assert (response.status, response.body) == (201, b"made")
    assert response.headers["retry-after"] == "3"
    (post, path, sent, body), (get, query, more, _) = seen
    assert (post, path, body, get, query) == ("POST", "/api", b'{"a":1}', "GET", "/api?a=b%2Fc")
    assert sent["Content-Type"] == "application/json" and sent["User-Agent"] == "test/1"
    assert sent["Accept"] == "application/json" and "Accept-Encoding" not in sent
    assert more["Accept-Encoding"] == "gzip" and "Content-Type" not in more


async def test_groups_are_all_sent(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=",".join(request.headers.getall("Impersonate-Group")))

    headers = (("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with serving(handle) as server, transport_to(server, headers=headers) as transport:
        assert (await transport.send(GET)).body == b"a,b"


async def test_a_compressed_answer_is_unpacked(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.Response:
        assert request.headers["Accept-Encoding"] == "gzip"
        packed = gzip.compress(b"x" * 10_000)
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    async with serving(handle) as server, transport_to(server) as transport:
        assert (await transport.send(GET)).body == b"x" * 10_000


async def test_compression_may_be_off(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Accept-Encoding", "none"))

    async with serving(handle) as server, transport_to(server, compression=False) as transport:
        assert (await transport.send(GET)).body == b"none"


async def half(request: web.Request) -> web.StreamResponse:
    """Announce a longer body than is sent."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"half")
    assert request.transport is not None
    request.transport.close()
    return response


async def never(request: web.Request) -> web.StreamResponse:
    """Never respond."""
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("handle", "words"),
    [
        pytest.param(cut, "closed the connection without an answer", id="closed"),
        pytest.param(half, "cut within the answer", id="cut"),
        pytest.param(never, "no answer within the time allowed", id="silent"),
    ],
)
async def test_a_server_that_does_not_answer(transport_to: Opened, handle: Any, words: str) -> None:
    async with serving(handle) as server, transport_to(server) as transport:
        with pytest.raises(NoAnswerError, match=words) as raised:
            await transport.send(Request("POST", "/api", b"{}", timeout=1.0))
    assert raised.value.sent
    assert str(raised.value).startswith(f"POST {server}/api: ")


@pytest.mark.parametrize("garbage", [b"garbage\r\n\r\n", b"\x00" * 100], ids=["text", "zeros"])
async def test_a_server_that_speaks_something_else(transport_to: Opened, garbage: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(garbage)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, transport_to(f"http://127.0.0.1:{port}") as transport:
        with pytest.raises(NoAnswerError) as raised:
            await transport.send(GET)
    assert raised.value.sent
    assert "\n" not in str(raised.value)


async def test_a_server_that_is_not_there(transport_to: Opened) -> None:
    server = f"http://127.0.0.1:{free_port()}"
    async with transport_to(server) as transport:
        with pytest.raises(NoAnswerError) as raised:
            await transport.send(GET)
        assert str(raised.value) == f"GET {server}/api: connection refused"
        assert not raised.value.sent
        with pytest.raises(NoAnswerError, match="connection refused"):
            async with transport.stream(GET):
                raise AssertionError("nobody is there")


async def test_a_name_that_nobody_knows(transport_to: Opened) -> None:
    async with transport_to("http://no-such-host.invalid") as transport:
        with pytest.raises(NoAnswerError, match="no such host"):
            await transport.send(GET)


# Streams.


async def test_a_stream_comes_bit_by_bit(transport_to: Opened) -> None:
    go_on = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await go_on.wait()
        await response.write(b"two\n")
        return response

    async with serving(handle) as server, transport_to(server) as transport:
        seen = []
        async with transport.stream(GET) as stream:
            assert stream.status == 200
            async for chunk in stream.chunks():
                seen.append(chunk)
                go_on.set()
    assert seen == [b"one\n", b"two\n"]


async def test_a_stream_that_falls_silent_is_given_up(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    async with serving(handle) as server, transport_to(server) as transport:
        length = 0
        with pytest.raises(NoAnswerError, match="no answer within the time allowed"):
            async with transport.stream(GET, idle_timeout=0.1) as stream:
                async for chunk in stream.chunks():
                    length += len(chunk)
    assert length == len(b"one\n")


async def test_a_stream_that_is_cut_is_told(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"one\n")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(handle) as server, transport_to(server) as transport:
        with pytest.raises(NoAnswerError) as raised:
            async with transport.stream(GET) as stream:
                async for _ in stream.chunks():
                    pass
    assert raised.value.sent


async def test_a_stream_may_be_left_early(transport_to: Opened) -> None:
    left = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return response

    async with (
        serving(handle, handler_cancellation=True) as server,
        transport_to(server) as transport,
    ):
        async with transport.stream(GET) as stream:
            async for _ in stream.chunks():
                break
        async with asyncio.timeout(PATIENCE):
            await left.wait()


async def test_many_streams_leave_room_for_requests(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        if request.path == "/quick":
            return web.Response(body=b"done")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    async with serving(handle) as server, transport_to(server) as transport:
        opened = asyncio.Semaphore(0)

        async def watch() -> None:
            async with transport.stream(GET) as stream:
                async for _ in stream.chunks():
                    opened.release()

        tasks = [asyncio.create_task(watch()) for _ in range(40)]
        async with asyncio.timeout(PATIENCE):
            for _ in tasks:
                await opened.acquire()
            assert (await transport.send(Request("GET", "/quick"))).body == b"done"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# Credentials.


async def test_refused_credentials_are_renewed_once(transport_to: Opened, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    seen = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        if request.headers["Authorization"] == "Bearer new":
            return web.Response(body=b"fine")
        return web.Response(status=401)

    def credentials(clock: Any) -> TokenFile:
        return TokenFile(str(token), clock)

    async with (
        serving(handle) as server,
        transport_to(server, credentials=credentials) as transport,
    ):
        assert (await transport.send(GET)).status == 401
        token.write_text("new")
        assert (await transport.send(GET)).body == b"fine"
        token.write_text("wrong")
        async with transport.stream(GET) as stream:
            assert stream.status == 200
    assert seen == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


async def test_a_stream_renews_refused_credentials_too(
    transport_to: Opened, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def handle(request: web.Request) -> web.Response:
        good = request.headers["Authorization"] == "Bearer new"
        return web.Response(status=200 if good else 401)

    def credentials(clock: Any) -> TokenFile:
        made = TokenFile(str(token), clock)
        token.write_text("new")
        return made

    async with (
        serving(handle) as server,
        transport_to(server, credentials=credentials) as transport,
        transport.stream(GET) as stream,
    ):
        assert stream.status == 200


async def test_credentials_that_cannot_be_had(transport_to: Opened) -> None:
    class Broken(Static):
        def known(self) -> Any:
            return None

        async def authorization(self) -> str:
            raise ConfigError("getting credentials: no luck")

    server = f"http://127.0.0.1:{free_port()}"
    async with transport_to(server, credentials=lambda clock: Broken()) as transport:
        with pytest.raises(NoAnswerError, match="getting credentials: no luck") as raised:
            await transport.send(GET)
    assert not raised.value.sent


# The check before anything is sent.


class NotNowError(OSError):
    """A reason not to send; an OSError, which from elsewhere would become a NoAnswerError."""


async def test_a_request_may_be_withheld_right_before_it_is_sent() -> None:
    served: list[str] = []
    asked: list[Request] = []
    refuse = False

    async def handle(request: web.Request) -> web.Response:
        served.append(request.method)
        return web.Response(text=str(id(request.transport)))

    def before(request: Request) -> None:
        asked.append(request)
        if refuse:
            raise NotNowError("not now")

    async with serving(handle) as server:
        transport = HttpTransport(Connection(server=server), before_send=before)
        try:
            first = await transport.send(POST)
            refuse = True
            with pytest.raises(NotNowError, match="not now"):
                await transport.send(POST)
            with pytest.raises(NotNowError, match="not now"):
                async with transport.stream(GET):
                    raise AssertionError
            refuse = False
            second = await transport.send(POST)
        finally:
            await transport.close()
    assert served == ["POST", "POST"]
    assert asked == [POST, POST, GET, POST]
    # The connection of the withheld request was reused for the next one.
    assert first.body == second.body


async def test_a_retry_is_asked_about_too(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    asked = 0

    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=401)

    def credentials(clock: Any) -> TokenFile:
        made = TokenFile(str(token), clock)
        token.write_text("new")
        return made

    def before(request: Request) -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise NotNowError("not now")

    async with serving(handle) as server:
        connection = Connection(server=server, credentials=credentials)
        transport = HttpTransport(connection, before_send=before)
        with pytest.raises(NotNowError):
            await transport.send(POST)
        await transport.close()
    assert asked == 2


# One deadline for everything.


class Slow(Static):
    """Credentials that must be awaited, from some call on forever."""

    def __init__(self, *, after: int) -> None:
        super().__init__("Bearer old")
        self.asked = 0
        self.closed = False
        self._after = after

    def known(self) -> Any:
        return None

    async def authorization(self) -> str:
        self.asked += 1
        if self.asked > self._after:
            await asyncio.Event().wait()
        return "Bearer old"

    async def renew(self, refused: str) -> bool:
        return True

    async def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("after", [0, 1], ids=["at first", "after they were refused"])
async def test_the_wait_for_credentials_counts(transport_to: Opened, after: int) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=401)

    request = Request("GET", "/", timeout=1.0)
    made: list[Slow] = []

    def credentials(clock: Any) -> Slow:
        made.append(Slow(after=after))
        return made[-1]

    for streaming in (False, True):
        async with (
            asyncio.timeout(30.0),
            serving(handle) as server,
            transport_to(server, credentials=credentials) as transport,
        ):
            with pytest.raises(NoAnswerError, match="no credentials within the time") as raised:
                if streaming:
                    async with transport.stream(request):
                        raise AssertionError
                else:
                    await transport.send(request)
            # A refused request was not carried out.
            assert not raised.value.sent
        assert made[-1].closed


async def test_closing_ends_the_wait_for_credentials(transport_to: Opened) -> None:
    slow = Slow(after=0)
    server = f"http://127.0.0.1:{free_port()}"
    async with transport_to(server, credentials=lambda clock: slow) as transport:
        waiting = asyncio.create_task(transport.send(GET))
        while not slow.asked:
            await asyncio.sleep(0)
        await transport.close()
        async with asyncio.timeout(30.0):
            with pytest.raises(NoAnswerError, match="the client was closed"):
                await waiting


async def test_a_second_attempt_has_the_deadline_of_the_first(
    transport_to: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines: list[float] = []
    send = HttpPool.send

    async def recording(
        pool: HttpPool, data: bytes, context: Any, deadline: float, **more: Any
    ) -> Any:
        deadlines.append(deadline)
        return await send(pool, data, context, deadline, **more)

    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=401)

    monkeypatch.setattr(HttpPool, "send", recording)
    async with (
        serving(handle) as server,
        transport_to(server, credentials=lambda clock: Slow(after=9)) as transport,
    ):
        assert (await transport.send(GET)).status == 401
    first, second = deadlines
    assert first == second < asyncio.get_running_loop().time() + 10.0


async def test_the_head_of_a_stream_has_a_deadline_and_its_body_has_none(
    transport_to: Opened,
) -> None:
    go = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await go.wait()
        await response.write(b"late")
        return response

    async with (
        serving(handle) as server,
        transport_to(server) as transport,
        transport.stream(Request("GET", "/", timeout=1.0)) as stream,
    ):
        await asyncio.sleep(1.1)
        go.set()
        assert await stream.read() == b"late"


async def test_a_body_read_whole_has_a_largest_size(transport_to: Opened) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * 1001)

    small = Request("GET", "/", timeout=10.0, max_bytes=1000)
    async with serving(handle) as server, transport_to(server) as transport:
        for _ in range(2):
            with pytest.raises(ApiError, match="larger than 1000 bytes") as raised:
                await transport.send(small)
            assert raised.value.reason == "ClientDecoding" and raised.value.status == 500
        async with transport.stream(small) as stream:
            with pytest.raises(ApiError, match="larger than 1000 bytes"):
                await stream.read()
