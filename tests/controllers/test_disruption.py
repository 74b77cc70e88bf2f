"""Disruption budgets, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Pod, PodDisruptionBudget
from mooring.api.kinds import decode_raw
from mooring.controllers.controlled_kinds import BUDGETS, DEPLOYMENTS, STATEFUL_SETS
from mooring.controllers.disruption import DisruptionController
from mooring.controllers.owners import reference_to
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import Workbench, template, workload


async def budget(bench: Workbench, **spec: Any) -> None:
    await bench.create(
        BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "budget"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        },
    )


def numbers(bench: Workbench) -> tuple[int, int, int, int]:
    found = bench.get(PodDisruptionBudget, "budget")
    if found is None:
        return -1, -1, -1, -1
    status = found.status
    return (
        status.disruptions_allowed,
        status.current_healthy,
        status.desired_healthy,
        status.expected_pods,
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (2, 4, 2, 4)),
        ({"minAvailable": "60%"}, (1, 4, 3, 4)),
        ({"maxUnavailable": 1}, (1, 4, 3, 4)),
        ({"maxUnavailable": "40%"}, (2, 4, 2, 4)),
    ],
    ids=["a least number", "a least share", "a greatest loss", "a greatest share lost"],
)
async def test_a_budget_counts(
    workbench: Workbench, spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=4))
    await budget(workbench, **spec)
    await workbench.until(lambda: numbers(workbench) == expected, "the numbers")
    found = workbench.get(PodDisruptionBudget, "budget")
    assert [(one.type, one.status) for one in found.status.conditions] == [
        ("DisruptionAllowed", "True")
    ]


async def test_evictions_are_refused_until_there_is_room_again(workbench: Workbench) -> None:
    await workbench.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
    await budget(workbench, minAvailable=1)
    await workbench.until(lambda: numbers(workbench) == (1, 2, 1, 2), "room for one")
    first, second = workbench.pods()
    # The pod that takes the place of the evicted one does not run before the second eviction.
    workbench.binds = False
    await workbench.client.evict(first)
    with pytest.raises(ApiError) as refused:
        await workbench.client.evict(second)
    assert refused.value.is_too_many_requests
    workbench.bind_waiting()
    await workbench.until(
        lambda: numbers(workbench) == (1, 2, 1, 2) and first not in workbench.pods(),
        "room again",
    )


READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


class Budgets:
    """A budget that is reconciled one step at a time."""

    def __init__(self, cluster: StillCluster) -> None:
        self.cluster = cluster
        self.controller = DisruptionController(cluster.context)

    async def budget(self, **spec: Any) -> None:
        made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        selector = {"matchLabels": {"app": "web"}}
        made |= {"metadata": {"name": "b"}, "spec": {"selector": selector, **spec}}
        await self.cluster.create(PodDisruptionBudget, made)

    async def pod(self, name: str, *owners: dict[str, Any], ready: bool = True) -> None:
        metadata = {"name": name, "labels": {"app": "web"}, "ownerReferences": list(owners)}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template()["spec"]}
        await self.cluster.create(Pod, made)
        status = {"phase": "Running", "conditions": [READY] if ready else []}
        await self.cluster.patch(Pod, name, {"status": status}, subresource="status")

    async def counted(self) -> dict[str, Any]:
        await self.cluster.sync()
        await self.controller.reconcile(("default", "b"))
        found = await self.cluster.get(PodDisruptionBudget, "b")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status


def _numbers(status: dict[str, Any]) -> tuple[int, int, int, int]:
    return (
        status["expectedPods"],
        status["desiredHealthy"],
        status["currentHealthy"],
        status["disruptionsAllowed"],
    )


async def test_pods_without_an_owner_are_counted_as_they_are() -> None:
    async with still_cluster() as cluster:
        budgets = Budgets(cluster)
        await budgets.budget(minAvailable=1)
        await budgets.pod("a")
        await budgets.pod("b")
        await budgets.pod("c", ready=False)
        assert _numbers(await budgets.counted()) == (3, 1, 2, 1)
        await budgets.controller.close()


async def test_shares_are_of_what_the_owners_ask_for() -> None:
    async with still_cluster() as cluster:
        budgets = Budgets(cluster)
        await budgets.budget(maxUnavailable="25%")
        made = await cluster.create(STATEFUL_SETS, workload("StatefulSet", "db", replicas=8))
        await budgets.pod("a", reference_to(decode_raw(made)))
        assert _numbers(await budgets.counted()) == (8, 6, 1, 0)
        await budgets.controller.close()


async def test_an_owner_of_an_unknown_kind_is_asked_for_its_scale() -> None:
    async with still_cluster() as cluster:
        budgets = Budgets(cluster)
        await budgets.budget(minAvailable="50%")
        made = workload("ReplicationController", "rc", "v1", replicas=4)
        made["spec"]["selector"] = {"app": "web"}
        stored = await cluster.create("replicationcontrollers.v1.", made)
        await budgets.pod("a", reference_to(decode_raw(stored)))
        # Neither a kind that is not served nor one without a scale counts.
        lost = {
            "apiVersion": "a.io/v1",
            "kind": "Ship",
            "name": "s",
            "uid": "s",
            "controller": True,
        }
        await budgets.pod("b", lost)
        job = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
        await budgets.pod("c", job)
        assert _numbers(await budgets.counted()) == (4, 2, 3, 1)
        await budgets.controller.close()


async def test_a_disruption_that_is_not_seen_yet_counts() -> None:
    async with still_cluster() as cluster:
        budgets = Budgets(cluster)
        await budgets.budget(minAvailable=1)
        await budgets.pod("a")
        await budgets.pod("b")
        when = {
            "status": {
                "disruptedPods": {"a": "2026-01-01T00:00:00Z", "gone": "2026-01-01T00:00:00Z"}
            }
        }
        await budgets.counted()
        await cluster.patch(PodDisruptionBudget, "b", when, subresource="status")
        status = await budgets.counted()
        assert _numbers(status) == (2, 1, 1, 0)
        assert list(status["disruptedPods"]) == ["a"]
        cluster.advance(121)
        status = await budgets.counted()
        assert _numbers(status) == (2, 1, 2, 1)
        assert "disruptedPods" not in status
        await budgets.controller.close()


async def test_a_budget_that_changed_meanwhile_is_counted_again() -> None:
    async with still_cluster() as cluster:
        budgets = Budgets(cluster)
        await budgets.budget(minAvailable=1)
        await budgets.pod("a")
        await cluster.sync()
        labels = {"metadata": {"labels": {"x": "y"}}}
        await cluster.patch(PodDisruptionBudget, "b", labels)
        await budgets.controller.reconcile(("default", "b"))
        found = await cluster.get(PodDisruptionBudget, "b")
        assert found is not None and not (found.get("status") or {}).get("expectedPods")
        assert not budgets.controller.queue.idle
        assert await budgets.controller.reconcile(("default", "none")) is None
        await budgets.controller.close()
