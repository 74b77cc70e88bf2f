"""TunnelledTls: TLS to a server inside the TLS connection to a proxy."""

from __future__ import annotations

import ssl

_READ_SIZE = 2**14


class TunnelledTls:
    """A non-blocking socket whose records travel inside those of another TLS socket.

    ssl.SSLContext.wrap_socket cannot be used on a secured socket: it would bypass its TLS.
    """

    def __init__(self, outer: ssl.SSLSocket, context: ssl.SSLContext, server_name: str) -> None:
        self._outer = outer
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._inner = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        #: Records that the outer socket has not taken yet.
        self._unsent = b""
        #: How much of the data given to `send` is in those records.
        self._accepted = 0

    def fileno(self) -> int:
        """Return the number of the outer socket."""
        return self._outer.fileno()

    def do_handshake(self) -> None:
        """Go on with the handshake; raise ssl.SSLWant…Error if it has to wait."""
        while True:
            try:
                self._inner.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            else:
                self._flush()
                return

    def send(self, data: memoryview | bytes, /) -> int:
        """Send some of the data and return how many bytes.

        After ssl.SSLWant…Error it must be called again with the same data.
        """
        if not self._accepted:
            self._accepted = self._inner.write(data[:_READ_SIZE])
        self._flush()
        sent, self._accepted = self._accepted, 0
        return sent

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""
        while True:
            try:
                return self._inner.read(size)
            except ssl.SSLWantReadError:
                self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def pending(self) -> int:
        """Return how many bytes can be read that the selector does not know of, or more."""
        return self._inner.pending() + self._incoming.pending + self._outer.pending()

    def close(self) -> None:
        """End the connection."""
        self._outer.close()

    def _fill(self) -> None:
        data = self._outer.recv(_READ_SIZE)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    def _flush(self) -> None:
        while self._unsent or self._outgoing.pending:
            self._unsent = self._unsent or self._outgoing.read()
            self._unsent = self._unsent[self._outer.send(self._unsent) :]
