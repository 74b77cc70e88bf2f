"""The interface between the client and whatever carries its requests.

`HttpTransport` talks to a server; a server in this process is another transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

import msgspec

JSON = "application/json"
#: The largest object, Status or watch event, in bytes. An API server accepts objects up to 3 MiB.
MAX_OBJECT = 2**24
#: The largest page of a list, in bytes.
MAX_LIST = 2**30


class Request(msgspec.Struct, frozen=True):
    """An HTTP request.

    `target` is path and query, percent-encoded, from the server's root.
    """

    method: str
    target: str
    body: bytes = b""
    content_type: str = JSON
    #: Seconds from the call until the complete response must have arrived (of a stream: its head);
    #: None waits forever. Credentials, a free connection, dialling, TLS and retries all count.
    timeout: float | None = None
    #: The accepted format of the response.
    accept: str = JSON
    #: The largest body accepted, after inflating; for a stream it applies only to `read`.
    max_bytes: int = MAX_OBJECT


#: Called with each request right before its first bytes are written to the socket, and again
#: before each retry. If it raises, nothing is sent and the caller gets the exception unchanged.
BeforeSend = Callable[[Request], None]


class WithheldError(Exception):
    """A request that was not sent because `before_send` raised `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def check_of(before_send: BeforeSend | None, request: Request) -> Callable[[], None] | None:
    """Return the check to call before a request is sent; it raises WithheldError."""
    return None if before_send is None else withholding(partial(before_send, request))


def withholding(check: Callable[[], None]) -> Callable[[], None]:
    """Return a check whose exceptions are wrapped in WithheldError, unlike errors of sending."""

    def run() -> None:
        try:
            check()
        except Exception as error:
            raise WithheldError(error) from error

    return run


class Response(msgspec.Struct, frozen=True):
    """An HTTP response. The names of `headers` are case-insensitive."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class Stream(Protocol):
    """A response whose body arrives piece by piece."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. A broken connection raises NoAnswerError."""
        ...

    async def read(self) -> bytes:
        """Return the whole body."""
        ...


class Transport(Protocol):
    """A carrier of requests to a server. Belongs to one event loop.

    Each call raises NoAnswerError if there is no response, and ApiError with the reason
    ClientDecoding if the response is larger than the request allows.
    """

    #: The URL of the server, for messages.
    server: str

    async def send(self, request: Request) -> Response:
        """Send a request and return the complete response, whatever its status."""
        ...

    def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Send a request and read its response as it arrives.

        The connection counts as broken if nothing arrives for `idle_timeout` seconds.
        """
        ...

    def refusal_hint(self) -> str:
        """Return a possible reason why authentication failed; empty if none is known."""
        ...

    async def close(self) -> None:
        """Close all connections; requests waiting or in progress fail."""
        ...
