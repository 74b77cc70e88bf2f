"""What nodes offer, and what their pods request."""

from __future__ import annotations

from mooring.testing.builders import make_node, make_pod
from mooring.virtual.consequences import utilisation_of
from tests.explain.runs import make_scheduler


def test_the_utilisation_is_a_copy() -> None:
    scheduler = make_scheduler(
        [
            make_node("a", resources={"gpu.example/x": 2}),
            make_node("b"),
            make_pod(cpu="1", node="a"),
        ]
    )
    nodes = scheduler.cache.nodes
    found = utilisation_of(nodes)
    assert found.nodes == ["a", "b"]
    assert found.allocatable["gpu.example/x"].tolist() == [2, 0]
    assert found.requested["cpu"].tolist() == [1000, 0]
    scheduler.cluster.add(make_pod("more", cpu="1", node="b"))
    scheduler.cluster.add(make_node("c"))
    assert found.requested["cpu"].tolist() == [1000, 0]
    assert found.nodes == ["a", "b"]
