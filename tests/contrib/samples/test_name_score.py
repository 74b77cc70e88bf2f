from __future__ import annotations

import pytest

from mooring.contrib.samples import NameScore
from mooring.contrib.samples.name_score import score_name
from mooring.testing import run_cycle
from tests.contrib.samples.example import Example


def test_busybox_lands_on_the_second_node() -> None:
    example = Example("name-score")
    assert example.pod.name == "busybox-test-scheduler"
    decision = run_cycle(
        pod=example.pod, nodes=example.nodes, plugins=[NameScore], config=example.config
    )
    assert decision.node_name == "k8s-node02"
    assert decision.scores["NameScore"].normalized.tolist() == [0, 1, 2]
    assert decision.best == ["k8s-node02"]


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("node", 0),
        ("node7", 7),
        ("7node", 0),
        ("node-1-42", 42),
        ("node100", 100),
        ("node101", 100),
        ("node" + "9" * 50, 100),
    ],
)
def test_the_number_at_the_end_counts(name: str, score: int) -> None:
    assert score_name(name) == score
