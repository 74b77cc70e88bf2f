"""The listener against unknown, slow, broken and vanishing clients and large requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mooring.apiserver import watching
from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.auth.certificate_authority import Authority
from mooring.apiserver.http import BODY_LIMIT
from tests.apiserver.api_server import MAPS, config_map
from tests.apiserver.listeners import count_listeners
from tests.apiserver.test_api_server import Client
from tests.support.waiting import PATIENCE


class Site:
    """A listening server, with raw connections to it."""

    def __init__(self, server: ApiServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.port = int(urlsplit(server.url).port or 0)
        self._listeners = count_listeners(server.cluster.store)

    async def connect(
        self, context: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection as the administrator, unless another context is given."""
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context or self.client.admin
        )

    async def say(self, data: bytes, context: ssl.SSLContext | None = None) -> bytes:
        """Send bytes; return the first line of the response, b"" if there is none."""
        reader, writer = await self.connect(context)
        try:
            writer.write(data)
            async with asyncio.timeout(PATIENCE):
                return await reader.readline()
        finally:
            writer.transport.abort()

    async def is_up(self) -> bool:
        """Return whether the server responds to another client."""
        async with asyncio.timeout(PATIENCE):
            return (await self.client.ask("GET", "/api/v1/namespaces"))[0] == 200

    @property
    def listeners(self) -> int:
        """Return the number of watches of config maps."""
        return self._listeners["/configmaps"]

    async def until(self, listeners: int) -> None:
        """Wait until there are this many watches of config maps."""
        async with asyncio.timeout(PATIENCE):
            while self.listeners != listeners:
                await self.client.ask("GET", "/readyz")


async def _start(folder: Path, **settings: Any) -> Site:
    kubeconfig = folder / "kubeconfig"
    server = ApiServer(ServerSettings(kubeconfig=kubeconfig, **settings))
    await server.start()
    server.write_kubeconfig()
    return Site(server, Client(kubeconfig, folder))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    site = await _start(tmp_path)
    try:
        yield site
    finally:
        await site.server.stop()


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


# Addresses and credentials.


async def test_only_this_machine_is_listened_to(site: Site) -> None:
    with pytest.raises(ConnectionRefusedError):
        # Another loopback address: a server on every address would accept the connection.
        await asyncio.open_connection("127.0.0.2", site.port)


async def test_every_address_is_listened_to_where_asked(tmp_path: Path) -> None:
    site = await _start(tmp_path, host="0.0.0.0")
    try:
        _, writer = await asyncio.open_connection("127.0.0.2", site.port)
        writer.close()
    finally:
        await site.server.stop()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/livez", 200),
        ("/readyz", 200),
        ("/healthz", 200),
        ("/version", 200),
        ("/", 403),
        ("/api", 403),
        ("/apis", 403),
        ("/api/v1", 403),
        ("/api/v1/pods", 403),
        ("/api/v1/namespaces/kube-system/secrets", 403),
        ("/openapi/v2", 403),
        ("/openapi/v3", 403),
        ("/apis/metrics.k8s.io/v1beta1/nodes", 403),
        ("/metrics", 403),
        ("/logs", 403),
        ("/no/such/path", 403),
    ],
)
async def test_a_stranger_learns_of_health_alone(site: Site, path: str, code: int) -> None:
    assert await site.say(get(path), site.client.anonymous) == status(code)


def status(code: int) -> bytes:
    texts = {200: "OK", 403: "Forbidden", 401: "Unauthorized", 400: "Bad Request"}
    texts[413] = "Request Entity Too Large"
    return f"HTTP/1.1 {code} {texts[code]}\r\n".encode()


@pytest.mark.parametrize(
    "header",
    ["Bearer made-up", "Bearer a.b.c", "Basic YWRtaW46YWRtaW4="],
    ids=["a token that nobody gave", "a token that nobody signed", "a password"],
)
async def test_what_is_no_token_is_refused(site: Site, header: str) -> None:
    line = f"Authorization: {header}\r\n\r\n".encode()
    data = get("/api/v1/pods").removesuffix(b"\r\n") + line
    code = 403 if header.startswith("Basic") else 401
    assert await site.say(data, site.client.anonymous) == status(code)


