"""The transport of a connection: straight, or through a proxy."""

from __future__ import annotations

from mooring.client.connection import Connection
from mooring.client.environment_proxy import environment_proxy
from mooring.client.http_transport import HttpTransport
from mooring.client.transport import Transport
from mooring.observe.clock import Clock


def make_transport(
    connection: Connection, *, user_agent: str = "mooring", clock: Clock | None = None
) -> Transport:
    """Make what carries requests to the server of a connection."""
    if connection.proxy or environment_proxy(connection.server):
        # Imported late: it is dear, and few need it.
        from mooring.client.aiohttp_transport import AiohttpTransport

        return AiohttpTransport(connection, user_agent=user_agent, clock=clock)
    return HttpTransport(connection, user_agent=user_agent, clock=clock)
