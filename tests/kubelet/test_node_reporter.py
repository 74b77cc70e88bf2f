from __future__ import annotations

from typing import Any

from mooring.api import Lease, Node
from mooring.kubelet import node_status
from mooring.kubelet.node_reporter import RENEW_SECONDS, REPORT_SECONDS, NodeReporter
from tests.controllers.still_cluster import StillCluster, still_cluster

CAPACITY = {"cpu": "4", "pods": "110"}


class Reports:
    """A reporter of nodes that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.reporter = NodeReporter(cluster.context, CAPACITY)

    async def add(self, name: str = "n", **more: Any) -> None:
        manifest = node_status.manifest(name, {})
        del manifest["status"]
        await self.cluster.create(Node, {**manifest, **more})
        await self.cluster.sync()

    async def turn(self, name: str = "n") -> float | None:
        again = await self.reporter.reconcile(("", name))
        await self.cluster.sync()
        return again

    async def node(self, name: str = "n") -> dict[str, Any]:
        found = await self.cluster.get(Node, name, "")
        assert found is not None
        return found

    async def lease(self) -> dict[str, Any]:
        found = await self.cluster.get(Lease, "n", "kube-node-lease")
        assert found is not None
        return found


async def test_a_node_reports_itself_and_takes_a_lease() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        await reports.add()
        assert await reports.turn() == RENEW_SECONDS
        status = (await reports.node())["status"]
        assert status["capacity"] == CAPACITY
        assert status["addresses"][0] == {"type": "InternalIP", "address": "172.18.0.2"}
        lease = await reports.lease()
        assert lease["spec"]["holderIdentity"] == "n"
        assert lease["metadata"]["ownerReferences"][0]["name"] == "n"
        await reports.reporter.close()


async def test_a_lease_is_renewed_when_it_is_due() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        await reports.add()
        await reports.turn()
        first = (await reports.lease())["spec"]["renewTime"]
        cluster.advance(4)
        assert await reports.turn() == RENEW_SECONDS - 4
        assert (await reports.lease())["spec"]["renewTime"] == first
        cluster.advance(6)
        assert await reports.turn() == RENEW_SECONDS
        assert (await reports.lease())["spec"]["renewTime"] != first
        await reports.reporter.close()


async def test_a_lease_that_was_deleted_is_made_again() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        await reports.add()
        await reports.turn()
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n"
        await cluster.client.request("DELETE", path)
        cluster.advance(RENEW_SECONDS)
        await reports.turn()
        assert (await reports.lease())["spec"]["holderIdentity"] == "n"
        await reports.reporter.close()


async def test_a_lease_of_an_earlier_node_changes_its_owner() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        old = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "gone"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        metadata = {"name": "n", "namespace": "kube-node-lease", "ownerReferences": [old]}
        await cluster.create(Lease, {**lease, "metadata": metadata, "spec": {}})
        await reports.add()
        await reports.turn()
        (owner,) = (await reports.lease())["metadata"]["ownerReferences"]
        assert owner["uid"] == (await reports.node())["metadata"]["uid"]
        await reports.reporter.close()


async def test_a_report_is_repeated_after_five_minutes() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        await reports.add()
        await reports.turn()
        first = (await reports.node())["status"]["conditions"]
        cluster.advance(REPORT_SECONDS - 1)
        await reports.turn()
        assert (await reports.node())["status"]["conditions"] == first
        cluster.advance(1)
        await reports.turn()
        beats = {one["lastHeartbeatTime"] for one in (await reports.node())["status"]["conditions"]}
        assert beats == {"2026-01-01T00:05:00Z"}
        await reports.reporter.close()


async def test_a_node_with_other_addresses_gets_an_internal_one() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        host = {"type": "Hostname", "address": "n.example"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"addresses": [host], "capacity": {"cpu": "1"}, "conditions": [ready]}
        await cluster.create(Node, {**node_status.manifest("n", {}), "status": status})
        await cluster.sync()
        await reports.turn()
        found = (await reports.node())["status"]["addresses"]
        assert found == [host, {"type": "InternalIP", "address": "172.18.0.2"}]


async def test_addresses_differ_also_from_those_of_real_nodes() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        real = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}}
        taken = [{"type": "InternalIP", "address": "172.18.0.2"}]
        await cluster.create(Node, {**real, "status": {"addresses": taken}})
        for name in ("n", "m"):
            await reports.add(name)
            await reports.turn(name)
        found = [(await reports.node(name))["status"]["addresses"][0]["address"] for name in "nm"]
        assert found == ["172.18.0.3", "172.18.0.4"]
        await reports.reporter.close()


async def test_other_nodes_are_left_alone() -> None:
    async with still_cluster() as cluster:
        reports = Reports(cluster)
        await cluster.create(Node, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        await cluster.sync()
        assert reports.reporter.queue.idle
        assert await reports.turn() is None
        assert "addresses" not in (await reports.node())["status"]
        assert await reports.reporter.reconcile(("", "none")) is None
        await reports.reporter.close()
