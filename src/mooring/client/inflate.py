"""Inflater: gzip, inflated in pieces and refused when it grows too large."""

from __future__ import annotations

import zlib

from mooring.client.protocol import CUT, ProtocolError, TooLargeError
from mooring.client.transport import MAX_OBJECT

#: The largest ratio of a large body to its compressed size. JSON lists of Kubernetes objects
#: reach 10 to 40; gzip itself can reach 1,030.
MAX_RATIO = 100
#: How much is inflated at once.
_PIECE = 2**18
#: zlib's parameter for a gzip header.
_GZIP = 31


class Inflater:
    """A gzip stream that is inflated piece by piece.

    Raises TooLargeError when the result exceeds `max_bytes`, or exceeds 16 MiB and also
    `MAX_RATIO` times what was fed.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._fed = 0
        self._size = 0
        self._stream = zlib.decompressobj(_GZIP)

    def feed(self, data: bytes) -> list[bytes]:
        """Inflate a piece of the stream."""
        stream = self._stream
        if stream.eof:
            raise ProtocolError("data after the end of the gzip stream")
        self._fed += len(data)
        parts: list[bytes] = []
        while True:
            try:
                part = stream.decompress(data, _PIECE)
            except zlib.error:
                raise ProtocolError("the body is not valid gzip") from None
            self._size += len(part)
            self._check()
            if part:
                parts.append(part)
            data = stream.unconsumed_tail
            # After a full piece, zlib may hold more output even if all input was consumed.
            if stream.eof or (not data and len(part) < _PIECE):
                break
        if stream.unused_data:
            raise ProtocolError("data after the end of the gzip stream")
        return parts

    def finish(self) -> None:
        """Raise ProtocolError if the stream is incomplete; an empty body is accepted."""
        if self._fed and not self._stream.eof:
            raise ProtocolError(CUT)

    def _check(self) -> None:
        if self._size > self._max_bytes:
            raise TooLargeError(self._max_bytes)
        if self._size > max(MAX_OBJECT, MAX_RATIO * self._fed):
            raise TooLargeError(self._max_bytes, ratio=MAX_RATIO)
