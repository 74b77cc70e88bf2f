"""One warm connection, on a socket that does as it is told."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mooring.client.http_pool import BodyTimeoutError, HttpConnection
from mooring.client.protocol import ProtocolError
from tests.client.fakes import bounded, settle

__all__ = ["bounded"]

GET = b"GET / HTTP/1.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """A socket whose sends are limited: each takes so many bytes, or raises."""

    def __init__(self, sock: socket.socket, *sends: int | Exception) -> None:
        self.sends = list(sends)
        self.recv = sock.recv
        self.fileno = sock.fileno
        self.close = sock.close
        self._sock = sock

    def send(self, data: memoryview | bytes) -> int:
        given = self.sends.pop(0) if self.sends else len(data)
        if isinstance(given, Exception):
            raise given
        return self._sock.send(data[:given])


class Ends:
    """Both ends of a connection, and the connections that ended while they idled."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.settimeout(10.0)
        self.number = self.near.fileno()
        self.ended: list[HttpConnection] = []

    def connect(self, *sends: int | Exception, **more: Any) -> HttpConnection:
        sock = Scripted(self.near, *sends)
        for name, value in more.items():
            setattr(sock, name, value)
        return HttpConnection(asyncio.get_running_loop(), sock, None, self.ended.append)

    def answer(self, data: bytes = OK) -> bytes:
        """Answer with data; return the request."""
        got = self.far.recv(2**16)
        self.far.sendall(data)
        return got


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    made = Ends()
    yield made
    made.near.close()
    made.far.close()


def assert_closed(connection: HttpConnection, ends: Ends) -> None:
    """Check that nothing of a connection is left: neither its socket nor a selector's interest."""
    assert connection.closed
    assert ends.near.fileno() == -1
    loop = asyncio.get_running_loop()
    assert not loop.remove_reader(ends.number) and not loop.remove_writer(ends.number)


@pytest.mark.parametrize(
    "sends",
    [
        pytest.param([3, 4, 5], id="in pieces"),
        pytest.param([BlockingIOError()], id="after a wait"),
        pytest.param([3, BlockingIOError(), 4, ssl.SSLWantWriteError(), 5], id="in several goes"),
    ],
)
async def test_a_request_is_sent_whole(ends: Ends, sends: list[int | Exception]) -> None:
    connection = ends.connect(*sends)
    checks: list[int] = []
    exchange = asyncio.create_task(connection.exchange(GET, lambda: checks.append(1)))
    await settle()
    assert ends.answer() == GET
    assert (await exchange).body == b"ok"
    assert not connection.closed
    # A check is repeated only if nothing was sent at first.
    assert len(checks) == (1 if isinstance(sends[0], int) else 2)
    assert not asyncio.get_running_loop().remove_writer(ends.number)
    connection.close()


async def test_a_check_is_made_for_each_exchange_and_for_no_other(ends: Ends) -> None:
    connection = ends.connect(BlockingIOError(), BlockingIOError())
    checks: list[int] = []
    for check in (lambda: checks.append(1), None):
        exchange = asyncio.create_task(connection.exchange(GET, check))
        await settle()
        assert ends.answer() == GET
        await exchange
        assert len(checks) == 2
    connection.close()


async def test_an_exchange_whose_check_refuses_leaves_the_connection_as_it_was(ends: Ends) -> None:
    connection = ends.connect()

    def refuse() -> None:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        await connection.exchange(GET, refuse)
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    assert ends.answer() == GET
    assert (await exchange).body == b"ok"
    connection.close()


async def test_a_connection_that_ends_before_its_first_request_is_forgotten(ends: Ends) -> None:
    connection = ends.connect()
    ends.far.shutdown(socket.SHUT_WR)
    await settle()
    assert ends.ended == [connection]
    assert_closed(connection, ends)


@pytest.mark.parametrize("data", [b"", OK], ids=["the end", "a response to nothing"])
async def test_whatever_comes_while_it_idles_ends_a_connection(ends: Ends, data: bytes) -> None:
    connection = ends.connect()
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.answer()
    await exchange
    assert not connection.closed and ends.ended == []
    if data:
        ends.far.sendall(data)
    else:
        ends.far.shutdown(socket.SHUT_WR)
    await settle()
    assert ends.ended == [connection]
    assert_closed(connection, ends)


async def test_more_than_one_response_ends_a_connection(ends: Ends) -> None:
    connection = ends.connect()
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.answer(OK + OK)
    with pytest.raises(ProtocolError, match="more came than was promised"):
        await exchange
    assert ends.ended == []
    assert_closed(connection, ends)


async def test_a_response_may_last_until_the_connection_ends(ends: Ends) -> None:
    connection = ends.connect()
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.answer(b"HTTP/1.1 200 OK\r\n\r\nwhole")
    ends.far.shutdown(socket.SHUT_WR)
    assert (await exchange).body == b"whole"
    assert_closed(connection, ends)


@pytest.mark.parametrize(
    ("came", "kind"),
    [
        pytest.param(b"", TimeoutError, id="nothing came"),
        pytest.param(b"HTTP/1.1 200", TimeoutError, id="a part of the head came"),
        pytest.param(OK[:-1], BodyTimeoutError, id="a part of the body came"),
    ],
)
async def test_a_late_response_says_how_far_it_came(
    ends: Ends, came: bytes, kind: type[TimeoutError]
) -> None:
    connection = ends.connect()
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.answer(came)
    await settle()
    connection.expire()
    with pytest.raises(TimeoutError) as raised:
        await exchange
    assert type(raised.value) is kind
    assert_closed(connection, ends)


async def test_a_socket_that_fails_fails_the_exchange(ends: Ends) -> None:
    def fail(size: int) -> bytes:
        raise ConnectionResetError("reset")

    connection = ends.connect(recv=fail)
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.answer()
    with pytest.raises(ConnectionResetError, match="reset"):
        await exchange
    assert_closed(connection, ends)
    connection.close()


async def test_what_waits_in_the_socket_object_is_read_too(ends: Ends) -> None:
    """TLS decrypts whole records: the selector does not know of what is left of one."""
    body = b"x" * 50_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + body

    class Reader:
        def __init__(self) -> None:
            self.left = answer
            self.asked: list[int] = []

        def recv(self, size: int) -> bytes:
            self.asked.append(size)
            if not self.left:
                raise ssl.SSLWantReadError
            taken, self.left = self.left[:size], self.left[size:]
            return taken

        def pending(self) -> int:
            # One more than there is: a record of which nothing can be read yet.
            return len(self.left) + 1

    reader = Reader()
    connection = ends.connect(recv=reader.recv, pending=reader.pending)
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    ends.far.sendall(b"!")
    assert (await exchange).body == body
    assert set(reader.asked) == {2**14}
    connection.close()


async def test_a_request_that_waits_to_be_sent_leaves_nothing_when_it_is_given_up(
    ends: Ends,
) -> None:
    connection = ends.connect(*[BlockingIOError()] * 100)
    exchange = asyncio.create_task(connection.exchange(GET))
    await settle()
    exchange.cancel()
    await asyncio.gather(exchange, return_exceptions=True)
    assert_closed(connection, ends)
