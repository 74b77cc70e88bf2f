"""Expiry: Events are deleted some time after their last change."""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Iterator
from itertools import islice

from mooring.apiserver.resource_store import DELETED, StoreEvent
from mooring.apiserver.server_state import ServerState
from mooring.errors import StorageError
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

#: kube-apiserver: --event-ttl
TTL = datetime.timedelta(hours=1)
#: The most Events kept, as they are in memory here. kube-apiserver keeps all of the last hour.
MOST = 50_000
_EVERY = 10.0
#: How many Events are deleted before yielding to other tasks.
_SLICE = 100
_PLACE = "/events"


class EventExpiry:
    """A task that deletes Events unchanged for the TTL, and the oldest if there are too many.

    Owned by the event loop of the API server.
    """

    def __init__(self, cluster: ServerState, ttl: datetime.timedelta = TTL) -> None:
        self._cluster = cluster
        self._ttl = ttl
        #: The time of each Event's last change, oldest first.
        self._changed: dict[str, datetime.datetime] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = cluster.store.listen(_PLACE, self._seen)

    def start(self) -> None:
        """Start the periodic check; the age of existing Events counts from now."""
        now = self._cluster.now()
        for stored in self._cluster.store.items(_PLACE):
            self._changed.setdefault(stored.key, now)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop the periodic check."""
        self._stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _seen(self, event: StoreEvent) -> None:
        self._changed.pop(event.stored.key, None)
        if event.type != DELETED:
            self._changed[event.stored.key] = self._cluster.now()

    def expire(self, most: int | None = None) -> bool:
        """Delete up to `most` Events, too old or surplus; return whether more may be due."""
        due = list(islice(self._due(), most))
        for key in due:
            self._cluster.store.delete(_PLACE, key)
        return len(due) == most

    def _due(self) -> Iterator[str]:
        """Yield the keys of Events to delete, the oldest first."""
        oldest = self._cluster.now() - self._ttl
        surplus = len(self._changed) - MOST
        for at, (key, changed) in enumerate(self._changed.items()):
            if changed > oldest and at >= surplus:
                return
            yield key

    async def _run(self) -> None:
        every = min(_EVERY, max(1.0, self._ttl.total_seconds() / 10))
        while True:
            await asyncio.sleep(every)
            try:
                while self.expire(_SLICE):
                    await asyncio.sleep(0)
            except StorageError as error:
                log.error("Old Events cannot be deleted", extra=kv(err=str(error)))
