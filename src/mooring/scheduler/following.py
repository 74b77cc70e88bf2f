"""A scheduler that follows a cluster and only reads: clients, informers, cache and plugins."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.read_only import refuse_writes
from mooring.client.transports import make_transport
from mooring.config import LoadResult
from mooring.errors import ApiError, MooringError
from mooring.framework.features import FeatureGates
from mooring.observe.clock import SystemClock
from mooring.observe.metrics import Metrics
from mooring.registry import Registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.taps import SchedulingTap

#: Seconds to wait for the lists of all kinds.
PATIENCE = 60.0

#: Seconds between two looks at what could not be read so far.
_PAUSE = 0.2
#: The kinds without which nothing can be said, as informers name them.
_NEEDED = ("nodes.v1.", "pods.v1.")


@contextlib.asynccontextmanager
async def reading_client(connection: Connection, user_agent: str) -> AsyncIterator[Client]:
    """Open a client through which only GET passes."""
    clock = SystemClock()
    transport = make_transport(
        connection, user_agent=user_agent, clock=clock, before_send=refuse_writes
    )
    client = Client(transport, clock=clock)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def following(
    config: LoadResult,
    client: Client,
    registry: Registry,
    gates: FeatureGates,
    taps: Sequence[SchedulingTap] = (),
) -> AsyncIterator[RunningScheduler]:
    """Run a scheduler that follows a cluster; it knows the whole cluster when this begins.

    Raise MooringError if nodes or pods cannot be read. `client` must refuse writes.
    """
    running = RunningScheduler(
        config,
        client=client,
        event_client=client,
        registry=registry,
        features=gates,
        clock=SystemClock(),
        metrics=Metrics(gates.enabled),
        read_only=True,
        taps=taps,
    )
    try:
        await _sync(running)
        task = asyncio.create_task(running.scheduler.follow())
        try:
            yield running
        finally:
            task.cancel()
    finally:
        await running.close(0.0)


def unread_kinds(running: RunningScheduler) -> list[str]:
    """Return the resources that could not be read, and count as if there were no objects.

    Those that were read before the connection was lost count as they were then.
    """
    return [
        resource_name(informer.name)
        for informer in running.informers
        if informer.failure is not None and not informer.is_populated
    ]


def resource_name(name: str) -> str:
    """Return the name of an informer as kubectl writes resources: without the version.

    >>> resource_name("replicasets.v1.apps"), resource_name("pods.v1.")
    ('replicasets.apps', 'pods')
    """
    plural, _, rest = name.partition(".")
    _, _, group = rest.partition(".")
    return f"{plural}.{group}" if group else plural


async def _sync(running: RunningScheduler) -> None:
    """Wait for the lists of all kinds; raise if nodes or pods cannot be read in time."""
    syncing = asyncio.ensure_future(running.sync())
    now = asyncio.get_running_loop().time
    deadline = now() + PATIENCE
    try:
        while not syncing.done():
            await asyncio.wait((syncing,), timeout=_PAUSE)
            _check(running, is_late=now() > deadline)
        await syncing
    finally:
        syncing.cancel()


def _check(running: RunningScheduler, *, is_late: bool) -> None:
    waiting = running.informers.unsynced()
    for informer in waiting:
        failure = informer.failure
        refused = isinstance(failure, ApiError) and (
            failure.is_forbidden or failure.is_unauthorized
        )
        if failure is not None and (is_late or (refused and informer.name in _NEEDED)):
            raise MooringError(f"{resource_name(informer.name)} cannot be read: {failure}")
    if is_late and waiting:
        names = ", ".join(resource_name(informer.name) for informer in waiting)
        raise MooringError(f"no answer after {PATIENCE:.0f} s about {names}")
