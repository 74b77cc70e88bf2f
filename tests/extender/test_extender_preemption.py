"""The victims that an extender accepts, adds to, or refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.api import Pod, PodDisruptionBudget, decode_as
from mooring.cycle.pre_filter import run_pre_filter
from mooring.errors import PluginError
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.extender.extender_preemption import CandidateCheck
from mooring.framework.state import CycleState
from mooring.testing import make_node, make_pod
from tests.extender.extender_scenes import make_cluster

PREEMPTOR = make_pod("preemptor", priority=10, labels={"seats": "2"})


class Seats(Plugin):
    """Allow three seats on each node, counted node by node."""

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        if node.labels.get("closed"):
            return Status.unresolvable("closed")
        taken = sum(int(one.pod.metadata.labels["seats"]) for one in node.pods.values())
        if taken + int(pod.metadata.labels["seats"]) > 3:
            return Status.unschedulable("no seats")
        return None


class CountedSeats(Plugin):
    """The same, with a count that PreFilter makes and its extensions keep."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        counts = {
            info.name: sum(int(one.pod.metadata.labels["seats"]) for one in info.pods.values())
            for info in nodes.infos()
        }
        state.write("seats", _Counts(counts))

    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> Any:
        if other.pod.metadata.name == "cursed":
            return Status.error("the count is lost")
        state.read("seats").counts[node.name] += int(other.pod.metadata.labels["seats"])
        return None

    def remove_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.read("seats").counts[node.name] -= int(other.pod.metadata.labels["seats"])

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        if node.labels.get("closed"):
            return Status.unresolvable("closed")
        if state.read("seats").counts[node.name] + int(pod.metadata.labels["seats"]) > 3:
            return Status.unschedulable("no seats")
        return None


class _Counts:
    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts

    def clone(self) -> _Counts:
        return _Counts(dict(self.counts))


def sitting(name: str, seats: int, priority: int = 0, node: str = "n", **labels: str) -> Pod:
    return make_pod(
        name,
        node=node,
        priority=priority,
        labels={"seats": str(seats), **labels},
        metadata={"uid": name},
    )


def check(cluster: ExtenderCluster) -> CandidateCheck:
    (profile,) = cluster.profiles.values()
    state = CycleState()
    run_pre_filter(profile, state, PREEMPTOR, cluster.snapshot)
    return CandidateCheck(profile.handle, state, PREEMPTOR)


def victims(
    plugin: type[Plugin], pods: Sequence[Pod], proposed: Sequence[str], node: str = "n"
) -> tuple[list[str], int] | None:
    nodes = [make_node("n"), make_node("m", labels={"closed": "true"})]
    found = check(make_cluster([plugin], [*nodes, *pods])).victims(node, proposed, 0)
    return (
        None if found is None else ([one.UID for one in found.Pods or ()], found.NumPDBViolations)
    )


FORMS = pytest.mark.parametrize("plugin", [Seats, CountedSeats])


@FORMS
def test_victims_that_are_enough_stay_as_proposed(plugin: type[Plugin]) -> None:
    pods = [sitting("a", 2), sitting("b", 1)]
    assert victims(plugin, pods, ["a"]) == (["a"], 0)


@FORMS
def test_further_pods_go_the_least_important_first(plugin: type[Plugin]) -> None:
    pods = [sitting("a", 1), sitting("b", 1, priority=1), sitting("c", 1, priority=2)]
    assert victims(plugin, pods, ["c"]) == (["c", "a"], 0)


@FORMS
def test_pods_of_the_same_priority_never_go(plugin: type[Plugin]) -> None:
    pods = [sitting("a", 1), sitting("b", 2, priority=10)]
    assert victims(plugin, pods, ["a"]) is None


@FORMS
def test_a_node_that_no_removal_helps_is_no_candidate(plugin: type[Plugin]) -> None:
    pods = [sitting("a", 3, node="m")]
    assert victims(plugin, pods, ["a"], node="m") is None


@FORMS
def test_a_victim_that_is_gone_already_stays_in_the_answer(plugin: type[Plugin]) -> None:
    assert victims(plugin, [sitting("a", 1)], ["gone"]) == (["gone"], 0)


@FORMS
def test_a_node_that_is_not_known_is_no_candidate(plugin: type[Plugin]) -> None:
    assert victims(plugin, [], ["a"], node="new") is None


def test_pods_that_a_budget_protects_go_last_and_are_counted() -> None:
    budget = decode_as(
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": 0},
        },
        PodDisruptionBudget,
    )
    pods = [sitting("a", 1, app="db"), sitting("b", 1, priority=2), sitting("c", 1)]
    cluster = make_cluster([Seats], [make_node("n"), *pods])
    store: Any = cluster.informers.informer(PodDisruptionBudget).store
    store.replace([budget])
    found = check(cluster).victims("n", ["c"], 0)
    assert found is not None
    # The less important pod would go first, but its budget allows no disruption.
    assert ([one.UID for one in found.Pods or ()], found.NumPDBViolations) == (["c", "b"], 0)
    more = sitting("d", 1, priority=10)
    cluster.cache.add_pod(more)
    found = check(cluster).victims("n", ["c"], 1)
    assert found is not None
    assert ([one.UID for one in found.Pods or ()], found.NumPDBViolations) == (["c", "a", "b"], 2)


def test_the_fault_of_a_plugin_ends_the_check() -> None:
    pods = [sitting("a", 1), sitting("cursed", 2)]
    with pytest.raises(PluginError, match="the count is lost"):
        victims(CountedSeats, pods, ["a"])
