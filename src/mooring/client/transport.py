"""The seam between the client and the wire: who carries requests is behind it.

`HttpTransport` talks to a server; a server in this process is another transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

import msgspec

JSON = "application/json"
#: Bytes of one object, Status or watch event. An API server accepts objects up to 3 MiB.
MAX_OBJECT = 2**24
#: Bytes of one page of a list.
MAX_LIST = 2**30


class Request(msgspec.Struct, frozen=True):
    """A question to a server.

    `target` is path and query, percent-encoded, from the server's root.
    """

    method: str
    target: str
    body: bytes = b""
    content_type: str = JSON
    #: Seconds from the call until the whole answer must be there (of a stream: its head); None
    #: waits forever. Credentials, a free connection, dialling, TLS and retries all count.
    timeout: float | None = None
    #: How the answer is to be written.
    accept: str = JSON
    #: The largest body accepted, after inflating; that of a stream counts only when read whole.
    max_bytes: int = MAX_OBJECT


#: Called with each request right before its first bytes are handed to the socket, and again before
#: each retry. An exception keeps the request from being sent and reaches the caller unchanged.
BeforeSend = Callable[[Request], None]


class WithheldError(Exception):
    """A request that was not sent because `before_send` raised `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def check_of(before_send: BeforeSend | None, request: Request) -> Callable[[], None] | None:
    """Return what checks a request before it is sent; it raises WithheldError."""
    return None if before_send is None else withholding(partial(before_send, request))


def withholding(check: Callable[[], None]) -> Callable[[], None]:
    """Return a check whose exceptions are wrapped in WithheldError, apart from those of sending."""

    def run() -> None:
        try:
            check()
        except Exception as error:
            raise WithheldError(error) from error

    return run


class Response(msgspec.Struct, frozen=True):
    """Hold an answer. The names of `headers` are read without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Stream(Protocol):
    """Hold an answer whose body comes bit by bit."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. A connection that breaks raises NoAnswerError."""
        ...

    async def read(self) -> bytes:
        """Return the whole body."""
        ...


class Transport(Protocol):
    """A carrier of requests to a server. Belongs to one event loop.

    Each call raises NoAnswerError if no answer came, and ApiError with the reason ClientDecoding
    if the answer was larger than the request allows.
    """

    #: The server as a person would name it: its URL.
    server: str

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer, whatever its status."""
        ...

    def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Send a request and read its answer as it comes.

        The connection counts as broken when nothing comes for `idle_timeout` seconds.
        """
        ...

    def refusal_hint(self) -> str:
        """Say why the server may not know who asks; empty if nothing is known."""
        ...

    async def close(self) -> None:
        """End all connections, and fail the requests that are waiting or under way."""
        ...
