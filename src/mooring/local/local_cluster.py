"""A local cluster: API server, controllers, fake nodes and scheduler, started and ended as one."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from mooring.client.client import Client
from mooring.informers.factory import InformerFactory
from mooring.local.api_server import ApiServer, ServerSettings
from mooring.local.authorization import MASTERS
from mooring.local.controllers.controllers import Controllers
from mooring.local.exchange import User
from mooring.local.nodes.fake_nodes import FakeNodes
from mooring.local.scheduling import LocalScheduler, Plan
from mooring.local.transport import LocalTransport
from mooring.observe.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class Settings:
    """Hold what a local cluster consists of."""

    server: ServerSettings
    plan: Plan
    nodes: int = 0


class LocalCluster:
    """Run a cluster in this process. It is ready when `start` returns."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = SystemClock() if clock is None else clock
        self._parts = AsyncExitStack()
        self.server = ApiServer(settings.server)

    async def start(self) -> None:
        """Start everything, and write the kubeconfig once it works.

        Where a part cannot start, those that have are ended.
        """
        async with AsyncExitStack() as parts:
            await self._start(parts)
            self._parts = parts.pop_all()

    async def _start(self, parts: AsyncExitStack) -> None:
        server, clock = self.server, self._clock
        server.api.ready = False
        parts.push_async_callback(server.stop)
        await server.start()
        manager = self._client("kube-controller-manager", "system:kube-controller-manager")
        kubelet = self._client("kubelet", "system:node")
        # Controllers and kubelets look at all pods, those that have ended too.
        informers = InformerFactory(manager, clock=clock, selections={})
        controllers = Controllers(manager, informers, clock)
        nodes = FakeNodes(kubelet, informers, clock, count=self._settings.nodes)
        informers.start()
        parts.push_async_callback(informers.close)
        parts.push_async_callback(controllers.close)
        await controllers.start()
        parts.push_async_callback(nodes.close)
        await nodes.start()
        scheduler = LocalScheduler(server.api, self._settings.plan, clock)
        parts.push_async_callback(scheduler.close)
        await scheduler.start()
        server.api.ready = True
        server.write_kubeconfig()

    def _client(self, agent: str, name: str) -> Client:
        user = User(name, (MASTERS,))
        transport = LocalTransport(self.server.api, user, user_agent=agent)
        return Client(transport, clock=self._clock)

    async def stop(self) -> None:
        """End, with everything that was acknowledged kept where a folder was given."""
        await self._parts.aclose()
