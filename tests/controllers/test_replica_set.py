from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.controllers import replica_set
from mooring.controllers.controlled_kinds import PODS, REPLICA_SETS
from mooring.controllers.replica_set import ReplicaSetController
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import workload

KEY = ("default", "web")
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Turning:
    """A ReplicaSet that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.controller = ReplicaSetController(cluster.context)

    async def begin(self, **spec: Any) -> None:
        await self.cluster.create(REPLICA_SETS, workload("ReplicaSet", "web", **spec))
        await self.cluster.sync()

    async def turn(self) -> float | None:
        try:
            return await self.controller.reconcile(KEY)
        finally:
            await self.cluster.sync()

    async def scale(self, replicas: int) -> None:
        await self.cluster.patch(REPLICA_SETS, "web", {"spec": {"replicas": replicas}})
        await self.cluster.sync()

    async def pods(self) -> list[dict[str, Any]]:
        return [
            one
            for one in await self.cluster.all(PODS)
            if "deletionTimestamp" not in one["metadata"]
        ]

    async def status(self) -> dict[str, Any]:
        found = await self.cluster.get(REPLICA_SETS, "web")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status


async def test_missing_pods_are_created_and_surplus_ones_deleted() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=3)
        await turning.turn()
        pods = await turning.pods()
        assert len(pods) == 3
        assert all(one["metadata"]["generateName"] == "web-" for one in pods)
        await turning.turn()
        status = await turning.status()
        assert (status["replicas"], status["fullyLabeledReplicas"]) == (3, 3)
        await turning.scale(1)
        await turning.turn()
        assert len(await turning.pods()) == 1
        await turning.controller.close()


async def test_a_creation_that_the_informer_does_not_show_is_not_repeated() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=2)
        await turning.controller.reconcile(KEY)
        await cluster.sync(REPLICA_SETS)
        await turning.controller.reconcile(KEY)
        assert len(await turning.pods()) == 2
        await turning.controller.close()


async def test_a_pod_becomes_available_after_a_while() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1, minReadySeconds=30)
        await turning.turn()
        (pod,) = await turning.pods()
        change = {"status": {"phase": "Running", "conditions": [READY]}}
        await cluster.patch(Pod, pod["metadata"]["name"], change, subresource="status")
        await cluster.sync()
        assert await turning.turn() == 30.0
        status = await turning.status()
        assert (status["readyReplicas"], status.get("availableReplicas")) == (1, None)
        cluster.advance(30)
        assert await turning.turn() is None
        assert (await turning.status())["availableReplicas"] == 1
        await turning.controller.close()


async def test_a_refused_pod_is_told_and_raised() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        spec = {"hard": {"pods": "0"}}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
        await cluster.create("resourcequotas.v1.", {**quota, "spec": spec})
        status = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
        await cluster.patch("resourcequotas.v1.", "q", status, subresource="status")
        await turning.begin(replicas=2)
        with pytest.raises(ApiError, match="exceeded quota"):
            await turning.turn()
        found = await turning.status()
        (condition,) = found["conditions"]
        assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
        none = {"status": {"hard": {"pods": "9"}}}
        await cluster.patch("resourcequotas.v1.", "q", none, subresource="status")
        await turning.turn()
        assert "conditions" not in await turning.status()
        assert len(await turning.pods()) == 2
        await turning.controller.close()


async def test_a_set_that_is_deleted_makes_no_pods() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        made = workload("ReplicaSet", "web", replicas=2)
        made["metadata"]["finalizers"] = ["a/b"]
        await cluster.create(REPLICA_SETS, made)
        await cluster.client.request("DELETE", "/apis/apps/v1/namespaces/default/replicasets/web")
        await cluster.sync()
        await turning.turn()
        assert await turning.pods() == []
        assert await turning.controller.reconcile(("default", "none")) is None
        await turning.controller.close()


async def test_a_large_set_grows_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_set, "BURST", 5)
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=7)
        sizes = []
        for _ in range(2):
            await turning.turn()
            sizes.append(len(await turning.pods()))
        assert sizes == [5, 7]
        await turning.controller.close()
