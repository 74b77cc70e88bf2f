"""How sockets are made, connected and waited for."""

from __future__ import annotations

import asyncio
import math
import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mooring.client import dialer
from mooring.client.deadlines import ConnectError, Deadlines
from mooring.client.dialer import Dialer, Proxy, make_socket
from tests.client.fakes import ManualLoop, bounded, settle
from tests.support.processes import free_port

__all__ = ["bounded"]


def address(port: int) -> tuple[Any, ...]:
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))


def test_a_socket_notices_that_its_peer_has_gone() -> None:
    with make_socket(address(0)) as made:
        assert not made.getblocking()
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        probes = [
            made.getsockopt(socket.IPPROTO_TCP, number)
            for number in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        ]
    # A peer that vanished is noticed within a minute.
    idle, interval, count = probes
    assert probes == [30, 10, 3] and idle + interval * count <= 60


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a socket that listens; the system accepts connections to it."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(20.0)
        yield made


@pytest.fixture
def listening(listener: socket.socket) -> int:
    """Return the port of the listener."""
    port: int = listener.getsockname()[1]
    return port


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """Return the sockets that are made."""
    found: list[socket.socket] = []

    def make(where: Any) -> socket.socket:
        found.append(make_socket(where))
        return found[-1]

    monkeypatch.setattr(dialer, "make_socket", make)
    return found


