"""PreemptionToleration: preemption that leaves pods alone whose PriorityClass asks for it.

# scheduler-plugins: pkg/preemptiontoleration
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import msgspec

from mooring import CycleState, Handle, NodeInfo, PodInfo, Status
from mooring.api import Pod, PriorityClass, parse_time
from mooring.contrib.preempting import PreemptingPlugin
from mooring.errors import ObjectError
from mooring.framework.preemption import PreemptionPolicy, candidate_node_errors
from mooring.observe.logs import log_error
from mooring.typing import Int32

log = logging.getLogger(__name__)

#: The annotations of a PriorityClass.
MINIMUM_PRIORITY = "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority"
TOLERATION_SECONDS = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"

NO_PRIORITY_CLASS = 'priorityclass.scheduling.k8s.io "{name}" not found'
UNREADABLE = "Failed to read the preemption toleration of a PriorityClass: its pods tolerate none"

_NUMBER = re.compile(r"[+-]?[0-9]+")
_SECOND = 10**9
#: More digits than any number of 64 bits has.
_MOST_DIGITS = 20


class PodToleration(msgspec.Struct, frozen=True):
    """What the pods of a PriorityClass tolerate."""

    #: Pods of at least this priority preempt them at once.
    minimum_priority: int
    #: For how long after they were scheduled others cannot; forever if negative.
    seconds: int

    def exempts(self, victim: Pod, priority: int, now: float) -> bool:
        """Return whether a pod is exempt from preemption by a pod of some priority."""
        if priority >= self.minimum_priority:
            return False
        if self.seconds < 0:
            return True
        conditions = victim.status.conditions
        scheduled = next((one for one in conditions if one.type == "PodScheduled"), None)
        if scheduled is None or scheduled.status != "True":
            return True
        if scheduled.last_transition_time is None:
            return False
        # Go counts nanoseconds in 64 bits: beyond 292 years the sum wraps around.
        nanoseconds = (self.seconds * _SECOND + 2**63) % 2**64 - 2**63
        try:
            return parse_time(scheduled.last_transition_time) + nanoseconds / _SECOND > now
        except ObjectError:
            return False


class PreemptionToleration(PreemptingPlugin):
    """A plugin that preempts as DefaultPreemption does, except pods that tolerate the preemptor.

    Choose it instead of DefaultPreemption if pods lose much when they are stopped early: annotate
    their PriorityClass with `preemption-toleration.scheduling.x-k8s.io/toleration-seconds`, and
    they run undisturbed for that time, unless the preemptor's priority is at least that of
    `preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority`.
    """

    name = "PreemptionToleration"

    class Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
        """The limits of the search for nodes on which preemption helps."""

        #: The smallest share of nodes to shortlist as candidates, in percent.
        min_candidate_nodes_percentage: Int32 = 10
        #: The smallest number of nodes to shortlist as candidates.
        min_candidate_nodes_absolute: Int32 = 100

        def __post_init__(self) -> None:
            errors = candidate_node_errors(
                "", self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
            )
            if errors:
                raise ValueError("; ".join(f"{error.path}: {error.message}" for error in errors))

    args: Args

    def start(self) -> None:
        """Request the informers that a preemption needs."""
        self.handle.lister(PriorityClass)
        super().start()

    def _make_policy(self) -> PreemptionPolicy:
        return TolerationPolicy(self.handle, self.args)


class TolerationPolicy(PreemptionPolicy):
    """The rules of PreemptionToleration."""

    random_start = True

    def __init__(self, handle: Handle, args: PreemptionToleration.Args) -> None:
        super().__init__(handle)
        self.min_candidate_nodes_percentage = args.min_candidate_nodes_percentage
        self.min_candidate_nodes_absolute = args.min_candidate_nodes_absolute
        #: What was read from each PriorityClass, by name, and from which version of it.
        self._read: dict[str, tuple[PriorityClass, PodToleration | None]] = {}

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        """Yield the pods of lower priority that do not tolerate the preemptor."""
        now = self.handle.clock.wall_time()
        for other in super().potential_victims(state, pod, node):
            assert isinstance(other, PodInfo)
            name = other.pod.spec.priority_class_name
            known = self.handle.lister(PriorityClass).get(name) if name else None
            if name and known is None:
                yield Status.error(NO_PRIORITY_CLASS.format(name=name))
                return
            toleration = None if known is None else self._toleration(known)
            if toleration is None or not toleration.exempts(other.pod, pod.priority, now):
                yield other

    def _toleration(self, priority_class: PriorityClass) -> PodToleration | None:
        """Return what a PriorityClass says; a version that cannot be read is logged once."""
        name = priority_class.metadata.name
        version, toleration = self._read.get(name, (None, None))
        if version is not priority_class:
            toleration = read_toleration(priority_class)
            if toleration is None:
                log_error(log, None, UNREADABLE, priorityClass=priority_class)
            self._read[name] = (priority_class, toleration)
        return toleration


def read_toleration(priority_class: PriorityClass) -> PodToleration | None:
    """Return what the annotations of a PriorityClass say; None if they cannot be read."""
    annotations = priority_class.metadata.annotations
    minimum = _number(annotations.get(MINIMUM_PRIORITY, str(priority_class.value + 1)), 2**31)
    seconds = _number(annotations.get(TOLERATION_SECONDS, "0"), 2**63)
    if minimum is None or seconds is None:
        return None
    return PodToleration(minimum, seconds)


def _number(text: str, bound: int) -> int | None:
    """Return a decimal integer from -bound to bound - 1; None if the text is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0")
    number = int(digits or "0") if len(digits) < _MOST_DIGITS else bound + 1
    number = -number if text.startswith("-") else number
    return number if -bound <= number < bound else None
