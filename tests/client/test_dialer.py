"""New connections: direct, and through proxies."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from mooring.client.connection import Connection
from mooring.client.credentials import bearer
from mooring.client.dialer import Proxy, parse_proxy
from mooring.client.http_transport import HttpTransport
from mooring.client.tls_settings import Pem, TlsSettings
from mooring.client.transport import Request
from mooring.errors import NoAnswerError
from tests.client.fakes import serving
from tests.support.certificates import Authority
from tests.support.processes import free_port

GET = Request("GET", "/api?a=b", timeout=20.0)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki")


def server_context(authority: Authority) -> ssl.SSLContext:
    pair = authority.server("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def trusting(authority: Authority) -> TlsSettings:
    return TlsSettings(authority=Pem(file=str(authority.certificate)))


class TunnelProxy:
    """A proxy that tunnels to one port, whatever host is requested."""

    def __init__(self, port: int, *, answer: bytes = b"HTTP/1.1 200 Connected\r\n\r\n") -> None:
        self.heads: list[list[bytes]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self._port = port
        self._answer = answer

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.create_task(self.handle(reader, writer)))

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.split(b"\r\n")[:-2])
            writer.write(self._answer)
            if b" 200 " not in self._answer:
                return
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for end in (writer, back):
                if end is not None:
                    end.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError


@asynccontextmanager
async def proxying(proxy: TunnelProxy, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    made = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{made.sockets[0].getsockname()[1]}"
    finally:
        made.close()
        for task in proxy.tasks:
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)


@asynccontextmanager
async def transport_to(
    server: str, proxy: str = "", tls: TlsSettings | None = None
) -> AsyncIterator[HttpTransport]:
    made = HttpTransport(Connection(server=server, proxy=proxy, tls=tls or TlsSettings()))
    try:
        yield made
    finally:
        await made.close()


async def answer_large(request: web.Request) -> web.Response:
    return web.Response(body=b"x" * 300_000 + str(request.url).encode())


@pytest.mark.parametrize("secured", [False, True], ids=["plain proxy", "secured proxy"])
async def test_requests_to_a_secured_server_are_tunnelled(
    authority: Authority, secured: bool
) -> None:
    context = server_context(authority)
    async with serving(answer_large, ssl_context=context) as server:
        proxy = TunnelProxy(int(server.rpartition(":")[2]))
        async with proxying(proxy, context if secured else None) as address:
            url = f"{'https' if secured else 'http'}://ada:s%40t@{address}"
            async with transport_to("https://localhost:1234", url, trusting(authority)) as sender:
                for _ in range(3):
                    response = await sender.send(GET)
                    assert response.status == 200 and len(response.body) > 300_000
                large = Request("POST", "/api", b"y" * 500_000, timeout=20.0)
                assert (await sender.send(large)).status == 200
                async with sender.stream(GET) as stream:
                    assert len(await stream.read()) > 300_000
    shown = base64.b64encode(b"ada:s@t")
    wanted = [b"CONNECT localhost:1234 HTTP/1.1", b"Host: localhost:1234"]
    # One connection for the requests, one for the stream.
    assert proxy.heads == [[*wanted, b"Proxy-Authorization: Basic " + shown]] * 2


@pytest.mark.parametrize("secured", [False, True], ids=["plain proxy", "secured proxy"])
async def test_a_proxy_is_asked_for_the_url_of_a_server_without_tls(
    authority: Authority, secured: bool
) -> None:
    async def handle(request: web.Request) -> web.Response:
        shown = request.headers.get("Proxy-Authorization", "none")
        return web.Response(text=f"{request.raw_path} {request.headers['Host']} {shown}")

    context = server_context(authority) if secured else None
    async with serving(handle, ssl_context=context) as proxy:
        url = proxy.replace("://", "://ada:x@")
        async with transport_to("http://server.invalid:81", url, trusting(authority)) as sender:
            response = await sender.send(GET)
    shown = base64.b64encode(b"ada:x").decode()
    assert response.body.decode() == (
        f"http://server.invalid:81/api?a=b server.invalid:81 Basic {shown}"
    )


async def test_the_environment_names_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=f"proxied {request.raw_path}")

    async with serving(handle) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "example.invalid")
        async with transport_to("http://server.invalid") as sender:
            response = await sender.send(GET)
        assert response.body == b"proxied http://server.invalid/api?a=b"
        async with transport_to("http://api.example.invalid") as sender:
            with pytest.raises(NoAnswerError, match="no such host"):
                await sender.send(GET)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
            "the proxy answered 407 Proxy Authentication Required",
        ),
        (b"HTTP/1.1 599 Odd\r\n\r\n", "the proxy answered 599"),
        (b"garbage", "the proxy did not answer: "),
        (b"", "the proxy did not answer: closed"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "the proxy sent data"),
    ],
    ids=["authentication", "an odd status", "garbage", "nothing", "too much"],
)
async def test_a_proxy_that_does_not_tunnel(
    authority: Authority, answer: bytes, words: str
) -> None:
    proxy = TunnelProxy(free_port(), answer=answer)
    async with (
        proxying(proxy) as address,
        transport_to("https://server.invalid", f"http://{address}", trusting(authority)) as sender,
    ):
        with pytest.raises(NoAnswerError) as raised:
            await sender.send(GET)
    assert words in str(raised.value)
    if "answered" in words:
        assert str(raised.value).endswith(words)
    assert not raised.value.sent


async def test_a_proxy_that_is_not_there(authority: Authority) -> None:
    proxy = f"http://127.0.0.1:{free_port()}"
    async with transport_to("https://server.invalid", proxy, trusting(authority)) as sender:
        with pytest.raises(NoAnswerError, match="cannot connect to the proxy: connect ") as raised:
            await sender.send(GET)
    assert not raised.value.sent


async def test_a_proxy_that_never_answers_is_given_up(authority: Authority) -> None:
    class Mute(TunnelProxy):
        async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.read()
            finally:
                writer.transport.abort()

    request = Request("GET", "/", timeout=0.1)
    async with (
        proxying(Mute(free_port())) as address,
        transport_to("https://server.invalid", f"http://{address}", trusting(authority)) as sender,
        asyncio.timeout(30.0),
    ):
        with pytest.raises(NoAnswerError, match="connecting took too long"):
            await sender.send(request)


async def test_the_wrong_server_behind_a_proxy_is_not_trusted(authority: Authority) -> None:
    context = server_context(authority)
    async with serving(answer_large, ssl_context=context) as server:
        proxy = TunnelProxy(int(server.rpartition(":")[2]))
        async with (
            proxying(proxy, context) as address,
            transport_to("https://elsewhere", f"https://{address}", trusting(authority)) as sender,
        ):
            with pytest.raises(NoAnswerError, match="the server's certificate is not valid"):
                await sender.send(GET)


def test_a_proxys_url_is_read() -> None:
    assert parse_proxy("http://proxy") == Proxy("proxy", 80)
    assert parse_proxy("https://proxy") == Proxy("proxy", 443, True)
    assert parse_proxy("http://[::1]:3128") == Proxy("::1", 3128)
    assert parse_proxy("http://a@p:1").authorization == "Basic " + base64.b64encode(b"a:").decode()


@pytest.mark.parametrize(
    ("status", "tunnels"), [(199, False), (200, True), (204, True), (299, True), (300, False)]
)
async def test_any_success_of_a_proxy_is_a_tunnel(
    authority: Authority, status: int, tunnels: bool
) -> None:
    proxy = TunnelProxy(free_port(), answer=f"HTTP/1.1 {status} Said\r\n\r\n".encode())
    async with (
        proxying(proxy) as address,
        transport_to("https://server.invalid", f"http://{address}", trusting(authority)) as sender,
    ):
        with pytest.raises(NoAnswerError) as raised:
            await sender.send(GET)
    # Nothing is behind the tunnel, so that TLS fails.
    assert ("the proxy" in str(raised.value)) is not tunnels


async def test_a_server_with_an_address_of_the_newer_sort_stands_in_brackets(
    authority: Authority,
) -> None:
    proxy = TunnelProxy(free_port(), answer=b"HTTP/1.1 403 No\r\n\r\n")
    async with (
        proxying(proxy) as address,
        transport_to("https://[fd00::1]", f"http://{address}", trusting(authority)) as sender,
    ):
        with pytest.raises(NoAnswerError, match="the proxy answered 403 Forbidden"):
            await sender.send(GET)
    assert proxy.heads == [[b"CONNECT [fd00::1]:443 HTTP/1.1", b"Host: [fd00::1]:443"]]


async def test_a_proxy_whose_name_nobody_knows(authority: Authority) -> None:
    proxy = "http://proxy.invalid:3128"
    async with transport_to("https://server.invalid", proxy, trusting(authority)) as sender:
        with pytest.raises(NoAnswerError) as raised:
            await sender.send(GET)
    assert str(raised.value).endswith("cannot connect to the proxy: no such host")


@pytest.mark.parametrize("way", ["direct", "plain proxy", "secured proxy"])
@pytest.mark.parametrize("fits", [True, False], ids=["its certificate", "another certificate"])
async def test_a_token_goes_to_the_server_with_the_pinned_certificate_alone(
    authority: Authority, way: str, fits: bool
) -> None:
    requests: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        requests.append(request.headers.get("Authorization", ""))
        return web.Response()

    context = server_context(authority)
    async with serving(handle, ssl_context=context) as server, AsyncExitStack() as stack:
        port = int(server.rpartition(":")[2])
        pin = await asyncio.to_thread(_fingerprint, port)
        proxy = ""
        if way != "direct":
            secured = way == "secured proxy"
            tunnel = proxying(TunnelProxy(port), context if secured else None)
            address = await stack.enter_async_context(tunnel)
            proxy = f"{'https' if secured else 'http'}://{address}"
        tls = TlsSettings(
            authority=Pem(file=str(authority.certificate)), pin=pin if fits else "0" * 64
        )
        sender = HttpTransport(
            Connection(
                server=f"https://localhost:{port}",
                proxy=proxy,
                tls=tls,
                credentials=lambda clock: bearer("secret"),
            )
        )
        try:
            if fits:
                assert (await sender.send(GET)).status == 200
                async with sender.stream(GET) as stream:
                    assert stream.status == 200
            else:
                with pytest.raises(NoAnswerError, match="the server's certificate has the SHA-256"):
                    await sender.send(GET)
                with pytest.raises(NoAnswerError, match=f"{'0' * 64} is expected"):
                    async with sender.stream(GET):
                        pass
        finally:
            await sender.close()
    assert requests == (["Bearer secret"] * 2 if fits else [])


def _fingerprint(port: int) -> str:
    pem = ssl.get_server_certificate(("127.0.0.1", port))
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
