"""The transport of a connection: straight, or through a proxy."""

from __future__ import annotations

from mooring.client.connection import Connection
from mooring.client.environment_proxy import environment_proxy
from mooring.client.http_transport import HttpTransport
from mooring.client.transport import BeforeSend, Transport
from mooring.observe.clock import Clock


def make_transport(
    connection: Connection,
    *,
    user_agent: str = "mooring",
    clock: Clock | None = None,
    before_send: BeforeSend | None = None,
) -> Transport:
    """Make the transport that carries requests to the server of a connection.

    `before_send` is called with each request right before its first bytes are sent; if it raises,
    the request is not sent and the exception reaches the caller unchanged.
    """
    if connection.proxy or environment_proxy(connection.server):
        # Imported late: it is dear, and few need it.
        from mooring.client.aiohttp_transport import AiohttpTransport

        return AiohttpTransport(
            connection, user_agent=user_agent, clock=clock, before_send=before_send
        )
    return HttpTransport(connection, user_agent=user_agent, clock=clock, before_send=before_send)
