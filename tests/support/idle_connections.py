"""Many idle connections, and the memory and files they cost the server process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

#: The start of a TLS handshake: the first bytes of a record of 512.
PART_OF_A_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
PART_OF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "

#: Ephemeral ports are limited, so the connections use several loopback addresses.
_PER_SOURCE = 10_000


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def open_files(pid: int) -> int:
    """Return how many files and sockets a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class IdleConnections:
    """Connections to a loopback port that stay idle until they are closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []
        self._tls: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def __len__(self) -> int:
        return len(self._sockets) + len(self._tls)

    def open(self, number: int, first: bytes = b"", source: str = "") -> None:
        """Open plain connections that send a few bytes, or none."""
        for _ in range(number):
            where = source or f"127.0.0.{1 + len(self._sockets) // _PER_SOURCE}"
            one = socket.create_connection(("127.0.0.1", self._port), 20, (where, 0))
            self._sockets.append(one)
            if first:
                # The server may have closed the connection already to make room for another.
                with contextlib.suppress(ConnectionError):
                    one.sendall(first)

    async def open_tls(self, number: int, first: bytes = b"", at_once: int = 50) -> None:
        """Open connections that finish the handshake and send a few bytes, or none."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        turns = asyncio.Semaphore(at_once)

        async def one() -> None:
            async with turns:
                with contextlib.suppress(ConnectionError):
                    one = await asyncio.open_connection("127.0.0.1", self._port, ssl=context)
                    self._tls.append(one)
                    one[1].write(first)

        await asyncio.gather(*[one() for _ in range(number)])

    def end_sending(self) -> None:
        """Close the client's half of every plain connection."""
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)

    def closed(self) -> int:
        """Return how many connections the server has closed."""
        plain = sum(1 for one in self._sockets if _is_closed(one))
        return plain + sum(1 for reader, writer in self._tls if _has_ended(reader, writer))

    def close(self) -> None:
        """Close them all."""
        for one in self._sockets:
            one.close()
        for _, writer in self._tls:
            writer.transport.abort()
        self._sockets.clear()
        self._tls.clear()


@contextlib.contextmanager
def idle_connections(port: int) -> Iterator[IdleConnections]:
    """Yield connections that are closed at the end."""
    held = IdleConnections(port)
    try:
        yield held
    finally:
        held.close()


def _is_closed(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        return one.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _has_ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    # A response that the server sent before the end is not read.
    return writer.transport.is_closing() or reader.exception() is not None
