from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.client.client import STRATEGIC
from mooring.controllers.controlled_kinds import JOBS, NODES
from mooring.kubelet import node_status, pod_runner
from mooring.kubelet.pod_runner import PodRunner
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template

READY = {"type": "Ready", "status": "True"}


class Runs:
    """A runner of pods that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.runner = PodRunner(cluster.context)

    async def node(
        self, ready: str = "True", *, fake: bool = True, address: str = "InternalIP"
    ) -> None:
        manifest = node_status.manifest("n", {"cpu": "4"})
        if not fake:
            del manifest["metadata"]["annotations"]
        addresses = [{"type": address, "address": "172.18.0.2"}]
        status = {"conditions": [{"type": "Ready", "status": ready}], "addresses": addresses}
        await self.cluster.create(Node, manifest | {"status": status})

    async def pod(self, name: str = "p", **more: Any) -> None:
        metadata = {"name": name, **more.pop("metadata", {})}
        spec = template(**{"nodeName": "n", **more})["spec"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await self.cluster.create(Pod, pod)
        await self.cluster.sync()

    async def turn(self, name: str = "p") -> float | None:
        again = await self.runner.reconcile(("default", name))
        await self.cluster.sync()
        return again

    async def found(self, name: str = "p") -> dict[str, Any] | None:
        return await self.cluster.get(Pod, name)

    async def phase(self, name: str = "p") -> str:
        found = await self.found(name)
        return "" if found is None else str(found["status"]["phase"])


async def test_a_pod_waits_for_the_address_of_its_node() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node(address="Hostname")
        await runs.pod()
        assert await runs.turn() is None
        assert await runs.phase() == "Pending"
        address = [{"type": "InternalIP", "address": "172.18.0.2"}]
        await cluster.context.writer.patch(
            NODES, "", "n", {"status": {"addresses": address}}, "status", STRATEGIC
        )
        await cluster.sync()
        assert not runs.runner.queue.idle
        await runs.turn()
        assert await runs.phase() == "Running"


async def test_a_bound_pod_runs_on_a_ready_fake_node() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        await runs.pod()
        assert not runs.runner.queue.idle
        assert await runs.turn() is None
        found = await runs.found()
        assert found is not None
        status = found["status"]
        assert (status["phase"], status["podIP"]) == ("Running", "10.244.0.2")
        assert status["hostIP"] == "172.18.0.2"
        assert await runs.turn() is None
        await runs.runner.close()


@pytest.mark.parametrize(
    ("ready", "fake"), [("False", True), ("True", False)], ids=["not ready", "not fake"]
)
async def test_on_other_nodes_nothing_runs(ready: str, fake: bool) -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node(ready, fake=fake)
        await runs.pod()
        assert await runs.turn() is None
        assert await runs.phase() == "Pending"
        await runs.runner.close()


async def test_a_pod_without_a_node_waits() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.pod(nodeName="")
        assert runs.runner.queue.idle
        assert await runs.turn() is None
        assert await runs.turn("none") is None
        await runs.runner.close()


async def test_addresses_differ_and_come_back() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        addresses = []
        for name in ("a", "b"):
            await runs.pod(name)
            await runs.turn(name)
            found = await runs.found(name)
            assert found is not None
            addresses.append(found["status"]["podIP"])
        assert addresses == ["10.244.0.2", "10.244.0.3"]
        await runs.pod("host", hostNetwork=True)
        await runs.turn("host")
        found = await runs.found("host")
        assert found is not None and found["status"]["podIP"] == "172.18.0.2"
        # Another runner knows the addresses in use.
        fresh = Runs(cluster)
        await cluster.sync()
        await fresh.pod("c")
        await fresh.turn("c")
        found = await fresh.found("c")
        assert found is not None and found["status"]["podIP"] == "10.244.0.4"
        await fresh.runner.close()
        await runs.runner.close()


async def test_a_pod_of_a_job_ends_after_its_time() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
        work = template(restartPolicy="Never")
        made = await cluster.create(JOBS, {**job, "spec": {"template": work}})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
        owner["uid"] = made["metadata"]["uid"]
        container = {"command": ["sleep", "30"]}
        await runs.pod(
            metadata={"ownerReferences": [owner]}, container=container, restartPolicy="Never"
        )
        await runs.turn()
        assert await runs.turn() == 30.0
        cluster.advance(30)
        assert await runs.turn() is None
        assert await runs.phase() == "Succeeded"
        assert await runs.turn() is None
        await runs.runner.close()


async def test_a_pod_that_is_deleted_ends_within_its_grace_period() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        hook = {"preStop": {"sleep": {"seconds": 20}}}
        await runs.pod(container={"lifecycle": hook}, terminationGracePeriodSeconds=30)
        await runs.turn()
        await cluster.client.request("DELETE", "/api/v1/namespaces/default/pods/p")
        await cluster.sync()
        # The hook sleeps for 20 seconds, and the container takes one to end.
        assert await runs.turn() == 21.0
        cluster.advance(21)
        assert await runs.turn() is None
        assert await runs.found() is None
        await runs.runner.close()


async def test_a_deleted_pod_with_a_finalizer_ends_and_waits() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        await runs.pod(metadata={"finalizers": ["a/b"]})
        await runs.turn()
        path = "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=1"
        await cluster.client.request("DELETE", path)
        await cluster.sync()
        cluster.advance(1)
        await runs.turn()
        found = await runs.found()
        assert found is not None and found["status"]["phase"] == "Failed"
        terminated = found["status"]["containerStatuses"][0]["state"]["terminated"]
        assert terminated["exitCode"] == 137
        assert await runs.turn() is None
        await runs.runner.close()


async def test_readiness_follows_the_gates() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node()
        await runs.pod(readinessGates=[{"conditionType": "a.io/x"}])
        await runs.turn()

        async def ready() -> str:
            found = await runs.found()
            assert found is not None
            states = {one["type"]: one["status"] for one in found["status"]["conditions"]}
            return str(states["Ready"])

        assert await ready() == "False"
        await runs.turn()
        gate = {"status": {"conditions": [{"type": "a.io/x", "status": "True"}]}}
        await cluster.patch(
            Pod,
            "p",
            gate,
            subresource="status",
            patch_type="application/strategic-merge-patch+json",
        )
        await cluster.sync()
        await runs.turn()
        assert await ready() == "True"
        await runs.runner.close()


async def test_events_of_containers_are_recorded_while_there_are_few_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        told: list[str] = []
        monkeypatch.setattr(
            runs.runner.events, "record", lambda *what, **more: told.append(what[2])
        )
        monkeypatch.setattr(pod_runner, "TELL_UP_TO", 1)
        await runs.node()
        await runs.pod("a")
        await runs.turn("a")
        assert told == ["Pulled", "Created", "Started"]
        await runs.pod("b")
        await runs.turn("b")
        assert len(told) == 3
        await runs.runner.close()


async def test_pods_are_looked_at_when_their_node_changes() -> None:
    async with still_cluster() as cluster:
        runs = Runs(cluster)
        await runs.node("False")
        await runs.pod()
        runs.runner.start()
        while not runs.runner.queue.idle:
            await _yield()
        change = {"status": {"conditions": [READY]}}
        await cluster.patch(Node, "n", change, subresource="status", namespace="")
        await cluster.sync()
        while await runs.phase() != "Running":
            await _yield()
        await runs.runner.close()


async def _yield() -> None:
    await asyncio.sleep(0)
