"""Requests and responses without sockets, as they pass between the listener and the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import encode

JSON = "application/json"
#: kube-apiserver: --max-request-body-bytes, 3 MiB.
BODY_LIMIT = 3 * 1024 * 1024


class RequestUser(msgspec.Struct, frozen=True):
    """The authenticated user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


ANONYMOUS = RequestUser("system:anonymous", ("system:unauthenticated",))

#: Returns the body of a request, or raises a Refusal.
BodyReader = Callable[[], Awaitable[bytes]]


class ApiRequest(msgspec.Struct):
    """One request."""

    method: str
    path: str
    #: All values of each parameter.
    query: Mapping[str, list[str]]
    #: The headers, by names in lower case.
    headers: Mapping[str, str]
    body: bytes = b""
    #: The user of a client certificate, if the connection has one.
    certificate: RequestUser | None = None
    user: RequestUser = ANONYMOUS
    #: Whether the objects that it creates count as loaded. No request of a client can say so.
    is_loading: bool = False

    def parameter(self, name: str) -> str:
        """Return the first value of a query parameter, "" if it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Return whether a boolean query parameter is true, by the rules of Go's conversion."""
        return name in self.query and self.parameter(name).lower() not in ("false", "0")


class ByteStream(Protocol):
    """A response body in chunks.

    The receiver of a response with a stream must call `aclose` at the end, even if it read no
    chunk: this frees what the stream holds. Closing an async generator before its first chunk runs
    none of its code, so a stream that holds something from the start must be a class.
    """

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the chunks."""
        ...

    def __anext__(self) -> Awaitable[bytes]:
        """Return the next chunk."""
        ...

    async def aclose(self) -> None:
        """Free what the stream holds."""
        ...


class ApiResponse(msgspec.Struct):
    """One response: a body, a stream of chunks, or `later`."""

    code: int
    body: bytes = b""
    content_type: str = JSON
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    stream: ByteStream | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    #: Awaited for the actual response; it yields to other requests meanwhile.
    later: Awaitable[ApiResponse] | None = None


def answer(value: Any, code: int = 200, content_type: str = JSON) -> ApiResponse:
    """Return a response with an object as JSON."""
    return ApiResponse(code, encode(value), content_type)


def text(body: str, code: int = 200) -> ApiResponse:
    """Return a response with plain text."""
    return ApiResponse(code, body.encode(), "text/plain; charset=utf-8")


def refuse(refusal: Refusal) -> ApiResponse:
    """Return a response with a refusal's Status."""
    response = ApiResponse(refusal.code, encode(refusal.status), headers=dict(refusal.headers))
    response.warnings = list(refusal.warnings)
    return response


def header_pairs(response: ApiResponse) -> list[tuple[str, str]]:
    """Return the headers to send for a response, with one Warning header per warning."""
    pairs = [("Content-Type", response.content_type), ("Cache-Control", "no-cache, private")]
    pairs += response.headers.items()
    pairs += [("Warning", f'299 - "{_quoted(text)}"') for text in response.warnings]
    return pairs


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


class MediaType(msgspec.Struct, frozen=True):
    """One clause of an Accept header."""

    type: str
    parameters: Mapping[str, str]


def accepted(header: str) -> list[MediaType]:
    """Return the clauses of an Accept header in their order; quality values are ignored."""
    result = []
    for clause in header.split(","):
        name, *rest = (part.strip() for part in clause.split(";"))
        if name:
            pairs = (part.partition("=") for part in rest)
            result.append(MediaType(name.lower(), {k.strip(): v.strip() for k, _, v in pairs}))
    return result
