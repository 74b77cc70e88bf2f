"""Runs of the whole scheduler on a few pods and nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.api import CompositePodGroup
from mooring.errors import ConfigErrors
from mooring.framework.decision import Outcome
from mooring.framework.placements import Placement
from mooring.testing import (
    make_composite_pod_group,
    make_node,
    make_pod,
    make_pod_group,
    run_cycle,
)


class OnSsd(Plugin):
    """Keep pods on nodes labelled disk=ssd."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        """Refuse the others."""
        return None if node.labels.get("disk") == "ssd" else Status.unschedulable("no ssd")


NODES = [make_node("a", disk="ssd"), make_node("b"), make_node("c")]


def test_a_cycle_runs_the_plugin_beside_the_built_in_ones() -> None:
    decision = run_cycle(pod=make_pod(cpu="1"), nodes=NODES, plugins=[OnSsd])
    assert (decision.outcome, decision.node_name) == (Outcome.SCHEDULED, "a")
    decision = run_cycle(pod=make_pod(cpu="100"), nodes=NODES, plugins=[OnSsd])
    assert decision.message.startswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_a_cycle_waits_at_permit_on_a_virtual_clock() -> None:
    class Waiting(Plugin):
        def permit(self, state: Any, pod: Any, node_name: str) -> Status:
            return Status.wait(600, "not yet")

    decision = run_cycle(pod=make_pod(), nodes=NODES, plugins=[Waiting])
    assert decision.outcome is not Outcome.SCHEDULED


def test_many_pods_are_scheduled_and_answered_in_the_order_given() -> None:
    pods = [make_pod("low", cpu="3"), make_pod("high", cpu="3", priority=9)]
    decisions = run_cycle(pods=pods, nodes=[make_node("a")])
    assert [decision.pod.name for decision in decisions] == ["low", "high"]
    assert [decision.node_name for decision in decisions] == ["", "a"]


def test_a_cycle_takes_a_configuration(tmp_path: Path) -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
  plugins: {filter: {enabled: [{name: OnSsd}]}}
"""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    pod = make_pod(scheduler_name="mine")
    assert run_cycle(pod=pod, nodes=NODES, plugins=[OnSsd], config=path).node_name == "a"
    with pytest.raises(ConfigErrors, match="not registered"):
        run_cycle(pod=pod, nodes=NODES, config=path)
    with pytest.raises(ValueError, match="names the scheduler default-scheduler"):
        run_cycle(pod=make_pod(), nodes=NODES, plugins=[OnSsd], config=path)


# Pod groups.


def members(count: int, **fields: Any) -> list[Any]:
    return [make_pod(f"g-{index}", group="g", **fields) for index in range(count)]


def test_a_pod_of_a_group_is_tried_with_the_others() -> None:
    first, *others = members(3, cpu="2")
    group = make_pod_group("g", min_count=3)
    nodes = [make_node("a", cpu=4), make_node("b", cpu=2)]
    decision = run_cycle(pod=first, pods=others, nodes=nodes, objects=[group])
    assert decision.pod.name == "g-0"
    assert decision.outcome is Outcome.SCHEDULED
    decision = run_cycle(pod=first, pods=others, nodes=nodes[:1], objects=[group])
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" in decision.message


def test_a_group_that_is_not_complete_waits() -> None:
    (pod,) = members(1)
    decision = run_cycle(pod=pod, nodes=NODES, objects=[make_pod_group("g", min_count=2)])
    assert decision.outcome is Outcome.GATED
    assert decision.pre_enqueue is not None
    assert "minCount" in decision.pre_enqueue.message


def test_a_gate_of_one_member_holds_the_group_back() -> None:
    first, _ = members(2)
    held = make_pod("g-1", group="g", gates=["example.com/wait"])
    group = make_pod_group("g", min_count=2)
    decision = run_cycle(pod=first, pods=[held], nodes=NODES, objects=[group])
    assert decision.outcome is Outcome.GATED
    assert decision.pre_enqueue is not None
    assert "example.com/wait" in decision.pre_enqueue.message


def test_all_pods_of_a_group_share_a_rack() -> None:
    nodes = [make_node(name, cpu=2, rack=name[0]) for name in ("a1", "b1", "b2")]
    group = make_pod_group("g", min_count=4, topology="rack")
    decisions = run_cycle(pods=members(4, cpu="1"), nodes=nodes, objects=[group])
    assert {decision.node_name for decision in decisions} == {"b1", "b2"}


