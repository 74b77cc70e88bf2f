"""The status of pod groups."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod, PodGroup, decode_as
from mooring.client.resources import raw_resource
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.pod_group_controller import (
    FAILED,
    FINISHED,
    LONGEST_SECONDS,
    PENDING,
    POD_GROUPS,
    RUNNING,
    SCHEDULING,
    PodGroupController,
    next_status,
)
from mooring.local.custom_definitions import definitions
from tests.controllers.still_cluster import StillCluster, still_cluster

LABEL = "scheduling.x-k8s.io/pod-group"
SERVICE_ACCOUNTS = raw_resource("serviceaccounts.v1.")
CRDS = raw_resource("customresourcedefinitions.v1.apiextensions.k8s.io")


def group(phase: str, members: int = 3, **status: Any) -> PodGroup:
    return decode_as(
        {"spec": {"minMember": members}, "status": {"phase": phase, **status}}, PodGroup
    )


def pods(*phases: str, **metadata: Any) -> list[Pod]:
    found = {"name": "p", "namespace": "n", **metadata}
    return [decode_as({"metadata": found, "status": {"phase": phase}}, Pod) for phase in phases]


@pytest.mark.parametrize(
    ("found", "members", "changed"),
    [
        pytest.param(group(""), [], {"phase": PENDING}, id="a new group is pending"),
        pytest.param(group(PENDING), pods("Pending", "Pending"), {}, id="members are missing"),
        pytest.param(
            group(PENDING),
            pods(*["Pending"] * 3),
            {"phase": SCHEDULING},
            id="all are there",
        ),
        pytest.param(
            group(SCHEDULING), pods("Running", "Running", "Pending"), {"running": 2}, id="two run"
        ),
        pytest.param(
            group(SCHEDULING, running=2),
            pods(*["Running"] * 3),
            {"phase": RUNNING, "running": 3},
            id="enough run",
        ),
        pytest.param(
            group(RUNNING, running=3),
            pods("Succeeded", "Running", "Running"),
            {"running": 2, "succeeded": 1},
            id="one has succeeded",
        ),
        pytest.param(
            group(RUNNING, running=3),
            pods(*["Succeeded"] * 3),
            {"phase": FINISHED, "running": 0, "succeeded": 3},
            id="all have succeeded",
        ),
        pytest.param(
            group(RUNNING, running=3),
            pods("Failed", "Running", "Running"),
            {"phase": FAILED, "running": 2, "failed": 1},
            id="one has failed",
        ),
        pytest.param(
            group(RUNNING, running=3),
            pods("Running"),
            {"phase": PENDING, "running": 1},
            id="members are gone",
        ),
        pytest.param(group(RUNNING, running=3), pods(*["Running"] * 3), {}, id="nothing changes"),
    ],
)
def test_the_next_status(found: PodGroup, members: list[Pod], changed: dict[str, Any]) -> None:
    assert next_status(found, members) == changed


def test_the_owners_of_the_first_member_occupy_the_group() -> None:
    owners = [{"name": "b", "kind": "Job", "uid": "1"}, {"name": "a", "kind": "Job", "uid": "2"}]
    members = pods(*["Pending"] * 3, ownerReferences=owners)
    assert next_status(group(PENDING), members)["occupiedBy"] == "n/a,n/b"


async def make(cluster: StillCluster) -> PodGroupController:
    for definition in definitions(["scheduling"]):
        await cluster.writer.create(CRDS, definition)
    return PodGroupController(cluster.context)


async def member(cluster: StillCluster, name: str, namespace: str = "default") -> None:
    metadata = {"name": name, "namespace": namespace, "labels": {LABEL: "g"}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await cluster.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )


async def create_group(cluster: StillCluster, members: int) -> None:
    manifest = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    spec = {"minMember": members}
    await cluster.create(POD_GROUPS, {**manifest, "metadata": {"name": "g"}, "spec": spec})


async def status(cluster: StillCluster, controller: PodGroupController) -> dict[str, Any]:
    await cluster.sync()
    await controller.reconcile(("default", "g"))
    found = await cluster.get(POD_GROUPS, "g")
    assert found is not None
    return dict(found.get("status", {}))


async def test_the_status_is_written_step_by_step() -> None:
    async with still_cluster() as cluster:
        controller = await make(cluster)
        await create_group(cluster, 2)
        assert await status(cluster, controller) == {"phase": PENDING}
        await member(cluster, "a")
        assert await status(cluster, controller) == {"phase": PENDING}
        await member(cluster, "b")
        begun = {"scheduleStartTime": cluster.context.timestamp()}
        assert await status(cluster, controller) == {"phase": SCHEDULING, **begun}
        for name in ("a", "b"):
            await cluster.patch(PODS, name, {"status": {"phase": "Running"}}, subresource="status")
        assert await status(cluster, controller) == {"phase": RUNNING, "running": 2, **begun}
        for name in ("a", "b"):
            patch = {"status": {"phase": "Succeeded"}}
            await cluster.patch(PODS, name, patch, subresource="status")
        last = {"phase": FINISHED, "running": 0, "succeeded": 2, **begun}
        assert await status(cluster, controller) == last
        await member(cluster, "c")
        assert await status(cluster, controller) == last


async def test_pods_of_other_namespaces_are_not_members() -> None:
    async with still_cluster() as cluster:
        controller = await make(cluster)
        await create_group(cluster, 2)
        assert await status(cluster, controller) == {"phase": PENDING}
        await member(cluster, "a")
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        metadata = {"name": "default", "namespace": "kube-system"}
        await cluster.create(SERVICE_ACCOUNTS, {**account, "metadata": metadata})
        await member(cluster, "b", "kube-system")
        assert await status(cluster, controller) == {"phase": PENDING}


async def test_a_group_that_began_two_days_late_is_left_alone() -> None:
    async with still_cluster() as cluster:
        controller = await make(cluster)
        await create_group(cluster, 1)
        await member(cluster, "a")
        late = {"status": {"phase": PENDING, "scheduleStartTime": "2100-01-01T00:00:00Z"}}
        await cluster.patch(POD_GROUPS, "g", late, subresource="status")
        assert (await status(cluster, controller))["phase"] == PENDING


async def test_a_group_whose_members_come_two_days_late_is_not_left_alone() -> None:
    async with still_cluster() as cluster:
        controller = await make(cluster)
        await create_group(cluster, 1)
        assert await status(cluster, controller) == {"phase": PENDING}
        cluster.advance(LONGEST_SECONDS + 1)
        await member(cluster, "a")
        assert await status(cluster, controller) == {"phase": SCHEDULING}
        await cluster.patch(PODS, "a", {"status": {"phase": "Running"}}, subresource="status")
        assert await status(cluster, controller) == {"phase": RUNNING, "running": 1}


async def test_a_group_that_is_gone_is_no_error() -> None:
    async with still_cluster() as cluster:
        controller = await make(cluster)
        await cluster.sync()
        assert await controller.reconcile(("default", "gone")) is None
