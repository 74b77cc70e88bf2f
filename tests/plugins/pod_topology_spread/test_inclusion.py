"""Tests of which nodes and domains count."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.pod_topology_spread.inclusion import Inclusion
from mooring.plugins.pod_topology_spread.spread_constraints import SpreadConstraint
from tests.plugins.clusters import ZONE, Cluster, make_node, make_pod

_TAINT = {"taints": [{"key": "size", "value": "5", "effect": "NoSchedule"}]}
_NODES = [
    make_node("a", {ZONE: "x", "disk": "ssd"}),
    make_node("b", {ZONE: "y", "disk": "hdd"}),
    make_node("c", {ZONE: "y"}, **_TAINT),
    make_node("d", {"disk": "ssd"}),
]


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": selector}
    return {"affinity": {"nodeAffinity": required}}


def _field(operator: str, name: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


_HAS_DISK = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "constraint", "rows", "domains"),
    [
        pytest.param({}, {}, "abc", 2, id="nodes with the key"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, {}, "a", 1, id="a node selector"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}},
            {"honor_affinity": False},
            "abc",
            2,
            id="a node selector that is ignored",
        ),
        pytest.param(_affinity(_HAS_DISK), {}, "ab", 2, id="a node affinity"),
        pytest.param(_affinity(_field("In", "c")), {}, "c", 1, id="a node by name"),
        pytest.param(_affinity(_field("NotIn", "c")), {}, "ab", 2, id="all but a node by name"),
        pytest.param(_affinity(_field("In", "z")), {}, "", 0, id="a node that is not there"),
        pytest.param(
            _affinity(_HAS_DISK, _field("In", "c")), {}, "abc", 2, id="either of two terms"
        ),
        pytest.param({}, {"honor_taints": True}, "ab", 2, id="taints honoured"),
        pytest.param(
            {"tolerations": [{"key": "size", "operator": "Exists"}]},
            {"honor_taints": True},
            "abc",
            2,
            id="taints honoured and tolerated",
        ),
        pytest.param(
            {"tolerations": [{"key": "size", "operator": "Gt", "value": "3"}]},
            {"honor_taints": True},
            "ab",
            2,
            id="a comparison without its feature gate tolerates nothing",
        ),
    ],
)
def test_included(
    spec: dict[str, Any], constraint: dict[str, Any], rows: str, domains: int
) -> None:
    nodes = Cluster(_NODES).snapshot
    asked = SpreadConstraint(1, ZONE, **constraint)
    answer = Inclusion(False).of_pod(nodes, make_pod("x", **spec), (ZONE,)).of(asked)
    assert answer.rows is not None
    names = zip(nodes.names, answer.rows.tolist(), strict=True)
    assert "".join(name for name, included in names if included) == rows
    assert answer.number == domains


def test_a_comparison_of_taints_under_its_feature_gate() -> None:
    nodes = Cluster(_NODES).snapshot
    pod = make_pod("x", tolerations=[{"key": "size", "operator": "Gt", "value": "3"}])
    asked = SpreadConstraint(1, ZONE, honor_taints=True)
    answer = Inclusion(True).of_pod(nodes, pod, (ZONE,)).of(asked)
    assert answer.rows is not None
    assert answer.rows.tolist() == [True, True, True, False]


def test_where_all_nodes_count_there_is_no_mask() -> None:
    nodes = Cluster(_NODES[:3]).snapshot
    answer = Inclusion(False).of_pod(nodes, make_pod("x"), (ZONE,)).of(SpreadConstraint(1, ZONE))
    assert (answer.rows, answer.number) == (None, 2)


def test_nodes_lacking_any_of_some_labels() -> None:
    nodes = Cluster(_NODES).snapshot
    lacking = Inclusion(False).lacking(nodes, (ZONE, "disk"))
    assert lacking is not None
    assert lacking.tolist() == [False, False, True, True]
    assert Inclusion(False).lacking(nodes, ()) is None
