"""Filter on columns says of each slot what Filter for one node says."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mooring.contrib.node_resource_topology.aligning import align, needs_of
from mooring.contrib.node_resource_topology.aligning_all import EVERYTHING, align_all, is_whole
from mooring.contrib.node_resource_topology.cells import amounts_of
from tests.contrib.node_resource_topology.generated import random_pod, random_topology
from tests.contrib.node_resource_topology.test_cell_columns import columns_with


@pytest.mark.parametrize("seed", range(10))
def test_each_slot_as_alone(seed: int) -> None:
    rng = random.Random(seed)
    columns, _ = columns_with(*(random_topology(rng, f"n{index}") for index in range(40)))
    slots = np.arange(len(columns.nodes), dtype=np.intp)
    for index in range(10):
        needs = needs_of(random_pod(rng, f"p{index}"))
        alone = [align(needs, node, EVERYTHING) for node in columns.nodes if node is not None]
        assert align_all(needs, columns, slots).tolist() == alone
        assert align_all(needs, columns, slots[:3]).tolist() == alone[:3]


def test_requests_finer_than_the_columns_are_not_whole() -> None:
    assert is_whole([amounts_of({"cpu": "1500m", "memory": "1Gi"})])
    assert not is_whole([amounts_of({"cpu": "1500u"})])
    assert not is_whole([amounts_of({"memory": "500m"})])
