"""What the plugins of an extender see: the cluster as informers report it, or a request's nodes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace

from mooring import Plugin, Status
from mooring.api import Node, PersistentVolume, Pod
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.errors import PluginError
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.testing import make_node, make_pod
from tests.apiserver.api_server import ADMIN, PODS, ApiServer, pod
from tests.extender.extender_scenes import OpenNodes, body, make_cluster, verbs_of
from tests.support.virtual_loop import LoopClock, run_virtually

NODES = "/api/v1/nodes"
NODE = {
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
}


class OnePod(Plugin):
    """Allow one pod on each node; record what it is told."""

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self.seen: list[str] = []
        self.work: list[str] = []
        self.closed = False

    def start(self) -> None:
        self.handle.watch(Pod, added=lambda one: self.seen.append(one.metadata.name))
        self.handle.every(60.0, self._look)

    async def _look(self) -> None:
        self.work.append("looked")

    async def close(self) -> None:
        self.closed = True

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return Status.unschedulable("taken") if node.pods else None

    async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        if pod.metadata.labels.get("own") == "refused":
            return Status.error("no seat on the node")
        if pod.metadata.labels.get("own") != "true":
            return Status.skip()
        self.work.append(f"bound {pod.metadata.name} to {pod.spec.node_name}")
        await self.handle.client.bind(pod, node_name)
        return None


class Volumes(Plugin):
    """A plugin that reads objects of its own."""

    def start(self) -> None:
        self.handle.lister(PersistentVolume)

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def live_cluster(server: ApiServer, plugin: type[Plugin] = OnePod) -> ExtenderCluster:
    clock = LoopClock()
    client = Client(LocalTransport(server.api, ADMIN), clock=clock)
    return make_cluster([plugin], client=client, clock=clock)


def plugin_of(cluster: ExtenderCluster) -> OnePod:
    (profile,) = cluster.profiles.values()
    found = profile.plugins["OnePod"]
    assert isinstance(found, OnePod)
    return found


def passing(cluster: ExtenderCluster, *names: str) -> list[str]:
    question = body(Pod=make_pod("new"), NodeNames=list(names))
    found: list[str] = json.loads(verbs_of(cluster).filter(question))["NodeNames"]
    return found


def test_it_follows_nodes_and_pods_and_ends_with_its_plugins() -> None:
    async def live() -> None:
        server = ApiServer()
        await server.ask("POST", NODES, NODE)
        cluster = live_cluster(server)
        plugin = plugin_of(cluster)
        await cluster.start()
        following = asyncio.create_task(cluster.follow())
        assert passing(cluster, "n") == ["n"]
        assert plugin.handle.synced
        await server.ask("POST", PODS, pod("p", nodeName="n"))
        await asyncio.sleep(1)
        assert passing(cluster, "n") == []
        assert plugin.seen == ["p"]
        assert [one.metadata.name for one in plugin.handle.lister(Pod).list()] == ["p"]
        await server.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
        await asyncio.sleep(100)
        assert passing(cluster, "n") == ["n"]
        assert plugin.work == ["looked", "looked"]
        following.cancel()
        await cluster.close()
        assert plugin.closed

    run_virtually(live())


def test_nominations_of_all_schedulers_count() -> None:
    async def live() -> None:
        server = ApiServer()
        await server.ask("POST", NODES, NODE)
        cluster = live_cluster(server)
        await cluster.start()
        await server.ask("POST", PODS, pod("p", schedulerName="another"))
        nominated = {"status": {"nominatedNodeName": "n"}}
        merge = "application/merge-patch+json"
        await server.ask("PATCH", f"{PODS}/p/status", nominated, content_type=merge)
        await asyncio.sleep(1)
        assert passing(cluster, "n") == []
        assert cluster.nominator.node_of(cluster.pod("p", "default").metadata.uid) == "n"
        await server.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
        await asyncio.sleep(1)
        assert passing(cluster, "n") == ["n"]
        await cluster.close()

    run_virtually(live())


def binding(name: str, uid: str, node: str = "n") -> bytes:
    return body(PodName=name, PodNamespace="default", PodUID=uid, Node=node)


def test_a_bind_is_seen_at_once_and_forgotten_if_it_fails() -> None:
    async def live() -> None:
        server = ApiServer()
        await server.ask("POST", NODES, NODE)
        cluster = live_cluster(server)
        await cluster.start()
        verbs = verbs_of(cluster)
        uids = {}
        for name, own in (("own", "true"), ("other", "false"), ("refused", "refused")):
            document = pod(name)
            document["metadata"]["labels"] = {"own": own}
            made = await server.ask("POST", PODS, document)
            uids[name] = made["metadata"]["uid"]

        async def bind(name: str, uid: str = "", node: str = "n") -> str:
            answer = json.loads(await verbs.bind(binding(name, uid or uids[name], node)))
            error: str = answer["Error"]
            return error

        # The informer has not seen the pods yet, so they are read from the server.
        assert "no seat on the node" in await bind("refused")
        assert passing(cluster, "n") == ["n"]
        assert await bind("own") == ""
        assert passing(cluster, "n") == []
        assert plugin_of(cluster).work == ["looked", "bound own to n"]
        assert await bind("other") == "", "DefaultBinder binds what the plugin leaves"
        await asyncio.sleep(1)
        assert await bind("own") == "", "a repeated request"
        assert await bind("own", node="m") == "pod default/own is on node n already"
        assert "has the UID" in await bind("own", uid="another")
        assert "not found" in await bind("gone", uid="gone")
        found = await server.ask("GET", PODS)
        assert [one["spec"].get("nodeName") for one in found["items"]] == ["n", "n", None]
        await cluster.close()

    run_virtually(live())


def test_without_a_cluster_a_plugin_that_reads_one_is_refused() -> None:
    make_cluster([Volumes])
    with pytest.raises(PluginError, match="reads PersistentVolume objects, and there is no"):
        make_cluster([Volumes], live=False)


def test_nodes_of_a_request_are_the_snapshot_while_it_is_answered() -> None:
    cluster = make_cluster([OpenNodes], [make_node("a")], live=False)
    nodes = cluster.view_of([make_node("b"), make_node("c")])
    with cluster.carrying(nodes):
        assert list(cluster.snapshot.names) == ["b", "c"]
    assert list(cluster.snapshot.names) == ["a"]


def versioned(name: str, version: str, **labels: str) -> Node:
    node = make_node(name, **labels)
    return replace(node, metadata=replace(node.metadata, resource_version=version))


def test_known_versions_of_nodes_need_no_columns_of_their_own() -> None:
    known = [versioned(name, "7") for name in ("a", "b", "c")]
    running = make_pod("p", node="b", metadata={"uid": "p"})
    cluster = make_cluster([OpenNodes], [*known, running])
    view = cluster.view_of([known[2], known[1]])
    assert view.rows is not None
    assert view.rows.tolist() == [2, 1]
    newer = versioned("b", "8", new="true")
    view = cluster.view_of([known[2], newer])
    assert view.rows is None
    assert view.label_is("new", "true").tolist() == [False, True]
    assert view.pod_count.tolist() == [0, 1], "the pods are those that are known"
