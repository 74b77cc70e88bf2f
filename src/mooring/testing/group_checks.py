"""Checks of the points that run for pod groups: their placements, scores, and whole attempts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mooring.api import Pod, WorkloadPodGroup
from mooring.cycle.placement_points import run_placement_generate, run_placement_score
from mooring.errors import PluginError
from mooring.framework.placements import GroupAssignments, Placement, PlacementProgress
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point, points_of
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing.bench import Bench, Workbench, raise_breach
from mooring.testing.builders import ZONE, make_pod, make_pod_group
from mooring.testing.plugin_answers import Case, describe, verdict
from mooring.testing.plugin_lifecycle import DETERMINISTIC, check_attempts
from mooring.testing.scenes import RACK, Scene

#: The gates without which a plugin's points of pod groups do not run.
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}

PLACEMENT_ORDER = "the order of nodes does not matter"
PROGRESS_ALONE = "PlacementFeasible depends on the progress alone"
SCORES_ALONE = "the order of placements does not matter"

_POINTS = frozenset(
    {
        Point.PLACEMENT_GENERATE,
        Point.PLACEMENT_FEASIBLE,
        Point.PLACEMENT_SCORE,
        Point.POD_GROUP_POST_FILTER,
    }
)
_GANG = "gang"
_SIZE = 3

#: Placements, each as its name and the names of its nodes.
_Named = list[tuple[str, list[str]]]


def has_group_points(plugin: type[Plugin]) -> bool:
    """Return whether a plugin implements a point that runs for pod groups."""
    return bool(points_of(plugin) & _POINTS)


def check_groups(
    workbench: Workbench, scene: Scene, seed: int, rng: random.Random
) -> tuple[int, int]:
    """Check the points of pod groups in a cluster to which a gang is added.

    Return how many placements the plugin was asked about, and how many pods were tried in whole
    attempts.
    """
    group = make_pod_group(
        _GANG, min_count=rng.randint(1, _SIZE), topology=rng.choice(("", RACK, ZONE))
    )
    cpu = rng.choice(("500m", "3"))
    members = [make_pod(f"{_GANG}-{i}", group=_GANG, cpu=cpu) for i in range(_SIZE)]
    grown = replace(scene, pending=[*scene.pending, *members], objects=[*scene.objects, group])
    bench, another = (workbench.place(grown.objects_with()) for _ in range(2))
    shuffled = rng.sample(scene.nodes, len(scene.nodes))
    other_order = workbench.place(grown.objects_with(shuffled))
    case = Case(workbench.kind.name, members[0], seed)
    asked = _check_generated(case, group, bench, another, other_order)
    _check_feasible(case, group, bench, another)
    asked += _check_scored(case, group, bench, another, members, rng)
    return asked, check_attempts(workbench, grown, seed)


def _check_generated(
    case: Case, group: WorkloadPodGroup, bench: Bench, another: Bench, other_order: Bench
) -> int:
    if not bench.profile.placement_generate:
        return 0
    first = _generated(bench, group)
    for check, words, other in (
        (DETERMINISTIC, "{} the first time, {} the second", bench),
        (DETERMINISTIC, "{} from one instance, {} from another", another),
        (PLACEMENT_ORDER, "{} in one order of the nodes, {} in another", other_order),
    ):
        second = _generated(other, group)
        if second != first:
            raise case.fail(check, words.format(first, second), point="PlacementGenerate")
    return len(first)


def _generated(bench: Bench, group: WorkloadPodGroup) -> _Named:
    """Return the placements that a plugin generates, by name; none if it refuses the group."""
    return sorted(
        (one.name, sorted(bench.nodes.where(one.mask).names)) for one in _placements(bench, group)
    )


def _placements(bench: Bench, group: WorkloadPodGroup) -> Sequence[Placement]:
    found = run_placement_generate(bench.profile, CycleState(), group, bench.nodes)
    if isinstance(found, Status):
        raise_breach(found, bench.plugin.name)
        return ()
    return found


def _check_feasible(case: Case, group: WorkloadPodGroup, bench: Bench, another: Bench) -> None:
    """Ask about every progress in two orders: placements are tried in turn or together."""
    plugin: Any = bench.plugin
    if not hasattr(plugin, "placement_feasible"):
        return
    every = [
        PlacementProgress(scheduled, remaining)
        for scheduled in range(_SIZE + 1)
        for remaining in range(_SIZE + 1 - scheduled)
    ]
    first = {one: _feasible(case, plugin, group, one) for one in every}
    for other in (plugin, another.plugin):
        for one in reversed(every):
            found = _feasible(case, other, group, one)
            if found != first[one]:
                text = (
                    f"{one.scheduled} scheduled and {one.remaining} remaining: "
                    f"{describe(first[one])} the first time, {describe(found)} later"
                )
                raise case.fail(PROGRESS_ALONE, text, point="PlacementFeasible")


def _feasible(case: Case, plugin: Any, group: WorkloadPodGroup, one: PlacementProgress) -> Any:
    method = plugin.placement_feasible
    status = case.call("PlacementFeasible", None, method, CycleState(), group, one)
    if status is not None and not isinstance(status, Status):
        text = f"a Status or None, got {status!r}"
        raise case.fail("placement_feasible returns", text, point="PlacementFeasible")
    return verdict(status)


def _check_scored(
    case: Case,
    group: WorkloadPodGroup,
    bench: Bench,
    another: Bench,
    members: Sequence[Pod],
    rng: random.Random,
) -> int:
    if not bench.profile.placement_score:
        return 0
    nodes = bench.nodes
    masks = [nodes.label_is(ZONE, zone) for zone in "xyz"]
    rows = [mask for mask in masks if mask.any()]
    if not rows:
        return 0
    chosen = [[rng.choice(nodes.where(mask).names) for _ in members] for mask in rows]

    def assignments(place: Bench) -> list[GroupAssignments]:
        info = place.profile.handle.pod_info
        return [
            GroupAssignments(
                str(number),
                place.nodes.where(mask),
                [(info(pod), name) for pod, name in zip(members, names, strict=True)],
            )
            for number, (mask, names) in enumerate(zip(rows, chosen, strict=True))
        ]

    first = _scored(bench, group, assignments(bench))
    for check, words, second in (
        (
            DETERMINISTIC,
            "{} the first time, {} the second",
            _scored(bench, group, assignments(bench)),
        ),
        (
            DETERMINISTIC,
            "{} from one instance, {} from another",
            _scored(another, group, assignments(another)),
        ),
        (
            SCORES_ALONE,
            "{} in one order, {} in the other",
            _scored(bench, group, assignments(bench)[::-1])[::-1],
        ),
    ):
        if second != first:
            raise case.fail(check, words.format(first, second), point="PlacementScore")
    return len(first)


def _scored(
    bench: Bench, group: WorkloadPodGroup, assignments: Sequence[GroupAssignments]
) -> list[int]:
    ranking = run_placement_score(bench.profile, CycleState(), group, assignments)
    if isinstance(ranking, Status):
        text = f"{ranking.message}\n{ranking.traceback}".rstrip()
        raise PluginError(text, plugin=bench.plugin.name)
    totals: list[int] = ranking.totals.tolist()
    return totals
