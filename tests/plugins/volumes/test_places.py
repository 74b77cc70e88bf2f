from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from mooring.api import CSINode, NodeSelector, NodeTerms
from mooring.plugins.volumes.csi_nodes import CSINodes
from mooring.plugins.volumes.places import (
    ManyNodes,
    OneNode,
    Places,
    in_allowed_topologies,
    in_terms,
    with_access,
)
from tests.plugins.clusters import Cluster, make_node
from tests.plugins.volumes.storage import capacity, csi_node, storage_class

CLUSTER = Cluster(
    [make_node("a", {"zone": "x"}), make_node("b", {"zone": "y"}), make_node("c")],
    objects=[csi_node("b", migrated="p")],
)
CSI_NODES = CSINodes(CLUSTER.lister(CSINode))
ALL = ManyNodes(CLUSTER.snapshot, CSI_NODES)


def _same_one_by_one(ask: Any) -> list[bool]:
    """Ask of all nodes, of some, and of each: the answers must agree."""
    together: list[bool] = ask(ALL).tolist()
    each = [ask(OneNode(info, CSI_NODES)).tolist() for info in CLUSTER.snapshot.infos()]
    assert [answer for [answer] in each] == together
    some: Places = ManyNodes(CLUSTER.snapshot.select(np.array([2, 0], dtype=np.intp)), CSI_NODES)
    assert ask(some).tolist() == [together[2], together[0]]
    return together


def _terms(*terms: Any) -> NodeTerms:
    return NodeTerms.parse(msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector))


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


BY_NAME = {"matchFields": [_in("metadata.name", "b")]}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(None, "abc", id="no affinity"),
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
        pytest.param(_terms(BY_NAME), "abc", id="a node's name is never asked for"),
    ],
)
def test_node_affinity_of_volumes(terms: NodeTerms | None, expected: str) -> None:
    answers = _same_one_by_one(lambda places: in_terms(terms, places))
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
    found = storage_class(allowedTopologies=topologies)
    answers = _same_one_by_one(lambda places: in_allowed_topologies(found, places))
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
    found = capacity("s", "c", "1", labels)
    answers = _same_one_by_one(lambda places: with_access(found, places))
    assert answers == [name in expected for name in "abc"]


def test_names_and_migration() -> None:
    assert _same_one_by_one(lambda places: places.named("b")) == [False, True, False]
    assert _same_one_by_one(lambda places: places.named("z")) == [False, False, False]
    assert _same_one_by_one(lambda places: places.migrated("p")) == [False, True, False]
