"""A cluster for tests of controllers: API server, fake nodes, and a trivial scheduler."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mooring.api import CustomResource, Lease, Namespace, Node, ObjectMeta, Pod
from mooring.client.client import MERGE, STRATEGIC, Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.resources import KindLike, raw_resource
from mooring.client.transports import make_transport
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.controllers import Controllers
from mooring.controllers.daemon_pods import target_of
from mooring.controllers.writer import Writer
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.store import EventHandler, Store
from mooring.kubelet.fake_nodes import FakeNodes
from mooring.kubelet.real_pods import ContainerSettings
from mooring.observe.clock import Clock
from tests.support.waiting import PATIENCE

T = TypeVar("T")
Object = dict[str, Any]


class ManualClock:
    """A clock that stands still until it is advanced; sleepers wait until then."""

    def __init__(self) -> None:
        self._now = time.time()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def wall_time(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, woken))
        await woken

    def advance(self, seconds: float) -> None:
        self._now += seconds
        due = [one for when, one in self._sleepers if when <= self._now]
        self._sleepers = [one for one in self._sleepers if one[0] > self._now]
        for woken in due:
            if not woken.done():
                woken.set_result(None)


class Workbench:
    """A client for tests: it changes objects, and waits for the effects."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        nodes: int = 2,
        clock: Clock | None = None,
        containers: ContainerSettings | None = None,
    ) -> None:
        self.kubeconfig = kubeconfig
        self.client = Client(make_transport(load_kubeconfig(kubeconfig)))
        self.informers = InformerFactory(self.client, selections={})
        self.namespace = f"test-{uuid.uuid4().hex[:10]}"
        self.writer = Writer(self.client)
        self.controllers = Controllers(self.client, self.informers, clock)
        self.fake_nodes = FakeNodes(
            self.client, self.informers, clock, count=nodes, containers=containers
        )
        self._changed = asyncio.Event()
        self._binding: set[asyncio.Task[None]] = set()
        self._made: list[tuple[Any, Object]] = []
        #: Whether pods are bound when they appear.
        self.binds = True

    async def start(self) -> None:
        await self.client.create(Namespace(metadata=ObjectMeta(name=self.namespace)))
        self.informers.informer(Pod).add_handler(
            EventHandler(on_add=self._bind, on_update=lambda _, pod: self._bind(pod))
        )
        for informer in self.informers:
            self._listen(informer)
        self.informers.start()
        await self.fake_nodes.start()
        await self.controllers.start()

    async def close(self) -> None:
        await self.controllers.close()
        await self.fake_nodes.close()
        for task in self._binding:
            task.cancel()
        await self.informers.close()
        await self._wipe()
        for resource, made in self._made:
            await self._remove(resource, made["metadata"]["name"])
        for node in await self._nodes():
            await self._remove(raw_resource(Node), node)
            await self._remove(raw_resource(Lease), node, "kube-node-lease")
        await self.client.close()

    async def _wipe(self) -> None:
        """Delete the controllers' objects, so that no namespace controller has to run."""
        now = msgspec.json.encode({"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        for informer in self.informers:
            plural, version, group = informer.name.split(".", 2)
            resource = raw_resource(f"{plural}.{version}.{group}")
            if any(one.metadata.namespace == self.namespace for one in informer.store):
                await self.client.request("DELETE", resource.path(self.namespace), now)
        for pod in (await self.client.list(Pod, self.namespace)).items:
            gone = {"metadata": {"finalizers": None}}
            await self.writer.patch_if_there(PODS, self.namespace, pod.metadata.name, gone)

    async def _nodes(self) -> list[str]:
        return [node.metadata.name for node in (await self.client.list(Node)).items]

    async def _remove(self, resource: Any, name: str, namespace: str = "") -> None:
        try:
            await self.client.request("DELETE", resource.path(namespace, name))
        except ApiError as error:
            if not error.is_not_found:
                raise

    def _listen(self, informer: Any) -> None:
        def changed(*_: Any) -> None:
            self._changed.set()

        informer.add_handler(EventHandler(on_add=changed, on_update=changed, on_delete=changed))

    def _bind(self, pod: Pod) -> None:
        if not self.binds or pod.spec.node_name or pod.is_terminating:
            return

        async def bind() -> None:
            node = await self.until(
                lambda: next(iter(self.store(Node).list()), None), "a node to bind to"
            )
            try:
                await self.client.bind(pod, target_of(pod) or node.metadata.name)
            except ApiError as error:
                if not error.is_conflict and not error.is_not_found:
                    raise

        task = asyncio.get_running_loop().create_task(bind())
        self._binding.add(task)
        task.add_done_callback(self._binding.discard)

    def bind_waiting(self) -> None:
        """Bind pods again, first those that appeared while `binds` was False."""
        self.binds = True
        for pod in self.all(Pod):
            self._bind(pod)

    def store(self, kind: KindLike) -> Store[Any]:
        known = {informer.name for informer in self.informers}
        informer = self.informers.informer(kind)
        if informer.name not in known:
            self._listen(informer)
        return informer.store

    async def until(self, found: Callable[[], T], what: str = "") -> T:
        """Wait until a function returns a true value, and return that."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (answer := found()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"waited {PATIENCE} s for {what or 'it'} in vain") from None
        return answer

    # Objects of the test's namespace.

    async def create(self, kind: KindLike, obj: Object) -> Object:
        resource = raw_resource(kind)
        metadata = {"namespace": self.namespace, **obj["metadata"]}
        if not metadata["namespace"]:
            del metadata["namespace"]
        made = await self.writer.create(resource, {**obj, "metadata": metadata})
        if "namespace" not in metadata:
            self._made.append((resource, made))
        return made

    async def patch(self, kind: KindLike, name: str, patch: Object, **more: Any) -> Object:
        more.setdefault("patch_type", MERGE)
        namespace = more.pop("namespace", self.namespace)
        return await self.writer.patch(raw_resource(kind), namespace, name, patch, **more)

    async def patch_status(self, kind: KindLike, name: str, status: Object, **more: Any) -> Object:
        more.setdefault("patch_type", STRATEGIC)
        return await self.patch(kind, name, {"status": status}, subresource="status", **more)

    async def delete(self, kind: KindLike, name: str, **options: Any) -> None:
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        namespace = options.pop("namespace", self.namespace)
        await self.client.request("DELETE", raw_resource(kind).path(namespace, name), body)

    def get(self, kind: KindLike, name: str) -> Any:
        return self.store(kind).get(name, self.namespace)

    def raw(self, kind: KindLike, name: str) -> CustomResource | None:
        return self.get(raw_resource(kind), name)

    def all(self, kind: KindLike) -> list[Any]:
        return list(self.store(kind).list(self.namespace))

    def pods(self, phase: str = "Running") -> list[Pod]:
        """Return the pods in a phase that are not being deleted."""
        return [
            pod for pod in self.all(Pod) if pod.status.phase == phase and not pod.is_terminating
        ]


def template(image: str = "image:1", labels: Object | None = None, **spec: Any) -> Object:
    """Return a pod template with one container."""
    container = {"name": "main", "image": image, **spec.pop("container", {})}
    metadata = {"labels": {"app": "web"} if labels is None else labels}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def workload(kind: str, name: str, api_version: str = "apps/v1", **spec: Any) -> Object:
    """Return a workload that selects app=web."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(),
            **spec,
        },
    }
