"""A scheduler whose API server is a few dictionaries; nothing happens until a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from mooring.api import Node, Pod, WorkloadPodGroup, decode_as
from mooring.config.load import default_config, load_config_data
from mooring.errors import ApiError
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


class Client:
    """A client that records writes, and shows them to the informers unless they lag behind."""

    def __init__(self, pods: Store[Pod], groups: Store[WorkloadPodGroup]) -> None:
        self._pods = pods
        self.groups = groups
        self.writes: list[tuple[Any, ...]] = []
        self.lags = False
        #: Called with every write before it is made; may raise.
        self.trouble: Callable[[str], None] = lambda verb: None

    async def patch(
        self, kind: Any, name: str, namespace: str, patch: Any, *, subresource: str = ""
    ) -> Any:
        await asyncio.sleep(0)
        self.trouble("patch")
        if kind is WorkloadPodGroup:
            return self._patch_group(name, namespace, patch)
        pod = self._pods.get(name, namespace)
        if pod is None:
            raise ApiError(404, f'pods "{name}" not found', reason="NotFound")
        status = patch["status"]
        for condition in status.get("conditions", ()):
            self.writes.append((name, condition["reason"], condition["message"]))
        if "nominatedNodeName" in status:
            nominated = status["nominatedNodeName"]
            self.writes.append((name, "nominated", nominated))
            pod = replace(pod, status=replace(pod.status, nominated_node_name=nominated or ""))
        return self._show(pod)

    def _patch_group(self, name: str, namespace: str, patch: Any) -> WorkloadPodGroup:
        group = self.groups.get(name, namespace)
        if group is None:
            raise ApiError(404, f'podgroups "{name}" not found', reason="NotFound")
        (condition,) = patch["status"]["conditions"]
        self.writes.append((name, condition["reason"], condition["message"]))
        status = decode_as({"conditions": [condition]}, type(group.status))
        version = str(int(group.metadata.resource_version or 0) + 1)
        meta = replace(group.metadata, resource_version=version)
        group = replace(group, metadata=meta, status=status)
        if not self.lags:
            self.groups.add(group)
        return group

    async def delete(self, kind: Any, name: str, namespace: str, *, uid: str) -> None:
        await asyncio.sleep(0)
        self.trouble("delete")
        pod = self._pods.get(name, namespace)
        assert pod is not None
        self.writes.append((name, "deleted"))
        self._pods.delete(name, namespace)

    async def bind(self, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(0)
        self.trouble("bind")
        found = self._pods.get(pod.metadata.name, pod.metadata.namespace)
        assert found is not None
        self.writes.append((pod.metadata.name, "bound", node_name))
        self._show(replace(found, spec=replace(found.spec, node_name=node_name)))

    def _show(self, pod: Pod) -> Pod:
        version = str(int(pod.metadata.resource_version or 0) + 1)
        pod = replace(pod, metadata=replace(pod.metadata, resource_version=version))
        if not self.lags:
            self._pods.add(pod)
        return pod


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
        self.client = Client(self.pods, self.groups)
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
            client=self.client,  # type: ignore[arg-type]
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
