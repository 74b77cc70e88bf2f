"""PreemptionToleration: preemption that leaves pods alone whose PriorityClass asks for it.

# scheduler-plugins: pkg/preemptiontoleration
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring import ClusterEvent, CycleState, Handle, NodeInfo, Nominate, Plugin, PodInfo, Status
from mooring.api import Pod, PodDisruptionBudget, PriorityClass, parse_time
from mooring.errors import ObjectError
from mooring.framework.decision import NodeStatuses
from mooring.framework.fields import Int32
from mooring.framework.preemption import PreemptionPolicy, candidate_node_errors
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

#: The annotations of a PriorityClass.
MINIMUM_PRIORITY = "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority"
TOLERATION_SECONDS = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"

NO_PRIORITY_CLASS = 'priorityclass.scheduling.k8s.io "{name}" not found'
UNREADABLE = "Failed to read the preemption toleration of a PriorityClass: its pods tolerate none"

_NUMBER = re.compile(r"[+-]?[0-9]+")
_SECOND = 10**9


class Toleration(msgspec.Struct, frozen=True):
    """What the pods of a PriorityClass tolerate."""

    #: Pods of at least this priority preempt them at once.
    minimum_priority: int
    #: For how long after they were scheduled others cannot; forever if negative.
    seconds: int


class PreemptionToleration(Plugin):
    """A plugin that preempts as DefaultPreemption does, except pods that tolerate the preemptor.

    Choose it instead of DefaultPreemption if pods lose much when they are stopped early: annotate
    their PriorityClass with `preemption-toleration.scheduling.x-k8s.io/toleration-seconds`, and
    they run undisturbed for that time, unless the preemptor's priority is at least that of
    `preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority`.
    """

    name = "PreemptionToleration"

    class Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
        """The limits of the search for nodes on which preemption helps."""

        min_candidate_nodes_percentage: Int32 = 10
        min_candidate_nodes_absolute: Int32 = 100

        def __post_init__(self) -> None:
            errors = candidate_node_errors(
                "", self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
            )
            if errors:
                raise ValueError("; ".join(f"{error.path}: {error.message}" for error in errors))

    args: Args

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._policy = TolerationPolicy(self.handle, self.args)

    def start(self) -> None:
        """Request the informers that a preemption needs."""
        self.handle.lister(PodDisruptionBudget)
        self.handle.lister(PriorityClass)
        self._preemptor = self.handle.preemptor(self.name, self._policy)

    async def post_filter(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear, remove its victims and nominate it."""
        return await self._preemptor.preempt(state, pod, statuses)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return no event: the plugins that refused the pod know what helps it."""
        return []


class TolerationPolicy(PreemptionPolicy):
    """The rules of PreemptionToleration."""

    random_start = True

    def __init__(self, handle: Handle, args: PreemptionToleration.Args) -> None:
        super().__init__(handle)
        self.min_candidate_nodes_percentage = args.min_candidate_nodes_percentage
        self.min_candidate_nodes_absolute = args.min_candidate_nodes_absolute

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        """Yield the pods of lower priority that do not tolerate the preemptor."""
        now = self.handle.clock.now()
        for other in super().potential_victims(state, pod, node):
            assert isinstance(other, PodInfo)
            name = other.pod.spec.priority_class_name
            known = self.handle.lister(PriorityClass).get(name) if name else None
            if name and known is None:
                yield Status.error(NO_PRIORITY_CLASS.format(name=name))
                return
            if known is None or not _tolerates(other.pod, known, pod.priority, now):
                yield other


def _tolerates(victim: Pod, priority_class: PriorityClass, priority: int, now: float) -> bool:
    """Return whether a pod is exempt from preemption by a pod of some priority."""
    toleration = read_toleration(priority_class)
    if toleration is None or priority >= toleration.minimum_priority:
        return False
    if toleration.seconds < 0:
        return True
    scheduled = next((one for one in victim.status.conditions if one.type == "PodScheduled"), None)
    if scheduled is None or scheduled.status != "True":
        return True
    since = scheduled.last_transition_time
    if since is None:
        return False
    # Go counts nanoseconds in 64 bits: beyond 292 years the sum wraps around.
    nanoseconds = (toleration.seconds * _SECOND + 2**63) % 2**64 - 2**63
    try:
        return parse_time(since) + nanoseconds / _SECOND > now
    except ObjectError:
        return False


def read_toleration(priority_class: PriorityClass) -> Toleration | None:
    """Return what the annotations of a PriorityClass say; None if they cannot be read."""
    annotations = priority_class.metadata.annotations
    minimum = _number(annotations.get(MINIMUM_PRIORITY, str(priority_class.value + 1)), 2**31)
    seconds = _number(annotations.get(TOLERATION_SECONDS, "0"), 2**63)
    if minimum is None or seconds is None:
        log_error(log, None, UNREADABLE, priorityClass=priority_class)
        return None
    return Toleration(minimum, seconds)


def _number(text: str, bound: int) -> int | None:
    """Return a decimal integer from -bound to bound - 1; None if the text is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    number = int(text) if len(text) <= 20 else bound
    return number if -bound <= number < bound else None
