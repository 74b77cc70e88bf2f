"""On which nodes a pod would fit, and which pods would have to go."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.api import Node, Pod, PodDisruptionBudget
from mooring.framework.decision import Decision
from mooring.testing import make_node, make_pod, run_cycle
from tests.plugins.clusters import make


def preempt(*objects: Any, plugins: Any = (), **fields: Any) -> Decision:
    """Return the decision for a pod of 3 cpus and priority 10, on nodes of 4 cpus."""
    nodes = [one for one in objects if isinstance(one, Node)] or [make_node("n", cpu=4)]
    return run_cycle(
        pod=make_pod("incoming", **{"cpu": 3, "priority": 10, **fields}),
        nodes=nodes,
        pods=[one for one in objects if isinstance(one, Pod)],
        objects=[one for one in objects if isinstance(one, PodDisruptionBudget)],
        plugins=list(plugins),
    )


def low(name: str, cpu: float = 1, node: str = "n", **fields: Any) -> Pod:
    return make_pod(name, cpu=cpu, node=node, **fields)


def victims(decision: Decision) -> dict[str, set[str]]:
    assert decision.post_filter is not None
    return {
        one.node_name: {pod.name for pod in one.victims} for one in decision.post_filter.candidates
    }


def spread(**labels: str) -> dict[str, Any]:
    """Return labels and a constraint, so that each node must be tried by itself."""
    constraint = {
        "maxSkew": 10,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {"labels": labels, "spec": {"topologySpreadConstraints": [constraint]}}


#: The same trials, on many nodes at once and on each by itself.
BOTH = pytest.mark.parametrize("fields", [{}, spread(app="web")], ids=["at once", "one by one"])


@BOTH
def test_the_least_important_pods_go(fields: dict[str, Any]) -> None:
    pods = [low("a", 2, priority=5), low("b", 1, priority=1), low("c", 1, priority=2)]
    assert victims(preempt(*pods, **fields)) == {"n": {"a", "b"}}
    assert victims(preempt(*pods, **{**fields, "cpu": 2})) == {"n": {"b", "c"}}


@BOTH
def test_pods_of_the_same_or_a_higher_priority_stay(fields: dict[str, Any]) -> None:
    decision = preempt(low("a", 4, priority=10), **fields)
    assert victims(decision) == {}


@BOTH
def test_each_node_has_victims_of_its_own(fields: dict[str, Any]) -> None:
    nodes = [make_node("n", cpu=4), make_node("m", cpu=4), make_node("small", cpu=2)]
    pods = [low("a", 4), low("b", 2, "m"), low("c", 2, "m"), low("d", 2, "small")]
    found = victims(preempt(*nodes, *pods, **fields))
    assert found["n"] == {"a"}
    assert found["m"] == {"b", "c"}
    assert "small" not in found


@BOTH
def test_pods_under_a_budget_are_put_back_first(fields: dict[str, Any]) -> None:
    budget = make(
        PodDisruptionBudget,
        "b",
        "default",
        spec={"selector": {"matchLabels": {"app": "kept"}}},
        status={"disruptionsAllowed": 0},
    )
    pods = [low("a", 2, priority=5), low("b", 2, priority=1, labels={"app": "kept"})]
    decision = preempt(budget, *pods, **{**fields, "cpu": 2})
    assert victims(decision) == {"n": {"a"}}, "the more important one goes"
    needed = preempt(budget, *pods, **{**fields, "cpu": 4})
    assert needed.post_filter is not None
    assert [one.pdb_violations for one in needed.post_filter.candidates] == [1]


class Fickle(Plugin):
    """A filter that refuses a pod once, and agrees in the dry run."""

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self.asked = 0

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        self.asked += 1
        return Status.unschedulable("not now") if self.asked == 1 else None


@BOTH
def test_a_node_that_needs_no_victim_is_an_error(fields: dict[str, Any]) -> None:
    decision = preempt(low("a", 0.1), plugins=[Fickle], **{**fields, "cpu": 1})
    assert decision.post_filter is not None
    assert victims(decision) == {}
    assert 'expected at least one victim pod on node "n"' in str(decision.post_filter.status)
