"""HTTP/1.1: requests as bytes, and responses as httptools parses them.

httptools (llhttp) is strict: bare line feeds, NUL, folded header lines, two Content-Lengths, and
Content-Length together with Transfer-Encoding are errors. This module handles the rest: repeated
headers, interim responses, and size limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import httptools

from mooring.client.inflate import Inflater
from mooring.client.protocol import CLOSED, CUT, ProtocolError, TooLargeError
from mooring.client.transport import MAX_OBJECT, Response

#: The longest head, and the most bytes of chunk sizes or trailers between two parts of a body.
MAX_HEAD = 2**18
MAX_HEADERS = 1000
# Go: net/http/transport.go, max1xxResponses
MAX_INTERIM = 5

#: Headers with a single value: repeating one with another value is an error. Others are lists.
_SINGULAR = frozenset(
    {
        b"age",
        b"content-encoding",
        b"content-length",
        b"content-location",
        b"content-range",
        b"content-type",
        b"date",
        b"etag",
        b"expires",
        b"last-modified",
        b"location",
        b"retry-after",
        b"server",
        b"transfer-encoding",
    }
)


class Headers(Mapping[str, str]):
    """The headers of a response; names are case-insensitive.

    Values are decoded only when they are read: most never are.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: dict[bytes, bytes]) -> None:
        #: By name in lower case.
        self._raw = raw

    def __getitem__(self, name: str) -> str:
        return self._raw[name.lower().encode("latin-1", "replace")].decode("latin-1")

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a header, or the default."""
        found = self._raw.get(name.lower().encode("latin-1", "replace"))
        return default if found is None else found.decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._raw)

    def __len__(self) -> int:
        return len(self._raw)


_NO_HEADERS = Headers({})


def request_bytes(method: str, target: str, headers: bytes, body: bytes) -> bytes:
    """Return a request as bytes; `headers` are complete lines."""
    check_target(target)
    if body or method not in ("GET", "DELETE"):
        return b"%s %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (
            method.encode(),
            target.encode(),
            headers,
            len(body),
            body,
        )
    return b"%s %s HTTP/1.1\r\n%s\r\n" % (method.encode(), target.encode(), headers)


def check_target(target: str) -> None:
    """Raise ValueError if the target of a request is not percent-encoded."""
    if not (target.isascii() and target.isprintable()) or " " in target:
        raise ValueError(f"the target of a request must be percent-encoded, got {target!r}")


def header_lines(headers: list[tuple[str, str]]) -> bytes:
    """Return headers as lines."""
    lines = []
    for name, value in headers:
        if not name.isprintable() or not value.isprintable() or ":" in name:
            raise ValueError(f"header {name!r} cannot be sent: it holds control characters")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()


class ResponseReader:
    """A reader of the responses on one connection, fed with bytes as they arrive.

    It reads one response; `reset` prepares it for the next. A body of more than `max_bytes` is an
    error; None accepts any size, for a body that is taken piece by piece. httptools calls the
    methods `on_…`.
    """

    __slots__ = (
        "_error",
        "_fields",
        "_inflater",
        "_interim",
        "_max_bytes",
        "_overhead",
        "_parser",
        "_parts",
        "_size",
        "_until_end",
        "complete",
        "headers",
        "keep_alive",
        "status",
    )

    def __init__(self, max_bytes: int | None = MAX_OBJECT) -> None:
        self._fields: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        #: The error that a callback raised: httptools replaces it with its own.
        self._error: ProtocolError | None = None
        self._parser = httptools.HttpResponseParser(self)
        self.reset(max_bytes)

    def reset(self, max_bytes: int | None = MAX_OBJECT) -> None:
        """Prepare for the next response on the same connection."""
        #: Whether the connection may carry another request.
        self.keep_alive = False
        #: 0 until the head is complete.
        self.status = 0
        self.headers = _NO_HEADERS
        #: Whether the whole response has arrived.
        self.complete = False
        self._max_bytes = max_bytes
        # Trailers of the previous response are not headers of this one.
        self._fields.clear()
        self._size = 0
        #: Bytes since the last piece of the body.
        self._overhead = 0
        #: Interim responses seen.
        self._interim = 0
        #: Whether the body ends with the connection.
        self._until_end = False
        self._inflater: Inflater | None = None

    def feed(self, data: bytes) -> bool:
        """Parse bytes; return whether the response is complete."""
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise ProtocolError("unexpected 101 Switching Protocols") from None
        except httptools.HttpParserError as error:
            raise self._error or ProtocolError(str(error)) from None
        if self._overhead > MAX_HEAD and not self.complete:
            raise ProtocolError(_too_long(self.status))
        return self.complete

    def end(self) -> None:
        """Record the end of the connection; raise ProtocolError if the response is incomplete."""
        if self.complete:
            return
        if not self._until_end:
            raise ProtocolError(CUT if self.status or self._overhead else CLOSED)
        self.complete = True

    def take(self) -> bytes:
        """Return the part of the body that has arrived since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken

    def response(self) -> Response:
        """Return the complete response, its body inflated."""
        if self._inflater is not None:
            self._inflater.finish()
        return Response(self.status, self.headers, self.take())

    # Called by httptools.

    def on_message_begin(self) -> None:
        """Refuse bytes after the end of the response."""
        if self.complete:
            self._refuse(ProtocolError("more came than was promised"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are stored but never read."""
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """Process the complete head."""
        status = self._parser.get_status_code()
        fields = self._fields
        self._fields = []
        if len(fields) > MAX_HEADERS:
            self._refuse(ProtocolError(f"more than {MAX_HEADERS} headers"))
        if status < 200:
            self._interim += 1
            if self._interim > MAX_INTERIM:
                self._refuse(ProtocolError("too many 1xx informational responses"))
            return
        raw = {name.lower(): value.rstrip() for name, value in fields}
        if len(raw) != len(fields):
            raw = self._join_repeated(fields)
        if status != 204 and status != 304:
            self._frame(raw)
        self.headers = Headers(raw)
        self._overhead = 0
        self.status = status

    def on_body(self, data: bytes) -> None:
        """Store a piece of the body."""
        self._overhead = 0
        if self._inflater is not None:
            try:
                self._parts += self._inflater.feed(data)
            except ProtocolError as error:
                self._refuse(error)
            return
        self._size += len(data)
        if self._max_bytes is not None and self._size > self._max_bytes:
            self._refuse(TooLargeError(self._max_bytes))
        self._parts.append(data)

    def on_message_complete(self) -> None:
        """Record the end of the response, unless it was an interim one."""
        if self.status:
            self.keep_alive = self._parser.should_keep_alive()
            self.complete = True

    def _frame(self, raw: dict[bytes, bytes]) -> None:
        """Determine how the body is framed and encoded."""
        length, limit = raw.get(b"content-length"), self._max_bytes
        if length is None:
            coding = raw.get(b"transfer-encoding")
            self._until_end = coding is None
            if coding is not None and coding.lower() != b"chunked":
                self._refuse(ProtocolError(f"unsupported Transfer-Encoding {coding[:40]!r}"))
        elif limit is not None and int(length) > limit:
            self._refuse(TooLargeError(limit))
        encoding = raw.get(b"content-encoding")
        if encoding is not None and limit is not None and encoding.lower() == b"gzip":
            self._inflater = Inflater(limit)

    def _join_repeated(self, fields: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
        """Join the values of repeated headers, or refuse them."""
        found: dict[bytes, list[bytes]] = {}
        for name, value in fields:
            found.setdefault(name.lower(), []).append(value.rstrip())
        for name, values in found.items():
            if len(values) > 1 and name in _SINGULAR:
                if name == b"transfer-encoding" or len(set(values)) > 1:
                    self._refuse(ProtocolError(f"duplicate header {name.decode('latin-1')}"))
                del values[1:]
        return {name: b", ".join(values) for name, values in found.items()}

    def _refuse(self, error: ProtocolError) -> None:
        """Stop httptools; `feed` raises the error."""
        self._error = self._error or error
        raise error


def _too_long(status: int) -> str:
    part = "between two pieces of the body" if status else "of the head"
    return f"more than {MAX_HEAD} bytes {part}"
