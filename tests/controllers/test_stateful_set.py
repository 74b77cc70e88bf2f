"""StatefulSets, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

from mooring.api import PersistentVolumeClaim, Pod, StatefulSet
from mooring.controllers.controlled_kinds import CONTROLLER_REVISIONS, STATEFUL_SETS
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
