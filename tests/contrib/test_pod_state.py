"""PodState: terminating pods less nominated pods."""

from __future__ import annotations

from mooring.contrib.pod_state import PodState
from mooring.testing import check_plugin, make_node, make_pod, run_score

NOW = "2026-03-01T12:00:00Z"
NODES = [make_node("a"), make_node("b"), make_node("c")]


def leaving(name: str, node: str) -> object:
    return make_pod(name, node=node, metadata={"deletionTimestamp": NOW})


def test_terminating_pods_attract_and_nominated_pods_repel() -> None:
    result = run_score(
        PodState,
        pod=make_pod("web"),
        nodes=NODES,
        pods=[
            leaving("x", "a"),
            leaving("y", "a"),
            make_pod("stays", node="b"),
            make_pod("waits", status={"nominatedNodeName": "c"}),
        ],
    )
    assert result.raw == {"a": 2, "b": 0, "c": -1}
    assert result.normalized == {"a": 100, "b": 33, "c": 0}


def test_equal_nodes_get_0() -> None:
    result = run_score(PodState, pod=make_pod("web"), nodes=NODES)
    assert result.normalized == {"a": 0, "b": 0, "c": 0}


def test_a_nomination_to_a_node_that_is_gone_counts_nowhere() -> None:
    gone = make_pod("waits", status={"nominatedNodeName": "gone"})
    result = run_score(PodState, pod=make_pod("web"), nodes=NODES, pods=[gone])
    assert result.raw == {"a": 0, "b": 0, "c": 0}


def test_the_contract() -> None:
    check_plugin(
        PodState, pods=[leaving("x", "n0"), make_pod("w", status={"nominatedNodeName": "n0"})]
    )
