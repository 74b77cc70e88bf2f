"""The points that choose where a pod group goes as a whole.

# kube-scheduler: framework/runtime/framework.go (RunPlacementGeneratePlugins,
# RunPlacementScorePlugins)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from mooring.api import AnyPodGroup
from mooring.cycle.profile import PlacementScoreStep, Profile
from mooring.cycle.timing import PLACEMENT_GENERATE, PLACEMENT_SCORE
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.nodes import Nodes
from mooring.framework.placements import GroupAssignments, Placement
from mooring.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Ints

NO_PLACEMENTS = "no feasible placements found"
_PLACEMENTS = "Placements with a mask over the nodes, or a Status"
_SCORES = "an int64 array with a score from 0 to 100 per placement"
_FAILED = 'running PlacementScore plugins: plugin "{}" failed with: {}'


def run_placement_generate(
    profile: Profile, state: CycleState, group: AnyPodGroup, nodes: Nodes
) -> Sequence[Placement] | Status:
    """Ask the first plugin for the placements to try; without a plugin, all nodes are one."""
    if not profile.placement_generate:
        return (Placement("", np.ones(len(nodes), dtype=np.bool_)),)
    recorder = profile.recorder
    start = recorder.now()
    step = profile.placement_generate[0]
    try:
        answer = step.call(state, group, nodes)
        found = answer if isinstance(answer, Status) else tuple(answer)
    except BaseException as error:
        found = fault(step.name, Point.PLACEMENT_GENERATE, error)
    if isinstance(found, tuple):
        for one in found:
            if not isinstance(one, Placement) or one.mask.shape != (len(nodes),):
                found = wrong_type(
                    step.name, Point.PLACEMENT_GENERATE, "generate_placements", _PLACEMENTS, one
                )
                break
        else:
            found = tuple(one for one in found if one.mask.any())
            if not found:
                found = Status.unschedulable(NO_PLACEMENTS)
    status = found if isinstance(found, Status) else None
    recorder.point(PLACEMENT_GENERATE, status, start)
    return found if status is None else status.by(step.name)


class PlacementRanking(msgspec.Struct, frozen=True):
    """The result of PlacementScore; arrays are in the order of the placements."""

    #: By plugin, the scores times the plugin's weight.
    scores: dict[str, Ints]
    totals: Ints


def run_placement_score(
    profile: Profile,
    state: CycleState,
    group: AnyPodGroup,
    assignments: Sequence[GroupAssignments],
) -> PlacementRanking | Status:
    """Return the weighted scores of each placement and their sum, or an error."""
    recorder = profile.recorder
    start = recorder.now()
    totals: Ints = np.zeros(len(assignments), dtype=np.int64)
    weighted: dict[str, Ints] = {}
    failure: Status | None = None
    for step in profile.placement_score:
        scores = _score(step, state, group, assignments)
        if isinstance(scores, Status):
            failure = Status.error(_FAILED.format(step.name, scores.message))
            break
        weighted[step.name] = scores * step.weight
        totals += weighted[step.name]
    recorder.point(PLACEMENT_SCORE, failure, start)
    return PlacementRanking(weighted, totals) if failure is None else failure


def _score(
    step: PlacementScoreStep,
    state: CycleState,
    group: AnyPodGroup,
    assignments: Sequence[GroupAssignments],
) -> Ints | Status:
    assert step.score is not None
    found: list[int] = []
    try:
        for one in assignments:
            score = step.score(state, group, one)
            if isinstance(score, Status):
                return score
            found.append(score)
        scores: Ints = np.array(found, dtype=np.int64)
        if step.normalize is not None:
            scores = step.normalize(state, group, scores)
    except BaseException as error:
        return fault(step.name, Point.PLACEMENT_SCORE, error)
    fits = isinstance(scores, np.ndarray) and scores.shape == (len(assignments),)
    if not fits or scores.min() < MIN_NODE_SCORE or scores.max() > MAX_NODE_SCORE:
        return wrong_type(step.name, Point.PLACEMENT_SCORE, "score_placement", _SCORES, scores)
    return scores
