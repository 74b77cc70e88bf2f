from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.api.kinds import decode_as, decode_raw
from mooring.controllers.daemon_pods import DaemonPlacement, place, target_of, tie, tolerant
from tests.support.controllers import workload


def _template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [], **spec}}


def test_daemons_tolerate_the_state_of_their_node() -> None:
    own = {"key": "mine", "operator": "Exists"}
    known = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
    }
    found = tolerant(_template(tolerations=[own, known]))["spec"]["tolerations"]
    assert found[:2] == [own, known]
    assert len(found) == 7
    host = tolerant(_template(hostNetwork=True))["spec"]["tolerations"]
    assert "node.kubernetes.io/network-unavailable" in [one["key"] for one in host]


def test_the_template_of_one_node() -> None:
    found = place(_template(), "n", "3", "hash")
    assert found["metadata"]["labels"] == {
        "a": "b",
        "controller-revision-hash": "hash",
        "pod-template-generation": "3",
    }
    assert target_of(decode_as({"spec": found["spec"]}, Pod)) == "n"
    assert "pod-template-generation" not in place(_template(), "n", "", "h")["metadata"]["labels"]


def test_other_affinity_stays() -> None:
    preferred = [{"weight": 1, "preference": {}}]
    required = {"nodeSelectorTerms": [{}]}
    given = {
        "podAffinity": {"x": 1},
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            "requiredDuringSchedulingIgnoredDuringExecution": required,
        },
    }
    found = tie(given, "n")
    assert found["podAffinity"] == {"x": 1}
    nodes = found["nodeAffinity"]
    assert nodes["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert nodes["requiredDuringSchedulingIgnoredDuringExecution"] != required
    assert given["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == required


TARGETS: dict[str, tuple[dict[str, Any], str]] = {
    "the node it is on": ({"nodeName": "m", "affinity": tie(None, "n")}, "m"),
    "the node it is meant for": ({"affinity": tie(None, "n")}, "n"),
    "no node": ({}, ""),
    "nodes by label": (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
                        ]
                    }
                }
            }
        },
        "",
    ),
}


@pytest.mark.parametrize(("spec", "node"), TARGETS.values(), ids=TARGETS)
def test_the_node_of_a_daemon_pod(spec: dict[str, Any], node: str) -> None:
    assert target_of(decode_as({"spec": spec}, Pod)) == node


def _node(effect: str = "", **labels: str) -> Node:
    taints = [{"key": "t", "effect": effect}] if effect else []
    metadata = {"name": "n", "labels": labels}
    return decode_as({"metadata": metadata, "spec": {"taints": taints}}, Node)


JUDGED: dict[str, tuple[dict[str, Any], Node, tuple[bool, bool]]] = {
    "any node": ({}, _node(), (True, True)),
    "its own node": ({"nodeName": "n"}, _node(), (True, True)),
    "another node": ({"nodeName": "m"}, _node(), (False, False)),
    "a node with the label": ({"nodeSelector": {"a": "b"}}, _node(a="b"), (True, True)),
    "a node without the label": ({"nodeSelector": {"a": "b"}}, _node(), (False, False)),
    "a node that takes no new pods": ({}, _node("NoSchedule"), (False, True)),
    "a node that evicts pods": ({}, _node("NoExecute"), (False, False)),
    "a taint that is tolerated": (
        {"tolerations": [{"key": "t", "operator": "Exists"}]},
        _node("NoExecute"),
        (True, True),
    ),
}


@pytest.mark.parametrize(("spec", "node", "expected"), JUDGED.values(), ids=JUDGED)
def test_where_daemons_belong(
    spec: dict[str, Any], node: Node, expected: tuple[bool, bool]
) -> None:
    daemon_set = decode_raw(workload("DaemonSet", "d", template=_template(**spec)))
    assert DaemonPlacement(daemon_set).judge(node) == expected
