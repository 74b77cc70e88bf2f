"""CheckedRequest: a check of aiohttp's requests at the moment they are sent."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import aiohttp

#: What is called before a request of the running task is sent; what it raises reaches the caller.
before_send: ContextVar[Callable[[], None] | None] = ContextVar("before_send", default=None)


class CheckedRequest(aiohttp.ClientRequest):
    """A request that is checked when its connection stands, for every attempt at it.

    aiohttp sends some requests again by itself, and each may wait for a connection.
    """

    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        """Send the request on a connection."""
        # CONNECT only asks a proxy for the way.
        if self.method != "CONNECT" and (check := before_send.get()) is not None:
            check()
        return await super().send(conn)
