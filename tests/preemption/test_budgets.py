"""Which victims violate a disruption budget."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PodDisruptionBudget
from mooring.preemption.budgets import Budgets
from tests.plugins.clusters import Cluster, make, make_pod

CLUSTER = Cluster()


def budget(
    allowed: int, selector: Any, namespace: str = "default", **status: Any
) -> PodDisruptionBudget:
    return make(
        PodDisruptionBudget,
        "b",
        namespace,
        spec={"selector": selector},
        status={"disruptionsAllowed": allowed, **status},
    )


def split(
    budgets: list[PodDisruptionBudget],
    *apps: str,
    stop_at_exceeded: bool = True,
    **fields: Any,
) -> list[str]:
    pods = [
        CLUSTER.pod_info(make_pod(f"p{i}", {"app": app} if app else {}, **fields))
        for i, app in enumerate(apps)
    ]
    violating, others = Budgets(budgets, stop_at_exceeded=stop_at_exceeded).split(pods)
    assert sorted([*violating, *others], key=pods.index) == pods
    return [info.pod.name for info in violating]


WEB = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("budgets", "apps", "violating"),
    [
        pytest.param([budget(0, WEB)], ["web", "db"], ["p0"], id="none may go"),
        pytest.param([budget(1, WEB)], ["web", "web"], ["p1"], id="the first uses the only one"),
        pytest.param([budget(2, WEB)], ["web", "web"], [], id="both may go"),
        pytest.param(
            [budget(1, WEB), budget(0, WEB)], ["web"], ["p0"], id="one of two budgets is enough"
        ),
        pytest.param([budget(0, {})], ["web"], [], id="an empty selector matches nothing here"),
        pytest.param([budget(0, None)], ["web"], [], id="and so does none"),
        pytest.param(
            [budget(0, {"matchExpressions": [{"key": "a", "operator": "Near"}]})],
            ["web"],
            [],
            id="a selector that cannot be read",
        ),
        pytest.param([budget(0, WEB, "other")], ["web"], [], id="another namespace"),
        pytest.param(
            [budget(0, WEB, disruptedPods={"p0": "2026-01-01T00:00:00Z"})],
            ["web", "web"],
            ["p1"],
            id="a pod that is already being evicted",
        ),
        pytest.param(
            [budget(0, {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})],
            [""],
            [],
            id="a pod without labels is under no budget",
        ),
    ],
)
def test_each_pod_uses_one_disruption_of_its_budgets(
    budgets: list[PodDisruptionBudget], apps: list[str], violating: list[str]
) -> None:
    assert split(budgets, *apps) == violating


def test_only_budgets_that_select_something_count() -> None:
    assert not Budgets([])
    assert not Budgets([budget(0, {})])
    assert Budgets([budget(0, WEB)])


def test_the_next_split_begins_with_all_disruptions() -> None:
    budgets = Budgets([budget(1, WEB)])
    pods = [CLUSTER.pod_info(make_pod("p", {"app": "web"}))]
    for _ in range(2):
        assert budgets.split(pods) == ([], pods)


@pytest.mark.parametrize(("stop", "violating"), [(True, ["p0"]), (False, ["p0", "p1"])])
def test_an_exceeded_budget_spares_the_next_since_1_37(stop: bool, violating: list[str]) -> None:
    named = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    budgets = [budget(0, WEB), budget(1, named)]
    assert split(budgets, "web", "db", stop_at_exceeded=stop) == violating


def test_budgets_are_taken_by_name() -> None:
    named = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    first = make(
        PodDisruptionBudget,
        "a",
        "default",
        spec={"selector": WEB},
        status={"disruptionsAllowed": 0},
    )
    for budgets in ([first, budget(1, named)], [budget(1, named), first]):
        assert split(budgets, "web", "db") == ["p0"]
