from __future__ import annotations

from typing import Any

from mooring.api import Node, Pod
from mooring.controllers.pod_collector import QUARANTINE, PodCollector
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template

KEY = ("default", "p")
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


async def _pod(cluster: StillCluster, **more: Any) -> None:
    spec = template(nodeName="n")["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **more}, "spec": spec}
    await cluster.create(Pod, pod)


async def test_a_pod_goes_after_its_node_is_gone_for_a_while() -> None:
    async with still_cluster() as cluster:
        collector = PodCollector(cluster.context)
        await _pod(cluster, finalizers=["a/b"])
        await cluster.sync()
        assert await collector.reconcile(KEY) == QUARANTINE
        cluster.advance(QUARANTINE - 1)
        assert await collector.reconcile(KEY) == 1
        cluster.advance(1)
        assert await collector.reconcile(KEY) is None
        pod = await cluster.get(Pod, "p")
        assert pod is not None and "deletionTimestamp" in pod["metadata"]
        assert pod["status"]["phase"] == "Failed"
        reasons = {one["type"]: one["reason"] for one in pod["status"]["conditions"]}
        assert reasons["DisruptionTarget"] == "DeletionByPodGC"


async def test_a_pod_that_ended_goes_with_its_phase() -> None:
    async with still_cluster() as cluster:
        collector = PodCollector(cluster.context)
        await _pod(cluster, finalizers=["a/b"])
        status = {"status": {"phase": "Succeeded"}}
        await cluster.patch(Pod, "p", status, subresource="status")
        await cluster.sync()
        await collector.reconcile(KEY)
        cluster.advance(QUARANTINE)
        await collector.reconcile(KEY)
        pod = await cluster.get(Pod, "p")
        assert pod is not None and pod["status"]["phase"] == "Succeeded"


async def test_a_node_that_comes_back_saves_its_pods() -> None:
    async with still_cluster() as cluster:
        collector = PodCollector(cluster.context)
        await _pod(cluster)
        await cluster.sync()
        await collector.reconcile(KEY)
        await cluster.create(Node, NODE)
        await cluster.sync()
        cluster.advance(QUARANTINE)
        assert await collector.reconcile(KEY) is None
        # The quarantine begins again if the node goes once more.
        await cluster.client.request("DELETE", "/api/v1/nodes/n")
        await cluster.sync()
        assert await collector.reconcile(KEY) == QUARANTINE


async def test_pods_are_looked_at_when_their_node_goes() -> None:
    async with still_cluster() as cluster:
        collector = PodCollector(cluster.context)
        await cluster.create(Node, NODE)
        await _pod(cluster)
        await cluster.sync(Node)
        await cluster.sync()
        assert collector.queue.idle
        await cluster.client.request("DELETE", "/api/v1/nodes/n")
        await cluster.sync()
        assert not collector.queue.idle
        await collector.close()


async def test_a_pod_that_is_gone_is_forgotten() -> None:
    async with still_cluster() as cluster:
        collector = PodCollector(cluster.context)
        await _pod(cluster)
        await cluster.sync()
        await collector.reconcile(KEY)
        await cluster.client.request(
            "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0"
        )
        await cluster.sync()
        assert await collector.reconcile(KEY) is None
