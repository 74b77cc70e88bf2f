"""The use that elastic quotas show."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import ElasticQuota, Node, Pod, decode_as
from mooring.api.quota_requests import SCHEDULER
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.elastic_quota_controller import (
    ELASTIC_QUOTAS,
    ElasticQuotaController,
    usage,
)
from mooring.local.custom_definitions import definitions
from tests.contrib.capacity_scheduling.test_plugin import (
    MODES,
    Tenants,
    resizing,
    with_pod_level,
    with_sidecar,
)
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


def bound(phase: str = "Pending", **spec: Any) -> Pod:
    """Return a pod on a node with a container of 1 cpu and the given fields."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi", "storage": "1"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    spec = {"nodeName": "n", "containers": containers, **spec}
    return decode_as({"spec": spec, "status": {"phase": phase}}, Pod)


SIDECAR = {
    "name": "s",
    "image": "i",
    "restartPolicy": "Always",
    "resources": {"requests": {"cpu": "1500m"}},
}


@pytest.mark.parametrize(
    ("pods", "used"),
    [
        pytest.param([bound()], {"cpu": "1", "memory": "1Gi"}, id="a pod that has not started"),
        pytest.param([bound(nodeName="")], {"cpu": "0"}, id="a pod without a node"),
        pytest.param([bound("Succeeded"), bound("Failed")], {"cpu": "0"}, id="finished pods"),
        pytest.param(
            [bound(initContainers=[SIDECAR])], {"cpu": "2500m", "memory": "1Gi"}, id="a sidecar"
        ),
        pytest.param(
            [bound(resources={"requests": {"cpu": "3"}}), bound(overhead={"cpu": "10m"})],
            {"cpu": "4010m", "memory": "2Gi"},
            id="pod-level resources, and overhead",
        ),
    ],
)
def test_the_usage_as_the_scheduler_counts_it(pods: list[Pod], used: dict[str, str]) -> None:
    found = usage(quota(min={"cpu": "1"}), pods, SCHEDULER)
    assert {name: str(amount) for name, amount in found.items()} == used


def test_the_use_is_what_the_plugin_counts() -> None:
    pods = [
        with_sidecar("a", "a", "3", node="n", status={"phase": "Running"}),
        with_pod_level("b", "a", "2", node="n", status={"phase": "Running"}),
        resizing("c", "a", "1", "4"),
    ]
    for mode in MODES:
        (cpu,) = usage(quota(max={"cpu": "1"}), pods, mode).values()
        assert cpu.milli_value() == Tenants(*pods, cpu=64, mode=mode).cpu()["a"]


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


async def test_a_resize_and_the_mode_change_what_is_written() -> None:
    async with still_cluster() as cluster:
        for definition in definitions(["scheduling"]):
            await cluster.writer.create(CRDS, definition)
        contexts = (
            cluster.context,
            replace(cluster.context, quota_requests=lambda: SCHEDULER),
        )
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        await cluster.create(Node, node)
        controllers = [ElasticQuotaController(context) for context in contexts]
        await create(cluster)
        resources = {"requests": {"cpu": "500m"}}
        spec = {
            "nodeName": "n",
            "initContainers": [SIDECAR],
            "containers": [{"name": "c", "image": "i", "resources": resources}],
        }
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        await cluster.create(PODS, manifest)
        await cluster.patch(PODS, "p", {"status": {"phase": "Running"}}, subresource="status")
        written = []
        for cpu in ("500m", "2"):
            larger = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
            await cluster.patch(PODS, "p", {"spec": {"containers": larger}}, subresource="resize")
            for controller in controllers:
                await cluster.sync()
                await controller.reconcile(("default", ""))
                await cluster.sync()
                written.append((await used(cluster))["cpu"])
        assert written == ["1500m", "2", "2", "3500m"]


async def test_a_namespace_without_a_quota_is_left_alone() -> None:
    async with still_cluster() as cluster:
        controller = ElasticQuotaController(cluster.context)
        assert await controller.reconcile(("default", "")) is None
