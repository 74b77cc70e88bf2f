"""Deployments, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from mooring.api import Deployment, Pod, ReplicaSet
from mooring.controllers.controlled_kinds import DEPLOYMENTS, REPLICA_SETS
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
