"""A scheduler with an API server in memory; nothing happens until a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from mooring.api import Node, Pod, WorkloadPodGroup
from mooring.config.load import default_config, load_config_data
from mooring.framework.extender import Extender
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.informers.store import EventHandler, Store
from mooring.observe.attempt_random import AttemptRandom
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.scheduler import Scheduler
from mooring.scheduler.taps import SchedulingTap
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_client import MemoryClient, StoredObjects
from mooring.virtual.no_network import NoNetwork
from tests.support import strangers

__all__ = ["World", "make_node", "make_pod"]


class Informer:
    def __init__(self) -> None:
        self.store: Store[Any] = Store()

    def add_handler(self, handler: EventHandler[Any]) -> None:
        self.store.add_handler(handler)


class Informers:
    def __init__(self) -> None:
        self._informers: dict[Any, Informer] = {}

    def informer(self, kind: Any) -> Informer:
        return self._informers.setdefault(kind, Informer())

    def lister(self, kind: Any) -> Store[Any]:
        return self.informer(kind).store

    def store(self, kind: Any) -> Store[Any]:
        return self.informer(kind).store


class RecordingClient(MemoryClient):
    """A client that records writes, and shows them to the informers unless they lag behind."""

    def __init__(self, informers: Informers) -> None:
        super().__init__(informers)
        self.writes: list[tuple[Any, ...]] = []
        self.lags = False
        #: Called with every write before it is made; may raise.
        self.trouble: Callable[[str], None] = lambda verb: None

    async def patch(
        self, kind: Any, name: str, namespace: str, patch: Any, *, subresource: str = ""
    ) -> Any:
        await asyncio.sleep(0)
        self.trouble("patch")
        patched = await super().patch(kind, name, namespace, patch, subresource=subresource)
        status = patch["status"]
        for condition in status.get("conditions", ()):
            self.writes.append((name, condition["reason"], condition["message"]))
        if "nominatedNodeName" in status:
            self.writes.append((name, "nominated", status["nominatedNodeName"]))
        return patched

    async def delete(self, kind: Any, name: str, namespace: str = "", *, uid: str = "") -> None:
        await asyncio.sleep(0)
        self.trouble("delete")
        await super().delete(kind, name, namespace, uid=uid)
        self.writes.append((name, "deleted"))

    async def bind(self, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(0)
        self.trouble("bind")
        await super().bind(pod, node_name)
        self.writes.append((pod.metadata.name, "bound", node_name))

    def show(self, store: StoredObjects, obj: Any) -> None:
        if not self.lags:
            super().show(store, obj)


class Events:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        self.lines.append(f"{regarding.metadata.name}: {reason}: {note}")


class World:
    """A scheduler and everything it needs; `profiles` replace the default one."""

    def __init__(
        self,
        *plugins: type[Plugin],
        gates: dict[str, bool] | None = None,
        profiles: Sequence[dict[str, Any]] = (),
        taps: Sequence[SchedulingTap] = (),
        extenders: Sequence[Extender] = (),
        by_strangers: bool = False,
    ) -> None:
        self.clock = VirtualClock(1_700_000_000.0)
        self.informers = Informers()
        self.pods: Store[Pod] = self.informers.lister(Pod)
        self.nodes: Store[Node] = self.informers.lister(Node)
        self.groups: Store[WorkloadPodGroup] = self.informers.lister(WorkloadPodGroup)
        self.client = RecordingClient(self.informers)
        self.events = Events()
        registry, features = default_registry(plugins), FeatureGates(gates or {})
        config = (
            load_config_data(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "profiles": list(profiles),
                },
                registry=registry,
                feature_gates=features,
            )
            if profiles
            else default_config(
                registry=registry,
                feature_gates=features,
                enabled=[plugin.name for plugin in plugins],
            )
        )
        if by_strangers:
            registry, config = strangers.registry(), strangers.by_strangers(config)
        self.scheduler = Scheduler(
            config,
            client=self.client,
            http=NoNetwork(),
            informers=self.informers,
            registry=registry,
            features=features,
            clock=self.clock,
            random=AttemptRandom(1),
            metrics=Metrics(features.enabled),
            events_of=lambda profile: self.events,
            taps=taps,
            extenders=extenders,
        )

    async def settle(self) -> None:
        """Run the loop until nothing more can happen at this moment."""
        for _ in range(5):
            while await self.scheduler.turn():
                pass
            for _ in range(20):
                await asyncio.sleep(0)
        self.scheduler.cache.validate()
        self.scheduler.queue.validate()

    async def after(self, seconds: float) -> None:
        """Advance the clock."""
        self.clock.advance(seconds)
        await self.settle()

    def queued(self, pod: Pod) -> Any:
        """Return the queue's entry of a pod."""
        return self.scheduler.queue.get(pod.key)