def test_pods_of_a_group_are_single_if_the_gate_is_off() -> None:
    first, second = members(2, cpu="3")
    group = make_pod_group("g", min_count=2)
    decisions = run_cycle(
        pods=[first, second],
        nodes=[make_node("a", cpu=4)],
        objects=[group],
        features={"GenericWorkload": False},
    )
    assert [decision.node_name for decision in decisions] == ["a", ""]


# Composite pod groups.

RACKS = [make_node(name, cpu=4, rack=name[0]) for name in ("a1", "a2", "b1", "b2")]


def job(**fields: Any) -> list[Any]:
    """Return a composite group of two gangs, each of which needs a rack."""
    parts = [
        make_pod_group(name, parent="job", min_count=2, topology="rack")
        for name in ("left", "right")
    ]
    return [make_composite_pod_group("job", **{"min_group_count": 2, **fields}), *parts]


def workers() -> list[Any]:
    return [
        make_pod(f"{name}-{i}", cpu=3, group=name) for name in ("left", "right") for i in (0, 1)
    ]


def test_a_tree_is_tried_as_a_whole_and_shown() -> None:
    decisions = run_cycle(pods=workers(), nodes=RACKS, objects=job())
    nodes = {decision.pod.name: decision.node_name for decision in decisions}
    left, right = ({nodes[f"{name}-{i}"][0] for i in (0, 1)} for name in ("left", "right"))
    assert sorted((*left, *right)) == ["a", "b"]
    tree = decisions[0].group
    assert tree is not None and tree.fits and tree.chosen is not None
    assert [part.progress for part in tree.chosen.parts] == ["2 of 2 pods", "2 of 2 pods"]
    assert all(decision.group is tree for decision in decisions)


def test_a_tree_that_does_not_fit_shows_which_part_failed() -> None:
    first, *others = workers()
    decision = run_cycle(pod=first, pods=others, nodes=RACKS[:3], objects=job())
    assert decision.outcome is Outcome.UNSCHEDULABLE
    tree = decision.group
    assert tree is not None and tree.shown is not None
    assert {part.group.name: part.fits for part in tree.shown.parts} == {
        "left": True,
        "right": False,
    }
    assert "right: 0 of 2 pods: pod group is unschedulable, 0/2 placements" in str(tree)


def test_a_part_that_is_not_needed_may_fail() -> None:
    decisions = run_cycle(pods=workers(), nodes=RACKS[:3], objects=job(min_group_count=1))
    assert [bool(decision.node_name) for decision in decisions] == [True, True, False, False]


def test_the_plugins_of_a_tree_may_refuse_a_placement_of_the_whole() -> None:
    class NoTrees(Plugin):
        """A plugin that refuses every placement of a composite group."""

        def placement_feasible(self, state: Any, group: Any, progress: Any) -> Status | None:
            is_tree = isinstance(group, CompositePodGroup)
            return Status.unschedulable("no trees here") if is_tree else None

    decisions = run_cycle(pods=workers(), nodes=RACKS, objects=job(), plugins=[NoTrees])
    assert all("no trees here" in decision.message for decision in decisions)
    tree = decisions[0].group
    assert tree is not None and tree.shown is not None
    assert [part.is_tried for part in tree.shown.parts] == [False, False]


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        pytest.param(
            job()[1:],
            "composite pod group object not found in state for compositepodgroup/default/job",
            id="a missing parent",
        ),
        pytest.param(
            job(parent="job"),
            "cycle detected in composite pod group hierarchy: compositepodgroup/default/job",
            id="a group above itself",
        ),
        pytest.param(
            job(min_group_count=3),
            'waiting for composite pod group "job" tree to meet quorum',
            id="too few parts",
        ),
    ],
)
def test_the_pods_of_an_incomplete_tree_wait(objects: list[Any], text: str) -> None:
    gates = dict.fromkeys(("TopologyAwareWorkloadScheduling", "CompositePodGroup"), True)
    for decision in run_cycle(pods=workers(), nodes=RACKS, objects=objects, features=gates):
        assert decision.outcome is Outcome.GATED
        assert decision.pre_enqueue is not None and text in decision.pre_enqueue.message
    first, *others = workers()
    one = run_cycle(pod=first, pods=others, nodes=RACKS, objects=objects, features=gates)
    assert one.pre_enqueue is not None and text in one.pre_enqueue.message


