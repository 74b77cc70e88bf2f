"""NodeResourcesAllocatable prefers small nodes, or large ones."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.node_resources_allocatable import NodeResourcesAllocatable
from mooring.testing import check_plugin, make_node, make_pod, run_score

NODES = [
    make_node("small", cpu=1, memory="1Gi"),
    make_node("middle", cpu=2, memory="2Gi"),
    make_node("large", cpu=4, memory="4Gi", resources={"example.com/gpu": 8}),
]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(None, [100, 66, 0], id="small nodes first by default"),
        pytest.param({"mode": ""}, [100, 66, 0], id="an empty mode is Least"),
        pytest.param({"mode": "Most"}, [0, 33, 100], id="large nodes first"),
        pytest.param(
            {"mode": "Most", "resources": [{"name": "example.com/gpu", "weight": 1}]},
            [0, 0, 100],
            id="by an extended resource",
        ),
        pytest.param(
            {"resources": [{"name": "pods", "weight": 1}]}, [0, 0, 0], id="pods do not count"
        ),
    ],
)
def test_scores(args: dict[str, Any] | None, wanted: list[int]) -> None:
    result = run_score(NodeResourcesAllocatable, pod=make_pod("p"), nodes=NODES, args=args)
    assert list(result.normalized.values()) == wanted


def test_raw_scores_are_the_weighted_mean() -> None:
    args = {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 2}]}
    result = run_score(NodeResourcesAllocatable, pod=make_pod("p"), nodes=NODES[:1], args=args)
    assert result.raw == {"small": -((1000 + 2 * 2**30) // 3)}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"mode": "Middle"}, 'mode must be "Least" or "Most", got "Middle"'),
        ({"resources": [{"name": "cpu", "weight": 0}]}, r"resources\[0\].weight: .* positive"),
        ({"ressources": []}, 'unknown field "ressources", did you mean "resources"'),
    ],
    ids=["mode", "weight", "unknown"],
)
def test_bad_arguments(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        run_score(NodeResourcesAllocatable, pod=make_pod("p"), nodes=NODES, args=args)


def test_it_keeps_the_contract() -> None:
    report = check_plugin(NodeResourcesAllocatable, args={"mode": "Most"}, rounds=8)
    assert report.scored
    assert report.signed
