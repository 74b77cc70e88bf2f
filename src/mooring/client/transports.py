"""The transport for a connection."""

from __future__ import annotations

from mooring.client.connection import Connection
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
    """Return the transport that carries requests to the server of a connection.

    `before_send` is called with each request right before its first bytes are sent; if it raises,
    the request is not sent and the exception reaches the caller unchanged.
    """
    return HttpTransport(connection, user_agent=user_agent, clock=clock, before_send=before_send)