def test_pods_of_different_priorities_are_refused_together() -> None:
    pods = [*workers(), make_pod("urgent", group="left", priority=7)]
    decisions = run_cycle(pods=pods, nodes=RACKS, objects=job())
    text = "same priority as the pod group's priority, got 7 and 0"
    assert [text in decision.message for decision in decisions] == [True] * 5


def test_parents_are_ignored_if_the_gate_is_off() -> None:
    off = {"CompositePodGroup": False}
    decisions = run_cycle(pods=workers(), nodes=RACKS[:3], objects=job(), features=off)
    assert [bool(decision.node_name) for decision in decisions] == [True, True, False, False]


def test_a_group_without_a_parent_is_shown_too() -> None:
    decision, *_ = run_cycle(
        pods=members(2, cpu="1"), nodes=RACKS, objects=[make_pod_group("g", min_count=2)]
    )
    assert str(decision.group) == "g: 2 of 2 pods in all nodes"


class NotYet(Plugin):
    """A plugin that refuses every placement of a group."""

    def placement_feasible(self, state: Any, group: Any, progress: Any) -> Status:
        return Status.unschedulable("not yet")


class NoHelp(Plugin):
    """A plugin that preempts nothing for a group."""

    def pod_group_post_filter(self, state: Any, group: Any, trial: Any) -> Status:
        return Status.unresolvable("no help for groups")


class InB(Plugin):
    """A plugin that prefers placements in rack b."""

    def score_placement(self, state: Any, group: Any, assignments: Any) -> int:
        return 100 if assignments.placement == "b" else 0


class OnB(Plugin):
    """A plugin that generates one placement: rack b."""

    def generate_placements(self, state: Any, group: Any, nodes: Any) -> list[Placement]:
        return [Placement("b", nodes.label_is("rack", "b"))]


def group_of_racks(
    plugin: type[Plugin], pods: int, policy: str = "PreemptLowerPriority", **options: Any
) -> list[Any]:
    """Return the decisions for a gang that goes to one rack, with a plugin enabled."""
    return run_cycle(
        pods=[
            make_pod(f"g-{number}", cpu=1, group="g", spec={"preemptionPolicy": policy})
            for number in range(pods)
        ],
        nodes=RACKS,
        objects=[make_pod_group("g", min_count=pods, topology="rack")],
        plugins=[plugin],
        features={"TopologyAwareWorkloadScheduling": True},
        **options,
    )


def test_a_plugin_that_only_says_whether_enough_fits_is_asked() -> None:
    decision, *_ = group_of_racks(NotYet, 2)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    messages = [one.status.message for one in decision.group.placements]
    assert messages == ["pod group is unschedulable, not yet"] * 2


def test_a_plugin_that_only_makes_room_for_groups_is_asked() -> None:
    # DefaultPreemption comes first, and leaves pods that never preempt to the next plugin.
    decision, *_ = group_of_racks(NoHelp, 9, policy="Never")
    assert decision.message.endswith(", no help for groups")
    # If it finds no victims, it ends the point, unless the other plugin comes first.
    decision, *_ = group_of_racks(NoHelp, 9)
    assert decision.message.endswith("No preemption victims found for incoming preemptor")
    named = {"enabled": [{"name": "NoHelp"}]}
    plugins = {"multiPoint": named, "podGroupPostFilter": named}
    decision, *_ = group_of_racks(NoHelp, 9, config=config_of(plugins))
    assert decision.message.endswith(", no help for groups")


def test_a_plugin_that_only_scores_placements_is_asked() -> None:
    weight = {"multiPoint": {"enabled": [{"name": "InB", "weight": 9}]}}
    decisions = group_of_racks(InB, 2, config=config_of(weight))
    assert {decision.node_name[0] for decision in decisions} == {"b"}


def test_a_plugin_that_only_generates_placements_is_asked_or_refused() -> None:
    with pytest.raises(ConfigErrors) as raised:
        group_of_racks(OnB, 2)
    text = str(raised.value)
    assert "at most one placement generate plugin is allowed for profile with scheduler" in text
    alone = "placementGenerate.disabled: [{name: TopologyPlacementGenerator}]"
    assert f"to generate placements with OnB alone, set {alone}" in text
    plugins = {
        "multiPoint": {"enabled": [{"name": "OnB"}]},
        "placementGenerate": {"disabled": [{"name": "TopologyPlacementGenerator"}]},
    }
    decisions = group_of_racks(OnB, 2, config=config_of(plugins))
    assert {decision.node_name[0] for decision in decisions} == {"b"}


def config_of(plugins: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
