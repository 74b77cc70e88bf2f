"""Checks of the points that run for pod groups: their placements, scores, and whole attempts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from mooring.api import AnyPodGroup, Pod
from mooring.cycle.placement_points import run_placement_generate, run_placement_score
from mooring.errors import PluginError
from mooring.framework.placements import GroupAssignments, Placement, PlacementProgress
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point, points_of
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing.bench import Bench, Workbench, raise_breach
from mooring.testing.builders import (
    ZONE,
    make_composite_pod_group,
    make_pod,
    make_pod_group,
)
from mooring.testing.plugin_answers import Case, describe, verdict
from mooring.testing.plugin_lifecycle import DETERMINISTIC, check_attempts
from mooring.testing.scenes import RACK, Scene

#: The gates that a plugin's points of pod groups need; the last one requires the others.
GATES = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "CompositePodGroup": True,
}

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
_TREE = "tree"
_SIZE = 3

#: Placements, each as its name and the names of its nodes.
_Named = list[tuple[str, list[str]]]


def has_group_points(plugin: type[Plugin]) -> bool:
    """Return whether a plugin implements a point that runs for pod groups."""
    return bool(points_of(plugin) & _POINTS)


def with_group_gates(features: Mapping[str, bool]) -> dict[str, bool]:
    """Return feature gates with those of pod groups turned on, unless `features` names them."""
    off = not all(features.get(gate, True) for gate in GATES)
    return {**GATES, **({"CompositePodGroup": False} if off else {}), **features}


def check_groups(
    workbench: Workbench, scene: Scene, seed: int, rng: random.Random
) -> tuple[int, int]:
    """Check the points of pod groups in a cluster with a gang or a composite group added.

    Return how many placements the plugin was asked about, and how many pods were tried in whole
    attempts.
    """
    # Seeds alternate between the two, so that a round takes no longer than with one of them.
    is_tree = seed % 2 == 1 and workbench.features.enabled("CompositePodGroup")
    added = _make_tree(rng) if is_tree else _make_gang(rng)
    return _check_group(workbench, scene, added, seed, rng)


class _Added(NamedTuple):
    """A group, the groups below it, and its pods."""

    group: AnyPodGroup
    below: list[AnyPodGroup]
    members: list[Pod]


def _make_gang(rng: random.Random, name: str = _GANG, parent: str | None = None) -> _Added:
    topology = rng.choice(("", RACK, ZONE))
    count = rng.randint(1, _SIZE)
    group = make_pod_group(name, min_count=count, topology=topology, parent=parent)
    cpu = rng.choice(("500m", "3"))
    members = [make_pod(f"{name}-{i}", group=name, cpu=cpu) for i in range(_SIZE)]
    return _Added(group, [], members)


def _make_tree(rng: random.Random) -> _Added:
    """Return a composite group with two gangs."""
    topology = rng.choice(("", RACK, ZONE))
    top = make_composite_pod_group(_TREE, min_group_count=rng.randint(1, 2), topology=topology)
    gangs = [_make_gang(rng, f"{_TREE}-{number}", _TREE) for number in range(2)]
    members = [pod for gang in gangs for pod in gang.members]
    return _Added(top, [gang.group for gang in gangs], members)


def _check_group(
    workbench: Workbench, scene: Scene, added: _Added, seed: int, rng: random.Random
) -> tuple[int, int]:
    group, members = added.group, added.members
    grown = replace(
        scene,
        pending=[*scene.pending, *members],
        objects=[*scene.objects, group, *added.below],
    )
    bench, another = (workbench.place(grown.objects_with()) for _ in range(2))
    shuffled = rng.sample(scene.nodes, len(scene.nodes))
    other_order = workbench.place(grown.objects_with(shuffled))
    case = Case(workbench.kind.name, members[0], seed)
    asked = _check_generated(case, group, bench, another, other_order)
    _check_feasible(case, group, bench, another)
    asked += _check_scored(case, group, bench, another, members, rng)
    return asked, check_attempts(workbench, grown, seed)


def _check_generated(
    case: Case, group: AnyPodGroup, bench: Bench, another: Bench, other_order: Bench
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


def _generated(bench: Bench, group: AnyPodGroup) -> _Named:
    """Return the placements that a plugin generates, by name; none if it refuses the group."""
    return sorted(
        (one.name, sorted(bench.nodes.where(one.mask).names)) for one in _placements(bench, group)
    )


def _placements(bench: Bench, group: AnyPodGroup) -> Sequence[Placement]:
    found = run_placement_generate(bench.profile, CycleState(), group, bench.nodes)
    if isinstance(found, Status):
        raise_breach(found, bench.plugin.name)
        return ()
    return found


def _check_feasible(case: Case, group: AnyPodGroup, bench: Bench, another: Bench) -> None:
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


def _feasible(case: Case, plugin: Any, group: AnyPodGroup, one: PlacementProgress) -> Any:
    method = plugin.placement_feasible
    status = case.call("PlacementFeasible", None, method, CycleState(), group, one)
    if status is not None and not isinstance(status, Status):
        text = f"a Status or None, got {status!r}"
        raise case.fail("placement_feasible returns", text, point="PlacementFeasible")
    return verdict(status)


def _check_scored(
    case: Case,
    group: AnyPodGroup,
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


def _scored(bench: Bench, group: AnyPodGroup, assignments: Sequence[GroupAssignments]) -> list[int]:
    ranking = run_placement_score(bench.profile, CycleState(), group, assignments)
    if isinstance(ranking, Status):
        text = f"{ranking.message}\n{ranking.traceback}".rstrip()
        raise PluginError(text, plugin=bench.plugin.name)
    totals: list[int] = ranking.totals.tolist()
    return totals
