"""Inbox: what happened outside, kept until the scheduling loop is between two cycles.

Informers, binding cycles and plugins run on the same event loop as the scheduling cycle, which may
wait for an extender: they do not change its state but say here what is to be done.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from mooring.framework.plugin_errors import raise_if_external
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)


class Inbox:
    """Hold calls in the order they were posted. Drained by the scheduling loop alone."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._posted = asyncio.Event()

    def post(self, call: Callable[..., None], *args: Any) -> None:
        """Have `call(*args)` made between two cycles."""
        self._calls.append((call, args))
        self._posted.set()

    def drain(self) -> None:
        """Make every call posted so far, and those that these post."""
        calls = self._calls
        while calls:
            call, args = calls.popleft()
            try:
                call(*args)
            except BaseException as error:
                raise_if_external(error)
                log_error(log, error, "Handling an event failed", handler=call.__qualname__)

    def wake(self) -> None:
        """End a wait although nothing was posted."""
        self._posted.set()

    async def wait(self, seconds: float | None) -> None:
        """Wait until something is posted, or some seconds have passed."""
        if self._calls:
            return
        self._posted.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._posted.wait()
        except TimeoutError:
            return
