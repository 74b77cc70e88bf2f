"""Scores on columns are those of each node alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mooring.contrib.node_resource_topology.aligning import needs_of
from mooring.contrib.node_resource_topology.args import STRATEGIES
from mooring.contrib.node_resource_topology.scoring_all import NodeScores
from tests.contrib.node_resource_topology.generated import random_pod, random_topology
from tests.contrib.node_resource_topology.test_cell_columns import columns_with


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", range(5))
def test_each_slot_as_alone(strategy: str, seed: int) -> None:
    rng = random.Random(seed)
    columns, _ = columns_with(*(random_topology(rng, f"n{index}") for index in range(40)))
    slots = np.arange(len(columns.nodes), dtype=np.intp)
    scores = NodeScores(strategy, {"cpu": 2, "memory": 0})
    for index in range(10):
        needs = needs_of(random_pod(rng, f"p{index}"))
        containers = [*(request for request, _ in needs.init), *needs.containers]
        alone = [
            scores.one(node, needs.whole, containers) for node in columns.nodes if node is not None
        ]
        assert scores.many(columns, slots, needs.whole, containers).tolist() == alone


def test_outdated_and_unknown_nodes_score_0() -> None:
    columns, cache = columns_with(random_topology(random.Random(1), "a"))
    columns.slot("unknown")
    columns.outdated[columns.slot("a")] = True
    needs = needs_of(random_pod(random.Random(2), "p"))
    slots = np.arange(2, dtype=np.intp)
    found = NodeScores("LeastAllocated", {}).many(columns, slots, needs.whole, needs.containers)
    assert found.tolist() == [0, 0]
    assert cache is not None
