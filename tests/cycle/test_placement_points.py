"""The choice of a placement, and what is said of plugins that answer wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.cycle.placement_points import (
    NO_PLACEMENTS,
    run_placement_generate,
    run_placement_score,
)
from mooring.framework.placements import GroupAssignments, Placement
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing import make_pod_group
from tests.scheduler.groups import GroupWorld

GROUP = make_pod_group("g")
ALL = Placement("all", np.array([True, True]))


class Domains(Plugin):
    name = "Domains"
    answer: Any = None
    scored: Any = 0

    def generate_placements(self, state: Any, group: Any, nodes: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def score_placement(self, state: Any, group: Any, assignments: Any) -> Any:
        return self.scored


def profile_of(**answers: Any) -> tuple[GroupWorld, Any]:
    kind = type("Domains", (Domains,), {"name": "Domains", **answers})
    world = GroupWorld(kind)
    world.add_nodes("a", "b")
    world.scheduler.inbox.drain()
    return world, world.scheduler.profiles["default-scheduler"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([], NO_PLACEMENTS),
        ([Placement("none", np.array([False, False]))], NO_PLACEMENTS),
        (Status.unschedulable("no"), "no"),
        ([Placement("short", np.array([True]))], "generate_placements must return"),
        (["r1"], "generate_placements must return"),
        (ValueError("boom"), "boom"),
    ],
)
def test_why_there_is_no_placement(answer: Any, text: str) -> None:
    world, profile = profile_of(answer=answer)
    nodes = world.scheduler.cache.nodes
    status = run_placement_generate(profile, CycleState(), GROUP, nodes)
    assert isinstance(status, Status)
    assert text in status.message


def test_empty_placements_are_left_out_and_without_a_plugin_all_nodes_are_one() -> None:
    world, profile = profile_of(answer=[Placement("none", np.array([False, False])), ALL])
    nodes = world.scheduler.cache.nodes
    assert run_placement_generate(profile, CycleState(), GROUP, nodes) == (ALL,)
    profile.placement_generate = ()
    found = run_placement_generate(profile, CycleState(), GROUP, nodes)
    assert isinstance(found, tuple)
    assert found[0].mask.all()


@pytest.mark.parametrize(
    ("scored", "text"),
    [
        (101, "from 0 to 100"),
        (-1, "from 0 to 100"),
        (Status.error("broken"), "broken"),
        ("x", 'plugin "Domains" failed with'),
    ],
)
def test_a_score_out_of_range_is_an_error(scored: Any, text: str) -> None:
    world, profile = profile_of(answer=[ALL], scored=scored)
    profile.placement_score = tuple(
        step for step in profile.placement_score if step.name == "Domains"
    )
    one = GroupAssignments("all", world.scheduler.cache.nodes, ())
    status = run_placement_score(profile, CycleState(), GROUP, [one, one])
    assert isinstance(status, Status)
    assert text in status.message


def test_scores_are_weighted_and_added() -> None:
    world, profile = profile_of(answer=[ALL], scored=50)
    (step,) = (step for step in profile.placement_score if step.name == "Domains")
    profile.placement_score = (step, step)
    one = GroupAssignments("all", world.scheduler.cache.nodes, ())
    ranking = run_placement_score(profile, CycleState(), GROUP, [one, one])
    assert not isinstance(ranking, Status)
    assert ranking.totals.tolist() == [100 * step.weight, 100 * step.weight]
    weighted = {name: scores.tolist() for name, scores in ranking.scores.items()}
    assert weighted == {step.name: [50 * step.weight, 50 * step.weight]}
