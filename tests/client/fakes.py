"""Substitutes for a server and for time, in tests of the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web
from multidict import CIMultiDict

from mooring.client.transport import Request, Response
from mooring.observe.clock import VirtualClock


class SettableClock(VirtualClock):
    """A virtual clock that can be set, even back."""

    def set(self, now: float) -> None:
        self._now = now


class RecordingClock(VirtualClock):
    """A virtual clock that records each sleep, and lets other tasks run in the meantime."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__(start)
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)
        self.advance(seconds)


def answer(status: int, body: Any = None, **headers: str) -> Response:
    """Return a response; underscores in the names of headers become dashes."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, CIMultiDict(named), data)


def failure(code: int, reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    """Return the `Status` object of a failure."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**head, "message": message, "reason": reason, "code": code, **more}


class FakeStream:
    """A stream with given chunks; an exception among them is raised."""

    def __init__(self, chunks: Iterable[bytes | Exception], status: int = 200) -> None:
        self.status = status
        self.headers: CIMultiDict[str] = CIMultiDict()
        self._chunks = list(chunks)

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])


class FakeTransport:
    """A transport that returns the given responses in turn, and records the requests."""

    server = "https://server:6443"

    def __init__(self, *answers: Response | Exception | FakeStream) -> None:
        self.asked: list[Request] = []
        self.closed = False
        self._answers = list(answers)

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        given = self._answers.pop(0)
        if isinstance(given, Exception):
            raise given
        assert isinstance(given, Response)
        return given

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[FakeStream]:
        self.asked.append(request)
        given = self._answers.pop(0)
        if isinstance(given, Exception):
            raise given
        assert isinstance(given, FakeStream)
        yield given

    def refusal_hint(self) -> str:
        return "a hint"

    async def close(self) -> None:
        self.closed = True


class ManualLoop:
    """The running event loop with a clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._loop = asyncio.get_running_loop()
        self._timers: list[tuple[float, asyncio.Handle]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> Any:
        handle = asyncio.TimerHandle(when, callback, args, self._loop)
        # A timer of another loop must not be removed from this one.
        handle._scheduled = False
        self._timers.append((when, handle))
        return handle

    @property
    def timers(self) -> list[float]:
        """Return when the timers that were not cancelled ring."""
        return sorted(when for when, handle in self._timers if not handle.cancelled())

    async def until(self, now: float) -> None:
        """Set the clock, run the timers that are due, and let tasks go on."""
        self.now = now
        due = [one for one in self._timers if one[0] <= now]
        self._timers = [one for one in self._timers if one[0] > now]
        for _, handle in sorted(due, key=lambda one: one[0]):
            if not handle.cancelled():
                handle._run()
        await settle()


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    """End a test that waits for what never comes."""

    def end() -> None:
        for task in asyncio.all_tasks(loop):
            task.cancel()

    loop = asyncio.get_running_loop()
    timer = loop.call_later(10.0, end)
    yield
    timer.cancel()


async def settle() -> None:
    """Let every task go on as far as it can without input."""
    for _ in range(10):
        await asyncio.sleep(0)


Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(
    handle: Handle, *, handler_cancellation: bool = False, **site: Any
) -> AsyncIterator[str]:
    """Serve on a free port of this machine; yield the address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=handler_cancellation)
    await runner.setup()
    made = web.TCPSite(runner, "127.0.0.1", 0, **site)
    await made.start()
    port = runner.addresses[0][1]
    scheme = "https" if site.get("ssl_context") else "http"
    try:
        yield f"{scheme}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
