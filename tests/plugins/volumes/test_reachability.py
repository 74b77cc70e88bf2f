from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from mooring.api import CSINode, NodeSelector
from mooring.plugins.volumes.csi_nodes import CSINodes
from mooring.plugins.volumes.reachability import (
    EVERYWHERE,
    NONE,
    NOWHERE,
    ManyNodes,
    NodePositions,
    OneNode,
    Reach,
    Terms,
    access_terms,
    first_reached,
    selector_terms,
    topology_terms,
    within,
)
from tests.plugins.clusters import HOSTNAME, Cluster, make_node
from tests.plugins.volumes.storage import capacity, csi_node, storage_class

CLUSTER = Cluster(
    [make_node("a", {"zone": "x"}), make_node("b", {"zone": "y"}), make_node("c")],
    objects=[csi_node("b", migrated="p")],
)
CSI_NODES = CSINodes(CLUSTER.lister(CSINode))
REACH = Reach()
ALL = ManyNodes(CLUSTER.snapshot, REACH, CSI_NODES)


def _same_one_by_one(ask: Any) -> list[bool]:
    """Call `ask` for all nodes, for some, and for each; the answers must agree."""
    together: list[bool] = ask(ALL).tolist()
    each = [ask(OneNode(info, CSI_NODES)).tolist() for info in CLUSTER.snapshot.infos()]
    assert [answer for [answer] in each] == together
    part = CLUSTER.snapshot.select(np.array([2, 0], dtype=np.intp))
    some: NodePositions = ManyNodes(part, REACH, CSI_NODES)
    assert ask(some).tolist() == [together[2], together[0]]
    return together


def _terms(*terms: Any) -> Terms:
    return selector_terms(msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector))


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


BY_NAME = {"matchFields": [_in("metadata.name", "b")]}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(selector_terms(None), "abc", id="no affinity"),
        pytest.param(_terms(), "", id="no terms"),
        pytest.param(_terms({}), "", id="an empty term"),
        pytest.param(_terms({"matchExpressions": [_in("zone", "x")]}), "a", id="a label"),
        pytest.param(
            _terms({"matchExpressions": [_in("zone", "x")]}, {"matchExpressions": [_in("zone")]}),
            "a",
            id="a malformed term matches nothing",
        ),
        pytest.param(
            _terms(
                {"matchExpressions": [_in("zone", "x")]}, {"matchExpressions": [_in("zone", "y")]}
            ),
            "ab",
            id="either of two terms",
        ),
        pytest.param(
            _terms({"matchExpressions": [_in("zone", "x", "y"), _in(HOSTNAME, "b", "c")]}),
            "b",
            id="all requirements of a term",
        ),
        pytest.param(
            _terms({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}),
            "c",
            id="a label that must be absent",
        ),
        pytest.param(_terms(BY_NAME), "abc", id="a node's name is never asked for"),
    ],
)
def test_node_affinity_of_volumes(terms: Terms, expected: str) -> None:
    answers = _same_one_by_one(lambda places: within(terms, places))
    assert answers == [name in expected for name in "abc"]


@pytest.mark.parametrize(
    ("topologies", "expected"),
    [
        pytest.param([], "abc", id="no topologies"),
        pytest.param([{"matchLabelExpressions": []}], "", id="an empty term"),
        pytest.param(
            [{"matchLabelExpressions": [{"key": "zone", "values": ["x", "z"]}]}], "a", id="a zone"
        ),
        pytest.param(
            [{"matchLabelExpressions": [{"key": "zone", "values": []}]}], "", id="a malformed term"
        ),
    ],
)
def test_where_a_class_provisions(topologies: list[Any], expected: str) -> None:
    terms = topology_terms(storage_class(allowedTopologies=topologies))
    answers = _same_one_by_one(lambda places: within(terms, places))
    assert answers == [name in expected for name in "abc"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param(None, "", id="no topology, no access"),
        pytest.param({}, "abc", id="an empty topology"),
        pytest.param({"zone": "y"}, "b", id="a zone"),
    ],
)
def test_who_has_access_to_storage(labels: dict[str, str] | None, expected: str) -> None:
    terms = access_terms(capacity("s", "c", "1", labels))
    answers = _same_one_by_one(lambda places: within(terms, places))
    assert answers == [name in expected for name in "abc"]


def test_names_and_migration() -> None:
    assert _same_one_by_one(lambda places: places.named("b")) == [False, True, False]
    assert _same_one_by_one(lambda places: places.named("z")) == [False, False, False]
    assert _same_one_by_one(lambda places: places.migrated("p")) == [False, True, False]


def test_each_node_gets_the_first_choice_within_its_reach() -> None:
    in_x = _terms({"matchExpressions": [_in("zone", "x")]})
    choices = [(7, NOWHERE), (3, in_x), (5, EVERYWHERE), (4, EVERYWHERE)]
    asked = np.array([True, True, False])
    assert first_reached(choices, asked, (), ALL).tolist() == [3, 5, NONE]
    taken = [np.array([3, NONE, NONE]), np.array([NONE, 5, NONE])]
    assert first_reached(choices, asked, taken, ALL).tolist() == [5, 4, NONE]
    assert first_reached([], asked, (), ALL).tolist() == [NONE] * 3


def test_reach_follows_the_nodes() -> None:
    cluster = Cluster([make_node("a", {"zone": "x"})])
    reach, terms = Reach(), _terms({"matchExpressions": [_in("zone", "x")]})
    assert reach.rows(terms, cluster.snapshot).tolist() == [0]
    cluster.cache.add_node(make_node("b", {"zone": "x"}))
    assert reach.rows(terms, cluster.snapshot).tolist() == [0, 1]
    cluster.cache.update_node(make_node("a", {"zone": "y"}))
    assert reach.rows(terms, cluster.snapshot).tolist() == [1]
