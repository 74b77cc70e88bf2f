"""A transport to the API server in this process: no socket, no encryption, the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import parse_qs

from mooring.apiserver.api import Api
from mooring.apiserver.http import ApiRequest, ApiResponse, RequestUser
from mooring.client import transport as wire
from mooring.errors import NoAnswerError


class LocalTransport:
    """Carry requests to an API as one user (`client.transport.Transport`)."""

    def __init__(self, api: Api, user: RequestUser, *, user_agent: str = "mooring") -> None:
        self._api = api
        self._user = user
        self._agent = user_agent
        self.server = "local://cluster"

    async def send(self, request: wire.Request) -> wire.Response:
        """Send a request and return the whole answer, whatever its status."""
        response = await self._ask(request)
        body = response.body
        if response.stream is not None:
            body = b"".join([chunk async for chunk in response.stream])
        return wire.Response(response.code, _headers(response), body)

    def stream(
        self, request: wire.Request, *, idle_timeout: float | None = None
    ) -> AbstractAsyncContextManager[wire.Stream]:
        """Send a request and read its answer as it comes."""
        return self._stream(request, idle_timeout)

    @asynccontextmanager
    async def _stream(
        self, request: wire.Request, idle_timeout: float | None
    ) -> AsyncIterator[wire.Stream]:
        response = await self._ask(request)
        try:
            yield _LocalStream(response, idle_timeout)
        finally:
            close = getattr(response.stream, "aclose", None)
            if close is not None:
                await close()

    def refusal_hint(self) -> str:
        """Say why the server may not know who asks: nothing is known."""
        return ""

    async def close(self) -> None:
        """End; there are no connections."""

    async def _ask(self, request: wire.Request) -> ApiResponse:
        # Others get their turn between two requests, as they would while a socket is read.
        await asyncio.sleep(0)
        path, _, query = request.target.partition("?")
        return await self._api.handle(
            ApiRequest(
                method=request.method,
                path=path,
                query=parse_qs(query, keep_blank_values=True),
                headers={"content-type": request.content_type, "user-agent": self._agent},
                body=request.body,
                certificate=self._user,
            )
        )


class _LocalStream:
    """Hold an answer whose body comes bit by bit."""

    def __init__(self, response: ApiResponse, idle_timeout: float | None) -> None:
        self._response = response
        self._idle_timeout = idle_timeout
        self.status = response.code
        self.headers: Mapping[str, str] = _headers(response)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        stream = self._response.stream
        if stream is None:
            yield self._response.body
            return
        while True:
            try:
                async with asyncio.timeout(self._idle_timeout):
                    chunk = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise NoAnswerError("nothing came for too long", sent=True) from None
            if chunk:
                yield chunk

    async def read(self) -> bytes:
        """Return the whole body."""
        return b"".join([chunk async for chunk in self.chunks()])


def _headers(response: ApiResponse) -> dict[str, str]:
    return {"content-type": response.content_type, **response.headers}
