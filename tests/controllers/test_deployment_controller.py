"""Deployments, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Deployment, Pod, ReplicaSet
from mooring.controllers.controlled_kinds import DEPLOYMENTS, REPLICA_SETS
from mooring.controllers.deployment_controller import DeploymentController
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import Workbench, template, workload


def condition(bench: Workbench, name: str, type: str) -> tuple[str, str]:
    found = bench.raw(Deployment, name)
    for one in found.get("status.conditions", []) if found else []:
        if one["type"] == type:
            return one["status"], one["reason"]
    return "", ""


def is_rolled_out(bench: Workbench, name: str, replicas: int) -> bool:
    """Return whether `kubectl rollout status` would report success."""
    found = bench.raw(Deployment, name)
    if found is None:
        return False
    status = found.raw.get("status", {})
    return (
        status.get("observedGeneration", 0) >= found.metadata.generation
        and status.get("updatedReplicas", 0) == replicas
        and status.get("replicas", 0) == replicas
        and status.get("availableReplicas", 0) == replicas
        and condition(bench, name, "Progressing") == ("True", "NewReplicaSetAvailable")
    )


def images(bench: Workbench) -> set[str]:
    return {pod.spec.containers[0].image for pod in bench.pods()}


async def test_a_deployment_runs(workbench: Workbench) -> None:
    probe = {"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 7}
    pods = template(container={"livenessProbe": probe})
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=3, template=pods))
    await workbench.until(lambda: is_rolled_out(workbench, "web", 3), "the rollout")
    assert len(workbench.pods()) == 3
    (replica_set,) = workbench.all(REPLICA_SETS)
    digest = replica_set.metadata.labels["pod-template-hash"]
    assert replica_set.metadata.name == f"web-{digest}"
    assert replica_set.get("status.availableReplicas") == 3
    found = workbench.raw(Deployment, "web")
    assert found is not None
    assert found.metadata.annotations["deployment.kubernetes.io/revision"] == "1"
    assert condition(workbench, "web", "Available") == ("True", "MinimumReplicasAvailable")
    pod = workbench.pods()[0]
    assert pod.metadata.generate_name == f"web-{digest}-"
    assert pod.status.pod_ip and pod.status.host_ip and pod.status.start_time
    assert pod.status.container_statuses[0].ready
    # A field that Mooring's types do not have is preserved.
    raw = await workbench.client.get(Pod, pod.metadata.name, workbench.namespace)
    assert raw.spec.containers[0].liveness_probe["terminationGracePeriodSeconds"] == 7


async def test_a_deployment_rolls_to_a_new_template_and_back(workbench: Workbench) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=4))
    await workbench.until(lambda: is_rolled_out(workbench, "web", 4), "the first rollout")
    new = {"spec": {"template": template("image:2")}}
    await workbench.patch(DEPLOYMENTS, "web", new)
    await workbench.until(
        lambda: is_rolled_out(workbench, "web", 4) and images(workbench) == {"image:2"},
        "the second rollout",
    )
    revisions = {
        one.metadata.annotations["deployment.kubernetes.io/revision"]: one.get("spec.replicas")
        for one in workbench.all(REPLICA_SETS)
    }
    assert revisions == {"1": 0, "2": 4}
    await workbench.patch(DEPLOYMENTS, "web", {"spec": {"template": template("image:1")}})
    await workbench.until(
        lambda: is_rolled_out(workbench, "web", 4) and images(workbench) == {"image:1"},
        "the way back",
    )
    back = {
        one.metadata.annotations["deployment.kubernetes.io/revision"]: one.metadata.annotations.get(
            "deployment.kubernetes.io/revision-history"
        )
        for one in workbench.all(REPLICA_SETS)
    }
    assert back == {"2": None, "3": "1"}


async def test_a_deployment_is_scaled(workbench: Workbench) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=1))
    await workbench.until(lambda: is_rolled_out(workbench, "web", 1), "the rollout")
    for size in (5, 2, 0):
        await workbench.patch(DEPLOYMENTS, "web", {"spec": {"replicas": size}})
        await workbench.until(
            lambda size=size: (
                is_rolled_out(workbench, "web", size)  # type: ignore[misc]
                and len(workbench.pods()) == size
            ),
            f"{size} pods",
        )


async def test_recreate_ends_old_pods_before_new_ones_start(workbench: Workbench) -> None:
    seen: list[set[str]] = []
    deployment = workload("Deployment", "web", replicas=2, strategy={"type": "Recreate"})
    await workbench.create(DEPLOYMENTS, deployment)
    await workbench.until(lambda: is_rolled_out(workbench, "web", 2), "the rollout")
    await workbench.patch(DEPLOYMENTS, "web", {"spec": {"template": template("image:2")}})

    def renewed() -> bool:
        seen.append({pod.spec.containers[0].image for pod in workbench.all(Pod)})
        return is_rolled_out(workbench, "web", 2) and seen[-1] == {"image:2"}

    await workbench.until(renewed, "the new pods")
    assert {"image:1", "image:2"} not in seen


async def test_a_paused_deployment_keeps_its_template_until_it_is_resumed(
    workbench: Workbench,
) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
    await workbench.until(lambda: is_rolled_out(workbench, "web", 2), "the rollout")
    change = {"spec": {"paused": True, "replicas": 3, "template": template("image:2")}}
    await workbench.patch(DEPLOYMENTS, "web", change)
    await workbench.until(lambda: len(workbench.pods()) == 3, "the third pod")
    await workbench.until(
        lambda: condition(workbench, "web", "Progressing") == ("Unknown", "DeploymentPaused"),
        "the condition",
    )
    assert images(workbench) == {"image:1"}
    await workbench.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    await workbench.until(
        lambda: is_rolled_out(workbench, "web", 3) and images(workbench) == {"image:2"},
        "the rollout after the pause",
    )


async def test_old_replica_sets_are_kept_as_far_as_the_history_goes(workbench: Workbench) -> None:
    deployment = workload("Deployment", "web", replicas=1, revisionHistoryLimit=1)
    await workbench.create(DEPLOYMENTS, deployment)
    for number in (2, 3, 4):
        await workbench.until(lambda: is_rolled_out(workbench, "web", 1), "the rollout")
        change = {"spec": {"template": template(f"image:{number}")}}
        await workbench.patch(DEPLOYMENTS, "web", change)
        await workbench.until(
            lambda number=number: images(workbench) == {f"image:{number}"},  # type: ignore[misc]
            "the image",
        )
    await workbench.until(lambda: len(workbench.all(REPLICA_SETS)) == 2, "the clean-up")
    kept = {one.get("spec.template.spec.containers.0.image") for one in workbench.all(REPLICA_SETS)}
    assert kept == {"image:3", "image:4"}


async def test_an_orphan_is_adopted_and_a_stray_released(workbench: Workbench) -> None:
    await workbench.create(Pod, {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": "orphan", "labels": {"app": "web"}}, "spec": template()["spec"]})  # fmt: skip
    await workbench.create(ReplicaSet, workload("ReplicaSet", "web", replicas=2))

    def owner(name: str) -> str:
        pod = workbench.get(Pod, name)
        return "".join(one.name for one in pod.metadata.owner_references) if pod else "gone"

    await workbench.until(lambda: owner("orphan") == "web", "the adoption")
    await workbench.until(lambda: len(workbench.pods()) == 2, "the second pod")
    await workbench.patch(Pod, "orphan", {"metadata": {"labels": {"app": "other"}}})
    await workbench.until(lambda: owner("orphan") == "", "the release")
    await workbench.until(lambda: len(workbench.pods()) == 3, "the replacement")


KEY = ("default", "web")


class Turning:
    """A deployment that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.controller = DeploymentController(cluster.context)

    async def begin(self, **spec: Any) -> None:
        await self.cluster.create(DEPLOYMENTS, workload("Deployment", "web", **spec))
        await self.cluster.sync()

    async def turn(self) -> dict[str, int]:
        """Reconcile once; return the sizes of the replica sets by their image."""
        try:
            await self.controller.reconcile(KEY)
        finally:
            await self.cluster.sync()
        return {
            one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"].get(
                "replicas", 0
            )
            for one in await self.cluster.all(REPLICA_SETS)
        }

    async def change(self, **spec: Any) -> None:
        await self.cluster.patch(DEPLOYMENTS, "web", {"spec": spec})
        await self.cluster.sync()

    async def available(self, image: str, count: int) -> None:
        """Report pods of a replica set as available."""
        for one in await self.cluster.all(REPLICA_SETS):
            if one["spec"]["template"]["spec"]["containers"][0]["image"] == image:
                counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), count)
                name = one["metadata"]["name"]
                await self.cluster.patch(
                    REPLICA_SETS, name, {"status": counts}, subresource="status"
                )
        await self.cluster.sync()


