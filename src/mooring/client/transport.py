"""The seam between the client and the wire: who carries requests is behind it.

`HttpTransport` talks to a server; a server in this process is another transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

JSON = "application/json"


class Request(msgspec.Struct, frozen=True):
    """Ask a server for something.

    `target` is path and query, percent-encoded, from the server's root.
    """

    method: str
    target: str
    body: bytes = b""
    content_type: str = JSON
    #: Seconds until no answer counts as a failure; None waits forever.
    timeout: float | None = None
    #: How the answer is to be written.
    accept: str = JSON


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
    if before_send is None:
        return None

    def check() -> None:
        try:
            before_send(request)
        except Exception as error:
            raise WithheldError(error) from error

    return check


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
    """Carry requests to a server. Each call raises NoAnswerError where none came.

    Belongs to one event loop.
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
        """Say why the server may not know who asks; empty where nothing is known."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...
