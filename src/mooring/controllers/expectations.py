"""Expectations: creations and deletions not yet seen by the informer, so none is repeated."""

# kubernetes: pkg/controller/controller_utils.go

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mooring.api import Pod
from mooring.controllers.owners import controller_of
from mooring.informers.store import EventHandler, Store
from mooring.observe.clock import Clock

#: After this many seconds without the watch event, stop expecting it (controller_utils.go).
PATIENCE = 300.0


class Expectations:
    """The pods created and deleted for each owner that the informer has not shown yet."""

    def __init__(self, pods: Store[Pod], clock: Clock) -> None:
        self._clock = clock
        self._created: dict[str, dict[str, float]] = {}
        self._deleted: dict[str, dict[str, float]] = {}
        pods.add_handler(
            EventHandler(on_add=self._seen, on_update=self._changed, on_delete=self._gone)
        )

    def fulfilled(self, owner: str) -> bool:
        """Return whether the informer has shown every change made for the owner of this uid."""
        now = self._clock.now()
        for table in (self._created, self._deleted):
            waiting = table.get(owner)
            if waiting and any(due > now for due in waiting.values()):
                return False
            table.pop(owner, None)
        return True

    async def create(self, owner: str, name: str, creating: Coroutine[Any, Any, Any]) -> None:
        """Create a pod of this name, and expect the informer to show it."""
        await self._ask(self._created, owner, name, creating)

    async def delete(self, owner: str, uid: str, deleting: Coroutine[Any, Any, Any]) -> None:
        """Delete a pod of this uid, and expect the informer to show the deletion."""
        await self._ask(self._deleted, owner, uid, deleting)

    async def _ask(
        self,
        table: dict[str, dict[str, float]],
        owner: str,
        what: str,
        asking: Coroutine[Any, Any, Any],
    ) -> None:
        table.setdefault(owner, {})[what] = self._clock.now() + PATIENCE
        try:
            await asking
        except BaseException:
            table.get(owner, {}).pop(what, None)
            raise

    def _seen(self, pod: Pod) -> None:
        self._settle(self._created, pod, pod.metadata.name)

    def _changed(self, old: Pod, pod: Pod) -> None:
        if pod.is_terminating:
            self._settle(self._deleted, pod, pod.metadata.uid)

    def _gone(self, pod: Pod) -> None:
        self._settle(self._deleted, pod, pod.metadata.uid)

    def _settle(self, table: dict[str, dict[str, float]], pod: Pod, what: str) -> None:
        owner = controller_of(pod)
        if owner is not None and owner.uid in table:
            table[owner.uid].pop(what, None)


async def in_batches(calls: list[Callable[[], Coroutine[Any, Any, None]]]) -> Exception | None:
    """Make calls in batches that double in size, until one fails; return the failure."""
    # controller_utils.go, slowStartBatch: if a quota forbids all pods, only the first one is tried.
    size = 1
    while calls:
        batch, calls = calls[:size], calls[size:]
        answers = await asyncio.gather(*(call() for call in batch), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, Exception):
                return answer
        size = min(size * 2, 32)
    return None
