"""Disruption budgets, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PodDisruptionBudget
from mooring.controllers.controlled_kinds import BUDGETS, DEPLOYMENTS
from mooring.errors import ApiError
from tests.support.controllers import Workbench, workload


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
    await workbench.client.evict(first)
    with pytest.raises(ApiError) as refused:
        await workbench.client.evict(second)
    assert refused.value.is_too_many_requests
    await workbench.until(
        lambda: numbers(workbench) == (1, 2, 1, 2) and first not in workbench.pods(),
        "room again",
    )
