"""A hostile server on loopback, which counts the bytes that it sends."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Talk = Callable[["Peer"], None]

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


class Peer:
    """One connection. If the client goes away, its methods raise an OSError."""

    def __init__(self, server: HostileServer, sock: socket.socket) -> None:
        self._server = server
        self._sock = sock

    def head(self) -> bytes:
        """Read a request's head, and the bytes that arrive with it."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.read()
        return data

    def read(self) -> bytes:
        """Read some bytes; raise if the client has closed the connection."""
        data = self._sock.recv(2**16)
        if not data:
            raise ConnectionResetError
        return data

    def write(self, data: bytes) -> None:
        """Write bytes, and count them when the client's socket has accepted them."""
        self._sock.sendall(data)
        self._server.sent += len(data)

    def wait(self) -> None:
        """Send nothing until the client goes away."""
        while True:
            self.read()

    def pause(self, seconds: float) -> None:
        """Send nothing for a while; raise if the client goes away."""
        self._sock.settimeout(seconds)
        try:
            self.read()
        except TimeoutError:
            pass
        finally:
            self._sock.settimeout(None)


class HostileServer:
    """A server that runs `talk` for each connection, in a separate thread."""

    def __init__(self, talk: Talk) -> None:
        #: Bytes that clients' sockets accepted.
        self.sent = 0
        self.connections = 0
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The URL without TLS."""
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock:
                self._talk(Peer(self, sock))
        except OSError:
            # The client has closed the connection, which is what most talks wait for.
            pass

    def close(self) -> None:
        """End all connections."""
        self._listener.close()
        for sock in tuple(self._open):
            sock.close()


@contextmanager
def hostile(talk: Talk) -> Iterator[HostileServer]:
    """Serve until the block ends."""
    server = HostileServer(talk)
    try:
        yield server
    finally:
        server.close()


def bomb(size: int) -> bytes:
    """Return `size` zeros, compressed a thousandfold. The end with the checksum is missing."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(2**20)
    head = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush, equal blocks are compressed to equal bytes.
    same = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + same * ((size >> 20) - 1)


def endless(peer: Peer) -> None:
    """Send a body that never ends."""
    peer.head()
    peer.write(CHUNKED)
    piece = b"%x\r\n%s\r\n" % (2**18, b"x" * 2**18)
    while True:
        peer.write(piece)


def explode(peer: Peer) -> None:
    """Send a small body that inflates to 2 GiB."""
    peer.head()
    body = bomb(2**31)
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    peer.write(OK + head + body)
    peer.wait()
