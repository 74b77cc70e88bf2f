"""Warm connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.client import http_pool
from mooring.client.http1 import ProtocolError
from mooring.client.http_pool import ConnectError, HttpPool
from mooring.client.transport import Response
from tests.support.certificates import Authority
from tests.support.processes import free_port

GET = b"GET / HTTP/1.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]


class Server:
    """Count connections; talk on each as told."""

    def __init__(self, talk: Talk) -> None:
        self.connections = 0
        self.port = 0
        self._talk = talk

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._talk(reader, writer, self.connections)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def talking(
    talk: Talk, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[Server, HttpPool]]:
    server = Server(talk)
    made = await asyncio.start_server(server.handle, "127.0.0.1", 0, ssl=context)
    server.port = made.sockets[0].getsockname()[1]
    pool = HttpPool("127.0.0.1", server.port)
    try:
        yield server, pool
    finally:
        pool.close()
        made.close()


async def ask(
    pool: HttpPool,
    data: bytes = GET,
    *,
    context: ssl.SSLContext | None = None,
    timeout: float | None = 10.0,
    again: bool = False,
) -> Response:
    return await pool.send(data, context, timeout, again=again)


async def request_of(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def polite(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
    while True:
        await request_of(reader)
        writer.write(OK)
        await writer.drain()


async def test_one_connection_serves_one_request_after_another() -> None:
    async with talking(polite) as (server, pool):
        for _ in range(5):
            assert (await ask(pool)).body == b"ok"
        assert server.connections == 1


async def test_requests_at_once_have_a_connection_each_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_pool, "REQUEST_CONNECTIONS", 3)
    async with talking(polite) as (server, pool):
        answers = await asyncio.gather(*(ask(pool) for _ in range(20)))
        assert [one.body for one in answers] == [b"ok"] * 20
        assert server.connections == 3


async def test_whoever_gives_up_waiting_leaves_the_place_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_pool, "REQUEST_CONNECTIONS", 1)
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        while True:
            await request_of(reader)
            arrived.set()
            await go_on.wait()
            writer.write(OK)

    async with talking(slow) as (_, pool):
        first = asyncio.create_task(ask(pool))
        await arrived.wait()
        tasks = [asyncio.create_task(ask(pool)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        go_on.set()
        async with asyncio.timeout(10):
            answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert isinstance(answers[1], asyncio.CancelledError)
        assert [one.body for one in (answers[0], *answers[2:])] == [b"ok"] * 3


async def test_a_connection_that_the_server_closes_while_it_idles_is_not_used() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)
        writer.write(OK)

    async with talking(once) as (server, pool):
        await ask(pool)
        async with asyncio.timeout(10):
            while pool._idle:
                await asyncio.sleep(0)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2
        assert pool._open <= 1


async def test_a_connection_that_idled_too_long_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with talking(polite) as (server, pool):
        await ask(pool)
        monkeypatch.setattr(http_pool, "KEEP_ALIVE_SECONDS", -1.0)
        await ask(pool)
        assert server.connections == 2


async def test_a_server_may_ask_for_the_connection_to_end() -> None:
    async def last(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)
        writer.write(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        await reader.read()

    async with talking(last) as (server, pool):
        await ask(pool)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2


async def forgetful(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
) -> None:
    """Answer the first request of a connection; on the first connection, drop the second."""
    await request_of(reader)
    writer.write(OK)
    await request_of(reader)
    if number > 1:
        writer.write(OK)


async def test_what_a_warm_connection_lost_is_sent_again_where_that_is_harmless() -> None:
    async with talking(forgetful) as (server, pool):
        await ask(pool)
        assert (await ask(pool, again=True)).body == b"ok"
        assert server.connections == 2


async def test_what_may_have_been_carried_out_is_not_sent_again() -> None:
    async with talking(forgetful) as (server, pool):
        await ask(pool)
        with pytest.raises((ProtocolError, ConnectionError)):
            await ask(pool)
        assert server.connections == 1
        assert pool._open == 0


async def test_a_fresh_connection_that_is_lost_is_told() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)

    async with talking(rude) as (server, pool):
        with pytest.raises(ProtocolError, match="closed"):
            await ask(pool, again=True)
        assert server.connections == 1


async def test_no_answer_in_time_ends_the_connection() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, n: int) -> None:
        await request_of(reader)
        if n > 1:
            writer.write(OK)
        await reader.read()

    async with talking(silent) as (server, pool):
        with pytest.raises(TimeoutError):
            await ask(pool, timeout=0.05)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2


async def test_a_request_given_up_does_not_leave_its_answer_to_the_next() -> None:
    arrived = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, n: int) -> None:
        await request_of(reader)
        arrived.set()
        if n > 1:
            writer.write(OK)
        await reader.read()

    async with talking(late) as (server, pool):
        task = asyncio.create_task(ask(pool))
        await arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2
        assert pool._open == 1


async def test_large_requests_and_answers_pass() -> None:
    body = b"x" * 5_000_000

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)
        got = await reader.readexactly(len(body))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got))
        writer.write(got)
        await writer.drain()
        await reader.read()

    async with talking(echo) as (_, pool):
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert (await ask(pool, head + body)).body == body


async def test_nobody_there_is_told_before_anything_is_sent() -> None:
    pool = HttpPool("127.0.0.1", free_port())
    with pytest.raises(ConnectError) as raised:
        await ask(pool)
    assert isinstance(raised.value.cause, ConnectionRefusedError)
    assert pool._open == 0


# TLS.


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = Authority(tmp_path / "pki")
    pair = authority.server("server")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair.certificate, pair.key)
    client = ssl.create_default_context(cafile=str(authority.certificate))
    client.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return server, client


async def test_a_secured_connection_is_kept(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    server_side, client_side = contexts
    async with talking(polite, server_side) as (server, pool):
        for _ in range(3):
            assert (await ask(pool, context=client_side)).body == b"ok"
        assert server.connections == 1


async def test_large_bodies_pass_through_tls(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    server_side, client_side = contexts
    body = b"x" * 3_000_000

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)
        got = await reader.readexactly(len(body))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got) + got)
        await writer.drain()
        await reader.read()

    async with talking(echo, server_side) as (_, pool):
        head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
        assert (await ask(pool, head + body, context=client_side)).body == body


async def test_another_context_gets_another_connection(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], tmp_path: Path
) -> None:
    server_side, client_side = contexts
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    other.check_hostname, other.verify_mode = False, ssl.CERT_NONE
    async with talking(polite, server_side) as (server, pool):
        await ask(pool, context=client_side)
        await ask(pool, context=other)
        assert server.connections == 2
        assert len(pool._idle) == 1


async def test_a_server_that_is_not_trusted_is_told_before_anything_is_sent(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    server_side, _ = contexts
    async with talking(polite, server_side) as (_, pool):
        with pytest.raises(ConnectError) as raised:
            await ask(pool, context=ssl.create_default_context())
        assert isinstance(raised.value.cause, ssl.SSLCertVerificationError)


async def test_each_request_has_a_time_of_its_own() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, n: int) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()

    async with talking(talk) as (_, pool):
        patient = asyncio.create_task(ask(pool, timeout=None))
        longer = asyncio.create_task(ask(pool, timeout=0.1))
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await ask(pool, timeout=0.02)
        async with asyncio.timeout(10):
            with pytest.raises(TimeoutError):
                await longer
        assert not patient.done()
        patient.cancel()
        await asyncio.gather(patient, return_exceptions=True)
