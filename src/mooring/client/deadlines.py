"""Deadlines: waits that end at a deadline, or when the client is closed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

CLIENT_CLOSED = "the client was closed"


class ConnectError(Exception):
    """A request that was not sent, for instance because no connection could be made."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def client_closed() -> ConnectError:
    """Return the error of a request that was not sent because the client is closed."""
    return ConnectError(ConnectionAbortedError(CLIENT_CLOSED))


class Deadlines:
    """Waits that end at a deadline, or when `close` is called. Belongs to one event loop.

    For rare waits: each costs a timer. Deadlines are times of the loop's clock.
    """

    def __init__(self) -> None:
        self.closed = False
        self._waits: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def until(self, deadline: float, late: str) -> AsyncIterator[None]:
        """Cancel the block at the deadline; raise ConnectError with the text `late`."""
        if self.closed:
            raise client_closed()
        wait = asyncio.timeout_at(None if deadline == math.inf else deadline)
        try:
            async with wait:
                self._waits.add(wait)
                try:
                    yield
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if not wait.expired():
                raise
            raise (client_closed() if self.closed else ConnectError(TimeoutError(late))) from None

    def close(self) -> None:
        """End all waits."""
        self.closed = True
        for wait in tuple(self._waits):
            if not wait.expired():
                wait.reschedule(asyncio.get_running_loop().time())
