"""StatefulSets, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolumeClaim, Pod, StatefulSet
from mooring.controllers.controlled_kinds import CONTROLLER_REVISIONS, STATEFUL_SETS
from mooring.controllers.stateful_set import StatefulSetController
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import Object, Workbench, template, workload


def stateful_set(**spec: Any) -> Object:
    return workload("StatefulSet", "db", serviceName="db", **spec)


def status(bench: Workbench, field: str) -> Any:
    found = bench.raw(StatefulSet, "db")
    return found.get(f"status.{field}", 0) if found is not None else None


def names(bench: Workbench) -> list[str]:
    return sorted(pod.metadata.name for pod in bench.pods())


async def test_pods_come_one_after_the_other_with_their_claims(workbench: Workbench) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "none",
        },
    }
    await workbench.create(STATEFUL_SETS, stateful_set(replicas=3, volumeClaimTemplates=[claim]))
    seen: list[int] = []

    def complete() -> bool:
        unready = [pod for pod in workbench.all(Pod) if pod.status.phase != "Running"]
        seen.append(len(unready))
        return bool(status(workbench, "readyReplicas") == 3)

    await workbench.until(complete, "three pods")
    assert names(workbench) == ["db-0", "db-1", "db-2"]
    assert max(seen) == 1
    claims = sorted(one.metadata.name for one in workbench.all(PersistentVolumeClaim))
    assert claims == ["data-db-0", "data-db-1", "data-db-2"]
    pod = workbench.get(Pod, "db-1")
    assert pod.spec.hostname == "db-1" and pod.spec.subdomain == "db"
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "1"
    claimed = [one.persistent_volume_claim for one in pod.spec.volumes]
    assert [one.claim_name for one in claimed if one] == ["data-db-1"]


async def test_the_highest_number_goes_first(workbench: Workbench) -> None:
    await workbench.create(STATEFUL_SETS, stateful_set(replicas=3))
    await workbench.until(lambda: status(workbench, "readyReplicas") == 3, "three pods")
    await workbench.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
    await workbench.until(lambda: names(workbench) == ["db-0", "db-1"], "the first to go")
    await workbench.until(lambda: status(workbench, "replicas") == 1, "the second to go")
    assert names(workbench) == ["db-0"]


async def test_a_new_template_rolls_from_the_highest_number_down(workbench: Workbench) -> None:
    await workbench.create(STATEFUL_SETS, stateful_set(replicas=2))
    await workbench.until(lambda: status(workbench, "readyReplicas") == 2, "two pods")
    first = status(workbench, "currentRevision")
    await workbench.patch(STATEFUL_SETS, "db", {"spec": {"template": template("image:2")}})
    seen = []

    def renewed() -> bool:
        images = {pod.metadata.name: pod.spec.containers[0].image for pod in workbench.pods()}
        seen.append(images)
        return (
            images == {"db-0": "image:2", "db-1": "image:2"}
            and status(workbench, "currentRevision") == status(workbench, "updateRevision") != first
        )

    await workbench.until(renewed, "the new pods")
    assert {"db-0": "image:1", "db-1": "image:2"} in seen
    assert {"db-0": "image:2", "db-1": "image:1"} not in seen
    revisions = sorted(one.get("revision") for one in workbench.all(CONTROLLER_REVISIONS))
    assert revisions == [1, 2]


async def test_parallel_pods_do_not_wait_for_each_other(workbench: Workbench) -> None:
    workbench.binds = False
    await workbench.create(STATEFUL_SETS, stateful_set(replicas=3, podManagementPolicy="Parallel"))
    await workbench.until(lambda: len(workbench.pods("Pending")) == 3, "three pending pods")


KEY = ("default", "db")
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


class Turning:
    """A stateful set that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.controller = StatefulSetController(cluster.context)

    async def begin(self, **spec: Any) -> None:
        await self.cluster.create(STATEFUL_SETS, workload("StatefulSet", "db", **spec))
        await self.cluster.sync()

    async def turn(self) -> list[str]:
        """Reconcile once; return the names of the pods that are not being deleted."""
        try:
            await self.controller.reconcile(KEY)
        finally:
            await self.cluster.sync()
        return sorted(
            one["metadata"]["name"]
            for one in await self.cluster.all(Pod)
            if "deletionTimestamp" not in one["metadata"]
        )

    async def run(self, *names: str, phase: str = "Running") -> None:
        for name in names:
            status = {"phase": phase, "conditions": [READY]}
            await self.cluster.patch(Pod, name, {"status": status}, subresource="status")
        await self.cluster.sync()

    async def change(self, **spec: Any) -> None:
        await self.cluster.patch(STATEFUL_SETS, "db", {"spec": spec})
        await self.cluster.sync()


async def test_a_parallel_set_does_not_wait() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=3, podManagementPolicy="Parallel")
        assert await turning.turn() == ["db-0", "db-1", "db-2"]
        await turning.run("db-0", "db-1", "db-2")
        await turning.change(replicas=1)
        assert await turning.turn() == ["db-0"]
        await turning.controller.close()


async def test_a_pod_that_failed_is_replaced() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1)
        await turning.turn()
        await turning.run("db-0", phase="Failed")
        assert await turning.turn() == []
        assert await turning.turn() == ["db-0"]
        await turning.controller.close()


async def test_a_partition_keeps_the_lower_pods() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await turning.begin(replicas=2, podManagementPolicy="Parallel", updateStrategy=strategy)
        await turning.turn()
        await turning.run("db-0", "db-1")
        await turning.turn()
        await turning.change(template=template("image:2"))
        assert await turning.turn() == ["db-0"]
        assert await turning.turn() == ["db-0", "db-1"]
        await turning.run("db-1")
        assert await turning.turn() == ["db-0", "db-1"]
        images = {
            one["metadata"]["name"]: one["spec"]["containers"][0]["image"]
            for one in await cluster.all(Pod)
        }
        assert images == {"db-0": "image:1", "db-1": "image:2"}
        await turning.controller.close()


async def test_a_set_that_is_replaced_by_hand_is_left_alone() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1, updateStrategy={"type": "OnDelete"})
        await turning.turn()
        await turning.run("db-0")
        await turning.change(template=template("image:2"))
        assert await turning.turn() == ["db-0"]
        await turning.controller.close()


async def test_claims_are_made_before_their_pod() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1, volumeClaimTemplates=[CLAIM])
        assert await turning.turn() == ["db-0"]
        claims = [one["metadata"]["name"] for one in await cluster.all(PersistentVolumeClaim)]
        assert claims == ["data-db-0"]
        # A claim that the informer does not show yet is not made again.
        await cluster.client.request(
            "DELETE", "/api/v1/namespaces/default/pods/db-0?gracePeriodSeconds=0"
        )
        await cluster.sync(Pod)
        assert await turning.turn() == ["db-0"]
        await turning.controller.close()


async def test_a_pod_that_is_refused_is_raised() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1, template=template(serviceAccountName="ghost"))
        with pytest.raises(ApiError, match="ghost"):
            await turning.turn()
        assert await turning.controller.reconcile(("default", "none")) is None
        await turning.controller.close()


async def test_a_set_that_is_deleted_makes_no_pods() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        made = workload("StatefulSet", "db")
        made["metadata"]["finalizers"] = ["a/b"]
        await cluster.create(STATEFUL_SETS, made)
        path = "/apis/apps/v1/namespaces/default/statefulsets/db"
        await cluster.client.request("DELETE", path)
        await cluster.sync()
        assert await turning.turn() == []
        await turning.controller.close()
