"""Events do not stay: an hour after its last change an event is gone."""

from __future__ import annotations

import asyncio
import datetime

from mooring.apiserver.resource_store import DELETED, StoreEvent
from mooring.apiserver.server_state import ServerState

TTL = datetime.timedelta(hours=1)
"""kube-apiserver: --event-ttl"""
_EVERY = 60.0
_PLACE = "/events"


class EventExpiry:
    """Forget events that nobody changed for an hour."""

    def __init__(self, cluster: ServerState) -> None:
        self._cluster = cluster
        self._changed: dict[str, datetime.datetime] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = cluster.store.listen(_PLACE, self._seen)

    def start(self) -> None:
        """Look every minute; what is there already counts from now."""
        now = self._cluster.now()
        for stored in self._cluster.store.items(_PLACE):
            self._changed.setdefault(stored.key, now)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Forget no more."""
        self._stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _seen(self, event: StoreEvent) -> None:
        if event.type == DELETED:
            self._changed.pop(event.stored.key, None)
        else:
            # The newest come last, so that the oldest are found first.
            self._changed.pop(event.stored.key, None)
            self._changed[event.stored.key] = self._cluster.now()

    def expire(self) -> None:
        """Delete what is too old."""
        oldest = self._cluster.now() - TTL
        for key, changed in list(self._changed.items()):
            if changed > oldest:
                return
            self._cluster.store.delete(_PLACE, key)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            self.expire()
