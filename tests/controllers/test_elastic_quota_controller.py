"""The use that elastic quotas show."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import ElasticQuota, Pod, decode_as
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.elastic_quota_controller import (
    ELASTIC_QUOTAS,
    ElasticQuotaController,
    usage,
)
from mooring.local.custom_definitions import definitions
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.controllers.test_pod_group_controller import CRDS


def quota(**spec: Any) -> ElasticQuota:
    return decode_as({"spec": spec}, ElasticQuota)


def pod(phase: str = "Running", init: str = "", **requests: str) -> Pod:
    def container(amounts: dict[str, str]) -> dict[str, Any]:
        return {"name": "c", "image": "i", "resources": {"requests": amounts}}

    spec: dict[str, Any] = {"containers": [container(requests), container(requests)]}
    if init:
        spec["initContainers"] = [container({"cpu": init})]
    return decode_as({"spec": spec, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("found", "pods", "used"),
    [
        pytest.param(
            quota(min={"cpu": "1"}, max={"memory": "1Gi"}),
            [],
            {"cpu": "0", "memory": "0"},
            id="every resource of the quota is named",
        ),
        pytest.param(quota(min={"cpu": "1"}), [pod(cpu="250m")], {"cpu": "500m"}, id="a sum"),
        pytest.param(
            quota(min={"cpu": "1"}), [pod("Pending", cpu="1")], {"cpu": "0"}, id="pods that run"
        ),
        pytest.param(
            quota(min={"cpu": "1"}),
            [pod(cpu="250m", init="2"), pod(cpu="1", init="1")],
            {"cpu": "4"},
            id="an init container that requests more",
        ),
        pytest.param(
            quota(min={"cpu": "1"}),
            [pod(memory="1Gi")],
            {"cpu": "0", "memory": "2Gi"},
            id="a resource that the quota does not name",
        ),
    ],
)
def test_the_usage(found: ElasticQuota, pods: list[Pod], used: dict[str, str]) -> None:
    assert {name: str(amount) for name, amount in usage(found, pods).items()} == used


async def create(cluster: StillCluster, name: str = "q") -> None:
    metadata = {"name": name}
    manifest = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota"}
    spec = {"min": {"cpu": "2"}, "max": {"cpu": "4"}}
    await cluster.create(ELASTIC_QUOTAS, {**manifest, "metadata": metadata, "spec": spec})


async def used(cluster: StillCluster, name: str = "q") -> dict[str, str]:
    found = await cluster.get(ELASTIC_QUOTAS, name)
    assert found is not None
    return dict(found.get("status", {}).get("used", {}))


async def test_the_use_of_a_namespace_is_written() -> None:
    async with still_cluster() as cluster:
        for definition in definitions(["scheduling"]):
            await cluster.writer.create(CRDS, definition)
        controller = ElasticQuotaController(cluster.context)
        await create(cluster)
        await create(cluster, "second")
        resources = {"requests": {"cpu": "500m"}}
        spec = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        await cluster.create(PODS, manifest)
        await cluster.sync()
        await controller.reconcile(("default", ""))
        assert await used(cluster) == {"cpu": "0"}
        await cluster.patch(PODS, "p", {"status": {"phase": "Running"}}, subresource="status")
        await cluster.sync()
        await controller.reconcile(("default", ""))
        assert await used(cluster) == {"cpu": "500m"}
        assert await used(cluster, "second") == {}


async def test_a_namespace_without_a_quota_is_left_alone() -> None:
    async with still_cluster() as cluster:
        controller = ElasticQuotaController(cluster.context)
        assert await controller.reconcile(("default", "")) is None