async def test_pods_that_are_not_available_go_first() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        rolling = {"maxSurge": 0, "maxUnavailable": 2}
        await turning.begin(replicas=4, strategy={"rollingUpdate": rolling})
        assert await turning.turn() == {"image:1": 4}
        # Two pods fail. As many may be missing, and those two are the ones that go.
        await turning.available("image:1", 2)
        await turning.change(template=template("image:2"))
        assert await turning.turn() == {"image:1": 2, "image:2": 0}
        assert await turning.turn() == {"image:1": 2, "image:2": 2}
        # While the new pods are not available, no more old ones go.
        assert await turning.turn() == {"image:1": 2, "image:2": 2}
        await turning.controller.close()


async def test_a_paused_deployment_is_scaled_in_proportion() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=4)
        await turning.turn()
        await turning.available("image:1", 4)
        await turning.change(template=template("image:2"))
        await turning.turn()
        await turning.change(paused=True, replicas=8)
        sizes = await turning.turn()
        assert sum(sizes.values()) == 10
        assert sizes["image:1"] > sizes["image:2"] > 1
        await turning.controller.close()


async def test_a_paused_deployment_of_one_set_is_scaled_as_a_whole() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=2)
        await turning.turn()
        await turning.change(paused=True, replicas=5)
        assert await turning.turn() == {"image:1": 5}
        await turning.controller.close()


