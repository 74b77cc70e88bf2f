"""PostFilter: what can be done for a pod that fits nowhere.

# kube-scheduler: framework/runtime/framework.go (RunPostFilterPlugins)
"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.cycle.profile import Profile
from mooring.cycle.timing import POST_FILTER
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.decision import NodeStatuses, PostFilterResult
from mooring.framework.plugin import Nominate
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status

_ANSWERS = "a Nominate, a Status or None"


async def run_post_filter(
    profile: Profile, state: CycleState, pod: Pod, statuses: NodeStatuses
) -> PostFilterResult:
    """Run the PostFilter plugins in turn until one succeeds, fails, or returns unresolvable."""
    recorder = profile.recorder
    start = recorder.now()
    result = await _run_post_filter(profile.of(state), state, pod, statuses)
    recorder.point(POST_FILTER, result.status, start)
    return result


async def _run_post_filter(
    profile: Profile, state: CycleState, pod: Pod, statuses: NodeStatuses
) -> PostFilterResult:
    last = PostFilterResult(Status.unschedulable())
    reasons: list[str] = []
    rejector = ""
    for step in profile.post_filter:
        try:
            answer = step.call(state, pod, statuses)
            if inspect.isawaitable(answer):
                answer = await answer
        except BaseException as error:
            answer = fault(step.name, Point.POST_FILTER, error)
        result = _result(step.name, answer)
        code = result.status.code
        if code is Code.SUCCESS:
            return result
        if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return _signed(result, result.status.by(step.name))
        if not result.status.is_rejected:
            status = result.status
            return PostFilterResult(
                Status(Code.ERROR, status.reasons, plugin=step.name, traceback=status.traceback)
            )
        if result.nominated_node is not None or result.candidates:
            last = result
        reasons += result.status.reasons
        rejector = rejector or step.name
    return _signed(last, Status(Code.UNSCHEDULABLE, tuple(reasons), plugin=rejector))


def _signed(result: PostFilterResult, status: Status) -> PostFilterResult:
    return msgspec.structs.replace(result, status=status)


def _result(name: str, answer: Any) -> PostFilterResult:
    if answer is None:
        return PostFilterResult(Status.success())
    if isinstance(answer, Nominate):
        return PostFilterResult(
            answer.status or Status.success(),
            answer.node_name,
            answer.victims,
            answer.candidates,
        )
    if not isinstance(answer, Status):
        answer = wrong_type(name, Point.POST_FILTER, "post_filter", _ANSWERS, answer)
    return PostFilterResult(answer)
