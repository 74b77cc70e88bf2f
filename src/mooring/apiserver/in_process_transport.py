"""A transport to the API server in this process: no socket, no encryption, the same responses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol
from urllib.parse import parse_qs

from mooring.apiserver import refusals
from mooring.apiserver.http import (
    BODY_LIMIT,
    ApiRequest,
    ApiResponse,
    BodyReader,
    ByteStream,
    RequestUser,
    header_pairs,
)
from mooring.client import transport as wire
from mooring.client.deadlines import CLIENT_CLOSED
from mooring.client.failures import CUT, explain, no_answer
from mooring.client.http1 import Headers, check_target
from mooring.errors import NoAnswerError

log = logging.getLogger(__name__)


class RequestHandler(Protocol):
    """A request handler: the API."""

    async def handle(self, request: ApiRequest, read_body: BodyReader | None = None) -> ApiResponse:
        """Return the response to a request whose body `read_body` returns."""
        ...


class LocalTransport:
    """A transport that hands requests to an API as one user (`client.transport.Transport`).

    With `loads`, the objects that it creates count as loaded.
    """

    def __init__(
        self,
        api: RequestHandler,
        user: RequestUser,
        *,
        user_agent: str = "mooring",
        loads: bool = False,
    ) -> None:
        self._api = api
        self._user = user
        self._agent = user_agent
        self._loads = loads
        self._streams: set[_LocalStream] = set()
        self.server = "local://cluster"

    async def send(self, request: wire.Request) -> wire.Response:
        """Send a request and return the whole response, whatever its status."""
        try:
            async with asyncio.timeout(request.timeout):
                response = await self._ask(request)
                if response.stream is None:
                    return wire.Response(response.code, _headers(response), response.body)
                async with self._opened(request, response, None) as stream:
                    return wire.Response(response.code, stream.headers, await stream.read())
        except TimeoutError as error:
            raise self._no_answer(request, error) from None

    @asynccontextmanager
    async def stream(
        self, request: wire.Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[wire.Stream]:
        """Send a request and yield its response, to be read as it arrives."""
        try:
            async with asyncio.timeout(idle_timeout):
                response = await self._ask(request)
        except TimeoutError as error:
            raise self._no_answer(request, error) from None
        async with self._opened(request, response, idle_timeout) as stream:
            yield stream

    @asynccontextmanager
    async def _opened(
        self, request: wire.Request, response: ApiResponse, idle_timeout: float | None
    ) -> AsyncIterator[_LocalStream]:
        stream = _LocalStream(self, request, response, idle_timeout)
        self._streams.add(stream)
        try:
            yield stream
        finally:
            self._streams.discard(stream)
            await stream.close()

    def refusal_hint(self) -> str:
        """Return "": there is no hint why the server refused the user's credentials."""
        return ""

    async def close(self) -> None:
        """End all streams; their readers get NoAnswerError."""
        for stream in tuple(self._streams):
            await stream.close()

    async def _ask(self, request: wire.Request) -> ApiResponse:
        check_target(request.target)
        # Yield to other tasks between two requests, as reading a socket would.
        await asyncio.sleep(0)
        path, _, query = request.target.partition("?")
        headers = {"accept": request.accept, "user-agent": self._agent}
        if request.body:
            headers["content-type"] = request.content_type

        async def read_body() -> bytes:
            if len(request.body) > BODY_LIMIT:
                raise refusals.too_large(f"limit is {BODY_LIMIT}")
            return request.body

        received = ApiRequest(
            method=request.method,
            path=path,
            query=parse_qs(query, keep_blank_values=True),
            headers=headers,
            certificate=self._user,
            is_loading=self._loads,
        )
        return await self._api.handle(received, read_body)

    def _no_answer(self, request: wire.Request, error: BaseException) -> NoAnswerError:
        message, sent = explain(error)
        return no_answer(self.server, request, message, sent=sent)


class _LocalStream:
    """A response whose body arrives in chunks."""

    def __init__(
        self,
        transport: LocalTransport,
        request: wire.Request,
        response: ApiResponse,
        idle_timeout: float | None,
    ) -> None:
        self._transport = transport
        self._request = request
        self._body = response.body
        self._stream = response.stream
        self._idle_timeout = idle_timeout
        self._closed = False
        #: The deadline of the read in progress.
        self._reading: asyncio.Timeout | None = None
        self.status = response.code
        self.headers: Mapping[str, str] = _headers(response)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body as they arrive."""
        if self._stream is None:
            yield self._body
            return
        while chunk := await self._next(self._stream):
            yield chunk

    async def _next(self, stream: ByteStream) -> bytes:
        """Return the next non-empty chunk, b"" at the end of the stream."""
        try:
            if self._closed:
                raise ConnectionAbortedError(CLIENT_CLOSED)
            async with asyncio.timeout(self._idle_timeout) as self._reading:
                async for chunk in stream:
                    if chunk:
                        return chunk
                return b""
        except (TimeoutError, ConnectionAbortedError) as error:
            cause = ConnectionAbortedError(CLIENT_CLOSED) if self._closed else error
            raise self._transport._no_answer(self._request, cause) from None
        except Exception:
            # A client on a socket would only see the connection end.
            log.exception("A response failed while it was sent")
            raise no_answer(self._transport.server, self._request, CUT, sent=True) from None
        finally:
            self._reading = None

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def close(self) -> None:
        """End the stream; a reader that waits for more gets NoAnswerError."""
        if self._closed:
            return
        self._closed = True
        if self._reading is not None:
            # A stream cannot be closed while it is being read, so end the read by a timeout.
            self._reading.reschedule(asyncio.get_running_loop().time())
        elif self._stream is not None:
            await self._stream.aclose()


def _headers(response: ApiResponse) -> Headers:
    """Return the headers as a client would parse them; values of one name are joined."""
    joined: dict[bytes, bytes] = {}
    for name, value in header_pairs(response):
        key, raw = name.lower().encode("latin-1"), value.encode("latin-1", "replace")
        joined[key] = joined[key] + b", " + raw if key in joined else raw
    return Headers(joined)
