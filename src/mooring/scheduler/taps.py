"""Taps: observers of the scheduling loop, such as the history of attempts and the journal.

A tap is told what the loop does, in order and by the loop itself, so it can read cache, queue and
decision as they are at that moment. It must be quick, must not wait, and must change nothing. If a
tap raises, that is logged once, the tap is told nothing more, and scheduling goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from mooring.api import Pod
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.framework.plugin_errors import raise_if_external
from mooring.framework.status import Status
from mooring.observe.attempt_random import state_of
from mooring.observe.logs import log_error
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure

if TYPE_CHECKING:
    from mooring.scheduler.schedule_one import SchedulingAttempt

log = logging.getLogger(__name__)


class SchedulingTap(Protocol):
    """An observer of the scheduling loop; see the module. `SilentTap` has methods that do nothing.

    The calls for one pod: `deciding`, `decided`, then `failed`, or `reserved`, `permitted` and
    `bound`. If Reserve, Permit or the binding cycle fails, `gave_back` and `failed` follow.

    The calls for a pod group: `group_begins`, the calls for its pods, `group_ends`. There a pod may
    be decided several times, because the group is tried in several placements, or because
    PodGroupPostFilter tries it without some other pods. `gave_back` then ends a trial, and `failed`
    or `permitted` tells what became of the pod; `QueuedPodGroupInfo.counted` says by then which of
    its cycles that comes from.
    """

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """Take note of an object change, right before the loop handles it.

        This concerns every kind that the scheduler or a plugin reads. `kind` is the Struct, or
        "plural.version.group". Without `old` the object is new, without `new` it was deleted.
        """
        ...

    def assigning(self, pod: Pod, node_name: str) -> None:
        """Take note that a pending pod has got a node, before the cache counts it there."""
        ...

    def nominated(self, uid: str, node_name: str) -> None:
        """Take note that a plugin has nominated a pod to a node; "" if it ended a nomination."""
        ...

    def forgot(self, uid: str) -> None:
        """Take note that a pod that was deleted while it is being bound has lost its node.

        `gave_back` follows when its binding cycle has ended. A pod that waits at Permit keeps its
        node until then.
        """
        ...

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Take note of an attempt for a pod group that begins now, with this random state."""
        ...

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Take note of how an attempt for a pod group ended, before the queue gets it back."""
        ...

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Take note of a scheduling cycle, right before it runs.

        `start` is when the attempt began, `within` the only rows in question, `seed` the state of
        the random source, and `sampling_start` where a search that does not need all nodes begins
        (`NodeSearch.next_start_node_index`).
        """
        ...

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Take note of a scheduling cycle, right after it, before anything is assumed."""
        ...

    def extender_answered(
        self, extender: str, verb: str, pod: Pod, answer: Any, error: str
    ) -> None:
        """Take note of an extender's answer in a scheduling cycle, or of why there is none.

        `verb` is "filter", "prioritize" or "preempt"; `answer` is plain data (`tapped_extender`).
        """
        ...

    def work_begins(self, work: str) -> None:
        """Take note that a run of a plugin's periodic work is about to begin.

        `work` is the name of the work (`periodic_work.WorkNames`).
        """
        ...

    def fetched(self, request: str, answer: Any, error: str, work: str = "") -> None:
        """Take note of the answer to a request of a plugin, or of why there is none.

        `answer` is an object of the API, a sequence of them, an HttpAnswer, or a PrivateAnswer
        (`tapped_clients`).
        `work` is the name of the periodic work that sent the request; "" if none did.
        """
        ...

    def reserved(self, attempt: SchedulingAttempt) -> None:
        """Take note that a pod is assumed on its node and has passed Reserve."""
        ...

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """Take note that a pod has passed Permit, or waits there (`attempt.waits_at_permit`)."""
        ...

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """Take note that a pod has lost its node, after Unreserve."""
        ...

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Take note that a pod was bound, between two cycles."""
        ...

    def post_bind_failed(self, attempt: SchedulingAttempt, faults: Sequence[Status]) -> None:
        """Take note of what PostBind plugins raised for a bound pod, between two cycles."""
        ...

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """Take note that an attempt failed, before the pod is put back into the queue."""
        ...


class SilentTap:
    """A tap that ignores everything: the superclass of taps that need only some of the calls."""

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """Do nothing."""

    def assigning(self, pod: Pod, node_name: str) -> None:
        """Do nothing."""

    def nominated(self, uid: str, node_name: str) -> None:
        """Do nothing."""

    def forgot(self, uid: str) -> None:
        """Do nothing."""

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Do nothing."""

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Do nothing."""

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """Do nothing."""

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Do nothing."""

    def extender_answered(
        self, extender: str, verb: str, pod: Pod, answer: Any, error: str
    ) -> None:
        """Do nothing."""

    def work_begins(self, work: str) -> None:
        """Do nothing."""

    def fetched(self, request: str, answer: Any, error: str, work: str = "") -> None:
        """Do nothing."""

    def reserved(self, attempt: SchedulingAttempt) -> None:
        """Do nothing."""

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """Do nothing."""

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """Do nothing."""

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Do nothing."""

    def post_bind_failed(self, attempt: SchedulingAttempt, faults: Sequence[Status]) -> None:
        """Do nothing."""

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """Do nothing."""


