"""Responses that arrive over minutes."""

from __future__ import annotations

import asyncio
import math
import random
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.client.dialer import Dialer
from mooring.client.http_stream import HttpStream
from mooring.client.protocol import ProtocolError
from tests.support.certificates import Authority

GET = b"GET / HTTP/1.1\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def stream_of(
    talk: Talk, *, idle: float | None = None, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None
) -> AsyncIterator[HttpStream]:
    """Serve one connection with a given conversation, and open a stream to it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await talk(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server, client = (None, None) if tls is None else tls
    made = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=server)
    dialer = Dialer("127.0.0.1", made.sockets[0].getsockname()[1])
    stream = HttpStream(await dialer.dial(client, math.inf), idle)
    try:
        await stream.begin(GET)
        yield stream
    finally:
        stream.close()
        made.close()


@pytest.fixture(params=[False, True], ids=["plain", "TLS"])
def tls(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """Return the TLS contexts of both sides."""
    if not request.param:
        return None
    authority = Authority(tmp_path / "pki")
    pair = authority.server("server")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair.certificate, pair.key)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(authority.certificate)
    return server, client


async def whole(stream: HttpStream) -> bytes:
    parts = []
    while part := await stream.receive():
        parts.append(part)
    return b"".join(parts)


async def test_much_comes_whole_and_others_get_their_turn(
    tls: tuple[ssl.SSLContext, ssl.SSLContext] | None,
) -> None:
    rng = random.Random(1)
    wanted = rng.randbytes(3_000_000)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        at = 0
        while at < len(wanted):
            part = wanted[at : at + rng.randrange(1, 60_000)]
            at += len(part)
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    async with stream_of(talk, tls=tls) as stream:
        assert stream.status == 200
        assert await whole(stream) == wanted
        assert await stream.receive() == b""
    task.cancel()
    assert turns > 10


async def test_others_get_their_turn_while_a_long_request_is_sent() -> None:
    """The server reads nothing until another task lets it; a busy client would never get there."""
    body = bytes(5_000_000)
    mine, theirs = socket.socketpair()
    with mine, theirs:
        for end in (mine, theirs):
            end.setblocking(False)
        stream = HttpStream(mine, None)
        sending = asyncio.create_task(stream.begin(GET + body))
        loop = asyncio.get_running_loop()
        received = 0
        while received < len(GET) + len(body):
            received += len(await loop.sock_recv(theirs, 2**20))
        await loop.sock_sendall(theirs, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await sending
        assert stream.status == 200
        stream.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", b"no", id="a length"),
        pytest.param(b"HTTP/1.1 204 Empty\r\n\r\n", b"", id="no body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end", id="until the end"),
        pytest.param(CHUNKED + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n", b"onetwo", id="chunks"),
    ],
)
async def test_an_answer_ends_in_its_own_way(answer: bytes, expected: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    async with stream_of(talk, tls=None) as stream:
        assert await whole(stream) == expected


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(b"", "closed", id="before the answer"),
        pytest.param(b"HTTP/1.1 200", "cut", id="within the head"),
        pytest.param(CHUNKED + b"5\r\none", "cut", id="within a chunk"),
        pytest.param(CHUNKED + b"3\r\none\r\n", "cut", id="between chunks"),
    ],
)
async def test_a_connection_that_ends_too_early(
    answer: bytes, words: str, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    with pytest.raises(ProtocolError, match=words):
        async with stream_of(talk, tls=tls) as stream:
            await whole(stream)


async def test_silence_is_given_up_only_after_the_last_piece_was_long_ago() -> None:
    told: list[float] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(4):
            writer.write(b"3\r\none\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
        told.append(asyncio.get_running_loop().time())
        await reader.read()

    async with stream_of(talk, idle=0.15, tls=None) as stream:
        with pytest.raises(TimeoutError):
            await whole(stream)
        waited = asyncio.get_running_loop().time() - told[0]
    assert waited < 5


async def test_whoever_waits_is_told_of_the_end() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        await reader.read()

    async with stream_of(talk, tls=None) as stream:
        waiting = asyncio.create_task(stream.receive())
        await asyncio.sleep(0)
        stream.close()
        with pytest.raises(ConnectionAbortedError):
            await waiting
