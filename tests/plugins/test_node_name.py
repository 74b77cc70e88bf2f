from __future__ import annotations

import pytest

from mooring.plugins.node_name import NodeName
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, unresolvable

REFUSED = unresolvable("node(s) didn't match the requested node name")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("", [None, None], id="a pod that names no node may go anywhere"),
        pytest.param("a", [None, REFUSED], id="a pod that names a node goes there only"),
        pytest.param(
            "gone", [REFUSED, REFUSED], id="a pod that names an unknown node goes nowhere"
        ),
    ],
)
def test_named_node(wanted: str, expected: list) -> None:
    cluster = Cluster([make_node("a"), make_node("b")])
    found = cluster.filter(cluster.make(NodeName), make_pod(node=wanted))
    assert list(found.values()) == expected


def test_every_new_node_is_worth_a_try() -> None:
    assert hints(NodeName()) == {("Node", "Add"): None}


def test_pods_for_different_nodes_are_signed_apart() -> None:
    sign = NodeName().sign_pod
    assert sign(make_pod("a", node="n")) == sign(make_pod("b", node="n"))
    assert sign(make_pod("a", node="n")) != sign(make_pod("b", node="m"))
