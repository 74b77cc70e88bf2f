"""Victims of single pods that belong to groups: whole groups, and by the group's priority."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node, Pod, PodDisruptionBudget, WorkloadPodGroup
from mooring.framework.decision import Decision
from mooring.testing import make_node, make_pod, make_pod_group, run_cycle
from tests.plugins.clusters import make

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def preempt(*objects: Any, gate: bool = True, **fields: Any) -> Decision:
    """Return the decision for a pod of 2 cpus and priority 10, on nodes of 4 cpus."""
    nodes = [one for one in objects if isinstance(one, Node)] or [make_node("n", cpu=4)]
    return run_cycle(
        pod=make_pod("incoming", **{"cpu": 2, "priority": 10, **fields}),
        nodes=nodes,
        pods=[one for one in objects if isinstance(one, Pod)],
        objects=[one for one in objects if isinstance(one, PodDisruptionBudget | WorkloadPodGroup)],
        features={"GenericWorkload": gate},
    )


def running(name: str, cpu: float, node: str = "n", start: str = EARLY, **fields: Any) -> Pod:
    return make_pod(name, cpu=cpu, node=node, status={"startTime": start}, **fields)


def candidates(decision: Decision) -> dict[str, set[str]]:
    """Return the victims on each node that could be cleared."""
    assert decision.post_filter is not None
    return {
        one.node_name: {pod.name for pod in one.victims} for one in decision.post_filter.candidates
    }


def spread(**labels: str) -> dict[str, Any]:
    """Return labels and a constraint, so that each node is tried by itself."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {"labels": labels, "spec": {"topologySpreadConstraints": [constraint]}}


BOTH = pytest.mark.parametrize("fields", [{}, spread(app="other")], ids=["at once", "one by one"])
NODES = (make_node("m", cpu=4), make_node("n", cpu=4))
WHOLE = make_pod_group("g", disruption_mode="all")


@BOTH
def test_a_group_that_is_disrupted_as_a_whole_leaves_all_its_nodes(fields: dict[str, Any]) -> None:
    pods = [running("g-0", 4, group="g"), running("g-1", 4, "m", group="g")]
    found = candidates(preempt(*NODES, WHOLE, *pods, **fields))
    assert found == {"n": {"g-0", "g-1"}, "m": {"g-0", "g-1"}}


@BOTH
def test_a_group_is_more_important_than_a_pod_of_the_same_priority(fields: dict[str, Any]) -> None:
    members = [running(f"g-{i}", 1, start=LATE, group="g") for i in range(2)]
    alone = running("alone", 2, start=EARLY)
    assert candidates(preempt(WHOLE, *members, alone, **fields)) == {"n": {"alone"}}
    single = make_pod_group("g")
    assert candidates(preempt(single, *members, alone, **fields)) == {"n": {"g-0", "g-1"}}


@BOTH
def test_a_group_is_put_back_as_a_whole_or_not_at_all(fields: dict[str, Any]) -> None:
    members = [running("g-0", 1, group="g"), running("g-1", 2, group="g")]
    alone = running("alone", 1, start=LATE)
    # Beside the incoming pod there would be room for one member and the other pod.
    assert candidates(preempt(WHOLE, *members, alone, **fields)) == {"n": {"g-0", "g-1"}}


@BOTH
def test_the_priority_of_the_group_counts(fields: dict[str, Any]) -> None:
    member = running("g-0", 4, priority=0, group="g")
    high = make_pod_group("g", priority=20)
    decision = preempt(high, member, **fields)
    assert candidates(decision) == {}
    assert "1 No preemption victims found for incoming pod" in decision.message
    low = make_pod_group("g", priority=5)
    member = running("g-0", 4, priority=15, group="g")
    assert candidates(preempt(low, member, **fields)) == {"n": {"g-0"}}
    assert candidates(preempt(low, member, gate=False, **fields)) == {}


@BOTH
def test_budgets_of_members_on_other_nodes_count(fields: dict[str, Any]) -> None:
    budget = make(
        PodDisruptionBudget,
        "b",
        "default",
        spec={"selector": {"matchLabels": {"app": "db"}}},
        status={"disruptionsAllowed": 0},
    )
    nodes = [make_node("n", cpu=4), make_node("m", cpu=4), make_node("o", cpu=4)]
    guarded = running("g-1", 4, "o", group="g", labels={"app": "db"}, priority=1)
    group = make_pod_group("g", disruption_mode="all", priority=1)
    pods = [running("g-0", 4, group="g", priority=1), guarded, running("x", 4, "m", priority=5)]
    decision = preempt(*nodes, group, budget, *pods, **fields)
    assert decision.post_filter is not None
    assert {one.node_name: one.pdb_violations for one in decision.post_filter.candidates} == {
        "n": 1,
        "o": 1,
        "m": 0,
    }
    assert decision.post_filter.nominated_node == "m"


def test_counting_plugins_are_told_of_members_on_other_nodes() -> None:
    nodes = [make_node("n", cpu=4, zone="z1"), make_node("m", cpu=4, zone="z1")]
    nodes.append(make_node("o", cpu=4, zone="z2"))
    pods = [
        running("g-0", 4, group="g"),
        running("g-1", 1, "m", group="g", labels={"app": "web"}),
        running("high-m", 3, "m", priority=20),
        running("high-o", 4, "o", priority=20),
    ]
    fields = spread(app="web")
    fields["spec"]["topologySpreadConstraints"][0]["topologyKey"] = "topology.kubernetes.io/zone"
    # The zone of n has room for another pod of the app because the one on m goes with the group.
    assert candidates(preempt(*nodes, WHOLE, *pods, **fields)) == {"n": {"g-0", "g-1"}}
    single = make_pod_group("g")
    assert candidates(preempt(*nodes, single, *pods, **fields)) == {}


def test_a_whole_group_that_would_be_enough_elsewhere_does_not_help_a_full_node() -> None:
    pods = [
        running("g-0", 1, group="g"),
        running("g-1", 4, "m", group="g"),
        running("high", 3, priority=20),
    ]
    found = candidates(preempt(*NODES, WHOLE, *pods))
    assert found == {"m": {"g-0", "g-1"}}
