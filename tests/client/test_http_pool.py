"""Idle connections that are reused."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.client import http_pool
from mooring.client.deadlines import ConnectError
from mooring.client.dialer import Dialer
from mooring.client.http_pool import HttpConnection, HttpPool
from mooring.client.protocol import ProtocolError
from mooring.client.transport import Response
from tests.support.certificates import Authority
from tests.support.processes import free_port
from tests.support.waiting import PATIENCE

GET = b"GET / HTTP/1.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]


class Server:
    """A server that counts connections and runs a given conversation on each."""

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
    pool = HttpPool(Dialer("127.0.0.1", server.port))
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
    deadline = math.inf if timeout is None else asyncio.get_running_loop().time() + timeout
    return await pool.send(data, context, deadline, again=again)


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
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert isinstance(answers[1], asyncio.CancelledError)
        assert [one.body for one in (answers[0], *answers[2:])] == [b"ok"] * 3


async def test_a_connection_that_the_server_closes_while_it_idles_is_not_used() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        await request_of(reader)
        writer.write(OK)

    async with talking(once) as (server, pool):
        await ask(pool)
        async with asyncio.timeout(PATIENCE):
            while pool.usage.idle:
                await asyncio.sleep(0)
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2
        assert pool.usage.open <= 1


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
    """Respond to the first request of a connection; on the first connection, drop the second."""
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
        assert pool.usage.open == 0


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
            await ask(pool, timeout=0.5)
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
        assert pool.usage.open == 1


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
    pool = HttpPool(Dialer("127.0.0.1", free_port()))
    with pytest.raises(ConnectError) as raised:
        await ask(pool)
    assert isinstance(raised.value.cause, ConnectionRefusedError)
    assert pool.usage.open == 0


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
        assert pool.usage.idle == 1


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
        longer = asyncio.create_task(ask(pool, timeout=1.0))
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await ask(pool, timeout=0.3)
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(TimeoutError):
                await longer
        assert not patient.done()
        patient.cancel()
        await asyncio.gather(patient, return_exceptions=True)


# Deadlines, and closing the pool.


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
    """Read and never respond."""
    while await reader.read(2**16):
        pass


async def settled(tasks: list[asyncio.Task[Response]]) -> list[BaseException]:
    """Return the exception of each task; a task that hangs fails the test."""
    async with asyncio.timeout(30.0):
        found = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, BaseException) for one in found)
    return [one for one in found if isinstance(one, BaseException)]


async def test_the_wait_for_a_connection_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "REQUEST_CONNECTIONS", 1)
    async with talking(mute) as (_, pool):
        first = asyncio.create_task(ask(pool, timeout=None))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(ask(pool, timeout=0.05)) for _ in range(3)]
        errors = await settled(waiting)
        assert not first.done()
        first.cancel()
    for error in errors:
        assert isinstance(error, ConnectError) and isinstance(error.cause, TimeoutError)
        assert "no connection became free" in str(error)


async def test_tls_that_never_finishes_counts() -> None:
    async with talking(mute) as (_, pool):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        task = asyncio.create_task(ask(pool, context=context, timeout=0.05))
        (error,) = await settled([task])
    assert isinstance(error, ConnectError) and "connecting took too long" in str(error)


async def test_drops_do_not_prolong_the_time() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: int) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0.005)

    async with talking(drip) as (_, pool):
        (error,) = await settled([asyncio.create_task(ask(pool, timeout=0.5))])
    assert isinstance(error, TimeoutError)


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "TLS that never finishes"])
async def test_closing_ends_every_request(monkeypatch: pytest.MonkeyPatch, secured: bool) -> None:
    monkeypatch.setattr(http_pool, "REQUEST_CONNECTIONS", 2)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if secured else None
    async with talking(mute) as (server, pool):
        tasks = [
            asyncio.create_task(ask(pool, context=context, timeout=None, again=True))
            for _ in range(5)
        ]
        while server.connections < 2:
            await asyncio.sleep(0.001)
        pool.close()
        for error in await settled(tasks):
            assert "the client was closed" in str(error)
        with pytest.raises(ConnectError, match="the client was closed"):
            await ask(pool)
    assert server.connections == 2


async def test_a_check_that_refuses_later_ends_the_exchange() -> None:
    """The socket accepts nothing at first; by the time it does, the check refuses."""
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 2:
            raise ValueError("no more")

    class Full:
        """A socket whose send buffer is full."""

        def __init__(self, sock: socket.socket) -> None:
            self._sock = sock
            self.sent = 0
            self.recv = sock.recv
            self.fileno = sock.fileno
            self.close = sock.close

        def send(self, data: memoryview | bytes) -> int:
            raise BlockingIOError

    near, far = socket.socketpair()
    near.setblocking(False)
    loop = asyncio.get_running_loop()
    connection = HttpConnection(loop, Full(near), None, lambda connection: None)
    with pytest.raises(ValueError, match="no more"):
        await connection.exchange(GET, check)
    assert connection.closed
    assert far.recv(100) == b""
    far.close()


async def test_a_response_that_comes_before_the_request_was_sent_ends_the_connection() -> None:
    """The rest of a large request must not be read as the beginning of the next one."""
    seen: list[bytes] = []

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int) -> None:
        if count > 1:
            await polite(reader, writer, count)
        await reader.readexactly(10)
        writer.write(OK)
        await writer.drain()
        seen.append(await reader.read())

    async with talking(hasty) as (server, pool):
        large = b"POST / HTTP/1.1\r\nContent-Length: 50000000\r\n\r\n" + b"x" * 50_000_000
        assert (await ask(pool, large)).body == b"ok"
        assert (await ask(pool)).body == b"ok"
        assert server.connections == 2
    assert b"GET" not in b"".join(seen)
