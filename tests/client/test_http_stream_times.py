"""What a stream reads at once and how long it waits, by a clock that stands still."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mooring.client.http_stream import HttpStream
from tests.client.fakes import ManualLoop, bounded, settle

__all__ = ["bounded"]

GET = b"GET / HTTP/1.1\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Given:
    """A socket whose sends and reads a test may replace."""

    def __init__(self, sock: socket.socket) -> None:
        self.fileno, self.close = sock.fileno, sock.close
        self.sends: Callable[[memoryview], int] = sock.send
        self.reads: Callable[[int], bytes] = sock.recv

    def send(self, data: memoryview) -> int:
        return self.sends(data)

    def recv(self, size: int) -> bytes:
        return self.reads(size)


class Bench:
    """A stream, and the other end of its connection."""

    def __init__(self, idle: float | None, deadline: float) -> None:
        self.loop = ManualLoop()
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.settimeout(10.0)
        self.number = self.near.fileno()
        self.sock = Given(self.near)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio, "get_running_loop", lambda: self.loop)
            self.stream = HttpStream(self.sock, idle, deadline)  # type: ignore[arg-type]

    async def begun(self) -> None:
        """Send the request, and the head of the response."""
        task = asyncio.create_task(self.stream.begin(GET))
        await settle()
        assert self.far.recv(2**16) == GET
        self.far.sendall(HEAD)
        await task

    def assert_closed(self) -> None:
        assert self.near.fileno() == -1 and self.loop.timers == []
        assert not self.loop.remove_reader(self.number)
        assert not self.loop.remove_writer(self.number)


@pytest.fixture
async def make_bench() -> AsyncIterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(idle: float | None = None, deadline: float = math.inf) -> Bench:
        made.append(Bench(idle, deadline))
        return made[-1]

    yield make
    for bench in made:
        bench.stream.close()
        bench.far.close()


@pytest.mark.parametrize(
    ("idle", "deadline", "late"),
    [
        pytest.param(None, 1010.0, 1010.0, id="at its deadline"),
        pytest.param(30.0, 1010.0, 1010.0, id="at its deadline, the earlier of two"),
        pytest.param(5.0, 1010.0, 1005.0, id="after silence, the earlier of two"),
        pytest.param(5.0, math.inf, 1005.0, id="after silence"),
    ],
)
async def test_a_head_is_late(
    make_bench: Callable[..., Bench], idle: float | None, deadline: float, late: float
) -> None:
    bench = make_bench(idle, deadline)
    task = asyncio.create_task(bench.stream.begin(GET))
    await settle()
    assert bench.loop.timers == [late]
    await bench.loop.until(late - 0.1)
    assert not task.done()
    await bench.loop.until(late)
    with pytest.raises(TimeoutError):
        await task
    bench.stream.close()
    bench.assert_closed()


async def test_without_limits_there_is_no_timer(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench()
    await bench.begun()
    assert bench.loop.timers == []


async def test_a_deadline_is_for_the_head_alone(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(None, 1010.0)
    await bench.begun()
    reading = asyncio.create_task(bench.stream.receive())
    await settle()
    await bench.loop.until(1010.0)
    await bench.loop.until(5000.0)
    assert not reading.done() and bench.loop.timers == []
    bench.far.sendall(b"2\r\nok\r\n")
    assert await reading == b"ok"


async def test_silence_is_measured_from_the_last_piece(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(10.0)
    await bench.begun()
    reading = asyncio.create_task(bench.stream.receive())
    await settle()
    await bench.loop.until(1007.0)
    bench.far.sendall(b"2\r\nok\r\n")
    assert await reading == b"ok"
    reading = asyncio.create_task(bench.stream.receive())
    await settle()
    await bench.loop.until(1010.0)
    assert bench.loop.timers == [1017.0]
    await bench.loop.until(1016.9)
    assert not reading.done()
    await bench.loop.until(1017.0)
    with pytest.raises(TimeoutError):
        await reading


async def test_a_slow_caller_is_not_silence(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(10.0)
    await bench.begun()
    for moment in (1010.0, 1020.0, 1030.0):
        await bench.loop.until(moment)
        assert bench.loop.timers == [moment + 10.0]
    bench.far.sendall(b"2\r\nok\r\n")
    assert await bench.stream.receive() == b"ok"


async def test_a_stream_is_closed_once_and_leaves_nothing(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench(10.0, 1005.0)
    await bench.begun()
    reading = asyncio.create_task(bench.stream.receive())
    await settle()
    bench.stream.close()
    bench.stream.close()
    with pytest.raises(ConnectionAbortedError, match="the client was closed"):
        await reading
    bench.assert_closed()
    with pytest.raises(ConnectionAbortedError, match="the client was closed"):
        await bench.stream.receive()


async def test_a_socket_that_is_full_is_waited_for(make_bench: Callable[..., Bench]) -> None:
    """The check is repeated as long as nothing was sent, and then no more."""
    bench = make_bench()
    full = 2
    checks: list[int] = []

    def send(data: memoryview) -> int:
        nonlocal full
        if full:
            full -= 1
            raise BlockingIOError
        return bench.near.send(data[:5])

    bench.sock.sends = send
    task = asyncio.create_task(bench.stream.begin(GET, lambda: checks.append(1)))
    await settle()
    assert bench.far.recv(2**16) == GET
    assert len(checks) == 3
    assert not bench.loop.remove_writer(bench.number)
    bench.far.sendall(HEAD)
    await task
    assert not bench.loop.remove_reader(bench.number)


class Endless:
    """The data of a socket that always has more of a body, or, at last, its end."""

    def __init__(self) -> None:
        self.reads = 0
        self.ended = False

    def recv(self, size: int) -> bytes:
        self.reads += 1
        return b"" if self.ended else b"x" * size


async def test_one_read_takes_a_part_and_others_get_their_turn(
    make_bench: Callable[..., Bench],
) -> None:
    bench = make_bench()
    task = asyncio.create_task(bench.stream.begin(GET))
    await settle()
    bench.far.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    await task
    endless = Endless()
    bench.sock.reads = endless.recv
    bench.far.sendall(b"!")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    running: asyncio.Task[Any] = asyncio.create_task(other())
    await settle()
    seen = []
    for _ in range(3):
        before = turns
        assert len(await bench.stream.receive()) == 2**18
        seen.append(turns > before)
    running.cancel()
    # The first read waited for the socket.
    assert seen == [True, True, True]
    assert endless.reads == 3 * 16
    endless.ended = True
    assert await bench.stream.receive() == b""
    assert await bench.stream.receive() == b""
    assert endless.reads == 3 * 16 + 1
