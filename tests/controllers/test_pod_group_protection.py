from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod
from mooring.controllers.controlled_kinds import POD_GROUPS
from mooring.controllers.pod_group_protection import PodGroupProtection
from tests.apiserver.api_server import GROUP_GATES
from tests.controllers.still_cluster import StillCluster, still_cluster

KEY = ("default", "g")


def _pod(name: str, group: str | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    if group is not None:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def _group(cluster: StillCluster, *, more: tuple[str, ...] = ()) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "finalizers": list(more)},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }
    await cluster.create(POD_GROUPS, group)


async def _delete(cluster: StillCluster) -> None:
    await cluster.client.request("DELETE", POD_GROUPS.path("default", "g"))


async def _reconcile(cluster: StillCluster, controller: PodGroupProtection) -> Any:
    """Return the group after the controller has looked at it."""
    await cluster.sync()
    await controller.reconcile(KEY)
    return await cluster.get(POD_GROUPS, "g")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_group_stays_until_its_last_pod_has_ended(phase: str) -> None:
    async with still_cluster(GROUP_GATES) as cluster:
        controller = PodGroupProtection(cluster.context)
        await _group(cluster)
        await cluster.create(Pod, _pod("a", "g"))
        await cluster.create(Pod, _pod("b", "g"))
        await cluster.create(Pod, _pod("c", "other"))
        await cluster.create(Pod, _pod("d", None))
        await _delete(cluster)
        assert await _reconcile(cluster, controller) is not None
        await cluster.patch(Pod, "a", {"status": {"phase": phase}}, subresource="status")
        assert await _reconcile(cluster, controller) is not None
        await cluster.patch(Pod, "b", {"status": {"phase": phase}}, subresource="status")
        assert await _reconcile(cluster, controller) is None
        await controller.close()


async def test_a_group_that_is_not_deleted_keeps_its_finalizer() -> None:
    async with still_cluster(GROUP_GATES) as cluster:
        controller = PodGroupProtection(cluster.context)
        await _group(cluster)
        group = await _reconcile(cluster, controller)
        assert group["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
        await controller.close()


async def test_the_finalizers_of_others_stay() -> None:
    async with still_cluster(GROUP_GATES) as cluster:
        controller = PodGroupProtection(cluster.context)
        await _group(cluster, more=("a/b",))
        await _delete(cluster)
        group = await _reconcile(cluster, controller)
        assert group["metadata"]["finalizers"] == ["a/b"]
        assert await _reconcile(cluster, controller) == group
        await controller.close()


async def test_a_group_that_is_gone_is_left_alone() -> None:
    async with still_cluster(GROUP_GATES) as cluster:
        controller = PodGroupProtection(cluster.context)
        assert await _reconcile(cluster, controller) is None
        await controller.close()
