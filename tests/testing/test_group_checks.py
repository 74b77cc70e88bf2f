"""check_plugin finds broken promises at the points of pod groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring import Plugin, PluginError, Status
from mooring.framework.features import FeatureGates
from mooring.framework.placements import NominatePods, Placement
from mooring.framework.points import Point, points_of
from mooring.plugins import BUILT_INS
from mooring.plugins.topology_placement_generator import TopologyPlacementGenerator
from mooring.testing import check_plugin
from mooring.testing.group_checks import has_group_points, with_group_gates

GROUPED = [plugin for plugin in BUILT_INS if has_group_points(plugin)]


def plugin(**methods: Any) -> type[Plugin]:
    return type("Grouped", (Plugin,), {"name": "Grouped", **methods})


@pytest.mark.parametrize("kind", GROUPED, ids=lambda kind: kind.name)
def test_built_ins_are_checked_at_the_points_of_groups(kind: type[Plugin]) -> None:
    report = check_plugin(kind, rounds=4)
    assert report.group_attempts
    if points_of(kind) & {Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE}:
        assert report.placements


def test_groups_are_not_tried_with_other_plugins_or_without_the_gate() -> None:
    assert not check_plugin(plugin(filter=lambda *_: None), rounds=1).group_attempts
    off = {"GenericWorkload": False, "TopologyAwareWorkloadScheduling": False}
    assert not check_plugin(TopologyPlacementGenerator, features=off, rounds=1).group_attempts


@pytest.mark.parametrize(
    ("given", "on"),
    [
        pytest.param({}, True, id="all are on"),
        pytest.param({"CompositePodGroup": False}, False, id="composite groups alone are off"),
        pytest.param({"TopologyAwareWorkloadScheduling": False}, False, id="they need topology"),
        pytest.param({"DRAConsumableCapacity": False}, True, id="another gate is off"),
    ],
)
def test_composite_groups_are_on_unless_a_gate_that_they_need_is_off(
    given: dict[str, bool], on: bool
) -> None:
    gates = with_group_gates(given)
    assert gates["GenericWorkload"]
    assert gates["CompositePodGroup"] is on
    assert FeatureGates(gates).enabled("CompositePodGroup") is on


def test_every_other_round_has_a_composite_group_and_its_parts() -> None:
    asked: dict[str, set[str]] = {}

    def feasible(self: Any, state: Any, group: Any, progress: Any) -> None:
        asked.setdefault(group.kind, set()).add(group.name)

    check_plugin(plugin(placement_feasible=feasible, score_placement=lambda *_: 0), rounds=4)
    assert asked == {"PodGroup": {"gang", "tree-0", "tree-1"}, "CompositePodGroup": {"tree"}}


class Forgetful(Plugin):
    """A plugin whose answers depend on how often it was asked."""

    name = "Forgetful"
    asked = 0

    def placement_feasible(self, state: Any, group: Any, progress: Any) -> Status | None:
        self.asked += 1
        return Status.wait(0) if self.asked < 5 else None


class Growing(Plugin):
    """A plugin whose scores depend on those it gave before."""

    name = "Growing"
    last = 0

    def score_placement(self, state: Any, group: Any, assignments: Any) -> int:
        self.last = (self.last + 1) % 50
        return self.last


def claims(self: Any, state: Any, group: Any, progress: Any) -> Status | None:
    return Status.unschedulable("it has claims") if group.spec.resource_claims else None


def half(self: Any, state: Any, group: Any, nodes: Any) -> list[Placement]:
    mask = np.zeros(len(nodes), dtype=np.bool_)
    mask[: (len(nodes) + 1) // 2] = True
    return [Placement("first half", mask)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (plugin(generate_placements=half), "the order of nodes does not matter"),
        (
            plugin(generate_placements=lambda *_: [Placement("", np.ones(99, dtype=np.bool_))]),
            "Placements with a mask over the nodes",
        ),
        (Forgetful, "PlacementFeasible depends on the progress alone"),
        (plugin(placement_feasible=lambda *_: 7), "a Status or None, got 7"),
        (Growing, "the same input gives the same answer"),
        (plugin(score_placement=lambda *_: 101), "a score from 0 to 100"),
        (plugin(score_placement=lambda *_: 1 // 0), "ZeroDivisionError"),
        (plugin(pod_group_post_filter=lambda *_: 1 // 0), "ZeroDivisionError"),
        (plugin(placement_feasible=claims), "no attribute 'resource_claims'"),
    ],
    ids=[
        "placements follow the order of nodes",
        "a mask has the wrong size",
        "an answer depends on earlier ones",
        "an answer is no status",
        "scores depend on earlier ones",
        "a score is too high",
        "a score raises",
        "a post filter raises",
        "a field that composite groups do not have",
    ],
)
def test_a_broken_promise_is_named(kind: type[Plugin], text: str) -> None:
    with pytest.raises(PluginError, match=text):
        check_plugin(kind, rounds=6)


def test_a_plugin_that_keeps_the_contract_passes() -> None:
    def nominate(self: Any, state: Any, group: Any, trial: Any) -> NominatePods:
        return NominatePods({}, Status.success("made room"))

    kind = plugin(
        placement_feasible=lambda self, state, group, progress: None,
        score_placement=lambda self, state, group, assignments: len(assignments.pods),
        pod_group_post_filter=nominate,
    )
    report = check_plugin(kind, rounds=3)
    assert report.placements
    assert report.group_attempts
