"""Requests through a proxy; all else is tested with the other transport."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from mooring.client.aiohttp_transport import AiohttpTransport
from mooring.client.connection import Connection
from mooring.client.transport import Request
from mooring.errors import NoAnswerError
from tests.client.fakes import serving


@asynccontextmanager
async def transport_to(server: str, proxy: str) -> AsyncIterator[AiohttpTransport]:
    made = AiohttpTransport(Connection(server=server, proxy=proxy))
    try:
        yield made
    finally:
        await made.close()


async def test_requests_go_through_the_proxy() -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=f"proxied {request.url}")

    async with (
        serving(handle) as proxy,
        transport_to("http://server.invalid", proxy) as transport,
    ):
        answered = await transport.send(Request("GET", "/api"))
    assert answered.body == b"proxied http://server.invalid/api"


async def test_a_proxy_that_refuses() -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=404)

    async with (
        serving(handle) as proxy,
        transport_to("https://server.invalid", proxy) as transport,
    ):
        with pytest.raises(NoAnswerError, match="the proxy answered 404") as raised:
            await transport.send(Request("GET", "/api"))
    assert not raised.value.sent
