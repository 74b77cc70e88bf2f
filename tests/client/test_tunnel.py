"""TLS within TLS, over sockets that take and give a little at a time."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.client.tunnel import TunnelledTls
from tests.support.certificates import Authority


class Server:
    """The server at the other end, in memory; also the socket that leads to it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self.outgoing, server_side=True)
        self._shaken = False
        self.received = b""
        self.closed = False
        #: Bytes that one send takes, or 0 to make it wait.
        self.room: int | None = None
        #: Bytes that one read gives.
        self.gives = 2**20
        self.sizes: list[int] = []
        self.given = 0
        self.ended = False

    # The socket.

    def fileno(self) -> int:
        return 7

    def send(self, data: bytes) -> int:
        if self.room == 0:
            raise ssl.SSLWantWriteError
        taken = data if self.room is None else data[: self.room]
        self._incoming.write(taken)
        return len(taken)

    def recv(self, size: int) -> bytes:
        self.sizes.append(size)
        self.go_on()
        found = self.outgoing.read(min(size, self.gives))
        if not found and not self.ended:
            raise ssl.SSLWantReadError
        self.given += len(found)
        return found

    def pending(self) -> int:
        return self.outgoing.pending

    def close(self) -> None:
        self.closed = True

    # The server.

    def go_on(self) -> None:
        try:
            if not self._shaken:
                self._tls.do_handshake()
                self._shaken = True
            while True:
                self.received += self._tls.read(2**20)
        except ssl.SSLWantReadError:
            pass

    def write(self, data: bytes) -> None:
        self.go_on()
        self._tls.write(data)

    def end(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.unwrap()


Made = tuple[Server, TunnelledTls]


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], Made]:
    authority = Authority(tmp_path / "pki")
    pair = authority.server("server")

    def made() -> Made:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        server = Server(context)
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.load_verify_locations(authority.certificate)
        return server, TunnelledTls(server, trusting, "localhost")  # type: ignore[arg-type]

    return made


@pytest.fixture
def shaken(make: Callable[[], Made]) -> Made:
    server, tunnel = make()
    tunnel.do_handshake()
    server.go_on()
    return server, tunnel


def test_a_handshake_passes_in_pieces(make: Callable[[], Made]) -> None:
    server, tunnel = make()
    server.room, server.gives = 100, 100
    tunnel.do_handshake()
    assert tunnel.send(b"hello") == 5
    server.go_on()
    assert server.received == b"hello"


def test_a_handshake_goes_on_after_each_wait(make: Callable[[], Made]) -> None:
    server, tunnel = make()
    server.room = 0
    with pytest.raises(ssl.SSLWantWriteError):
        tunnel.do_handshake()
    server.room = None
    tunnel.do_handshake()
    assert tunnel.send(b"hello") == 5


def test_large_data_is_sent_in_records(shaken: Made) -> None:
    server, tunnel = shaken
    data = bytes(range(256)) * 200
    sizes = []
    left = data
    while left:
        sizes.append(tunnel.send(left))
        left = left[sizes[-1] :]
    server.go_on()
    assert sizes == [2**14, 2**14, 2**14, 51200 - 3 * 2**14]
    assert server.received == data


def test_data_that_had_to_wait_is_sent_once(shaken: Made) -> None:
    server, tunnel = shaken
    server.room = 0
    for _ in range(2):
        with pytest.raises(ssl.SSLWantWriteError):
            tunnel.send(b"hello")
    server.room = 3
    assert tunnel.send(b"hello") == 5
    assert tunnel.send(b" there") == 6
    server.go_on()
    assert server.received == b"hello there"


def test_data_is_received_up_to_the_size_asked_for(shaken: Made) -> None:
    server, tunnel = shaken
    server.sizes.clear()
    server.gives = 10
    server.write(b"hello there")
    assert tunnel.recv(5) == b"hello"
    assert tunnel.recv(100) == b" there"
    assert set(server.sizes) == {2**14}
    with pytest.raises(ssl.SSLWantReadError):
        tunnel.recv(100)


def test_what_is_pending_is_counted_at_all_three_places(shaken: Made) -> None:
    server, tunnel = shaken
    # What the server said after the handshake is read first.
    with pytest.raises(ssl.SSLWantReadError):
        tunnel.recv(1)
    assert tunnel.pending() == 0
    server.write(b"x" * 10)
    first = server.outgoing.pending
    for text in (b"y" * 100, b"z" * 1000):
        server.write(text)
    assert tunnel.pending() == server.outgoing.pending
    # Half of the second record is in the tunnel, and the rest is still at the socket.
    server.gives, server.given = 100, 0
    assert tunnel.recv(4) == b"xxxx"
    within = server.given - first
    assert within > 0 and server.outgoing.pending > 0
    assert tunnel.pending() == 6 + within + server.outgoing.pending


@pytest.mark.parametrize("politely", [True, False], ids=["with a word", "without a word"])
def test_the_end_is_no_data(shaken: Made, politely: bool) -> None:
    server, tunnel = shaken
    server.write(b"last")
    if politely:
        server.end()
    server.ended = True
    assert tunnel.recv(100) == b"last"
    assert tunnel.recv(100) == b""
    assert tunnel.fileno() == 7
    tunnel.close()
    assert server.closed
