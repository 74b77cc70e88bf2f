"""InformerFactory: one informer per kind, shared by all users."""

from __future__ import annotations

import asyncio
import random as random_module
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

from mooring.api import (
    CompositePodGroup,
    CSIDriver,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    Namespace,
    Node,
    Pod,
    ResourceClaim,
    ResourceSlice,
    VolumeAttachment,
    WorkloadPodGroup,
)
from mooring.client.collector import CollectorPause
from mooring.client.resources import KindLike, Resource, find_resource
from mooring.client.watch_pacer import PacedWatch, WatchPacer
from mooring.framework.listers import Lister
from mooring.informers.informer import Informer
from mooring.informers.reflector import Reflector, Selection, Source
from mooring.informers.store import Store
from mooring.observe.clock import Clock, SystemClock

# kube-scheduler: scheduler.go, newPodInformer: finished pods are not watched.
LIVE_PODS = Selection(field_selector="status.phase!=Succeeded,status.phase!=Failed")
SELECTIONS: Mapping[KindLike, Selection] = {Pod: LIVE_PODS}
#: Kinds that roles written for older releases do not include. kube-scheduler would wait for them
#: forever; Mooring continues as if there were no such objects, and logs what it may not watch.
DISPENSABLE: frozenset[KindLike] = frozenset(
    {
        CompositePodGroup,
        CSIDriver,
        CSIStorageCapacity,
        DeviceClass,
        DeviceTaintRule,
        Namespace,
        ResourceClaim,
        ResourceSlice,
        VolumeAttachment,
        WorkloadPodGroup,
    }
)


#: The kinds whose silent watches are resumed first.
URGENT: frozenset[KindLike] = frozenset({Pod, Node})


class SharedSource(Source, Protocol):
    """A source whose CollectorPause and WatchPacer all its users share."""

    collector: CollectorPause
    pacer: WatchPacer


class InformerFactory:
    """A factory that creates, starts and awaits informers. Owned by one event loop.

    A kind is a Struct of `mooring.api`, or "plural.version.group".
    """

    def __init__(
        self,
        source: SharedSource,
        *,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        selections: Mapping[KindLike, Selection] = SELECTIONS,
        watch_list: bool = True,
        indispensable: Collection[KindLike] | None = None,
    ) -> None:
        """Prepare to watch what `source` serves.

        `indispensable` names the only kinds that must be readable; by default these are all kinds
        but those of DISPENSABLE.
        """
        self._source = source
        self._clock = SystemClock() if clock is None else clock
        self._random = random_module.Random() if random is None else random
        self._selections = {find_resource(kind): one for kind, one in selections.items()}
        self._watch_list = watch_list
        self._dispensable = {find_resource(kind) for kind in DISPENSABLE}
        self._urgent = {find_resource(kind) for kind in URGENT}
        self._indispensable = (
            None if indispensable is None else {find_resource(kind) for kind in indispensable}
        )
        self._informers: dict[Resource, Informer[Any]] = {}
        self._started = False

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter(self._informers.values())

    def informer(self, kind: KindLike) -> Informer[Any]:
        """Return the informer of a kind; if the factory is started, so is a new informer."""
        resource = find_resource(kind)
        informer = self._informers.get(resource)
        if informer is None:
            store: Store[Any] = Store()
            reflector: Reflector[Any] = Reflector(
                kind,
                self._source,
                store,
                selection=self._selections.get(resource) or _selection_of(resource),
                clock=self._clock,
                random=self._random,
                collector=self._source.collector,
                paced=PacedWatch(self._source.pacer, urgent=resource in self._urgent),
                watch_list=self._watch_list,
                dispensable=self._is_dispensable(resource),
                rights_known=self._rights_known,
            )
            informer = self._informers[resource] = Informer(resource.name, store, reflector)
            if self._started:
                informer.start()
        return informer

    def _is_dispensable(self, resource: Resource) -> bool:
        if self._indispensable is not None:
            return resource not in self._indispensable
        return resource in self._dispensable

    def _rights_known(self) -> bool:
        """Return whether the server has allowed access to at least one indispensable kind."""
        needed = [
            informer
            for resource, informer in self._informers.items()
            if not self._is_dispensable(resource)
        ]
        return not needed or any(informer.has_synced for informer in needed)

    def lister(self, kind: KindLike) -> Lister[Any]:
        """Return read access to a kind, which is watched from now on."""
        return self.informer(kind).store

    def start(self) -> None:
        """Start every informer; informers created later are started at once."""
        self._started = True
        for informer in self._informers.values():
            informer.start()

    @property
    def has_synced(self) -> bool:
        """Return whether every informer has synced."""
        return not self.unsynced()

    def unsynced(self) -> list[Informer[Any]]:
        """Return the informers that have not synced yet; their `failure` may say why."""
        return [informer for informer in self._informers.values() if not informer.has_synced]

    async def wait_synced(self) -> None:
        """Wait until every informer has synced, including those added in the meantime."""
        while waiting := self.unsynced():
            await asyncio.gather(*(informer.wait_synced() for informer in waiting))

    async def refresh(self, kinds: Collection[KindLike]) -> None:
        """Read the server's latest objects of these kinds, as far as they are watched."""
        wanted = {find_resource(kind) for kind in kinds}
        informers = [one for resource, one in self._informers.items() if resource in wanted]
        await asyncio.gather(*(informer.refresh() for informer in informers))

    async def close(self) -> None:
        """Stop every informer."""
        self._started = False
        for informer in list(self._informers.values()):
            await informer.close()


def _selection_of(resource: Resource) -> Selection | None:
    selector = resource.field_selector
    return Selection(field_selector=selector) if selector else None
