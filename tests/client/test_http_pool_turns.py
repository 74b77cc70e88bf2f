"""Who gets a connection of a pool and when a request is too late, by a clock that stands still."""

from __future__ import annotations

import asyncio
import math
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mooring.client.deadlines import ConnectError, client_closed
from mooring.client.http_pool import HttpPool, PoolUsage
from mooring.client.protocol import ProtocolError, TooLargeError
from mooring.client.transport import Response
from tests.client.fakes import ManualLoop, bounded, settle

__all__ = ["bounded"]

GET = b"GET / HTTP/1.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Pairs:
    """A dialer whose connections lead to sockets of the test."""

    def __init__(self) -> None:
        self.near: list[socket.socket] = []
        self.far: list[socket.socket] = []
        self.deadlines: list[float] = []
        self.closed = False
        #: Awaited before each connection is made.
        self.before: Callable[[], Any] | None = None

    async def dial(self, context: ssl.SSLContext | None, deadline: float) -> socket.socket:
        if self.closed:
            raise client_closed()
        self.deadlines.append(deadline)
        if self.before is not None:
            await self.before()
        near, far = socket.socketpair()
        near.setblocking(False)
        far.settimeout(10.0)
        self.near.append(near)
        self.far.append(far)
        return near

    def close(self) -> None:
        self.closed = True


class Bench:
    """A pool, and what is around it."""

    def __init__(self, connections: int | None = None) -> None:
        self.loop = ManualLoop()
        self.dialer = Pairs()
        self.pool = HttpPool(self.dialer, connections)  # type: ignore[arg-type]
        self.tasks: list[asyncio.Task[Response]] = []

    async def send(self, deadline: float = math.inf, **more: Any) -> asyncio.Task[Response]:
        """Start a request."""
        given = {"again": False, **more}
        task = asyncio.create_task(self.pool.send(GET, None, deadline, **given))
        self.tasks.append(task)
        await settle()
        return task

    async def answer(self, number: int = 0, data: bytes = OK) -> None:
        """Answer the request on a connection."""
        assert self.dialer.far[number].recv(2**16) == GET
        self.dialer.far[number].sendall(data)
        await settle()

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.pool.close()
        for sock in (*self.dialer.near, *self.dialer.far):
            sock.close()


@pytest.fixture
async def make_bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(connections: int | None = None) -> Bench:
        made.append(Bench(connections))
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: made[-1].loop)
        return made[-1]

    yield make
    for bench in made:
        await bench.end()


