"""Both forms of the tutorial's plugin send the pod to the third of three equal nodes."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.contrib.samples import PreferNode, PreferNodeScore
from mooring.testing import make_node, make_pod, run_cycle, run_filter, run_score
from tests.contrib.samples.example import Example, messages

#: The log of the tutorial, from the first filter to the final scores.
LOG = """\
prefernode filter pod default/test-pod:minikube
Node minikube passed all filters for pod default/test-pod
prefernode filter pod default/test-pod:minikube-m02
Node minikube-m02 passed all filters for pod default/test-pod
prefernode filter pod default/test-pod:minikube-m03
Node minikube-m03 passed all filters for pod default/test-pod
Scoring pod default/test-pod on node minikube
Score for pod default/test-pod on node minikube: 80 (CPU: 40, Memory: 40, Labels: 0)
Scoring pod default/test-pod on node minikube-m02
Score for pod default/test-pod on node minikube-m02: 80 (CPU: 40, Memory: 40, Labels: 0)
Scoring pod default/test-pod on node minikube-m03
Score for pod default/test-pod on node minikube-m03: 90 (CPU: 40, Memory: 40, Labels: 10)
Score range for pod default/test-pod: [80, 90]
Normalized score for node minikube:0
Normalized score for node minikube-m02:0
Normalized score for node minikube-m03:100
Final scores for pod default/test-pod
@@@ 1. Node minikube-m03: 100
@@@ 2. Node minikube: 0
@@@ 3. Node minikube-m02: 0
""".splitlines()


def test_the_cycle_of_the_tutorial(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="mooring.contrib")
    example = Example("prefer-node")
    decision = run_cycle(
        pod=example.pod, nodes=example.nodes, plugins=[PreferNode], config=example.config
    )
    assert decision.node_name == "minikube-m03"
    scores = decision.scores["PreferNode"]
    assert scores.normalized.tolist() == [0, 0, 100]
    assert messages(caplog, lambda text: True) == LOG


def test_three_equal_nodes_score_80_80_90() -> None:
    example = Example("prefer-node")
    result = run_score(PreferNode, pod=example.pod, nodes=example.nodes)
    assert list(result.raw.values()) == [80, 80, 90]
    assert list(result.normalized.values()) == [0, 0, 100]


@pytest.mark.parametrize("plugin", [PreferNode, PreferNodeScore])
def test_the_preferred_node_is_an_argument(plugin: Any) -> None:
    nodes = [make_node("a"), make_node("b")]
    assert run_score(plugin, pod=make_pod(), nodes=nodes, args={"node": "a"}).best == ["a"]
    assert run_score(plugin, pod=make_pod(), nodes=nodes, args={"node": "b"}).best == ["b"]


@pytest.mark.parametrize(
    ("pod", "node", "reason"),
    [
        pytest.param({}, {"unschedulable": True}, "node is unschedulable", id="a cordoned node"),
        pytest.param({"cpu": "3"}, {"cpu": "2"}, "Insufficient CPU", id="too little cpu"),
        pytest.param({}, {"cpu": "99m"}, "Insufficient CPU", id="a pod that asks for none: 100m"),
        pytest.param({}, {"cpu": "100m"}, None, id="just enough cpu"),
        pytest.param(
            {"memory": "2Gi"}, {"memory": "1Gi"}, "Insufficient Memory", id="too little memory"
        ),
        pytest.param(
            {}, {"memory": "255Mi"}, "Insufficient Memory", id="a pod that asks for none: 256Mi"
        ),
        pytest.param({}, {"memory": "256Mi"}, None, id="just enough memory"),
        pytest.param(
            {"node_selector": {"disk": "ssd"}}, {}, "Insufficient Label", id="a label is absent"
        ),
        pytest.param(
            {"node_selector": {"disk": "ssd"}},
            {"disk": "hdd"},
            "Insufficient Label",
            id="a label has another value",
        ),
        pytest.param({"node_selector": {"disk": "ssd"}}, {"disk": "ssd"}, None, id="the label"),
    ],
)
def test_refusals(pod: Any, node: Any, reason: str | None) -> None:
    result = run_filter(PreferNode, pod=make_pod(**pod), nodes=[make_node("a", **node)])
    assert list(result.reasons) == ([] if reason is None else [reason])


def test_what_is_allocatable_counts_and_not_what_is_free() -> None:
    there = [make_pod("there", node="a", cpu="2")]
    result = run_filter(
        PreferNode, pod=make_pod(cpu="2"), nodes=[make_node("a", cpu="2")], pods=there
    )
    assert result.feasible == ["a"]


@pytest.mark.parametrize(
    ("node", "score"),
    [
        pytest.param({}, 80, id="all of the capacity is allocatable"),
        pytest.param(
            {"cpu": "3", "capacity": {"cpu": "4"}}, 70, id="a quarter of cpu is set aside"
        ),
        pytest.param(
            {"memory": "1Gi", "capacity": {"memory": "3Gi"}}, 53, id="points are cut, not rounded"
        ),
        pytest.param({"labels": {"kubernetes.io/role": "worker"}}, 90, id="a worker"),
        pytest.param({"labels": {"kubernetes.io/role": "master"}}, 80, id="another role"),
        pytest.param({"capacity": {"cpu": "0", "memory": "0"}}, 80, id="no capacity is known"),
    ],
)
def test_scores(node: Any, score: int) -> None:
    result = run_score(PreferNode, pod=make_pod(), nodes=[make_node("a", **node)])
    assert result.raw == {"a": score}
    assert result.normalized == result.raw, "unchanged when flat"


def test_normalised_scores_are_cut() -> None:
    nodes = [
        make_node("a"),
        make_node("b", cpu="3", capacity={"cpu": "4"}),
        make_node("c", labels={"kubernetes.io/role": "worker"}),
        make_node("d", cpu="1", capacity={"cpu": "4"}),
    ]
    result = run_score(PreferNode, pod=make_pod(), nodes=nodes)
    assert list(result.raw.values()) == [80, 70, 90, 50]
    assert list(result.normalized.values()) == [75, 50, 100, 0]
