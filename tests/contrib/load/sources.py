"""Handles for sources of load, and HTTP clients that answer as a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from mooring.api import Node
from mooring.client.client import Client
from mooring.cycle.profile_handle import ProfileHandle
from mooring.framework.handle import HttpAnswer, HttpClient
from mooring.testing import make_node
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.support.processes import LOOPBACK


class Answers:
    """An HTTP client that answers every request with the same answer or error."""

    def __init__(self, answer: HttpAnswer | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        self.asked.append((url, options))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def memory_scheduler(
    nodes: Sequence[Node] = (make_node("a"),),
    *,
    http: HttpClient | None = None,
    client: Client | None = None,
) -> MemoryScheduler:
    """Return a scheduler in memory whose plugins read from the given clients."""
    return MemoryScheduler(
        nodes,
        http=http,
        client=MemoryClient if client is None else lambda _: client,
    )


def handle_of(scheduler: MemoryScheduler) -> ProfileHandle:
    """Return the handle of the default profile."""
    return scheduler.profiles["default-scheduler"].handle


@asynccontextmanager
async def serving(
    path: str, answer: Callable[[web.Request], Awaitable[web.Response]]
) -> AsyncIterator[str]:
    """Serve a path over HTTP; yield the host and port."""
    app = web.Application()
    app.router.add_get(path, answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        host, port = runner.addresses[0][:2]
        yield f"{host}:{port}"
    finally:
        await runner.cleanup()
