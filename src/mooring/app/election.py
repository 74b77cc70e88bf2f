"""Election: the part that a process takes in the election of a leader, beside its own work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from mooring.app.leader import NAME, LeaderElector, LeaderMetrics
from mooring.app.lease_fence import LeaseFence
from mooring.app.lease_lock import LeaseLock, check_lock_kind, make_identity
from mooring.app.lifecycle import Lifecycle
from mooring.client.client import Client
from mooring.config.types import LeaderElection
from mooring.explain.lease_annotations import ExplainAddress
from mooring.observe.clock import Clock
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


def make_election(
    settings: LeaderElection,
    client: Client,
    side: SideLoop,
    *,
    fence: LeaseFence,
    metrics: LeaderMetrics,
    clock: Clock,
    source: str,
    name: str = NAME,
    warns: bool = False,
    address: Callable[[str], ExplainAddress | None] | None = None,
) -> Election:
    """Return the election that settings ask for; raise ConfigError if they do not fit together.

    `client` serves the lease alone: neither the rate limit of other requests nor the fence may stop
    what renews it. `source` is that of Events about the lease. `address` returns where the process
    with an identity answers questions about its decisions.
    """
    check_lock_kind(settings.resource_lock)
    identity = make_identity()
    lock = LeaseLock(
        client,
        settings.resource_namespace,
        settings.resource_name,
        identity=identity,
        component=source,
        timeout=max(1.0, settings.renew_deadline.seconds / 2),
        clock=clock,
        address=None if address is None else partial(address, identity),
    )
    elector = LeaderElector(settings, lock, fence=fence, metrics=metrics, warns=warns, name=name)
    return Election(elector, client, side)
