"""Requests and answers without a socket: what the server hands to the API, and gets back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import encode

JSON = "application/json"
BODY_LIMIT = 3 * 1024 * 1024
"""kube-apiserver: --max-request-body-bytes, 3 MiB."""


@dataclass(frozen=True, slots=True)
class RequestUser:
    """Hold who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = RequestUser("system:anonymous", ("system:unauthenticated",))

#: Returns the body of a request, or raises a Refusal.
BodyReader = Callable[[], Awaitable[bytes]]


@dataclass(slots=True)
class ApiRequest:
    """Hold one request; header names are in lower case, a parameter has all its values."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes = b""
    certificate: RequestUser | None = None
    user: RequestUser = ANONYMOUS

    def parameter(self, name: str) -> str:
        """Return the first value of a parameter, "" where it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """Tell whether a boolean parameter is set, as Go's conversion reads it."""
        return name in self.query and self.parameter(name).lower() not in ("false", "0")


class ByteStream(Protocol):
    """A body that comes in chunks.

    Whoever gets a response with a stream calls `aclose` when done with it, even if no chunk was
    read: that frees what the stream holds. An async generator frees nothing before its first
    chunk, so a stream that holds something from the start is a class.
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


@dataclass(slots=True)
class ApiResponse:
    """One response: a body, a stream of chunks, or `later`, which yields to other requests."""

    code: int
    body: bytes = b""
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    stream: ByteStream | None = None
    warnings: list[str] = field(default_factory=list)
    later: Awaitable[ApiResponse] | None = None


def answer(value: Any, code: int = 200, content_type: str = JSON) -> ApiResponse:
    """Answer with an object as JSON."""
    return ApiResponse(code, encode(value), content_type)


def text(body: str, code: int = 200) -> ApiResponse:
    """Answer with plain text."""
    return ApiResponse(code, body.encode(), "text/plain; charset=utf-8")


def refuse(refusal: Refusal) -> ApiResponse:
    """Answer with a refusal's Status."""
    response = ApiResponse(refusal.code, encode(refusal.status), headers=dict(refusal.headers))
    response.warnings = list(refusal.warnings)
    return response


def header_pairs(response: ApiResponse) -> list[tuple[str, str]]:
    """Return the headers of a response as they are sent, one Warning for each warning."""
    pairs = [("Content-Type", response.content_type), ("Cache-Control", "no-cache, private")]
    pairs += response.headers.items()
    pairs += [("Warning", f'299 - "{_quoted(text)}"') for text in response.warnings]
    return pairs


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


@dataclass(frozen=True, slots=True)
class MediaType:
    """Hold one clause of an Accept header."""

    type: str
    parameters: Mapping[str, str]


def accepted(header: str) -> list[MediaType]:
    """Parse an Accept header, in the order it is written."""
    result = []
    for clause in header.split(","):
        name, *rest = (part.strip() for part in clause.split(";"))
        if name:
            pairs = (part.partition("=") for part in rest)
            result.append(MediaType(name.lower(), {k.strip(): v.strip() for k, _, v in pairs}))
    return result
