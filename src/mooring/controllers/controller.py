"""Controller: the base class of all controllers, with its queue and event handlers."""

from __future__ import annotations

import asyncio
import random as random_module
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from mooring.api.quota_requests import PodRequestsMode
from mooring.api.timestamps import format_time
from mooring.client.client import Client
from mooring.client.resources import KindLike
from mooring.controllers.component_events import ComponentEvents
from mooring.controllers.work_queue import Key, WorkQueue
from mooring.controllers.writer import Writer
from mooring.informers.factory import InformerFactory
from mooring.informers.store import EventHandler, Store
from mooring.observe.clock import Clock

#: A key that covers at most this many objects is reconciled without delay.
MANY = 100
#: Delay per object of a larger key: about a hundred times what one object costs to reconcile, so
#: that time is left for other work.
SECONDS_EACH = 0.0005
LONGEST_WAIT = 1.0


class ControllerContext(msgspec.Struct, frozen=True):
    """The client, informers, clock and random source that every controller is given."""

    client: Client
    informers: InformerFactory
    clock: Clock
    random: random_module.Random = msgspec.field(default_factory=random_module.Random)
    #: The kinds that the garbage collector watches besides those that every server has.
    collected: tuple[KindLike, ...] = ()
    #: Returns what pods count for in elastic quotas.
    quota_requests: Callable[[], PodRequestsMode] = lambda: None

    @property
    def writer(self) -> Writer:
        """Return a writer that uses the client."""
        return Writer(self.client)

    def store(self, kind: KindLike) -> Store[Any]:
        """Return the informer's store of a kind."""
        return self.informers.informer(kind).store

    def timestamp(self) -> str:
        """Return the current time in the form of metav1.Time."""
        return format_time(self.clock.wall_time())


class Controller(ABC):
    """A loop that brings objects to the state their specs ask for, one key at a time.

    A subclass sets `name`, registers in `__init__` what it watches, and implements `reconcile`.
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
        """Reconcile an object; return the seconds after which to reconcile it again, or None."""

    def watch(
        self,
        kind: KindLike,
        keys: Callable[[Any], Iterable[Key]],
        size: Callable[[Key], int] | None = None,
    ) -> Store[Any]:
        """Reconcile `keys(object)` whenever an object of a kind changes; return the kind's store.

        If reconciling a key reads many objects, `size(key)` returns how many. A large key is
        delayed briefly, so that one reconciliation handles several changes.
        """

        def changed(*objects: Any) -> None:
            for key in {key: None for obj in objects for key in keys(obj)}:
                many = 0 if size is None else size(key)
                if many > MANY:
                    self.queue.add_after(key, min(many * SECONDS_EACH, LONGEST_WAIT))
                else:
                    self.queue.add(key)

        informer = self.context.informers.informer(kind)
        informer.add_handler(EventHandler(on_add=changed, on_update=changed, on_delete=changed))
        return informer.store

    def start(self) -> None:
        """Start reconciling. The informers must have synced."""
        self.queue.start()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine outside the queue; `close` cancels it."""
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
    """Return the object's own key: the `keys` argument for a controller's own kind."""
    yield obj.metadata.namespace, obj.metadata.name
