from __future__ import annotations

import asyncio
import errno
import itertools
import resource
import socket
from collections.abc import Callable, Iterator

import pytest

from mooring.serve import acceptor as module
from mooring.serve.acceptor import (
    OUT_OF_FILES,
    RESERVED_FILES,
    Acceptor,
    Incoming,
    connections_possible,
    raise_open_files_limit,
)
from mooring.serve.connections import Connections, Limits, Stage
from tests.support.waiting import PATIENCE

#: A TLS record of 20 bytes.
RECORD = b"\x16\x03\x01\x00\x14" + b"\x01" * 20


class Door:
    """A listening socket with an acceptor, and the connections it opened."""

    def __init__(self, listener: socket.socket | None = None, *, secure: bool = True) -> None:
        self.listener = listener or socket.create_server(("127.0.0.1", 0))
        self.connections = Connections(Limits())
        self.opened: list[Incoming] = []
        self._clients: list[socket.socket] = []
        self.acceptor = Acceptor(self.listener, self.connections, self.opened.append, secure=secure)

    def connect(self, data: bytes = b"") -> socket.socket:
        client = socket.create_connection(self.listener.getsockname())
        self._clients.append(client)
        client.sendall(data)
        return client

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0)

    def close(self) -> None:
        self.acceptor.stop()
        self.connections.close(*Stage)
        for connection in self.opened:
            connection.socket.close()
        for client in self._clients:
            client.close()
        self.listener.close()


@pytest.fixture
async def door() -> Iterator[Door]:
    door = Door()
    yield door
    door.close()


async def test_a_connection_is_opened_when_its_first_record_is_whole(door: Door) -> None:
    door.connect()
    slow = door.connect(RECORD[:10])
    await door.until(lambda: len(door.connections) == 2)
    whole = door.connect(RECORD)
    await door.until(lambda: len(door.opened) == 1)
    assert door.opened[0].socket.getpeername() == whole.getsockname()
    for byte in RECORD[10:]:
        slow.sendall(bytes([byte]))
        await asyncio.sleep(0)
    await door.until(lambda: len(door.opened) == 2)
    assert door.opened[1].socket.getpeername() == slow.getsockname()
    # Nothing was read from the socket.
    assert door.opened[1].socket.recv(100) == RECORD
    assert door.connections.count(Stage.WAITING) == 3


async def test_what_is_no_tls_is_opened_too_for_tls_to_refuse(door: Door) -> None:
    door.connect(b"GET / HTTP/1.1\r\n\r\n")
    await door.until(lambda: len(door.opened) == 1)


async def test_plain_connections_are_opened_at_their_first_byte() -> None:
    door = Door(secure=False)
    door.connect(b"G")
    await door.until(lambda: len(door.opened) == 1)
    door.close()


@pytest.mark.parametrize("data", [b"", b"\x16\x03", RECORD[:10]], ids=["nothing", "two", "ten"])
async def test_connections_that_end_before_their_first_record_are_forgotten(
    door: Door, data: bytes
) -> None:
    client = door.connect(data)
    await door.until(lambda: len(door.connections) == 1)
    client.close()
    # Either it is removed here, or it is opened and TLS finds the end.
    await door.until(lambda: len(door.connections) == 0 or len(door.opened) == 1)
    assert bool(data) == bool(door.opened)


async def test_the_newest_connections_are_opened_first_and_few_at_once(door: Door) -> None:
    clients = [door.connect(RECORD) for _ in range(30)]
    steps = [0]
    while len(door.opened) < 30:
        await asyncio.sleep(0)
        if len(door.opened) != steps[-1]:
            steps.append(len(door.opened))
    assert max(b - a for a, b in itertools.pairwise(steps)) <= module.OPENED_PER_PASS
    names = [connection.socket.getpeername() for connection in door.opened]
    assert names[0] != clients[0].getsockname()
    assert set(names) == {client.getsockname() for client in clients}


class NoFiles(socket.socket):
    """A listening socket whose accept fails for lack of files."""

    lacking = True
    asked = 0

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        self.asked += 1
        if self.lacking:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_a_lack_of_files_neither_spins_the_loop_nor_ends_serving(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.05)
    listener = NoFiles()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    door = Door(listener)
    door.connect(RECORD)
    await door.until(lambda: listener.asked == 1)
    for _ in range(1000):
        await asyncio.sleep(0)
    asked = listener.asked
    assert asked < 100, "the socket stays readable, and is not asked at every pass of the loop"
    await door.until(lambda: listener.asked >= asked + 2)
    listener.lacking = False
    await door.until(lambda: len(door.opened) == 1)
    assert [record.getMessage() for record in caplog.records] == [OUT_OF_FILES]
    door.close()


async def test_a_lack_of_files_closes_the_oldest_connection_without_a_request() -> None:
    listener = NoFiles()
    listener.lacking = False
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    door = Door(listener)
    oldest = door.connect()
    await door.until(lambda: len(door.connections) == 1)
    listener.lacking = True
    door.connect()
    await door.until(lambda: len(door.connections) == 0)
    assert await asyncio.to_thread(oldest.recv, 1) == b""
    door.close()


def test_the_limit_of_open_files_is_raised_and_leaves_files_to_others() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        assert connections_possible() == 1024 - RESERVED_FILES
        raise_open_files_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], 2**16)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
