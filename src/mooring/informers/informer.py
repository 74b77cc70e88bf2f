"""Informer: the objects of one kind, kept up to date, and handlers of their changes."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from mooring.api import KubeObject
from mooring.errors import MooringError
from mooring.informers.reflector import Reflector
from mooring.informers.store import EventHandler, Store

T = TypeVar("T", bound=KubeObject)


class Informer(Generic[T]):
    """A store and the reflector that fills it. Owned by the event loop it is started on.

    Handlers run synchronously on the loop: they must only record the change and return.
    """

    def __init__(self, name: str, store: Store[T], reflector: Reflector[T]) -> None:
        self.name = name
        self.store = store
        self._reflector = reflector
        self._task: asyncio.Task[None] | None = None

    @property
    def has_synced(self) -> bool:
        """Return whether the store has held the server's state, and handlers were called for it."""
        return self._reflector.synced.is_set()

    @property
    def is_populated(self) -> bool:
        """Return whether the store holds what the server has sent, perhaps some time ago."""
        return self._reflector.is_populated

    @property
    def failure(self) -> MooringError | None:
        """Return why the last attempt to list or watch failed; None while all is well."""
        return self._reflector.failure

    @property
    def lost_since(self) -> float | None:
        """Return since when the store may lack changes; None while a watch is open."""
        return self._reflector.lost_since

    def add_handler(self, handler: EventHandler[T]) -> None:
        """Call a handler for every object there is, and for every change from now on."""
        self.store.add_handler(handler)

    def start(self) -> None:
        """Begin to list and watch; further calls do nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._reflector.run(), name=f"informer {self.name}")

    async def wait_synced(self) -> None:
        """Wait until the store has held the server's state."""
        await self._reflector.synced.wait()

    async def refresh(self) -> None:
        """Read the server's latest state, whatever the watch has delivered; wait until it is here.

        Do nothing before `start`.
        """
        if self._task is None:
            return
        await self.close()
        self._reflector.distrust()
        self.start()
        await self.wait_synced()

    async def close(self) -> None:
        """Stop watching; the store keeps its objects."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
