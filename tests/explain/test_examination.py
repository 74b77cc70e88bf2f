"""What every plugin says of every node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.explain.examination import Examination
from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain, make_scheduler, run

ONLY_N2 = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
            ]
        }
    }
}


class Doubled(Plugin):
    """A plugin that normalises its scores in place."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 7 if node.name == "n1" else 21

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        scores *= 2
        return scores


class Fails(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None:
        raise KeyError(node.name)


def refusals(found: Examination) -> dict[str, list[str]]:
    verdicts = found.verdicts
    return {
        name: [status.plugin for status in verdicts.of_node(row)]
        for row, name in enumerate(verdicts.names)
    }


def feasible(found: Examination) -> list[str]:
    assert found.feasible is not None
    return [found.verdicts.names[row] for row in found.feasible.tolist()]


def test_every_plugin_is_asked_beyond_the_first_refusal() -> None:
    (found,) = explain(
        [
            make_node("n1", cpu="1", taints=["a=b:NoSchedule"], unschedulable=True),
            make_node("n2", cpu="1"),
            make_node("n3"),
            make_pod("pod", cpu="2"),
        ]
    )
    assert refusals(found) == {
        "n1": ["NodeUnschedulable", "TaintToleration", "NodeResourcesFit"],
        "n2": ["NodeResourcesFit"],
        "n3": [],
    }
    assert feasible(found) == ["n3"]
    assert list(found.verdicts.codes) == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeResourcesFit",
    ]


def test_nodes_that_pre_filter_leaves_out_are_not_asked() -> None:
    (found,) = explain(
        [make_node("n1", cpu="1"), make_node("n2", cpu="1"), make_pod(cpu="2", affinity=ONLY_N2)]
    )
    assert found.verdicts.asked.tolist() == [False, True]
    assert refusals(found) == {"n1": [], "n2": ["NodeResourcesFit"]}


def test_pods_nominated_to_a_node_count() -> None:
    objects = [
        make_node("n1", cpu="2"),
        make_node("n2", cpu="1"),
        make_pod("first", cpu="2", priority=5, nominated_node="n1", gates=["x/y"]),
        make_pod("pod", cpu="1"),
    ]
    (found,) = explain(objects)
    assert refusals(found) == {"n1": ["NodeResourcesFit"], "n2": []}


def test_raw_scores_survive_a_plugin_that_normalises_in_place() -> None:
    (found,) = explain([make_node("n1"), make_node("n2"), make_pod()], plugins=[Doubled])
    assert feasible(found) == ["n1", "n2"]
    doubled = found.scores["Doubled"]
    assert (doubled.raw.tolist(), doubled.normalized.tolist()) == ([7, 21], [14, 42])
    assert found.scores["TaintToleration"].weight == 3
    weighted = [scores.weight * scores.normalized for scores in found.scores.values()]
    assert np.array_equal(np.sum(weighted, axis=0), found.decision.totals)
    assert found.chosen == "n2"


def test_one_node_is_not_scored() -> None:
    (found,) = explain([make_node("n1"), make_pod()])
    assert feasible(found) == ["n1"]
    assert found.decision.totals is None
    assert found.scores == {}


def test_a_plugin_that_fails_when_looked_at_is_told() -> None:
    """The attempt itself never calls the plugin, because the node is refused before."""
    (found,) = explain([make_node("n1", unschedulable=True), make_pod()], plugins=[Fails])
    assert found.decision.outcome is Outcome.UNSCHEDULABLE
    assert found.decision.errors == ()
    (fault,) = found.faults
    assert fault.plugin == "Fails"
    assert "KeyError" in fault.traceback


def test_a_pod_out_of_the_queue_has_no_verdicts() -> None:
    (found,) = explain([make_node("n1", cpu="1"), make_pod(cpu="2", gates=["a/b"])])
    assert found.decision.outcome is Outcome.GATED
    assert found.verdicts.names == []


def test_a_refusal_at_pre_filter_leaves_nobody_asked() -> None:
    (found,) = explain([make_node("n1"), make_pod(claims=["absent"])])
    assert found.decision.pre_filter is not None
    assert found.verdicts.asked.tolist() == [False]
    assert found.verdicts.codes == {}


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param("", id="victims leave after the cycle"),
        pytest.param("SchedulerAsyncPreemption=false", id="victims leave within the cycle"),
    ],
)
def test_an_attempt_is_shown_as_it_was_before_its_preemption(gates: str) -> None:
    objects = [
        make_node("n1", cpu="2"),
        make_pod("low", cpu="2", node="n1"),
        make_pod("pod", cpu="2", priority=9),
    ]
    first, second = explain(objects, gates=gates)
    assert refusals(first) == {"n1": ["NodeResourcesFit"]}
    assert (first.attempt, first.chosen) == (1, "")
    assert refusals(second) == {"n1": []}
    assert (second.attempt, second.chosen) == (2, "n1")


def test_a_node_that_is_given_up_later_stays_the_chosen_one() -> None:
    class Refuses(Plugin):
        def reserve(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.unschedulable("not here")

    found = explain([make_node("n1"), make_pod()], plugins=[Refuses])[-1]
    assert found.decision.outcome is Outcome.UNSCHEDULABLE
    assert (found.decision.node_name, found.chosen) == ("", "n1")


def test_looking_on_changes_no_decision() -> None:
    nodes = [make_node(f"n{i}", cpu="3") for i in range(9)]
    pods = [make_pod(f"p{i}", cpu="1") for i in range(20)]
    picky = make_pod("p99", cpu="1", node_selector={"kubernetes.io/hostname": "n4"}, priority=1)
    objects = [*nodes, picky, *pods]

    def placements(explained: list[str]) -> dict[str, str]:
        outcomes = run(make_scheduler(objects, explained=explained))
        return {uid: decision.node_name for uid, decision in outcomes.decisions.items()}

    assert placements([]) == placements([pod.name for pod in [picky, *pods]])


def test_where_the_search_ended_early_the_rest_is_asked_too() -> None:
    class ByNode(Plugin):
        """A plugin with only a node form, so the cycle does not look for all feasible nodes."""

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            return None

    nodes = [make_node(f"n{i:03}") for i in range(300)]
    (found,) = explain([*nodes, make_pod()], plugins=[ByNode])
    assert 100 <= len(feasible(found)) < 300
    assert found.verdicts.passing.all()
