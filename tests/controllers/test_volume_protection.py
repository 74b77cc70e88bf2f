from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolume, PersistentVolumeClaim, Pod
from mooring.controllers.volume_protection import EphemeralVolumes, VolumeProtection
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template

CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "finalizers": ["kubernetes.io/pvc-protection"]},
    "spec": CLAIM_SPEC,
}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "v", "finalizers": ["kubernetes.io/pv-protection", "a/b"]},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
    },
}
USES = [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]


async def _pod(cluster: StillCluster, volumes: Any, node: str = "n") -> None:
    spec = template(volumes=volumes)["spec"] | ({"nodeName": node} if node else {})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    await cluster.create(Pod, pod)


async def _delete_claim(cluster: StillCluster) -> None:
    path = "/api/v1/namespaces/default/persistentvolumeclaims/c"
    await cluster.client.request("DELETE", path)


async def test_a_claim_in_use_stays_until_its_pod_has_ended() -> None:
    async with still_cluster() as cluster:
        controller = VolumeProtection(cluster.context)
        await cluster.create(PersistentVolumeClaim, CLAIM)
        await _pod(cluster, USES)
        await _delete_claim(cluster)
        await cluster.sync()
        await controller.reconcile(("default", "c"))
        assert await cluster.get(PersistentVolumeClaim, "c") is not None
        ended = {"status": {"phase": "Succeeded"}}
        await cluster.patch(Pod, "p", ended, subresource="status")
        await cluster.sync()
        await controller.reconcile(("default", "c"))
        assert await cluster.get(PersistentVolumeClaim, "c") is None
        await controller.close()


async def test_a_claim_that_is_not_deleted_keeps_its_finalizer() -> None:
    async with still_cluster() as cluster:
        controller = VolumeProtection(cluster.context)
        await cluster.create(PersistentVolumeClaim, CLAIM)
        await cluster.sync()
        await controller.reconcile(("default", "c"))
        await controller.reconcile(("default", "none"))
        claim = await cluster.get(PersistentVolumeClaim, "c")
        assert claim is not None
        assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_a_pod_without_a_node_uses_nothing_yet() -> None:
    async with still_cluster() as cluster:
        controller = VolumeProtection(cluster.context)
        await cluster.create(PersistentVolumeClaim, CLAIM)
        await _pod(cluster, USES, node="")
        await _delete_claim(cluster)
        await cluster.sync()
        await controller.reconcile(("default", "c"))
        assert await cluster.get(PersistentVolumeClaim, "c") is None
        await controller.close()


@pytest.mark.parametrize(
    ("phase", "finalizers"),
    [("Bound", ["kubernetes.io/pv-protection", "a/b"]), ("Released", ["a/b"])],
)
async def test_a_volume_that_is_bound_stays(phase: str, finalizers: list[str]) -> None:
    async with still_cluster() as cluster:
        controller = VolumeProtection(cluster.context)
        await cluster.create(PersistentVolume, VOLUME)
        status = {"status": {"phase": phase}}
        await cluster.patch(PersistentVolume, "v", status, subresource="status", namespace="")
        await cluster.client.request("DELETE", "/api/v1/persistentvolumes/v")
        await cluster.sync()
        await controller.reconcile(("", "v"))
        volume = await cluster.get(PersistentVolume, "v", "")
        assert volume is not None
        assert volume["metadata"]["finalizers"] == finalizers
        await controller.close()


EPHEMERAL = [
    {
        "name": "d",
        "ephemeral": {
            "volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": CLAIM_SPEC}
        },
    }
]


async def test_an_ephemeral_volume_gets_a_claim_of_its_pod() -> None:
    async with still_cluster() as cluster:
        controller = EphemeralVolumes(cluster.context)
        await _pod(cluster, EPHEMERAL)
        await cluster.sync()
        assert not controller.queue.idle
        await controller.reconcile(("default", "p"))
        claim = await cluster.get(PersistentVolumeClaim, "p-d")
        assert claim is not None
        assert claim["metadata"]["labels"] == {"a": "b"}
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
        # The informer does not show the claim yet; creating it again changes nothing.
        await controller.reconcile(("default", "p"))
        assert len(await cluster.all(PersistentVolumeClaim)) == 1
        await controller.close()


async def test_a_pod_that_has_ended_gets_no_claim() -> None:
    async with still_cluster() as cluster:
        controller = EphemeralVolumes(cluster.context)
        await _pod(cluster, EPHEMERAL)
        await cluster.patch(Pod, "p", {"status": {"phase": "Failed"}}, subresource="status")
        await cluster.sync()
        await controller.reconcile(("default", "p"))
        await controller.reconcile(("default", "none"))
        assert await cluster.all(PersistentVolumeClaim) == []
        await controller.close()
