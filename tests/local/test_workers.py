"""The controllers and fake nodes of a local cluster."""

from __future__ import annotations

from pathlib import Path

from mooring.apiserver.api_server import ServerSettings
from tests.apiserver.api_server import pod
from tests.local.clusters import running

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


async def test_nodes_are_ready_when_the_cluster_is(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=3) as cluster:
        assert (await cluster.client.request("GET", "/readyz")) == b"ok"
        for node in (await cluster.get(NODES))["items"]:
            ready = {one["type"]: one["status"] for one in node["status"]["conditions"]}
            assert ready["Ready"] == "True"
            assert "taints" not in node["spec"]


async def test_nodes_declare_the_features_of_gates_that_are_on(tmp_path: Path) -> None:
    gate = "DRANodeAllocatableResources"
    for features, expected in ((frozenset({gate, "Other"}), [gate]), (frozenset[str](), None)):
        server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", features=features)
        async with running(tmp_path, nodes=2, server=server) as cluster:
            for node in (await cluster.get(NODES))["items"]:
                assert node["status"].get("declaredFeatures") == expected


async def test_without_nodes_the_controllers_begin_with_the_first_fake_one(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0) as cluster:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "theirs"}}
        await cluster.post(NODES, node)
        maps = "/api/v1/namespaces/default/configmaps"
        assert (await cluster.get(maps))["items"] == []
        metadata = {"name": "fake", "annotations": {"kwok.x-k8s.io/node": "fake"}}
        await cluster.post(NODES, {**node, "metadata": metadata})
        await cluster.post(PODS, pod("a"))
        path = f"{PODS}/a"
        found = await cluster.until(path, lambda one: one["status"]["phase"] == "Running")
        assert found["spec"]["nodeName"] == "fake"
        assert [one["metadata"]["name"] for one in (await cluster.get(maps))["items"]] == [
            "kube-root-ca.crt"
        ]
        theirs = await cluster.get(f"{NODES}/theirs")
        assert "addresses" not in theirs["status"]