async def test_one_timer_rings_at_the_earliest_deadline(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    forever = await bench.send()
    assert bench.loop.timers == []
    middle = await bench.send(1050.0)
    assert bench.loop.timers == [1050.0]
    first = await bench.send(1020.0)
    last = await bench.send(1100.0)
    assert bench.loop.timers == [1020.0]
    assert bench.dialer.deadlines == [math.inf, 1050.0, 1020.0, 1100.0]
    left = [first, middle, last]
    for moment in (1020.0, 1050.0, 1100.0):
        await bench.loop.until(moment - 0.5)
        assert not any(task.done() for task in left)
        await bench.loop.until(moment)
        with pytest.raises(TimeoutError):
            await left.pop(0)
        assert not any(task.done() for task in (*left, forever))
    assert bench.loop.timers == []
    # Its connection is the only one that is left.
    assert bench.pool.usage.open == 1
    await bench.answer()
    assert (await forever).body == b"ok"


async def test_a_request_that_was_answered_has_no_deadline(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench()
    task = await bench.send(1010.0)
    await bench.answer()
    await task
    await bench.loop.until(1011.0)
    assert bench.loop.timers == []
    task = await bench.send(1020.0)
    assert bench.loop.timers == [1020.0]
    await bench.answer()
    assert (await task).body == b"ok"
    assert len(bench.dialer.near) == 1


async def test_the_deadline_of_a_request_that_waits_counts(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(1)
    under_way = await bench.send(1030.0)
    waiting = [await bench.send(deadline) for deadline in (1020.0, 1010.0, math.inf)]
    assert bench.loop.timers == [1010.0]
    await bench.loop.until(1010.0)
    assert [task.done() for task in waiting] == [False, True, False]
    assert bench.loop.timers == [1020.0] and bench.pool.usage.waiting == 2
    await bench.loop.until(1020.0)
    assert [task.done() for task in waiting] == [True, True, False]
    assert bench.loop.timers == [1030.0] and bench.pool.usage.waiting == 1
    for task in waiting[:2]:
        with pytest.raises(ConnectError, match="no connection became free within the time"):
            await task
    await bench.answer()
    assert (await under_way).body == b"ok"
    await bench.answer()
    assert (await waiting[2]).body == b"ok"
    assert len(bench.dialer.near) == 1


@pytest.mark.parametrize(
    ("idle", "dialled"),
    [
        pytest.param(59.9, 1, id="used again before"),
        pytest.param(60.0, 1, id="used again at last"),
        pytest.param(60.1, 2, id="closed after"),
    ],
)
async def test_a_connection_may_idle_for_a_minute(
    make_bench: Callable[..., Bench], idle: float, dialled: int
) -> None:
    bench = make_bench()
    await bench.send()
    await bench.loop.until(1007.0)
    await bench.answer()
    await bench.loop.until(1007.0 + idle)
    task = await bench.send()
    assert len(bench.dialer.near) == dialled
    await bench.answer(-1)
    assert (await task).body == b"ok"
    assert (bench.pool.usage.open, bench.pool.usage.idle) == (1, 1)
    assert [sock.fileno() == -1 for sock in bench.dialer.near] == [True] * (dialled - 1) + [False]


@pytest.mark.parametrize(("connections", "limit"), [(None, 32), (2, 2)], ids=["default", "given"])
async def test_there_are_no_more_connections_than_the_limit(
    make_bench: Callable[..., Bench], connections: int | None, limit: int
) -> None:
    bench = make_bench(connections)
    for _ in range(limit + 2):
        await bench.send()
    assert len(bench.dialer.near) == limit == bench.pool.usage.open
    assert bench.pool.usage.waiting == 2
    for _ in range(3):
        await bench.answer()
    assert len(bench.dialer.near) == limit == bench.pool.usage.open
    assert bench.pool.usage.waiting == 0


async def test_a_connection_that_is_lost_leaves_its_place_to_the_next(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(1)
    lost = await bench.send()
    waiting = await bench.send()
    bench.dialer.far[0].shutdown(socket.SHUT_WR)
    await settle()
    with pytest.raises(ProtocolError, match="closed"):
        await lost
    await bench.answer(1)
    assert (await waiting).body == b"ok"
    # While it idles, too.
    bench.dialer.far[1].shutdown(socket.SHUT_WR)
    await settle()
    assert (bench.pool.usage.open, bench.pool.usage.idle) == (0, 0)


async def test_a_connection_that_cannot_be_made_leaves_its_place_to_the_next(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(1)
    failing = asyncio.Event()

    async def fail() -> None:
        await failing.wait()
        bench.dialer.before = None
        raise ConnectError(ConnectionRefusedError())

    bench.dialer.before = fail
    first, second = await bench.send(), await bench.send()
    assert bench.pool.usage.waiting == 1
    failing.set()
    await settle()
    with pytest.raises(ConnectError):
        await first
    await bench.answer()
    assert (await second).body == b"ok"
    assert bench.pool.usage.open == 1


async def test_a_turn_that_comes_too_late_goes_to_the_next(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(1)
    waiting: list[asyncio.Task[Response]] = []

    async def ask_and_cancel_the_next() -> Response:
        response = await bench.pool.send(GET, None, again=False)
        # The next request has its turn now, but has not been resumed yet.
        waiting[0].cancel()
        return response

    first = asyncio.create_task(ask_and_cancel_the_next())
    bench.tasks.append(first)
    await settle()
    waiting += [await bench.send() for _ in range(2)]
    bench.dialer.far[0].sendall(OK)
    await first
    await settle()
    assert waiting[0].cancelled()
    assert bench.dialer.far[0].recv(2**16) == GET * 2
    bench.dialer.far[0].sendall(OK)
    assert (await waiting[1]).body == b"ok"


async def test_a_request_that_is_given_up_waits_no_more(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(1)
    await bench.send()
    waiting = await bench.send(1010.0)
    waiting.cancel()
    await settle()
    assert bench.pool.usage.waiting == 0


async def test_closing_leaves_nothing(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(2)
    await bench.send()
    await bench.send(1010.0)
    await bench.answer()
    busy, waiting = await bench.send(1010.0), await bench.send(1020.0)
    await bench.answer()
    idle = bench.dialer.near[0]
    assert bench.loop.timers
    bench.pool.close()
    await settle()
    assert bench.dialer.closed and idle.fileno() == -1
    for task in (bench.tasks[1], waiting):
        with pytest.raises((ConnectError, ConnectionAbortedError), match="the client was closed"):
            await task
    assert (await busy).body == b"ok"
    assert bench.pool.usage == PoolUsage(0, 0, 0)
    assert bench.loop.timers == []
    with pytest.raises(ConnectError, match="the client was closed"):
        await bench.pool.send(GET, None, again=False)


async def test_a_full_pool_that_was_closed_lets_nobody_wait(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(1)
    hang = asyncio.Event()
    bench.dialer.before = hang.wait
    await bench.send()
    bench.pool.close()
    with pytest.raises(ConnectError, match="the client was closed"):
        await bench.pool.send(GET, None, again=False)


@pytest.mark.parametrize(
    ("data", "again", "sent"),
    [
        pytest.param(b"", True, True, id="again after nothing came"),
        pytest.param(b"", False, False, id="not again if that may do harm"),
        pytest.param(b"HTTP/1.1 200", True, False, id="not again after something came"),
    ],
)
async def test_what_a_warm_connection_lost(
    make_bench: Callable[..., Bench], data: bytes, again: bool, sent: bool
) -> None:
    bench = make_bench()
    await bench.send()
    await bench.answer()
    checks: list[int] = []
    task = await bench.send(again=again, check=lambda: checks.append(1), max_bytes=5)
    await bench.answer(0, data)
    bench.dialer.far[0].shutdown(socket.SHUT_WR)
    await settle()
    assert len(bench.dialer.near) == len(checks) == (2 if sent else 1)
    if not sent:
        with pytest.raises(ProtocolError, match="cut" if data else "closed"):
            await task
        return
    await bench.answer(1, OK.replace(b" 2", b" 6") + b"aaaa")
    with pytest.raises(TooLargeError, match="larger than 5 bytes"):
        await task
    # Only what a warm connection lost is sent again.
    assert len(bench.dialer.near) == 2


async def test_closing_ends_connections_that_idle(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    for _ in range(2):
        await bench.send()
    for number in range(2):
        await bench.answer(number)
    assert (bench.pool.usage.open, bench.pool.usage.idle) == (2, 2)
    bench.pool.close()
    assert [sock.fileno() for sock in bench.dialer.near] == [-1, -1]
    assert (bench.pool.usage.open, bench.pool.usage.idle) == (0, 0)