def naming(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """Give the addresses of every name."""

    async def getaddrinfo(*args: Any, **more: Any) -> list[Any]:
        return [address(port) for port in ports]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


async def test_every_address_of_a_name_is_tried(
    listening: int, made: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    naming(monkeypatch, free_port(), listening, free_port())
    sock = await Dialer("name.invalid", 1).dial(None, math.inf)
    assert sock is made[1] and len(made) == 2
    assert made[0].fileno() == -1
    sock.close()


async def test_a_name_whose_addresses_all_refuse(
    made: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    naming(monkeypatch, free_port(), free_port())
    with pytest.raises(ConnectError) as raised:
        await Dialer("name.invalid", 1).dial(None, math.inf)
    assert isinstance(raised.value.cause, ConnectionRefusedError)
    assert [sock.fileno() for sock in made] == [-1, -1]


async def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    naming(monkeypatch)
    with pytest.raises(ConnectError, match="the name has no address"):
        await Dialer("name.invalid", 1).dial(None, math.inf)


@pytest.mark.parametrize(
    ("proxy", "secured"),
    [
        pytest.param(False, False, id="connecting"),
        pytest.param(False, True, id="securing the connection"),
        pytest.param(True, True, id="asking a proxy"),
    ],
)
async def test_an_attempt_that_is_given_up_leaves_no_socket(
    listener: socket.socket,
    made: list[socket.socket],
    monkeypatch: pytest.MonkeyPatch,
    proxy: bool,
    secured: bool,
) -> None:
    connecting = asyncio.Event()
    if not secured:

        async def never(*args: Any) -> None:
            connecting.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", never)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if secured else None
    port = listener.getsockname()[1]
    through = Proxy("127.0.0.1", port) if proxy else None
    task = asyncio.create_task(Dialer("127.0.0.1", port, proxy=through).dial(context, math.inf))
    accepted = None
    if secured:
        accepted, _ = await asyncio.to_thread(listener.accept)
        accepted.settimeout(20.0)
        # The first of what it sends: it waits for an answer.
        assert await asyncio.to_thread(accepted.recv, 2**16)
        await settle()
    else:
        await connecting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [sock.fileno() for sock in made] == [-1]
    if accepted is not None:
        with accepted:
            assert accepted.recv(2**16) == b""


@pytest.mark.parametrize(
    ("deadline", "ends"),
    [
        pytest.param(math.inf, 1030.0, id="half a minute at most"),
        pytest.param(1040.0, 1030.0, id="half a minute before a later deadline"),
        pytest.param(1010.0, 1010.0, id="until an earlier deadline"),
    ],
)
async def test_connecting_has_its_time(
    monkeypatch: pytest.MonkeyPatch, deadline: float, ends: float
) -> None:
    made = Dialer("127.0.0.1", free_port())
    until = Deadlines.until
    seen: list[float] = []

    def recording(self: Deadlines, deadline: float, late: str) -> Any:
        seen.append(deadline)
        return until(self, math.inf, late)

    manual = ManualLoop()
    monkeypatch.setattr(Deadlines, "until", recording)
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: manual)
    with pytest.raises(ConnectError):
        await made.dial(None, deadline)
    assert seen == [ends]


class Waiting:
    """A loop that notes what is waited for, and is ready at once."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._loop = asyncio.get_running_loop()

    def create_future(self) -> asyncio.Future[None]:
        return self._loop.create_future()

    def __getattr__(self, name: str) -> Callable[..., None]:
        def note(number: int, ready: Callable[[], None] | None = None) -> None:
            self.seen.append(f"{name} {number}")
            if ready is not None:
                ready()
                ready()

        return note


@pytest.mark.parametrize(
    ("error", "writing", "side"),
    [
        pytest.param(ssl.SSLWantReadError(), False, "reader", id="TLS that has to read"),
        pytest.param(ssl.SSLWantReadError(), True, "reader", id="TLS that has to read to write"),
        pytest.param(ssl.SSLWantWriteError(), False, "writer", id="TLS that has to write to read"),
        pytest.param(BlockingIOError(), False, "reader", id="a read"),
        pytest.param(BlockingIOError(), True, "writer", id="a write"),
    ],
)
async def test_a_socket_is_waited_for_on_the_right_side(
    error: OSError, writing: bool, side: str
) -> None:
    loop = Waiting()
    near, far = socket.socketpair()
    number = near.fileno()
    with near, far:
        await dialer.wait_ready(loop, error, near, writing=writing)  # type: ignore[arg-type]
    assert loop.seen == [f"add_{side} {number}", f"remove_{side} {number}"]


class ResettingContext(ssl.SSLContext):
    """A context under which the server resets each connection right before TLS begins."""

    listener: socket.socket
    numbers: list[int]

    def wrap_socket(self, sock: socket.socket, *args: Any, **options: Any) -> ssl.SSLSocket:
        """Reset the connection, wait until that is known here, and secure it."""
        accepted, _ = self.listener.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        accepted.close()
        poll = select.poll()
        poll.register(sock, select.POLLHUP)
        assert poll.poll(20_000)
        self.numbers.append(sock.fileno())
        return super().wrap_socket(sock, *args, **options)


def is_open(number: int) -> bool:
    """Return whether a file descriptor is in use."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


async def test_a_connection_that_is_reset_before_tls_begins_is_closed(
    listener: socket.socket,
) -> None:
    context = ResettingContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.listener, context.numbers = listener, []
    port = listener.getsockname()[1]
    with pytest.raises(ConnectError) as raised:
        await Dialer("127.0.0.1", port).dial(context, math.inf)
    assert isinstance(raised.value.cause, ConnectionResetError)
    # The error, which refers to what it was raised in, is still here: nobody else closes it.
    assert [is_open(number) for number in context.numbers] == [False]


async def test_a_connection_that_is_made_while_the_client_is_closed_is_closed(
    listener: socket.socket, made: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, connected = asyncio.get_running_loop(), asyncio.Event()
    connect = loop.sock_connect

    async def late(sock: socket.socket, where: Any) -> None:
        await connect(sock, where)
        connected.set()
        # The attempt goes on in the next round of the loop, as the end of the client does.
        await asyncio.sleep(0)

    monkeypatch.setattr(loop, "sock_connect", late)
    made_by = Dialer("127.0.0.1", listener.getsockname()[1])
    task = asyncio.create_task(made_by.dial(None, math.inf))
    await connected.wait()
    made_by.close()
    with pytest.raises(ConnectError, match="the client was closed"):
        await task
    assert [sock.fileno() for sock in made] == [-1]
