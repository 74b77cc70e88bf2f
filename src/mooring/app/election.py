"""Election: the part that a process takes in the election of a leader, beside its own work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import Future

from mooring.app.leader import LeaderElector
from mooring.app.lifecycle import Lifecycle
from mooring.client.client import Client
from mooring.observe.logs import log_error
from mooring.serve.side_loop import SideLoop

log = logging.getLogger(__name__)

#: Seconds that releasing the lease may take.
RELEASE_SECONDS = 5.0


class Election:
    """The election of a leader, on the loop of a thread that slow work does not block.

    `client` is that of the lease; it is closed with the election.
    """

    def __init__(self, elector: LeaderElector, client: Client, side: SideLoop) -> None:
        self.elector = elector
        self._client = client
        self._side = side
        self._running: Future[bool] | None = None

    def start(self, lifecycle: Lifecycle) -> None:
        """Take part; the lifecycle is told, on the present loop, when this process leads."""
        loop = asyncio.get_running_loop()

        def started() -> None:
            loop.call_soon_threadsafe(lifecycle.lead)

        def lost() -> None:
            loop.call_soon_threadsafe(lifecycle.lose_lease)

        def ended(election: Future[bool]) -> None:
            # The lease is no longer renewed: a bug must not let this process continue to lead.
            if not election.cancelled() and (error := election.exception()) is not None:
                log_error(log, error, "Leader election failed")
                lost()

        self._running = self._side.submit(self.elector.run(started, lost))
        self._running.add_done_callback(ended)

    async def release(self) -> None:
        """Release the lease, if the election has begun."""
        if self._running is None:
            return
        self.elector.stop()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(asyncio.wrap_future(self._running), RELEASE_SECONDS)
        await asyncio.wrap_future(self._side.submit(self._client.close()))
