"""Controller: the loop that all controllers share."""

from __future__ import annotations

import asyncio
import random as random_module
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from mooring.client.client import Client
from mooring.client.resources import KindLike
from mooring.controllers.component_events import ComponentEvents
from mooring.controllers.times import timestamp
from mooring.controllers.work_queue import Key, WorkQueue
from mooring.controllers.writer import Writer
from mooring.informers.factory import InformerFactory
from mooring.informers.store import Handler, Store
from mooring.observe.clock import Clock

#: A look at up to so many objects need not wait for more changes.
MANY = 100
#: About a hundred times what a look at one object takes, so that looks leave time for the rest.
SECONDS_EACH = 0.0005
LONGEST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """Hold what every controller is given."""

    client: Client
    informers: InformerFactory
    clock: Clock
    random: random_module.Random = field(default_factory=random_module.Random)

    @property
    def writer(self) -> Writer:
        """Return who writes."""
        return Writer(self.client)

    def store(self, kind: KindLike) -> Store[Any]:
        """Return the objects of a kind, as the informers see them."""
        return self.informers.informer(kind).store

    def timestamp(self) -> str:
        """Return the time as objects carry it."""
        return timestamp(self.clock.now())


class Controller(ABC):
    """Bring objects to what they ask for, one key at a time.

    A subclass names itself, registers in `__init__` what it watches, and reconciles.
    """

    name = ""
    workers = 4

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.writer = context.writer
        self.events = ComponentEvents(self.name, context.writer, context.clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self.queue = WorkQueue(self.name, self.reconcile, context.clock, limit=self.workers)

    @abstractmethod
    async def reconcile(self, key: Key) -> float | None:
        """Look at an object; return after how many seconds to look again."""

    def watch(
        self,
        kind: KindLike,
        keys: Callable[[Any], Iterable[Key]],
        size: Callable[[Key], int] | None = None,
    ) -> Store[Any]:
        """Look at `keys(object)` whenever an object of a kind changes; returns the objects.

        Where a look at a key goes over many objects, `size` says how many: it then waits a moment
        for further changes, which are looked at together.
        """

        def changed(*objects: Any) -> None:
            for key in {key: None for obj in objects for key in keys(obj)}:
                many = 0 if size is None else size(key)
                if many > MANY:
                    self.queue.add_after(key, min(many * SECONDS_EACH, LONGEST_WAIT))
                else:
                    self.queue.add(key)

        informer = self.context.informers.informer(kind)
        informer.add_handler(Handler(on_add=changed, on_update=changed, on_delete=changed))
        return informer.store

    def start(self) -> None:
        """Begin to reconcile; the informers have synced."""
        self.queue.start()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the queue; it ends with the controller."""
        task = asyncio.get_running_loop().create_task(work, name=self.name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()
        await self.events.close()


def itself(obj: Any) -> Iterable[Key]:
    """Return the key of an object: whoever watches its own kind."""
    yield obj.metadata.namespace, obj.metadata.name
