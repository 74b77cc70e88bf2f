"""The points after the scheduling cycle, Reserve to PostBind.

Each runs a profile's plugins with kube-scheduler's order, statuses and texts; None is success.

# kube-scheduler: framework/runtime/framework.go
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import Pod, PodStatus
from mooring.cycle import timing
from mooring.cycle.profile import Profile, Step
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.plugin import PreFlight
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status

#: Longest wait at Permit, in seconds.
MAX_PERMIT_TIMEOUT = 15 * 60

_WAITS = "one or more plugins asked to wait and no plugin rejected pod"
_STATUS = "a Status or None"


def _answer(step: Step, point: Point, answer: Any, node: str | None) -> Status | None:
    """Return a plugin's status, or an error status if it returned something else."""
    if answer is None or (isinstance(answer, Status) and answer.is_success):
        return None
    if isinstance(answer, Status):
        return answer
    method, *_ = point.value.methods
    return wrong_type(step.name, point, method.name, _STATUS, answer, node)


def _failed(text: str, step: Step, status: Status) -> Status:
    return Status(
        Code.ERROR,
        (f'{text} "{step.name}": {status.message}',),
        plugin=step.name,
        traceback=status.traceback,
    )


def run_reserve(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Run Reserve up to the first failure, after which the caller must run `run_unreserve`."""
    start = profile.recorder.now()
    status = _run_reserve(profile.of(state), state, pod, node_name)
    profile.recorder.point(timing.RESERVE, status, start)
    return status


def _run_reserve(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    for step in profile.reserve:
        try:
            answer = step.call(state, pod, node_name)
            status = _answer(step, Point.RESERVE, answer, node_name)
        except BaseException as error:
            status = fault(step.name, Point.RESERVE, error, node_name)
        if status is not None:
            if status.is_rejected:
                return status.by(step.name)
            return _failed("running Reserve plugin", step, status)
    return None


def assumed_pod(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> tuple[Pod, Status | None]:
    """Return the pod with the status that it has while it is assumed, and a plugin's fault."""
    for step in profile.assumed_status:
        try:
            status = step.call(state, pod, node_name)
        except BaseException as error:
            return pod, fault(step.name, Point.RESERVE, error, node_name)
        if not isinstance(status, PodStatus):
            return pod, wrong_type(
                step.name, Point.RESERVE, "assumed_status", "a PodStatus", status
            )
        if status is not pod.status:
            pod = replace(pod, status=status)
    return pod, None


def run_unreserve(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Sequence[Status]:
    """Run Unreserve of all plugins, in reverse order; return the faults."""
    start = profile.recorder.now()
    faults = []
    for step in profile.of(state).unreserve:
        try:
            step.call(state, pod, node_name)
        except BaseException as error:
            faults.append(fault(step.name, Point.RESERVE, error, node_name))
    profile.recorder.point(timing.UNRESERVE, None, start)
    return faults


def run_permit(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> tuple[dict[str, float], Status | None]:
    """Run Permit; return the timeout of each plugin that waits, and the status (Wait if any)."""
    start = profile.recorder.now()
    waits, status = _run_permit(profile.of(state), state, pod, node_name)
    profile.recorder.point(timing.PERMIT, status, start)
    return waits, status


def _run_permit(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> tuple[dict[str, float], Status | None]:
    waits: dict[str, float] = {}
    waiting: Status | None = None
    for step in profile.permit:
        try:
            answer = step.call(state, pod, node_name)
            status = _answer(step, Point.PERMIT, answer, node_name)
        except BaseException as error:
            status = fault(step.name, Point.PERMIT, error, node_name)
        if status is None:
            continue
        if status.is_rejected:
            return {}, status.by(step.name)
        if not status.is_wait:
            return {}, _failed("running Permit plugin", step, status)
        # In this order the result is the maximum if the timeout is NaN, which would never end.
        waits[step.name] = min(MAX_PERMIT_TIMEOUT, status.timeout)
        waiting = status
    if waiting is None:
        return {}, None
    return waits, msgspec.structs.replace(waiting, reasons=(*waiting.reasons, _WAITS))


class _PreFlights(msgspec.Struct, frozen=True):
    """The PreBind plugins that have no work, and those that may run concurrently."""

    skipped: frozenset[str] = frozenset()
    parallel: frozenset[str] = frozenset()


_NO_PRE_FLIGHTS = _PreFlights()


def run_pre_bind_pre_flights(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    """Ask the PreBind plugins whether they have work; return Skip if none has."""
    start = profile.recorder.now()
    status = _run_pre_bind_pre_flights(profile.of(state), state, pod, node_name)
    profile.recorder.point(timing.PRE_BIND_PRE_FLIGHT, status, start)
    return status


def _run_pre_bind_pre_flights(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    skipped, parallel = set(), set()
    result: Status | None = Status.skip()
    flights = {step.name: step for step in profile.pre_bind_pre_flight}
    for plugin in profile.pre_bind:
        step = flights.get(plugin.name)
        if step is None:
            # A plugin without the method is assumed to have work.
            result = None
            continue
        try:
            answer = step.call(state, pod, node_name)
        except BaseException as error:
            answer = fault(step.name, Point.PRE_BIND, error, node_name)
        if isinstance(answer, PreFlight):
            if answer.allow_parallel:
                parallel.add(step.name)
            result = None
            continue
        status = _answer(step, Point.PRE_BIND, answer, node_name)
        if status is None:
            result = None
        elif status.is_skip:
            skipped.add(step.name)
        elif status.is_error:
            return _failed("running PreBindPreFlight", step, status)
        else:
            return Status.error(
                f'PreBindPreFlight {step.name} returned "{status.code.label}", which is '
                "unsupported. It is supposed to return Success, Skip, or Error status"
            )
    state.write(_PreFlights, _PreFlights(frozenset(skipped), frozenset(parallel)))
    return result


async def run_pre_bind(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    """Run PreBind; plugins that allow it run concurrently."""
    start = profile.recorder.now()
    status = await _run_pre_bind(profile.of(state), state, pod, node_name)
    profile.recorder.point(timing.PRE_BIND, status, start)
    return status


async def _run_pre_bind(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    for group in _groups(profile.pre_bind, state.get(_PreFlights, _NO_PRE_FLIGHTS)):
        if len(group) == 1:
            status = await _pre_bind(group[0], state, pod, node_name)
        else:
            status = await _first_failure(group, state, pod, node_name)
        if status is not None:
            return status
    return None


def _groups(steps: Sequence[Step], flights: _PreFlights) -> list[list[Step]]:
    groups: list[list[Step]] = []
    together: list[Step] = []
    for step in steps:
        if step.name in flights.parallel:
            if step.name not in flights.skipped:
                together.append(step)
            continue
        if together:
            groups.append(together)
            together = []
        if step.name not in flights.skipped:
            groups.append([step])
    if together:
        groups.append(together)
    return groups


async def _pre_bind(step: Step, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    try:
        status = await _call(step, Point.PRE_BIND, state, pod, node_name)
    except asyncio.CancelledError as cancelled:
        # With a reason, only this PreBind was cancelled; without one, the process is stopping.
        if not cancelled.args or not cancelled.args[0]:
            raise
        status = Status.error(str(cancelled.args[0]))
    if status is None:
        return None
    if status.is_rejected:
        return status.by(step.name)
    return _failed("running PreBind plugin", step, status)


async def _call(
    step: Step, point: Point, state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    try:
        answer = step.call(state, pod, node_name)
        if inspect.isawaitable(answer):
            answer = await answer
    except BaseException as error:
        return fault(step.name, point, error, node_name)
    return _answer(step, point, answer, node_name)


async def _first_failure(
    group: Sequence[Step], state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    """Run a group of plugins concurrently; the first failure cancels the others.

    Without an event loop nothing can wait, so they run one after another.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        for step in group:
            failure = await _pre_bind(step, state, pod, node_name)
            if failure is not None:
                return failure
        return None
    tasks = [asyncio.ensure_future(_pre_bind(step, state, pod, node_name)) for step in group]
    try:
        for done in asyncio.as_completed(tasks):
            status = await done
            if status is not None:
                return status
    except asyncio.CancelledError as called_off:
        for task in tasks:
            task.cancel(*called_off.args)
        found = await asyncio.gather(*tasks, return_exceptions=True)
        for one in found:
            if isinstance(one, Status):
                return one
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return None


async def run_bind(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Run Bind of the plugins until one does not return Skip."""
    start = profile.recorder.now()
    status = await _run_bind(profile.of(state), state, pod, node_name)
    profile.recorder.point(timing.BIND, status, start)
    return status


async def _run_bind(profile: Profile, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    status: Status | None = Status.skip()
    for step in profile.bind:
        status = await _call(step, Point.BIND, state, pod, node_name)
        if status is None:
            return None
        if status.is_skip:
            continue
        if status.is_rejected:
            return status.by(step.name)
        return _failed("running Bind plugin", step, status)
    return status


async def run_post_bind(
    profile: Profile, state: CycleState, pod: Pod, node_name: str
) -> Sequence[Status]:
    """Run PostBind; return the faults."""
    start = profile.recorder.now()
    faults = []
    for step in profile.of(state).post_bind:
        status = await _call(step, Point.POST_BIND, state, pod, node_name)
        if status is not None:
            faults.append(status)
    profile.recorder.point(timing.POST_BIND, None, start)
    return faults
