"""Workers: the controllers and fake nodes of a local cluster, which share their informers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import partial

from mooring.api import Node
from mooring.apiserver.api_server import ApiServer
from mooring.apiserver.auth.authorization import MASTERS
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.apiserver.loaded import is_loaded_pod
from mooring.apiserver.resource_store import StoreEvent
from mooring.client.client import Client
from mooring.client.resources import KindLike
from mooring.controllers.controller import Controller
from mooring.controllers.controllers import KINDS, Controllers
from mooring.informers.factory import InformerFactory
from mooring.kubelet import node_status
from mooring.kubelet.fake_nodes import FakeNodes
from mooring.kubelet.image_contents import ImageContents
from mooring.kubelet.real_pods import ContainerSettings
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

_NODES = "/nodes"
#: Features that a kubelet declares if their gate is on.
# kubernetes: component-helpers/nodedeclaredfeatures/features
_DECLARED = ("DRANodeAllocatableResources",)
_WHILE_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: Seconds between two checks whether the nodes are ready, and the timeout of that wait.
_LOOK = 0.01
_PATIENCE = 10.0


class Workers:
    """The controllers and fake nodes, which start with the first fake node.

    Without fake nodes a cluster is only an API server and a scheduler: objects stay as they were
    created.
    """

    def __init__(
        self,
        server: ApiServer,
        clock: Clock,
        *,
        nodes: int,
        images: ImageContents | None = None,
        run_loaded: bool = False,
        controllers: tuple[type[Controller], ...] = KINDS,
        collected: tuple[KindLike, ...] = (),
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._count = nodes
        self._images = images or ImageContents()
        self._run_loaded = run_loaded
        self._kinds = controllers
        self._collected = collected
        self._progress = progress
        self._parts = AsyncExitStack()
        self._starting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start now, or when the first fake node appears."""
        store = self._server.cluster.store
        if self._count or any(_is_fake(one.object) for one in store.items(_NODES)):
            await self._begin()
        else:
            self._parts.callback(store.listen(_NODES, self._seen))

    def _seen(self, event: StoreEvent) -> None:
        if self._starting is None and _is_fake(event.stored.object):
            self._starting = asyncio.get_running_loop().create_task(self._begin())
            self._starting.add_done_callback(_log_failure)

    async def _begin(self) -> None:
        self._server.publish_authority()
        manager = self._client("kube-controller-manager", "system:kube-controller-manager")
        kubelet = self._client("kubelet", "system:node")
        # Controllers and kubelets need all pods, including finished ones.
        informers = InformerFactory(manager, clock=self._clock, selections={})
        controllers = Controllers(
            manager, informers, self._clock, kinds=self._kinds, collected=self._collected
        )
        containers = ContainerSettings(
            self._server.url,
            self._images,
            is_loaded=partial(is_loaded_pod, self._server.cluster),
            run_loaded=self._run_loaded,
        )
        nodes = FakeNodes(
            kubelet,
            informers,
            self._clock,
            count=self._count,
            containers=containers,
            copy_node=self._copy_node,
            progress=self._progress,
            declared_features=[one for one in _DECLARED if one in self._server.cluster.features],
        )
        self._server.api.log_source = nodes.log_source
        if nodes.simulated is not None:
            self._server.api.simulated = nodes.simulated.counts
        # Before the informers start, which then list all nodes at once.
        await nodes.create(_addresses(self._server))
        informers.start()
        self._parts.push_async_callback(informers.close)
        self._parts.push_async_callback(controllers.close)
        await controllers.start()
        self._parts.push_async_callback(nodes.close)
        await nodes.start()
        await self._until_reported(informers)

    def _copy_node(self, source: str, name: str, address: str) -> None:
        """Store a node like one that the API has stored, without the cost of a request."""
        cluster = self._server.cluster
        found = cluster.store.get(_NODES, source)
        if found is None or cluster.store.get(_NODES, name) is not None:
            return
        node = node_status.renamed(found.object, name, address)
        node["metadata"] |= {"uid": cluster.uid(), "creationTimestamp": cluster.timestamp()}
        cluster.store.put(_NODES, name, node)

    async def _until_reported(self, informers: InformerFactory) -> None:
        """Wait until the taints of all fake nodes match their Ready conditions."""
        nodes = informers.lister(Node)
        deadline = self._clock.now() + _PATIENCE
        while self._clock.now() < deadline:
            if all(_is_settled(node) for node in nodes.list() if node_status.is_fake(node)):
                return
            await asyncio.sleep(_LOOK)

    def _client(self, agent: str, name: str) -> Client:
        user = RequestUser(name, (MASTERS,))
        transport = LocalTransport(self._server.api, user, user_agent=agent)
        return Client(transport, clock=self._clock)

    async def close(self) -> None:
        """Stop; the Node and Pod objects stay."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await self._parts.aclose()


def _addresses(server: ApiServer) -> Iterator[str]:
    """Yield the addresses of the nodes that exist."""
    for stored in server.cluster.store.items(_NODES):
        for one in stored.object.get("status", {}).get("addresses") or ():
            yield one["address"]


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log_error(log, task.exception(), "The controllers and fake nodes cannot start")


def _is_fake(node: dict[str, object]) -> bool:
    metadata = node["metadata"]
    assert isinstance(metadata, dict)
    annotations = metadata.get("annotations") or {}
    return bool(annotations.get(node_status.ANNOTATION) == node_status.FAKE)


def _is_settled(node: Node) -> bool:
    ready = node_status.ready_condition(node)
    tainted = any(taint.key in _WHILE_NOT_READY for taint in node.spec.taints)
    return ready != "" and tainted is not (ready == "True")
