"""Inbox: calls that wait until the scheduling loop is between two cycles.

Informers, binding cycles and plugins run on the same event loop as the scheduling cycle, which may
wait for an extender. They do not change its state; they post a call here instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)


class Inbox:
    """Posted calls, in order. Drained only by the scheduling loop."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._posted = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of calls that wait."""
        return len(self._calls)

    def post(self, call: Callable[..., None], *args: Any) -> None:
        """Post `call(*args)`, to be made between two cycles."""
        self._calls.append((call, args))
        self._posted.set()

    def drain(self) -> None:
        """Make every posted call, including those that are posted meanwhile."""
        calls = self._calls
        while calls:
            call, args = calls.popleft()
            try:
                call(*args)
            except BaseException as error:
                raise_if_external(error)
                handler = call.__qualname__
                log_error(log, error_text(error), "Handling an event failed", handler=handler)

    def wake(self) -> None:
        """End `wait` although nothing was posted."""
        self._posted.set()

    async def wait(self, seconds: float | None) -> None:
        """Wait until a call is posted, or for `seconds` at most."""
        if self._calls:
            return
        self._posted.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._posted.wait()
        except TimeoutError:
            return
