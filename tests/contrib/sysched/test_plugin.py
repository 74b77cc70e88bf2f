"""SySched prefers nodes whose pods need the same system calls."""

from __future__ import annotations

from mooring.contrib.sysched import SySched
from mooring.testing import check_plugin, make_node, make_pod, run_score
from tests.contrib.sysched.profiles import pod_with, profile

PROFILES = [
    profile("all-syscalls", "read", "write", "open"),
    profile("reader", "read"),
    profile("writer", "read", "write"),
]
RUNNING = {"status": {"phase": "Running"}}


def test_the_node_with_the_fewest_needless_calls_is_best() -> None:
    result = run_score(
        SySched,
        pod=pod_with("new", "operator/default/reader.json"),
        nodes=[make_node("same"), make_node("wider"), make_node("empty")],
        pods=[
            pod_with("a", "operator/default/reader.json", node="same", **RUNNING),
            pod_with("b", "operator/default/writer.json", node="wider", **RUNNING),
        ],
        objects=PROFILES,
    )
    assert result.raw == {"same": 0, "wider": 1, "empty": 0}
    assert result.normalized == {"same": 100, "wider": 0, "empty": 100}


def test_without_any_profile_all_nodes_score_the_same() -> None:
    result = run_score(SySched, pod=make_pod("p"), nodes=[make_node("a"), make_node("b")])
    assert result.raw == {"a": 2**63 - 1, "b": 2**63 - 1}
    assert result.normalized == {"a": 100, "b": 100}


def test_it_keeps_the_contract() -> None:
    pods = [
        pod_with("a", "operator/default/reader.json", node="m0", **RUNNING),
        pod_with("b", "operator/default/writer.json"),
    ]
    report = check_plugin(SySched, nodes=[make_node("m0")], pods=pods, objects=PROFILES, rounds=5)
    assert report.scored