async def test_a_name_that_is_taken_makes_another_one() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        await turning.begin(replicas=1)
        await turning.turn()
        (made,) = await cluster.all(REPLICA_SETS)
        name = made["metadata"]["name"]
        path = f"/apis/apps/v1/namespaces/default/replicasets/{name}"
        await cluster.client.request("DELETE", path)
        stranger = workload("ReplicaSet", name, selector={"matchLabels": {"app": "x"}})
        stranger["spec"]["template"] = template("other", {"app": "x"})
        await cluster.create(REPLICA_SETS, stranger)
        await cluster.sync()
        with pytest.raises(ApiError, match="already exists"):
            await turning.turn()
        assert set(await turning.turn()) == {"other", "image:1"}
        found = await cluster.get(DEPLOYMENTS, "web")
        assert found is not None and found["status"]["collisionCount"] == 1
        await turning.controller.close()


async def test_a_set_that_is_refused_is_raised() -> None:
    async with still_cluster() as cluster:
        turning = Turning(cluster)
        spec = {"hard": {"count/replicasets.apps": "0"}}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
        await cluster.create("resourcequotas.v1.", {**quota, "spec": spec})
        used = {"status": {**spec, "used": {"count/replicasets.apps": "0"}}}
        await cluster.patch("resourcequotas.v1.", "q", used, subresource="status")
        await turning.begin(replicas=1)
        with pytest.raises(ApiError, match="exceeded quota"):
            await turning.turn()
        await turning.controller.close()
