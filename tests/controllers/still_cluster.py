"""A cluster in which nothing happens by itself, for the tests of single controllers."""

from __future__ import annotations

import datetime
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import MERGE, Client
from mooring.client.resources import KindLike, find_resource, raw_resource
from mooring.client.responses import decode_list
from mooring.controllers.controller import ControllerContext
from mooring.controllers.writer import Writer
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.informer import Informer
from mooring.observe.clock import VirtualClock
from tests.apiserver.api_server import ADMIN, ApiServer

Object = dict[str, Any]


class _Informers(InformerFactory):
    """Informers that do not watch; `StillCluster.sync` fills their stores."""

    def __init__(self, client: Client, clock: VirtualClock) -> None:
        super().__init__(client, clock=clock, selections={})
        self.kinds: dict[Any, KindLike] = {}

    def informer(self, kind: KindLike) -> Informer[Any]:
        self.kinds.setdefault(find_resource(kind), kind)
        return super().informer(kind)


class StillCluster:
    """An API server without a socket, a clock that stands still, and informers synced by hand."""

    def __init__(self, features: frozenset[str] = frozenset()) -> None:
        self.server = ApiServer(features=features)
        self.clock = VirtualClock(self.server.now.timestamp())
        self.client = Client(LocalTransport(self.server.api, ADMIN), clock=self.clock)
        self.informers = _Informers(self.client, self.clock)
        self.writer = Writer(self.client)
        self.context = ControllerContext(self.client, self.informers, self.clock, random.Random(1))

    def advance(self, seconds: float) -> None:
        """Move the clocks of the server and of the controllers."""
        self.clock.advance(seconds)
        self.server.now += datetime.timedelta(seconds=seconds)

    async def sync(self, *kinds: KindLike) -> None:
        """Show the informers, or those of some kinds, what the server has now."""
        wanted = {find_resource(kind) for kind in kinds} or set(self.informers.kinds)
        for resource, kind in list(self.informers.kinds.items()):
            if resource not in wanted:
                continue
            found = await self.client.request("GET", resource.path(""))
            items = decode_list(found, resource.struct).items
            self.informers.informer(kind).store.replace(items)

    async def create(self, kind: KindLike, obj: Object) -> Object:
        """Create an object, in the namespace default unless it or its kind says otherwise."""
        resource = raw_resource(kind)
        cluster_wide = obj["kind"] in ("Node", "PersistentVolume", "StorageClass", "PriorityClass")
        if not cluster_wide:
            obj = {**obj, "metadata": {"namespace": "default", **obj["metadata"]}}
        return await self.writer.create(resource, obj)

    async def patch(self, kind: KindLike, name: str, patch: Object, **more: Any) -> Object:
        """Patch an object of the namespace default."""
        more.setdefault("patch_type", MERGE)
        namespace = more.pop("namespace", "default")
        return await self.writer.patch(raw_resource(kind), namespace, name, patch, **more)

    async def get(self, kind: KindLike, name: str, namespace: str = "default") -> Object | None:
        """Return an object, or None."""
        try:
            return await self.writer.get(raw_resource(kind), namespace, name)
        except ApiError as error:
            assert error.is_not_found
            return None

    async def all(self, kind: KindLike, namespace: str = "") -> list[Object]:
        """Return all objects of a kind."""
        path = raw_resource(kind).path(namespace)
        found: list[Object] = msgspec.json.decode(await self.client.request("GET", path))["items"]
        return found


@asynccontextmanager
async def still_cluster(features: frozenset[str] = frozenset()) -> AsyncIterator[StillCluster]:
    """Yield a cluster in which nothing happens by itself."""
    cluster = StillCluster(features)
    try:
        yield cluster
    finally:
        await cluster.client.close()
