"""TunnelledTls: TLS to a server inside the TLS connection to a proxy."""

from __future__ import annotations

import ssl
from typing import Literal

_READ_SIZE = 2**14


class TunnelledTls:
    """A non-blocking socket whose records travel inside those of another TLS socket.

    ssl.SSLContext.wrap_socket cannot be used on a TLS socket: it would bypass that socket's TLS.
    """

    def __init__(self, outer: ssl.SSLSocket, context: ssl.SSLContext, server_name: str) -> None:
        self._outer = outer
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._inner = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        #: Records that the outer socket has not accepted yet.
        self._unsent = b""
        #: How many bytes of the data given to `send` are in those records.
        self._accepted = 0

    def fileno(self) -> int:
        """Return the file descriptor of the outer socket."""
        return self._outer.fileno()

    def do_handshake(self) -> None:
        """Continue the handshake; raise ssl.SSLWant…Error if it has to wait."""
        while True:
            try:
                self._inner.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            else:
                self._flush()
                return

    def getpeercert(self, binary_form: Literal[True]) -> bytes | None:
        """Return the certificate of the server inside the tunnel, in DER."""
        return self._inner.getpeercert(binary_form=binary_form)

    def send(self, data: memoryview | bytes, /) -> int:
        """Send some of the data; return the number of bytes sent.

        After ssl.SSLWant…Error it must be called again with the same data.
        """
        if not self._accepted:
            self._accepted = self._inner.write(data[:_READ_SIZE])
        self._flush()
        sent, self._accepted = self._accepted, 0
        return sent

    def recv(self, size: int, /) -> bytes:
        """Return up to `size` bytes; empty at the end of the stream."""
        while True:
            try:
                return self._inner.read(size)
            except ssl.SSLWantReadError:
                self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    def pending(self) -> int:
        """Return an upper bound of the bytes that are buffered here, unseen by the selector."""
        return self._inner.pending() + self._incoming.pending + self._outer.pending()

    def close(self) -> None:
        """Close the connection."""
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
