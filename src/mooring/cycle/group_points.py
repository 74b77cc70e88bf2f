"""The points that run for a pod group, except PlacementGenerate and PlacementScore.

# kube-scheduler: framework/runtime/framework.go (RunPlacementFeasiblePlugins,
# RunPodGroupPostFilterPlugins)
"""

from __future__ import annotations

import inspect

from mooring.api import AnyPodGroup
from mooring.cycle.profile import Profile
from mooring.cycle.timing import POD_GROUP_POST_FILTER
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.placements import GroupTrial, NominatePods, PlacementProgress
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status

_STATUS = "a Status or None"
_ANSWERS = "a NominatePods or a Status"


def run_placement_feasible(
    profile: Profile, state: CycleState, group: AnyPodGroup, progress: PlacementProgress
) -> Status | None:
    """Ask whether enough of a group fits: None, Wait, a refusal or an error."""
    waiting: Status | None = None
    for step in profile.placement_feasible:
        try:
            status = step.call(state, group, progress)
        except BaseException as error:
            return fault(step.name, Point.PLACEMENT_FEASIBLE, error)
        if status is None:
            continue
        if not isinstance(status, Status):
            return wrong_type(
                step.name, Point.PLACEMENT_FEASIBLE, "placement_feasible", _STATUS, status
            )
        if status.is_wait:
            waiting = waiting or status.by(step.name)
        elif not status.is_success:
            return status.by(step.name)
    return waiting


async def run_pod_group_post_filter(
    profile: Profile, state: CycleState, group: AnyPodGroup, trial: GroupTrial
) -> NominatePods | Status:
    """Run the plugins in turn until one nominates, fails, or returns unresolvable."""
    recorder = profile.recorder
    start = recorder.now()
    result = await _run_pod_group_post_filter(profile, state, group, trial)
    status = result.status if isinstance(result, NominatePods) else result
    recorder.point(POD_GROUP_POST_FILTER, status, start)
    return result


async def _run_pod_group_post_filter(
    profile: Profile, state: CycleState, group: AnyPodGroup, trial: GroupTrial
) -> NominatePods | Status:
    reasons: list[str] = []
    rejector = ""
    for step in profile.pod_group_post_filter:
        try:
            answer = step.call(state, group, trial)
            if inspect.isawaitable(answer):
                answer = await answer
        except BaseException as error:
            answer = fault(step.name, Point.POD_GROUP_POST_FILTER, error)
        if isinstance(answer, NominatePods):
            return answer
        if not isinstance(answer, Status):
            answer = wrong_type(
                step.name,
                Point.POD_GROUP_POST_FILTER,
                "pod_group_post_filter",
                _ANSWERS,
                answer,
            )
        if answer.is_success:
            return NominatePods({}, answer)
        if answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return answer.by(step.name)
        if answer.code is not Code.UNSCHEDULABLE:
            text = f'error in "{step.name}" PodGroupPostFilter plugins: {answer.message}'
            return Status(Code.ERROR, (text,), plugin=step.name, traceback=answer.traceback)
        reasons += answer.reasons
        rejector = rejector or step.name
    return Status(Code.UNSCHEDULABLE, tuple(reasons), plugin=rejector)
