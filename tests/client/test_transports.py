from __future__ import annotations

from aiohttp import web

from mooring.client.connection import Connection
from mooring.client.transport import Request
from mooring.client.transports import make_transport
from tests.client.fakes import serving


async def test_a_transport_says_who_asks_and_asks_before_it_sends() -> None:
    asked: list[Request] = []

    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["User-Agent"])

    async with serving(handle) as server:
        transport = make_transport(
            Connection(server=server), user_agent="test/2", before_send=asked.append
        )
        response = await transport.send(Request("GET", "/api"))
        await transport.close()
    assert response.body == b"test/2"
    assert [request.target for request in asked] == ["/api"]
