"""Explanations as data."""

from __future__ import annotations

import json

from mooring.explain.data import explanation_data
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain


def test_everything_about_a_scheduled_pod() -> None:
    attempts = explain(
        [make_node("n1"), make_node("n2", unschedulable=True), make_node("n3"), make_pod()]
    )
    data = explanation_data(attempts)
    assert json.loads(json.dumps(data)) == data
    assert (data["outcome"], data["attempt"], data["message"]) == ("scheduled", 1, "")
    assert data["node"] == data["chosenNode"]
    assert data["bestNodes"] == ["n1", "n3"]
    assert data["nodes"] == ["n1", "n2", "n3"]
    assert data["asked"] == [True, True, True]
    assert data["feasible"] == [True, False, True]
    taints = next(one for one in data["scorePlugins"] if one["name"] == "TaintToleration")
    assert taints == {
        "name": "TaintToleration",
        "weight": 3,
        "raw": [0, None, 0],
        "normalized": [100, None, 100],
    }
    refusal = {
        "plugin": "NodeUnschedulable",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["node(s) were unschedulable"],
    }
    assert data["statuses"] == [refusal]
    assert data["filterPlugins"][1] == {"name": "NodeUnschedulable", "verdicts": [None, 0, None]}
    assert data["totals"][1] is None
    assert data["whyNot"] == [
        {"nodes": 1, **refusal, "example": {"node": "n2", "text": "", "short": [], "keys": []}}
    ]
    assert data["nearest"] == [{"nodes": 1, **refusal, "example": "n2", "missing": {}}]
    assert data["postFilter"] is None


def test_a_preemption_is_among_the_earlier_attempts() -> None:
    attempts = explain(
        [
            make_node("n1", cpu="2"),
            make_pod("low", cpu="2", node="n1"),
            make_pod("pod", cpu="2", priority=9),
        ]
    )
    data = explanation_data(attempts)
    (earlier,) = data["earlierAttempts"]
    assert earlier["outcome"] == "unschedulable"
    assert earlier["postFilter"]["nominatedNode"] == "n1"
    assert earlier["postFilter"]["victims"] == ["default/low"]
    assert earlier["postFilter"]["candidates"] == [
        {"node": "n1", "victims": ["default/low"], "pdbViolations": 0}
    ]
    assert (data["attempt"], data["node"]) == (2, "n1")


def test_the_fields_are_the_same_however_it_ended() -> None:
    node = make_node("n1", cpu="1")
    ended = [
        explanation_data(explain([node, make_pod(**parts)]))
        for parts in ({}, {"cpu": "2"}, {"gates": ["a/b"]}, {"claims": ["absent"]})
    ]
    assert [data["outcome"] for data in ended] == [
        "scheduled",
        "unschedulable",
        "gated",
        "unschedulable",
    ]
    assert len({tuple(data) for data in ended}) == 1
    assert ended[2]["preEnqueue"]["plugin"] == "SchedulingGates"
    assert ended[3]["preFilter"]["reasons"] == ['persistentvolumeclaim "absent" not found']


def test_amounts_of_a_refused_pod() -> None:
    data = explanation_data(explain([make_node("n1", cpu="1"), make_pod(cpu="1500m")]))
    (cause,) = data["whyNot"]
    assert cause["example"]["short"] == [
        {"resource": "cpu", "asked": 1500, "free": 1000, "missing": 500}
    ]
    assert data["nearest"][0]["missing"] == {"cpu": 500}
    assert data["totals"] is None
