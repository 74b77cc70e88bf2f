"""The order of nodes by zone."""

from __future__ import annotations

import pytest

from mooring.api import Node, decode
from mooring.cache.node_tree import NodeTree, zone_key

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


def node(name: str, zone: str = "", **labels: str) -> Node:
    meta = {"name": name, "labels": {ZONE: zone, **labels}}
    return decode({"apiVersion": "v1", "kind": "Node", "metadata": meta})


def tree(*nodes: Node) -> NodeTree:
    made = NodeTree()
    for each in nodes:
        made.add(each)
    return made


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, ("", ""), id="no labels"),
        pytest.param({ZONE: "z", REGION: "r"}, ("r", "z"), id="the labels of today"),
        pytest.param({BETA_ZONE: "z", BETA_REGION: "r"}, ("r", "z"), id="the beta labels"),
        pytest.param({ZONE: "z", BETA_ZONE: "b"}, ("", "b"), id="beta wins"),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], expected: tuple[str, str]) -> None:
    meta = {"name": "n", "labels": labels}
    assert zone_key(decode({"apiVersion": "v1", "kind": "Node", "metadata": meta})) == expected


def test_one_zone_in_two_regions_is_two_zones() -> None:
    found = tree(
        node("a", "z", **{REGION: "r1"}),
        node("b", "z", **{REGION: "r1"}),
        node("c", "z", **{REGION: "r2"}),
    )
    assert found.names() == ["a", "c", "b"]


def test_a_node_that_changes_zone_is_the_last_there() -> None:
    found = tree(node("a", "z1"), node("b", "z2"), node("c", "z2"))
    found.update(node("a", "z2"))
    assert found.names() == ["b", "c", "a"]


def test_a_node_that_stays_in_its_zone_keeps_its_place() -> None:
    found = tree(node("a", "z1"), node("b", "z1"))
    found.update(node("a", "z1", rack="r"))
    assert found.names() == ["a", "b"]


def test_a_zone_that_becomes_empty_loses_its_turn() -> None:
    found = tree(node("a", "z1"), node("b", "z2"))
    found.remove("a")
    found.add(node("c", "z1"))
    assert found.names() == ["b", "c"]


def test_the_nodes_of_each_zone_are_in_the_order_of_their_arrival() -> None:
    found = tree(node("a", "z1"), node("b", "z2"), node("c", "z1"))
    found.remove("a")
    found.add(node("a", "z1"))
    assert found.zones() == [["c", "a"], ["b"]]
