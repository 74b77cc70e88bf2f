"""Many nodes at once have exactly the probabilities of each alone."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mooring.contrib.low_risk_over_commitment.beta import probability_below
from mooring.contrib.low_risk_over_commitment.beta_arrays import probabilities_below
from mooring.contrib.low_risk_over_commitment.node_risks import NodeRisks
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.load.measured import Loads, measurements


@pytest.mark.parametrize("seed", range(5))
def test_each_as_alone(seed: int) -> None:
    rng = random.Random(seed)
    count = 300
    alpha = np.array([rng.choice((0.0, 1e-9, rng.uniform(0.01, 5), 400.0)) for _ in range(count)])
    beta = np.array([rng.choice((rng.uniform(0.01, 5), rng.uniform(5, 300))) for _ in range(count)])
    x = np.array([rng.choice((0.0, 1.0, rng.random(), 1e-6, 0.97)) for _ in range(count)])
    alone = [
        probability_below((float(one), float(two)), float(three))
        for one, two, three in zip(alpha, beta, x, strict=True)
    ]
    assert probabilities_below(alpha, beta, x).tolist() == alone


@pytest.mark.parametrize("seed", range(5))
def test_the_risks_of_all_nodes_are_those_of_each_node(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{index}" for index in range(40)]
    loads: Loads = {
        name: (
            rng.choice((0, 100, rng.uniform(0, 100))),
            rng.choice((0, rng.uniform(0, 60))),
            rng.uniform(0, 100),
            rng.uniform(0, 20),
        )
        for name in names[:35]
    }
    nodes = [make_node(name, cpu=rng.choice((0, 4, 16)), memory="16Gi") for name in names]
    pods = [
        make_pod(
            f"p{index}",
            node=rng.choice(names),
            spec={
                "containers": [
                    {
                        "name": "c",
                        "image": "a",
                        "resources": {
                            "requests": {"cpu": f"{rng.randint(0, 4000)}m", "memory": "1Gi"},
                            "limits": {"cpu": f"{rng.randint(0, 6000)}m"},
                        },
                    }
                ]
            },
        )
        for index in range(60)
    ]
    scheduler = MemoryScheduler([*nodes, *pods])
    found = measurements(loads)
    risks = NodeRisks(1.5).of(found, scheduler.cache.nodes)
    together = risks.by_load.copy()
    alone = 0
    for pod in pods[:25]:
        # The row of the pod's node is computed again alone.
        scheduler.cluster.delete(pod)
        scheduler.cluster.add(pod)
        risks.of(found, scheduler.cache.nodes)
        alone += bool(risks.log)
        assert risks.by_load.tolist() == together.tolist()
    assert alone > 15
