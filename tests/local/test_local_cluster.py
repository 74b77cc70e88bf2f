"""A complete local cluster: its first objects, its scheduler, how it starts and stops."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mooring.apiserver.api_server import ServerSettings
from mooring.errors import ConfigError
from mooring.local.local_cluster import LocalCluster, LocalClusterSettings
from tests.apiserver.api_server import pod
from tests.local.clusters import Broken, manifests, nodes_of, plan, running

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


async def test_a_deployment_becomes_pods_that_run(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template,
            },
        }
        path = "/apis/apps/v1/namespaces/default/deployments"
        await cluster.post(path, deployment)
        await cluster.until(f"{path}/web", lambda one: one["status"].get("readyReplicas") == 3)
        managers = {
            entry["manager"]
            for one in (await cluster.get(PODS))["items"]
            for entry in one["metadata"]["managedFields"]
        }
        assert managers == {"kube-controller-manager", "kubelet"}


async def test_it_is_not_ready_before_everything_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()

    async def wait(self: object) -> None:
        await gate.wait()

    monkeypatch.setattr("mooring.local.workers.Workers.start", wait)
    settings = LocalClusterSettings(
        server=ServerSettings(kubeconfig=tmp_path / "kubeconfig"), plan=plan()
    )
    cluster = LocalCluster(settings)
    starting = asyncio.create_task(cluster.start())
    while not cluster.server.url:
        await asyncio.sleep(0)
    assert not cluster.server.api.ready
    assert not (tmp_path / "kubeconfig").exists()
    gate.set()
    await starting
    assert cluster.server.api.ready
    assert (tmp_path / "kubeconfig").exists()
    await cluster.stop()


async def test_what_cannot_start_leaves_nothing_running(tmp_path: Path) -> None:
    settings = LocalClusterSettings(
        server=ServerSettings(kubeconfig=tmp_path / "kubeconfig"),
        plan=plan(plugins=[Broken]),
        nodes=1,
    )
    before = asyncio.all_tasks()
    cluster = LocalCluster(settings)
    with pytest.raises(Exception, match="no such thing"):
        await cluster.start()
    assert asyncio.all_tasks() == before
    assert not (tmp_path / "kubeconfig").exists()


async def test_two_clusters_cannot_share_a_folder(tmp_path: Path) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    async with running(tmp_path, server=server):
        with pytest.raises(ConfigError, match="another local cluster keeps its objects here"):
            LocalCluster(LocalClusterSettings(server=server, plan=plan()))


async def test_nodes_and_pods_go_on_after_a_restart(tmp_path: Path) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    objects = manifests("{apiVersion: v1, kind: Namespace, metadata: {name: mine}}")
    for name in ("a", "b"):
        async with running(tmp_path, server=server, nodes=2, objects=objects) as cluster:
            await cluster.post(PODS, pod(name))
            await cluster.until(f"{PODS}/{name}", lambda one: one["status"]["phase"] == "Running")
            assert len((await cluster.get(NODES))["items"]) == 2
    assert {"a", "b"} == set(nodes_of(await cluster.get(PODS)))