async def test_a_certificate_of_another_authority_opens_nothing(site: Site, tmp_path: Path) -> None:
    pair = Authority(None).client("kubernetes-admin", ("system:masters",))
    file = tmp_path / "stranger.pem"
    file.write_bytes(pair.key + pair.certificate)
    context = site.client.anonymous
    context.load_cert_chain(file)
    try:
        answer = await site.say(get("/api/v1/pods"), context)
    except (ssl.SSLError, ConnectionError):
        answer = b""
    assert answer in (b"", status(401), status(403))
    assert await site.is_up()


# Large requests and many connections.


async def test_a_long_selector_is_read(site: Site) -> None:
    selector = ",".join(f"key{i}%21%3Dvalue{i}" for i in range(5000))
    assert await site.say(get(f"{MAPS}?labelSelector={selector}")) == status(200)


async def test_a_body_that_announces_itself_as_too_large_is_not_waited_for(site: Site) -> None:
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_LIMIT + 1}\r\n\r\n"
    assert await site.say(head.encode()) == status(413)


async def test_a_body_in_chunks_is_read_up_to_the_limit(site: Site) -> None:
    reader, writer = await site.connect()
    writer.write(f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(BODY_LIMIT // 0x10000 + 1):
        writer.write(piece)
    # The last chunk is never sent: the response must not wait for it.
    async with asyncio.timeout(PATIENCE):
        assert await reader.readline() == status(413)
    writer.transport.abort()
    assert await site.is_up()


async def test_slow_and_silent_connections_keep_nobody_waiting(site: Site) -> None:
    held: list[asyncio.StreamWriter] = []
    try:
        for i in range(60):
            if i % 3 == 0:
                # Connect without sending anything, not even a TLS handshake.
                _, writer = await asyncio.open_connection("127.0.0.1", site.port)
            else:
                _, writer = await site.connect()
                head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{{"
                writer.write(get("/api")[:9] if i % 3 == 1 else head.encode())
            held.append(writer)
        assert await site.is_up()
    finally:
        for writer in held:
            writer.transport.abort()


# Malformed requests.


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x00\x01\x02\x03\r\n\r\n", id="no words at all"),
        pytest.param(b"HELLO\r\n\r\n", id="one word"),
        pytest.param(b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", id="a version that is none"),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", id="a header without a colon"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n", id="a header with a zero byte"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="a length in letters"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="two lengths",
        ),
        pytest.param(b"GET /" + b"a" * 2**21 + b" HTTP/1.1\r\n\r\n", id="an endless path"),
        pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 2**21 + b"\r\n\r\n", id="endless header"),
    ],
)
async def test_what_is_no_http_is_refused_and_forgotten(
    site: Site, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert b" 400 " in await site.say(data)
    assert await site.is_up()
    assert not caplog.records


async def test_a_broken_chunk_ends_the_request(site: Site) -> None:
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    assert b" 400 " in await site.say(head.encode())
    assert await site.is_up()


async def test_what_is_no_tls_is_refused_and_forgotten(site: Site) -> None:
    for data in (get("/"), b"\x16\x03\x01\xff\xff" + b"\x00" * 200):
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(data)
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError):
                await reader.read()
        writer.transport.abort()
    assert await site.is_up()


# Clients that vanish or do not read.


async def test_watches_of_clients_that_vanish_are_freed(site: Site) -> None:
    before = site.listeners
    held = []
    for _ in range(20):
        reader, writer = await site.connect()
        writer.write(get(f"{MAPS}?watch=true"))
        assert await reader.readline() == status(200)
        held.append(writer)
    assert site.listeners == before + 20
    for writer in held:
        raw: socket.socket = writer.get_extra_info("socket")
        # Reset the connection instead of closing it.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    await site.until(before)


async def test_a_watch_that_does_not_read_is_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BACKLOG", 5)
    before = site.listeners
    reader, writer = await site.connect()
    writer.write(get(f"{MAPS}?watch=true"))
    assert await reader.readline() == status(200)
    assert site.listeners == before + 1
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    store = site.server.cluster.store
    big = config_map("big", text="x" * 500_000)
    for i in range(200):
        store.put("/configmaps", "default/big", {**big, "metadata": {"name": "big"}, "n": i})
        if i % 4 == 0:
            await asyncio.sleep(0)
    assert site.listeners == before
    writer.transport.abort()
    assert await site.is_up()
