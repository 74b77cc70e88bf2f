"""Complete local clusters in the process of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mooring.api.manifest_reading import Where, read_objects
from mooring.apiserver.api_server import ServerSettings
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config.rules import Rules
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.local.local_cluster import LocalCluster, LocalClusterSettings
from mooring.local.local_scheduler import make_local_rules
from tests.apiserver.api_server import ADMIN
from tests.support.waiting import PATIENCE

Object = dict[str, Any]


def plan(config: Path | None = None, plugins: Sequence[type[Plugin]] = ()) -> Rules:
    """Return the plan for a configuration file and plugins."""
    return make_local_rules(config, plugins, FeatureGates())


def manifests(text: str) -> tuple[tuple[Object, Where], ...]:
    """Return the objects of a manifest."""
    return tuple(read_objects(text, "cluster.yaml"))


class Reader:
    """A client that can wait until a cluster is as expected."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.client = Client(LocalTransport(cluster.server.api, ADMIN))

    async def get(self, path: str) -> Any:
        """Return the decoded response to a GET of a path."""
        return msgspec.json.decode(await self.client.request("GET", path))

    async def post(self, path: str, obj: Object) -> Any:
        """Create an object."""
        answer = await self.client.request("POST", path, msgspec.json.encode(obj))
        return msgspec.json.decode(answer)

    async def until(self, path: str, wanted: Callable[[Any], bool]) -> Any:
        """Repeat a GET of a path until `wanted` accepts the response; return that response."""
        found = None
        try:
            async with asyncio.timeout(PATIENCE):
                while not wanted(found := await self.get(path)):
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{path} stayed {found}") from None
        return found


@asynccontextmanager
async def running(folder: Path, **more: Any) -> AsyncIterator[Reader]:
    """Run a cluster; `more` are fields of its settings."""
    server = ServerSettings(kubeconfig=folder / "kubeconfig")
    cluster = LocalCluster(LocalClusterSettings(**{"server": server, "plan": plan(), **more}))
    await cluster.start()
    try:
        yield Reader(cluster)
    finally:
        await cluster.stop()


def nodes_of(pods: Any) -> dict[str, str]:
    """Return the node of each pod of a list that has one."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in pods["items"]
        if pod["spec"].get("nodeName")
    }


class Broken(Plugin):
    """A plugin whose constructor raises."""

    def __init__(self, args: object = None, handle: object = None) -> None:
        raise ValueError("no such thing")

    def filter(self, state: object, pod: object, node: object) -> None:
        """Agree."""
