"""RequestRates: no object is written over and over."""

from __future__ import annotations

import asyncio
from collections import Counter

from mooring.client.transport import Request
from tests.soak.api_server import ApiServer
from tests.support.virtual_loop import Process

#: Seconds that are counted together, and how many writes of one object they may have.
WINDOW = 10.0
MOST_WRITES = 25


class RequestRates:
    """A check of how often the schedulers write each object.

    A scheduler whose write fails must wait before it repeats it. Otherwise an object that cannot be
    written keeps the scheduler and the API server busy.
    """

    def __init__(self, server: ApiServer) -> None:
        self._writes: Counter[tuple[int, str, str]] = Counter()
        self.violations: list[str] = []
        server.on_send = self._sending

    def _sending(self, process: Process, request: Request) -> None:
        # A POST creates another object each time.
        if request.method in ("GET", "POST"):
            return
        window = int(asyncio.get_running_loop().time() // WINDOW)
        key = (window, request.method, request.target)
        self._writes[key] += 1
        if self._writes[key] == MOST_WRITES + 1:
            self.violations.append(
                f"{request.method} {request.target} was sent more than {MOST_WRITES} times in "
                f"{WINDOW:.0f} seconds"
            )
