"""The wire, by either transport: a server that misbehaves, TLS, credentials that change."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mooring.client.aiohttp_transport import AiohttpTransport
from mooring.client.connection import Connection
from mooring.client.credentials import TokenFile
from mooring.client.http_transport import HttpTransport
from mooring.client.tls_settings import KeyPair, Pem, TlsSettings
from mooring.client.transport import Request, Transport
from mooring.errors import ConfigError, NoAnswerError
from tests.client.fakes import serving
from tests.support.certificates import Authority
from tests.support.processes import free_port

GET = Request("GET", "/api?a=b%2Fc", timeout=10.0)
POST = Request("POST", "/api", b'{"a":1}', timeout=10.0)


Opened = Callable[..., AbstractAsyncContextManager[Transport]]


@pytest.fixture(params=[HttpTransport, AiohttpTransport], ids=["straight", "as through a proxy"])
def transport_to(request: pytest.FixtureRequest) -> Opened:
    @asynccontextmanager
    async def opened(server: str, **connection: Any) -> AsyncIterator[Transport]:
        made = request.param(Connection(server=server, **connection), user_agent="test/1")
        try:
            yield made
        finally:
            await made.close()

    return opened


async def cut(request: web.Request) -> web.StreamResponse:
    """Close the connection where an answer should come."""
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
    """Promise more than comes."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"half")
    assert request.transport is not None
    request.transport.close()
    return response


async def never(request: web.Request) -> web.StreamResponse:
    """Never answer."""
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
            await transport.send(Request("POST", "/api", b"{}", timeout=0.2))
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
        async with asyncio.timeout(10):
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
        async with asyncio.timeout(10):
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
    class Broken:
        key_pair = None

        async def authorization(self) -> str:
            raise ConfigError("getting credentials: no luck")

        async def renew(self, refused: str) -> bool:
            return False

    server = f"http://127.0.0.1:{free_port()}"
    async with transport_to(server, credentials=lambda clock: Broken()) as transport:
        with pytest.raises(NoAnswerError, match="getting credentials: no luck") as raised:
            await transport.send(GET)
    assert not raised.value.sent


# TLS.


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def server_context(authority: Authority, *, clients: bool = False) -> ssl.SSLContext:
    pair = authority.server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.certificate)
    return context


async def whoami(request: web.Request) -> web.Response:
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    names = dict(pair[0] for pair in certificate.get("subject", ()))
    return web.Response(text=names.get("commonName", "nobody"))


def client_pair(authority: Authority, user: str) -> KeyPair:
    pair = authority.client(user)
    return KeyPair(Pem(file=str(pair.certificate)), Pem(file=str(pair.key)))


async def test_a_client_certificate_is_shown(transport_to: Opened, authority: Authority) -> None:
    tls = TlsSettings(
        authority=Pem(file=str(authority.certificate)), key_pair=client_pair(authority, "ada")
    )
    context = server_context(authority, clients=True)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        assert (await it.send(GET)).body == b"ada"
        async with it.stream(GET) as stream:
            assert await stream.read() == b"ada"


async def test_a_renewed_certificate_gets_a_new_connection(
    transport_to: Opened, authority: Authority
) -> None:
    class Changing:
        key_pair = client_pair(authority, "ada")

        async def authorization(self) -> str:
            return ""

        async def renew(self, refused: str) -> bool:
            return False

    changing = Changing()
    tls = TlsSettings(authority=Pem(file=str(authority.certificate)))
    context = server_context(authority, clients=True)
    async with (
        serving(whoami, ssl_context=context) as server,
        transport_to(server, tls=tls, credentials=lambda clock: changing) as transport,
    ):
        assert (await transport.send(GET)).body == b"ada"
        changing.key_pair = client_pair(authority, "bob")
        assert (await transport.send(GET)).body == b"bob"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            lambda known, other: TlsSettings(authority=other),
            "certificate is not valid: ",
            id="signed by someone else",
        ),
        pytest.param(
            lambda known, other: TlsSettings(authority=known, server_name="wrong.name"),
            "certificate is not valid: Hostname mismatch",
            id="made out to someone else",
        ),
    ],
)
async def test_a_server_that_is_not_who_it_should_be(
    transport_to: Opened,
    authority: Authority,
    tmp_path: Path,
    settings: Callable[..., TlsSettings],
    words: str,
) -> None:
    other = Authority(tmp_path / "other")
    tls = settings(Pem(file=str(authority.certificate)), Pem(file=str(other.certificate)))
    context = server_context(authority)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        with pytest.raises(NoAnswerError, match=words) as raised:
            await it.send(GET)
    assert not raised.value.sent
    assert "\n" not in str(raised.value)


async def test_the_name_in_the_certificate_may_be_another(
    transport_to: Opened, authority: Authority
) -> None:
    tls = TlsSettings(
        authority=Pem(file=str(authority.certificate)), server_name="kubernetes.default.svc"
    )
    context = server_context(authority)
    async with serving(whoami, ssl_context=context) as server, transport_to(server, tls=tls) as it:
        assert (await it.send(GET)).status == 200


async def test_a_server_without_tls(transport_to: Opened, authority: Authority) -> None:
    tls = TlsSettings(authority=Pem(file=str(authority.certificate)))
    async with (
        serving(whoami) as server,
        transport_to(server.replace("http:", "https:"), tls=tls) as transport,
    ):
        with pytest.raises(NoAnswerError, match="TLS failed") as raised:
            await transport.send(GET)
    assert not raised.value.sent


async def test_an_expired_client_certificate_is_named(
    transport_to: Opened, authority: Authority
) -> None:
    ended = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    made = authority.client("late", expires=ended)
    pair = KeyPair(Pem(file=str(made.certificate)), Pem(file=str(made.key)))
    async with transport_to("https://server", tls=TlsSettings(key_pair=pair)) as transport:
        hint = transport.refusal_hint()
    assert hint == f"the client certificate {made.certificate} expired at 2020-01-02T03:04:05Z"
    good = TlsSettings(key_pair=client_pair(authority, "ada"))
    async with transport_to("https://server", tls=good) as transport:
        assert transport.refusal_hint() == ""


def test_a_mistake_in_certificates_shows_at_the_start() -> None:
    with pytest.raises(ConfigError, match="unable to load root certificates"):
        HttpTransport(
            Connection(server="https://server", tls=TlsSettings(authority=Pem(data=b"no PEM")))
        )
