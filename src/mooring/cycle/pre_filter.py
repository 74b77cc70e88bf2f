"""PreFilter: what plugins compute once per pod, and the nodes they narrow the search to.

# kube-scheduler: framework/runtime/framework.go (RunPreFilterPlugins, RunPreFilterExtension*)
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from mooring.api import Pod
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.cycle.profile import Profile, Step
from mooring.cycle.timing import PRE_FILTER
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfo
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status

_EMPTY_OF_ONE = "node(s) didn't satisfy plugin {}"
_EMPTY_TOGETHER = "node(s) didn't satisfy plugin(s) [{}] simultaneously"
_OUTSIDE = "node(s) didn't satisfy plugin(s) [{}]"
_ANSWERS = "a set of node names, a Status or None"


class PreFilterResult(msgspec.Struct):
    """The result of PreFilter."""

    #: The refusal or fault; None if the cycle continues.
    status: Status | None = None
    #: Names that the search is narrowed to; None for all nodes.
    node_names: frozenset[str] | None = None
    #: Plugins that narrowed the search.
    narrowed_by: frozenset[str] = frozenset()

    @property
    def outside(self) -> Status:
        """The status of the nodes that are not in `node_names`."""
        return Status.unresolvable(_OUTSIDE.format(" ".join(sorted(self.narrowed_by))))


def run_pre_filter(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> PreFilterResult:
    """Run the PreFilter plugins and record in the state which of them return Skip."""
    recorder = profile.recorder
    start = recorder.now()
    result = _run_pre_filter(profile.of(state), state, pod, nodes)
    recorder.point(PRE_FILTER, result.status, start)
    return result


def _run_pre_filter(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> PreFilterResult:
    result = PreFilterResult()
    skipped = _skipped_for_resize(profile, pod)
    name = ""
    try:
        for step in profile.pre_filter:
            name = step.name
            if name in skipped:
                continue
            answer = step.call(state, pod, nodes)
            if answer is None:
                step.evaluations.value += 1
                continue
            if isinstance(answer, Status):
                code = answer.code
                if code is Code.SKIP:
                    skipped.append(name)
                    continue
                step.evaluations.value += 1
                if code is Code.UNSCHEDULABLE:
                    # The other plugins still run: preemption needs their state.
                    result.status = answer.by(name)
                elif code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    return PreFilterResult(answer.by(name))
                elif code is not Code.SUCCESS:
                    return PreFilterResult(_failed(name, answer))
                continue
            step.evaluations.value += 1
            if not isinstance(answer, Set):
                return PreFilterResult(
                    wrong_type(name, Point.PRE_FILTER, "pre_filter", _ANSWERS, answer)
                )
            result.narrowed_by |= {name}
            names = result.node_names
            result.node_names = frozenset(answer) if names is None else names & answer
            if not result.node_names:
                by = sorted(result.narrowed_by)
                text = _EMPTY_OF_ONE if len(by) == 1 else _EMPTY_TOGETHER
                result.status = Status.unresolvable(text.format(" ".join(by)))
                return result
    except BaseException as error:
        return PreFilterResult(_failed(name, fault(name, Point.PRE_FILTER, error)))
    finally:
        state.skip_filter_plugins = frozenset(skipped)
    return result


def _skipped_for_resize(profile: Profile, pod: Pod) -> list[str]:
    """Return the plugins that are left out because a pod waits on its node for its resize."""
    if not pod.spec.node_name or not is_resize_deferred(pod):
        return []
    if not profile.handle.features.enabled("InPlacePodVerticalScalingSchedulerPreemption"):
        return []
    # In kube-scheduler each of these plugins skips such a pod itself.
    return [name for name, plugin in profile.plugins.items() if plugin.skips_resizes]


def _failed(name: str, status: Status) -> Status:
    text = f'running PreFilter plugin "{name}": {status.message}'
    return Status(Code.ERROR, (text,), plugin=name, traceback=status.traceback)


def run_extension(
    steps: Sequence[Step],
    operation: str,
    state: CycleState,
    pod: Pod,
    other: PodInfo,
    node: NodeInfo,
) -> Status | None:
    """Call PreFilter extensions: a pod was added to a node ("AddPod") or removed ("RemovePod").

    Return None, or an error status if a plugin failed.
    """
    for step in steps:
        name = step.name
        if name in state.skip_filter_plugins:
            continue
        try:
            status = step.call(state, pod, other, node)
        except BaseException as error:
            status = fault(name, Point.PRE_FILTER, error, node.name)
        if status is None:
            continue
        if not isinstance(status, Status):
            status = wrong_type(
                name, Point.PRE_FILTER, operation, "a Status or None", status, node.name
            )
        if not status.is_success:
            text = f'running {operation} on PreFilter plugin "{name}": {status.message}'
            return Status(Code.ERROR, (text,), traceback=status.traceback)
    return None
