"""HTTP/1.1 as far as an API server's answers need it, without a library's generality.

A bind or an event is a small request with a small answer, hundreds of times a second: the common
case (a whole answer in one read, its length in the head) costs one search and a handful of
splits. Everything else that HTTP/1.1 allows in an answer is read too, only not as fast.
"""

from __future__ import annotations

import zlib

from mooring.client.transport import Response

#: More than this is no head of an answer.
MAX_HEAD = 2**18
_END = b"\r\n\r\n"


class ProtocolError(Exception):
    """Report an answer that is not HTTP/1.1."""


class Headers(dict[str, str]):
    """Hold the headers of an answer; names are read without regard to case."""

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a header, or the default."""
        return super().get(name.lower(), default)


def request_bytes(method: str, target: str, headers: bytes, body: bytes) -> bytes:
    """Put a request together; `headers` are whole lines."""
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
    """Raise ValueError if the target of a request cannot be sent as it is."""
    if not (target.isascii() and target.isprintable()) or " " in target:
        raise ValueError(f"the target of a request must be percent-encoded, got {target!r}")


def header_lines(headers: list[tuple[str, str]]) -> bytes:
    """Write headers as lines."""
    lines = []
    for name, value in headers:
        if not name.isprintable() or not value.isprintable() or ":" in name:
            raise ValueError(f"header {name!r} cannot be sent: it holds control characters")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()


class ResponseReader:
    """Read one answer from bytes that come as they like."""

    def __init__(self) -> None:
        self.keep_alive = True
        #: 0 until the head is complete.
        self.status = 0
        self.headers = Headers()
        self._head = b""
        self._parts: list[bytes] = []
        # Bytes still to come; -1: until the connection ends; None: in chunks, or no head yet.
        self._missing: int | None = None
        self._chunked: _Chunks | None = None

    def feed(self, data: bytes) -> Response | None:
        """Take bytes; return the answer once it is complete."""
        if self.status == 0:
            rest = self.begin(data)
            if rest is None:
                return None
            data = rest
        part, complete = self.body(data)
        if part:
            self._parts.append(part)
        return self._answer() if complete else None

    def end(self) -> Response:
        """Take note that the connection ended; return the answer if that completes it."""
        self.finish()
        return self._answer()

    # Bit by bit.

    def begin(self, data: bytes) -> bytes | None:
        """Take bytes of the head; return what came after it once it is complete."""
        return self._take_head(data)

    def body(self, data: bytes) -> tuple[bytes, bool]:
        """Take bytes after the head; return those of the body, and whether it is complete."""
        if self._chunked is not None:
            complete = self._chunked.feed(data)
            return self._chunked.take(), complete
        assert self._missing is not None
        if self._missing < 0:
            return data, False
        if len(data) > self._missing:
            raise ProtocolError("more came than was promised")
        self._missing -= len(data)
        return data, self._missing == 0

    def finish(self) -> None:
        """Take note that the connection ended; raise where that leaves the answer incomplete."""
        if not self.status or self._missing != -1:
            raise ProtocolError("cut" if self.status or self._head else "closed")

    def _take_head(self, data: bytes) -> bytes | None:
        head, end, rest = (self._head + data).partition(_END)
        if not end:
            if len(head) > MAX_HEAD or not head.startswith(b"HTTP/1."[: len(head)]):
                raise ProtocolError("no head")
            self._head = head
            return None
        self._head = b""
        status_line, _, lines = head.decode("latin-1").partition("\r\n")
        version, _, status = status_line.partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdecimal():
            raise ProtocolError("no status line")
        code = int(status[:3])
        if 100 <= code < 200:
            # Interim: the answer is yet to come.
            return self._take_head(rest)
        headers = self.headers
        for line in lines.split("\r\n") if lines else ():
            name, colon, value = line.partition(":")
            if not colon:
                raise ProtocolError("no header")
            headers[name.lower()] = value.strip()
        self.status = code
        self._frame(version, code, headers)
        return rest

    def _frame(self, version: str, code: int, headers: Headers) -> None:
        connection = headers.get("connection", "") or ""
        self.keep_alive = version != "HTTP/1.0" and connection.lower() != "close"
        length = headers.get("content-length")
        if code in (204, 304):
            self._missing = 0
        elif (headers.get("transfer-encoding") or "").lower() == "chunked":
            self._chunked = _Chunks()
        elif length is None:
            self._missing, self.keep_alive = -1, False
        elif length.isdecimal():
            self._missing = int(length)
        else:
            raise ProtocolError("no length")

    def _answer(self) -> Response:
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        if self.headers.get("content-encoding") == "gzip":
            try:
                body = zlib.decompress(body, 31)
            except zlib.error:
                raise ProtocolError("cut") from None
        return Response(self.status, self.headers, body)


class _Chunks:
    """Read a body in chunks."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._rest = b""
        self._missing = 0
        self._begun = False
        self._trailing = False

    def take(self) -> bytes:
        """Return what has come of the body since the last time."""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def feed(self, data: bytes) -> bool:
        """Take bytes; tell whether the body is complete."""
        data = self._rest + data if self._rest else data
        at = 0
        while True:
            if self._missing:
                part = data[at : at + self._missing]
                self._parts.append(part)
                self._begun = True
                self._missing -= len(part)
                at += len(part)
                if self._missing:
                    self._rest = b""
                    return False
            end = data.find(b"\r\n", at)
            if end < 0:
                self._rest = data[at:]
                if len(self._rest) > MAX_HEAD:
                    raise ProtocolError("no chunk")
                return False
            line, at = data[at:end], end + 2
            if self._trailing:
                if line:
                    continue
                if at < len(data):
                    raise ProtocolError("more came than was promised")
                return True
            # An empty line ends the chunk before.
            if line or not self._begun:
                size = line.partition(b";")[0].strip()
                if not size.isalnum():
                    raise ProtocolError("no chunk")
                try:
                    self._missing = int(size, 16)
                except ValueError:
                    raise ProtocolError("no chunk") from None
                self._trailing = self._missing == 0
