"""SideLoop: a thread with its own event loop.

It runs what must continue while a slow plugin blocks the scheduling loop: health, metrics, the
lease.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class SideLoop:
    """A thread that runs coroutines; started once, stopped once."""

    def __init__(self, name: str = "side-loop") -> None:
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # A daemon thread: a process that ends for another reason does not wait for it.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_running(self) -> bool:
        """Return whether the thread has been started and has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread and wait until its loop runs."""
        self._thread.start()
        self._ready.wait()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop; return a future that any thread may wait for."""
        assert self._loop is not None, "start() comes first"
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def stop(self, timeout: float | None = None) -> None:
        """Cancel what runs on the loop and wait until the thread has ended."""
        if self._loop is None or not self._thread.is_alive():
            return
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._ready.set()
        # Leaving cancels all remaining tasks and waits for them.
        await self._stop.wait()
