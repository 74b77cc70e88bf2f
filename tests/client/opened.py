"""Transports that a test opens and that end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from mooring.client.connection import Connection
from mooring.client.http_transport import HttpTransport
from mooring.client.transport import Request, Transport

GET = Request("GET", "/api?a=b%2Fc", timeout=10.0)


POST = Request("POST", "/api", b'{"a":1}', timeout=10.0)


Opened = Callable[..., AbstractAsyncContextManager[Transport]]


@pytest.fixture
def transport_to() -> Opened:
    @asynccontextmanager
    async def opened(server: str, **connection: Any) -> AsyncIterator[Transport]:
        made = HttpTransport(Connection(server=server, **connection), user_agent="test/1")
        try:
            yield made
        finally:
            await made.close()

    return opened
