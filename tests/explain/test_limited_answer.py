"""Explanations for users who may not list nodes: no more than the pod's message, and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.api import KubeObject, Node
from mooring.explain.data_reading import read_live_explanation
from mooring.explain.limited_answer import limited_answer
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.redaction import hide_nodes
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain
from tests.explain.test_diagnoses import WEB, ZONE, disk, required, spread
from tests.plugins.volumes.storage import claim, volume

#: A node that has what other nodes lack.
GPU: dict[str, Any] = {"resources": {"example.com/gpu": 1}}


def answer(objects: Sequence[KubeObject], **more: Any) -> dict[str, Any]:
    """Return the limited answer about the pod "pod", as ExplainPaths makes it."""
    found = LiveExplanation(time=1.0, found=explain(objects)[-1], **more).data()
    return dict(
        hide_nodes(limited_answer(found), [one.name for one in objects if isinstance(one, Node)])
    )


def node(name: str = "n1", **more: Any) -> KubeObject:
    return make_node(name, **{"cpu": "4", "memory": "16Gi", **more})


def prefers(value: str) -> dict[str, Any]:
    requirement = {"key": "rack", "operator": "In", "values": [value]}
    term = {"weight": 100, "preference": {"matchExpressions": [requirement]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def tolerates(key: str, value: str) -> dict[str, Any]:
    return {"tolerations": [{"key": key, "operator": "Equal", "value": value}]}


#: Two clusters each, in which the same pod has the same message.
ALIKE = [
    pytest.param(
        [node(labels={"zone": "a", "disk": "hdd"})],
        [node(labels={"zone": "b", "disk": "tape"})],
        {"node_selector": {"zone": "a", "disk": "ssd"}},
        ["zone", "disk"],
        id="one of two labels is guessed right",
    ),
    pytest.param(
        [node(taints=["gpu=a:NoSchedule", "team=x:NoSchedule"])],
        [node(taints=["gpu=b:NoSchedule", "team=y:NoSchedule"])],
        {"spec": tolerates("gpu", "a")},
        ["gpu", "team"],
        id="one of two taints is guessed right",
    ),
    pytest.param(
        [node(cpu="1")], [node(cpu="3")], {"cpu": "4"}, [], id="free amount of a resource"
    ),
    pytest.param(
        [node(cpu="1", memory="1Gi", **GPU), node("n2")],
        [node(cpu="1", **GPU), node("n2", memory="1Gi")],
        {"cpu": "4", "memory": "8Gi", "requests": {"example.com/gpu": 1}},
        [],
        id="which node lacks which resources",
    ),
    pytest.param(
        [node(labels={"rack": "a"}), node("n2", labels={"rack": "b"})],
        [node(labels={"rack": "c"}), node("n2", labels={"rack": "d"})],
        {"affinity": prefers("a")},
        [],
        id="scores of preferred labels",
    ),
    pytest.param(
        [node(), node("n2", cpu="32"), node("n3")],
        [node(), node("n2", cpu="8"), node("n3", unschedulable=True)],
        {"cpu": "1"},
        [],
        id="scores of resources, and how many nodes pass",
    ),
    pytest.param(
        [node(zone="a"), make_pod("first", node="n1", labels=WEB), node("n2", zone="b", pods=0)],
        [node(zone="q"), make_pod("first", node="n1", labels=WEB), node("n2", zone="z", pods=0)],
        {"labels": WEB, "spec": spread(ZONE, WEB)},
        [ZONE],
        id="domains of spreading",
    ),
    pytest.param(
        [node(zone="a")],
        [node(zone="q")],
        {"affinity": required("podAffinity", ZONE)},
        [ZONE],
        id="domain of an affinity",
    ),
    pytest.param(
        [node(zone="a"), make_pod("x", node="n1", affinity=required("podAntiAffinity", ZONE))],
        [node(zone="q"), make_pod("y", node="n1", affinity=required("podAntiAffinity", ZONE))],
        {"labels": WEB},
        [],
        id="domain of another pod's anti-affinity",
    ),
    pytest.param(
        [node(zone="a"), volume("v", labels={ZONE: "b"}, phase="Bound"), claim("c", bound_to="v")],
        [node(zone="q"), volume("v", labels={ZONE: "z"}, phase="Bound"), claim("c", bound_to="v")],
        {"claims": ["c"]},
        [ZONE],
        id="zone of a volume",
    ),
    pytest.param(
        [node(), make_pod("first", node="n1", host_ports=[80])],
        [node(), make_pod("second", node="n1", host_ports=[80])],
        {"host_ports": [80]},
        [],
        id="holder of a port",
    ),
    pytest.param(
        [node(), make_pod("first", node="n1", spec=disk("d"))],
        [node(), make_pod("second", node="n1", spec=disk("d"))],
        {"spec": disk("d")},
        [],
        id="holder of a disk",
    ),
    pytest.param(
        [node(cpu="2"), make_pod("low", node="n1", cpu="2")],
        [node(cpu="2"), *(make_pod(f"low-{i}", node="n1", cpu="1") for i in range(2))],
        {"cpu": "2", "priority": 10},
        [],
        id="victims of a preemption",
    ),
]


@pytest.mark.parametrize(("objects", "others", "pod", "keys"), ALIKE)
def test_limited_answers_depend_on_nothing_but_the_message_and_keys(
    objects: list[KubeObject], others: list[KubeObject], pod: dict[str, Any], keys: list[str]
) -> None:
    found = answer([*objects, make_pod(**pod)])
    assert found == answer([*others, make_pod(**pod)])
    assert [key for one in found["whyNot"] for key in one["example"]["keys"]] == keys
    for one in found["whyNot"]:
        assert f"{one['nodes']} {one['reasons'][0]}" in found["message"]


def test_a_reason_is_counted_as_in_the_message() -> None:
    nodes = [node(cpu="1", memory="1Gi"), node("n2", cpu="1"), node("n3", pods=0)]
    found = answer([*nodes, make_pod(cpu="2", memory="8Gi")])
    assert [(one["nodes"], *one["reasons"]) for one in found["whyNot"]] == [
        (2, "Insufficient cpu"),
        (1, "Insufficient memory"),
        (1, "Too many pods"),
    ]
    assert {one["plugin"] for one in found["whyNot"]} == {"NodeResourcesFit"}


def test_a_reason_that_the_message_does_not_count_is_left_out() -> None:
    """Asked about a pod that runs, or that was scheduled, the plugins refuse other nodes."""
    found = answer([node(), node("n2", unschedulable=True), make_pod()])
    assert (found["outcome"], found["whyNot"], found["chosenNode"]) == ("scheduled", [], "node 1")


def test_only_listed_fields_stay() -> None:
    data = LiveExplanation(time=1.0, found=explain([node(), make_pod()])[-1]).data()
    assert set(limited_answer({**data, "secret": "x"})) == set(data)


def test_records_and_groups_lose_their_counts_and_placements() -> None:
    data = LiveExplanation(time=1.0, found=explain([node(), make_pod()])[-1]).data()
    record = {"message": "m", "node": "n1", "seed": 7, "victims": ["a/b"], "feasible": 3}
    line = {"name": "g", "placement": "zone-a", "result": "0/1 nodes in zone-a", "placed": "0 of 1"}
    found = limited_answer(
        {
            **data,
            "record": record,
            "earlierAttempts": [record],
            "tree": [line, {**line, "placement": "all nodes", "result": "fits"}],
            "extendersNotAsked": ["http://10.0.0.1"],
            "journalProblem": "now on n1",
        }
    )
    kept = {"message": "m", "node": "n1"}
    assert (found["record"], found["earlierAttempts"]) == (kept, [kept])
    assert [(one["placement"], one["result"]) for one in found["tree"]] == [
        ("-", "does not fit"),
        ("all nodes", "fits"),
    ]
    assert found["extendersNotAsked"] == ["extender 1"]
    assert found["journalProblem"] == "the attempt could not be replayed as it was recorded"


def test_the_text_of_a_limited_answer_has_counts_and_keys() -> None:
    objects = [node(taints=["gpu=a:NoSchedule"]), node("n2", unschedulable=True), make_pod()]
    lines = read_live_explanation(answer(objects)).lines()
    assert lines[1].strip().startswith("only the message's own counts, and keys of labels")
    assert lines[-3:] == [
        "WHY NOT  NODES  PLUGIN             REASON",
        "             1  TaintToleration    node(s) had untolerated taint(s): gpu",
        "             1  NodeUnschedulable  node(s) were unschedulable",
    ]


def test_the_text_of_a_limited_answer_names_no_reason_for_the_chosen_node() -> None:
    lines = read_live_explanation(answer([node(), node("n2"), make_pod()])).lines()
    assert lines[-1] == "Chosen: node 1"
