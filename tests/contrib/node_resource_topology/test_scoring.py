"""The score of a node by what each of its cells has left."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.node_resource_topology.cells import Amounts, Cell, amounts_of
from mooring.contrib.node_resource_topology.scoring import STRATEGY, mean_of, score_request
from mooring.contrib.score_ranges import NOT_AN_INT64


def cells(*available: dict[str, Any]) -> list[Cell]:
    return [Cell(index, amounts_of(one)) for index, one in enumerate(available)]


ASKED: Amounts = amounts_of({"cpu": "2", "memory": "1Gi"})


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [("LeastAllocated", 62), ("MostAllocated", 37), ("BalancedAllocation", 96)],
)
def test_strategies(strategy: str, wanted: int) -> None:
    found = cells({"cpu": "4", "memory": "4Gi"}, {"cpu": "1", "memory": "1Gi"})
    scores = [score_request(ASKED, found[:1], STRATEGY[strategy], {})]
    assert scores == [wanted]
    both = score_request(ASKED, found, STRATEGY[strategy], {})
    assert both == (wanted if strategy == "BalancedAllocation" else min(both, wanted))


def test_weights_below_1_count_as_1() -> None:
    found = cells({"cpu": "4", "memory": "4Gi"})
    scores = [
        score_request(ASKED, found, STRATEGY["LeastAllocated"], weights)
        for weights in ({"memory": 3}, {"cpu": -5, "memory": 1})
    ]
    assert scores == [68, 62]


def test_amounts_are_rounded_up_to_whole_units() -> None:
    asked = amounts_of({"cpu": "1500m"})
    found = cells({"cpu": "3500m"})
    assert score_request(asked, found, STRATEGY["MostAllocated"], {}) == 50


def test_a_request_for_nothing_has_no_share() -> None:
    assert score_request({}, cells({"cpu": "4"}), STRATEGY["LeastAllocated"], {}) == 0


def test_the_balance_of_one_resource_is_not_a_number() -> None:
    asked = amounts_of({"cpu": "1"})
    found = cells({"cpu": "4"})
    assert score_request(asked, found, STRATEGY["BalancedAllocation"], {}) == NOT_AN_INT64


def test_the_mean_is_truncated() -> None:
    assert (mean_of([50, 51]), mean_of([])) == (50, 0)
