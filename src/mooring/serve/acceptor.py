"""Acceptor: accepts connections from a listening socket, and waits for their first bytes.

A connection that has sent nothing costs only a socket and a small object: no transport, no TLS, no
request parser. What it has sent stays in the kernel (`MSG_PEEK`, `SO_RCVLOWAT`) until the first TLS
record is complete, so a client that sends its greeting byte by byte costs no more than one that
sends nothing.

Handshakes are the expensive part, so only a few are begun in one pass of the loop, newest first: in
a burst, a client that has just connected need not wait until all others are served.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
from collections.abc import Callable

from mooring.observe.logs import kv
from mooring.serve.connections import AcceptedConnection, Connections, Stage, peer_address

log = logging.getLogger(__name__)

#: How many connections the kernel holds until they are accepted; its own limit applies if lower.
BACKLOG = 4096
#: How many open files connections leave to the rest of the process.
RESERVED_FILES = 256

OUT_OF_FILES = "Cannot accept connections for lack of resources, trying again"

_ACCEPTED_PER_PASS = 64
OPENED_PER_PASS = 8
_RETRY_SECONDS = 0.2
_NOTICE_SECONDS = 60.0

# RFC 8446, section 5.1: type, version, length of a record; the type of handshakes.
_RECORD_HEAD = 5
_HANDSHAKE_RECORD = 22
_LARGEST_RECORD = 2**14 + 2**11

_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

#: Called with a connection that has something to read.
Open = Callable[["Incoming"], None]


class Incoming(AcceptedConnection):
    """A connection with its socket and, once it has been opened, its transport."""

    __slots__ = ("opened", "peeked", "socket", "transport")

    def __init__(self, accepted: socket.socket, address: str) -> None:
        super().__init__(address)
        self.socket = accepted
        self.transport: asyncio.BaseTransport | None = None
        #: Whether the socket has been handed to a transport.
        self.opened = False
        self.peeked = False

    def close(self) -> None:
        """Close the connection at once, without waiting for the peer."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()
        elif not self.opened:
            asyncio.get_running_loop().remove_reader(self.socket.fileno())
            self.socket.close()

    def take(self, transport: asyncio.BaseTransport) -> None:
        """Set the transport; close it if the connection has been closed in the meantime."""
        self.transport = transport
        if self.stage is None:
            self.close()


class Acceptor:
    """The acceptor of one listening socket. Owned by the loop that serves."""

    def __init__(
        self, listener: socket.socket, connections: Connections, open: Open, *, secure: bool
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._open = open
        self._secure = secure
        #: Connections that have something to read, the newest last.
        self._ready: list[Incoming] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._noticed = -_NOTICE_SECONDS
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def stop(self) -> None:
        """Stop accepting. The listening socket stays open."""
        self._loop.remove_reader(self._listener)
        if self._timer is not None:
            self._timer.cancel()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_PER_PASS):
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _NO_RESOURCES:
                    self._wait(error)
                # Other errors concern only the connection that was to be accepted: accept(2).
                return
            self._admit(accepted, address[0])

    def _wait(self, error: OSError) -> None:
        """Pause accepting: the socket stays readable, so the loop would spin."""
        self._connections.make_room()
        now = self._loop.time()
        if now - self._noticed >= _NOTICE_SECONDS:
            self._noticed = now
            log.warning(OUT_OF_FILES, extra=kv(err=error, connections=len(self._connections)))
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(
            _RETRY_SECONDS, self._loop.add_reader, self._listener, self._accept
        )

    def _admit(self, accepted: socket.socket, host: str) -> None:
        accepted.setblocking(False)
        connection = Incoming(accepted, peer_address(host))
        if not self._connections.admit(connection):
            accepted.close()
            return
        if self._secure:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _RECORD_HEAD)
        self._loop.add_reader(accepted.fileno(), self._peek, connection)

    def _peek(self, connection: Incoming) -> None:
        """Open a connection if its first TLS record is complete; else wait for the rest."""
        waiting = connection.socket
        if self._secure and not connection.peeked:
            connection.peeked = True
            try:
                head = waiting.recv(_RECORD_HEAD, socket.MSG_PEEK)
            except OSError:
                head = b""
            if not head:
                self._connections.remove(connection)
                connection.close()
                return
            if len(head) == _RECORD_HEAD and head[0] == _HANDSHAKE_RECORD:
                size = min(int.from_bytes(head[3:]), _LARGEST_RECORD)
                waiting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _RECORD_HEAD + size)
                return
        self._loop.remove_reader(waiting.fileno())
        if self._secure:
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        if not self._ready:
            self._loop.call_soon(self._open_some)
        self._ready.append(connection)

    def _open_some(self) -> None:
        for _ in range(min(OPENED_PER_PASS, len(self._ready))):
            connection = self._ready.pop()
            # It may have been closed while it waited.
            if connection.stage is Stage.WAITING:
                connection.opened = True
                self._open(connection)
        if self._ready:
            self._loop.call_soon(self._open_some)


def raise_open_files_limit() -> None:
    """Raise this process's limit of open files as far as allowed, up to 2**16."""
    # Go does the same at start: os/rlimit.go.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2**16 if hard == resource.RLIM_INFINITY else min(hard, 2**16)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connections_possible() -> int:
    """Return how many connections the limit of open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else max(16, soft - RESERVED_FILES)
