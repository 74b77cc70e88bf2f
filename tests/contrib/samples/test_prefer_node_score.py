"""The short form of PreferNode."""

from __future__ import annotations

import logging

import pytest

from mooring.contrib.samples import PreferNodeScore
from mooring.testing import check_plugin, make_node, make_pod, run_cycle, run_score
from tests.contrib.samples.example import Example


def test_the_short_form_sends_the_pod_there_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="mooring.contrib")
    example = Example("prefer-node")
    score_only = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "custom-scheduler",
                "plugins": {"score": {"enabled": [{"name": "PreferNode"}]}},
            }
        ],
    }
    decision = run_cycle(
        pod=example.pod, nodes=example.nodes, plugins=[PreferNodeScore], config=score_only
    )
    assert decision.node_name == "minikube-m03"
    assert decision.scores["PreferNode"].normalized.tolist() == [0, 0, 100]
    assert "Scoring pod test-pod on node minikube-m03" in caplog.messages


def test_the_preferred_node_has_the_highest_score_and_the_others_the_lowest() -> None:
    nodes = [make_node("minikube"), make_node("minikube-m03")]
    result = run_score(PreferNodeScore, pod=make_pod(), nodes=nodes)
    assert result.raw == {"minikube": 0, "minikube-m03": 100}


def test_a_cluster_without_the_preferred_node_has_no_preference() -> None:
    nodes = [make_node("a"), make_node("b")]
    assert run_score(PreferNodeScore, pod=make_pod(), nodes=nodes).raw == {"a": 0, "b": 0}


def test_it_passes_the_check_of_plugins() -> None:
    check_plugin(PreferNodeScore)