_CALLS = (
    "changed",
    "assigning",
    "nominated",
    "forgot",
    "group_begins",
    "group_ends",
    "deciding",
    "decided",
    "extender_answered",
    "work_begins",
    "fetched",
    "reserved",
    "permitted",
    "gave_back",
    "bound",
    "post_bind_failed",
    "failed",
)


class Taps:
    """Several taps told as one, in their order. Owned by the scheduling loop.

    Where there are no taps, there is no Taps: `make_taps` returns None, and nothing is called.
    """

    def __init__(self, taps: Sequence[SchedulingTap], random: Random) -> None:
        self._random = random
        #: By call, the methods of the taps that do something.
        self._methods: dict[str, list[Callable[..., None]]] = {
            call: [getattr(tap, call) for tap in taps if not _ignores(tap, call)] for call in _CALLS
        }

    @property
    def hears_changes(self) -> bool:
        """Return whether a tap wants to know of object changes."""
        return bool(self._methods["changed"])

    @property
    def hears_nominations(self) -> bool:
        """Return whether a tap wants to know which pods plugins nominate."""
        return bool(self._methods["nominated"])

    @property
    def hears_answers(self) -> bool:
        """Return whether a tap wants to know of the answers of extenders and other servers."""
        return bool(self._methods["extender_answered"] or self._methods["fetched"])

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """See SchedulingTap."""
        self._tell("changed", kind, old, new)

    def assigning(self, pod: Pod, node_name: str) -> None:
        """See SchedulingTap."""
        self._tell("assigning", pod, node_name)

    def nominated(self, uid: str, node_name: str) -> None:
        """See SchedulingTap."""
        self._tell("nominated", uid, node_name)

    def forgot(self, uid: str) -> None:
        """See SchedulingTap."""
        self._tell("forgot", uid)

    def group_begins(self, info: QueuedPodGroupInfo, start: float) -> None:
        """See SchedulingTap."""
        self._tell("group_begins", info, start, state_of(self._random))

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """See SchedulingTap."""
        self._tell("group_ends", info, outcome)

    def deciding(
        self, info: QueuedPodInfo, start: float, within: Rows | None, sampling_start: int
    ) -> None:
        """See SchedulingTap."""
        self._tell("deciding", info, start, within, state_of(self._random), sampling_start)

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """See SchedulingTap."""
        self._tell("decided", info, decision, start)

    def extender_answered(
        self, extender: str, verb: str, pod: Pod, answer: Any, error: str
    ) -> None:
        """See SchedulingTap."""
        self._tell("extender_answered", extender, verb, pod, answer, error)

    def work_begins(self, work: str) -> None:
        """See SchedulingTap."""
        self._tell("work_begins", work)

    def fetched(self, request: str, answer: Any, error: str, work: str = "") -> None:
        """See SchedulingTap."""
        self._tell("fetched", request, answer, error, work)

    def reserved(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        self._tell("reserved", attempt)

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        self._tell("permitted", attempt)

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """See SchedulingTap."""
        self._tell("gave_back", attempt, status)

    def bound(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        self._tell("bound", attempt)

    def post_bind_failed(self, attempt: SchedulingAttempt, faults: Sequence[Status]) -> None:
        """See SchedulingTap."""
        self._tell("post_bind_failed", attempt, faults)

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """See SchedulingTap."""
        self._tell("failed", info, failure)

    def _tell(self, call: str, *args: Any) -> None:
        for method in self._methods[call]:
            try:
                method(*args)
            except BaseException as error:
                raise_if_external(error)
                self._drop(method, error)

    def _drop(self, method: Callable[..., None], error: BaseException) -> None:
        tap = _owner(method)
        log_error(log, error, "An observer of the scheduler failed", observer=type(tap).__name__)
        # The list that is being read stays as it is.
        self._methods = {
            call: [other for other in methods if _owner(other) is not tap]
            for call, methods in self._methods.items()
        }


def make_taps(taps: Sequence[SchedulingTap], random: Random) -> Taps | None:
    """Return the taps as one; None if there are none."""
    return Taps(taps, random) if taps else None


def _ignores(tap: SchedulingTap, call: str) -> bool:
    return getattr(type(tap), call) is getattr(SilentTap, call)


def _owner(method: Callable[..., None]) -> Any:
    return getattr(method, "__self__", method)
