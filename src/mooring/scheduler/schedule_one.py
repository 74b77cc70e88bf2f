"""One attempt to schedule a pod, from its pop from the queue to its bind or its failure.

    queue ─▶ scheduling cycle ─▶ assume, Reserve, Permit ─▶ wait, PreBind, Bind ─▶ PostBind
                    │                     │                         │
                  fail ◀──────── Unreserve, forget ◀────────────────┘

Nothing here does I/O, reads a clock or creates tasks by itself: clients, clock and queue are passed
in. The caller decides when the parts of an attempt run: the live scheduler runs binding cycles in
tasks and handles their failures from its inbox, a scheduler in memory calls one part after another.

# kube-scheduler: schedule_one.go
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from mooring.api import Condition, Pod
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.binding.binding_cycle import AssumedPod, BindingCycles, log_traceback
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.binding.binding_points import (
    assumed_pod,
    run_permit,
    run_reserve,
    run_unreserve,
)
from mooring.binding.status_writer import PodStatusWriter, StatusChange
from mooring.cache.cache import Cache
from mooring.cycle.message import NO_NODES_AVAILABLE, event_note
from mooring.cycle.placement_search import Trial
from mooring.cycle.profile import Profile
from mooring.cycle.scheduling_cycle import Cycle
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.decision import Decision, Outcome
from mooring.framework.handle import EventWriter
from mooring.framework.listers import Lister
from mooring.framework.nodes import Rows
from mooring.framework.plugin_errors import error_text
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog
from mooring.observe.metrics import Metrics
from mooring.queue import event_types
from mooring.queue.nominator import PodNominator
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.taps import Taps

log = logging.getLogger(__name__)

POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

#: Values of the result label in metrics.
_SCHEDULED = "scheduled"
_UNSCHEDULABLE = "unschedulable"
_ERROR = "error"

#: The metric has one label for this many attempts and more. # schedule_one.go (getAttemptsLabel)
_MANY_ATTEMPTS = 15

_RECREATED = (
    "Pod was recreated while handling scheduling failure. Skip requeueing and status updates."
)


class AttemptQueue(Protocol):
    """The queue that a pod came from, as its attempt needs it; `SchedulingQueue` is one."""

    def done(self, uid: str) -> None:
        """Record that a popped pod is no longer in flight: it is about to be bound, or is gone."""
        ...

    def add_unschedulable(
        self,
        info: QueuedPodInfo,
        pod: Pod,
        unschedulable_plugins: Collection[str] = (),
        pending_plugins: Collection[str] = (),
    ) -> None:
        """Put a popped pod that could not be scheduled back, in its latest version."""
        ...

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Queue the unschedulable pods that pass `check` and that an event may help."""
        ...

    def group_attempted(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """End the attempt for a popped group: those of its pods that failed are put back as one."""
        ...


class SchedulingAttempt(msgspec.Struct):
    """One attempt in progress.

    It does not hold the decision, whose arrays are large, because it outlives the scheduling cycle
    and thousands of pods may be binding.
    """

    info: QueuedPodInfo
    profile: Profile
    state: CycleState
    #: When the attempt began, in seconds since the epoch.
    start: float
    #: The assumed pod; None until it is assumed.
    assumed: AssumedPod | None = None

    @property
    def waits_at_permit(self) -> bool:
        """Return whether the pod still waits at Permit."""
        wait = None if self.assumed is None else self.assumed.wait
        return wait is not None and wait.outcome is None


class SchedulingAttempts:
    """The steps of scheduling attempts, shared by all profiles. Owned by the scheduling loop."""

    def __init__(
        self,
        *,
        profiles: Mapping[str, Profile],
        cycle: Cycle,
        cache: Cache,
        nominator: PodNominator,
        queue: AttemptQueue,
        on_the_way: BindingPods,
        binding: BindingCycles,
        events_of: Callable[[str], EventWriter],
        status_writer: PodStatusWriter,
        pods: Lister[Pod],
        clock: Clock,
        metrics: Metrics,
        taps: Taps | None = None,
        resizes: bool = False,
    ) -> None:
        """Prepare attempts; with `resizes`, pods whose resize is deferred may be tried too."""
        self._resizes = resizes
        self.queue = queue
        self.taps = taps
        self._profiles = profiles
        self._cycle = cycle
        self._cache = cache
        self._nominator = nominator
        self._on_the_way = on_the_way
        self._binding = binding
        self._events_of = events_of
        self._status_writer = status_writer
        self._pods = pods
        self._clock = clock
        self._metrics = metrics

    # The scheduling cycle.

    async def schedule(self, info: QueuedPodInfo, *, timed: bool) -> SchedulingAttempt | None:
        """Try a pod up to Permit; return the attempt if its binding cycle is to follow.

        With `timed`, the calls of each plugin are timed.
        """
        pod = info.pod
        vlog(log, 4, "About to try and schedule pod", pod=pod)
        profile = self._profiles[pod.spec.scheduler_name]
        if self.skip(info):
            return None
        vlog(log, 3, "Attempting to schedule pod", pod=pod)
        state = CycleState()
        state.record_plugin_metrics = timed
        start = self._clock.now()
        if self._resizes and is_resize_deferred(pod):
            await self._try_resize(info, profile, state, start)
            return None
        decision = await self.decide(info, state, start)
        if decision.outcome is not Outcome.SCHEDULED:
            self.fail(info, Failure.of(decision), start)
            return None
        attempt = SchedulingAttempt(info, profile, state, start)
        if self.reserve(attempt, decision) is None and self.permit(attempt) is None:
            return attempt
        return None

    async def _try_resize(
        self, info: QueuedPodInfo, profile: Profile, state: CycleState, start: float
    ) -> None:
        """Find out whether a pod fits on its own node at its new size; if not, it may preempt.

        The pod is counted off its node meanwhile: the node counts the new size already.
        """
        # kube-scheduler's NodeResourcesFit compares with what the node counts for the pod.
        here = self._cache.pod(info.uid)
        if here is None:
            self.queue.done(info.uid)
            return
        self._cache.lift_pod(here)
        try:
            decision = await self.decide(info, state, start)
        finally:
            self._cache.lower_pod(here)
        failure = Failure.of(decision)
        if decision.outcome is Outcome.SCHEDULED:
            _, status = run_permit(profile, state, info.pod, decision.node_name)
            if status is None or not status.is_rejected:
                self.queue.done(info.uid)
                return
            failure = Failure.on_node(status)
            # Another pod that grows on the node may take the room.
            limits = (one.name for one in profile.plugins.values() if one.limits_resizes)
            failure.unschedulable = (*failure.unschedulable, *limits)
        self.fail(info, failure, start)

    def skip(self, info: QueuedPodInfo) -> bool:
        """Return whether a popped pod needs no attempt, which then has ended."""
        pod = info.pod
        if pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._events_of(pod.spec.scheduler_name).event(
                pod, "Warning", "FailedScheduling", "Scheduling", note
            )
            vlog(log, 3, "Skip schedule deleting pod", pod=pod)
        elif not self._cache.is_assumed(pod.metadata.uid):
            return False
        self.queue.done(info.uid)
        return True

    async def decide(
        self,
        info: QueuedPodInfo,
        state: CycleState,
        start: float,
        *,
        examine: bool = False,
        post_filter: bool = True,
        within: Rows | None = None,
    ) -> Decision:
        """Run the scheduling cycle of an attempt that began at `start` (see `Cycle.run`)."""
        pod, taps = info.pod, self.taps
        if taps is not None:
            taps.deciding(info, start, within, self._cycle.search.next_start_node_index)
        decision = await self._cycle.run(
            pod, state, examine=examine, post_filter=post_filter, within=within
        )
        if taps is not None:
            taps.decided(info, decision, start)
        self._metrics.scheduling_algorithm_duration.observe(self._clock.now() - start)
        for fault in decision.errors:
            log_traceback(fault, pod)
        return decision

    def search_placements(
        self,
        profile: Profile,
        pods: Sequence[Pod],
        trials: Sequence[Trial],
        new_state: Callable[[], CycleState],
        refusers: set[str],
    ) -> bool:
        """Find nodes for the pods of a group in several placements (see `Cycle`)."""
        return self._cycle.search_placements(profile, pods, trials, new_state, refusers)

    def reserve(self, attempt: SchedulingAttempt, decision: Decision) -> Failure | None:
        """Assume the pod on its node and run Reserve; return why the attempt failed, or None."""
        status = self.assume(attempt, decision)
        return None if status is None else self._placement_failed(attempt, status)

    def assume(self, attempt: SchedulingAttempt, decision: Decision) -> Status | None:
        """Assume the pod on its node and run Reserve; return why Reserve failed, or None.

        After a failure the caller must call `give_back`.
        """
        info, state, profile = attempt.info, attempt.state, attempt.profile
        pod, node_name = info.pod, decision.node_name
        pod, refusal = assumed_pod(profile, state, pod, node_name)
        pod = self._cache.assume_pod(pod, node_name)
        self._nominator.delete(info.uid)
        feasible = 0 if decision.feasible is None else len(decision.feasible)
        evaluated = decision.evaluated_nodes
        attempt.assumed = AssumedPod(pod, node_name, state, profile, None, evaluated, feasible)
        try:
            if refusal is None:
                refusal = run_reserve(profile, state, pod, node_name)
        except Exception as error:
            # The plugin returned something unusable; the pod loses its node as after a refusal.
            refusal = Status.error(error_text(error))
        if refusal is None and self.taps is not None:
            self.taps.reserved(attempt)
        return refusal

    def permit(self, attempt: SchedulingAttempt) -> Failure | None:
        """Run Permit, which may start a wait; return why the attempt failed, or None."""
        assumed, state = attempt.assumed, attempt.state
        assert assumed is not None
        pod = assumed.pod
        try:
            waits, status = run_permit(attempt.profile, state, pod, assumed.node_name)
            if status is not None and status.is_wait:
                assumed.wait = PermitWait(pod, waits, self._clock.now())
                self._on_the_way.add_waiting(assumed.wait)
                status = None
        except Exception as error:
            status = Status.error(error_text(error))
        if status is not None:
            return self._placement_failed(attempt, status)
        # The state that plugins keep for the scheduling cycle only is large.
        state.end_cycle()
        if self.taps is not None:
            self.taps.permitted(attempt)
        return None

    def _placement_failed(self, attempt: SchedulingAttempt, status: Status) -> Failure:
        attempt.state.end_cycle()
        failure = Failure.on_node(status)
        failure.faults, _ = self.give_back(attempt, status)
        self.fail(attempt.info, failure, attempt.start)
        return failure

    def give_back(
        self, attempt: SchedulingAttempt, status: Status
    ) -> tuple[Sequence[Status], bool]:
        """Unreserve and forget a pod that loses its node because of `status`.

        Return the faults, `status` among them unless it is a refusal, and whether the pod was still
        assumed.
        """
        assumed = attempt.assumed
        assert assumed is not None
        pod, uid = assumed.pod, assumed.pod.metadata.uid
        log_traceback(status, pod)
        faults = run_unreserve(assumed.profile, assumed.state, pod, assumed.node_name)
        for fault in faults:
            log_error(log, fault.message, "Unreserve failed", pod=pod)
            log_traceback(fault, pod)
        if not status.is_rejected:
            faults = (status, *faults)
        # If the pod failed before it waited, its wait is still registered.
        self._on_the_way.remove_waiting(uid)
        was_assumed = self._cache.is_assumed(uid)
        if was_assumed:
            self._cache.forget_pod(uid)
        if self.taps is not None:
            self.taps.gave_back(attempt, status)
        return faults, was_assumed

    # The binding cycle.

    async def bind(self, attempt: SchedulingAttempt) -> Status | None:
        """Run the binding cycle up to Bind; return why it failed, or None."""
        assumed, binding = attempt.assumed, self._binding
        assert assumed is not None
        status = await binding.prepare(assumed)
        return status if status is not None else await binding.finish(assumed)

    async def bound(self, attempt: SchedulingAttempt) -> Sequence[Status]:
        """Record that the pod has been bound, and run PostBind; return the faults."""
        assumed = attempt.assumed
        assert assumed is not None
        vlog(
            log,
            2,
            "Successfully bound pod to node",
            pod=assumed.pod,
            node=assumed.node_name,
            evaluatedNodes=assumed.evaluated_nodes,
            feasibleNodes=assumed.feasible_nodes,
        )
        now = self._clock.now()
        metrics, info = self._metrics, attempt.info
        metrics.observe_attempt(_SCHEDULED, attempt.profile.name, now - attempt.start)
        metrics.pod_scheduling_attempts.observe(info.attempts)
        if info.initial_attempt_timestamp is not None:
            many = info.attempts >= _MANY_ATTEMPTS
            label = f"{_MANY_ATTEMPTS}+" if many else str(info.attempts)
            waited = now - info.initial_attempt_timestamp
            metrics.pod_scheduling_sli_duration[label].observe(waited)
        if info.was_flushed:
            metrics.pod_scheduled_after_flush.inc()
        return await self._binding.tell(assumed)

    def binding_failed(self, attempt: SchedulingAttempt, status: Status) -> Failure:
        """Undo a placement whose binding cycle failed; queue pods that may use the freed room."""
        assumed = attempt.assumed
        assert assumed is not None
        pod = assumed.pod
        faults, given_back = self.give_back(attempt, status)
        if assumed.permitted:
            # From PreBind on, a refusal does not mean that the pod does not fit, so it is retried.
            failure = Failure(status.message, rejected=status.is_rejected)
        else:
            failure = Failure.on_node(status)
        failure.faults = faults
        uid, queue = pod.metadata.uid, self.queue
        if given_back and not status.is_rejected:
            queue.move_all(event_types.ASSIGNED_POD_DELETE, pod, None)
        self.fail(attempt.info, failure, attempt.start)
        if given_back and status.is_rejected:
            queue.move_all(
                event_types.ASSIGNED_POD_DELETE, pod, None, lambda other: other.metadata.uid != uid
            )
        return failure

    # Failure.

    def fail(self, info: QueuedPodInfo, failure: Failure, start: float) -> None:
        """Put a pod back into the queue and report why it could not be scheduled.

        `start` is when the attempt began.
        """
        if self.taps is not None:
            self.taps.failed(info, failure)
        pod, profile = info.pod, info.pod.spec.scheduler_name
        result = _UNSCHEDULABLE if failure.rejected else _ERROR
        self._metrics.observe_attempt(result, profile, self._clock.now() - start)
        _log_failure(pod, failure)
        current = self._requeue(info, failure)
        if current is None or self._is_on_node(current):
            # A pod that waits for its resize has its node, and is told nothing.
            return
        if failure.nominated == "":
            self._nominator.delete(info.uid)
        else:
            self._nominator.add(current, failure.nominated or "")
        text = failure.message
        self._events_of(profile).event(
            current, "Warning", "FailedScheduling", "Scheduling", event_note(text)
        )
        reason = UNSCHEDULABLE if failure.rejected else SCHEDULER_ERROR
        condition = Condition(type=POD_SCHEDULED, status="False", reason=reason, message=text)
        self._status_writer.write(current, StatusChange(condition, failure.nominated))

    def _is_on_node(self, pod: Pod) -> bool:
        """Return whether a pod waits for its resize on the node that it has."""
        return self._resizes and bool(pod.spec.node_name) and is_resize_deferred(pod)

    def _requeue(self, info: QueuedPodInfo, failure: Failure) -> Pod | None:
        """Put a pod back into the queue and return its latest version; None if it was recreated."""
        pod, meta = info.pod, info.pod.metadata
        current = self._pods.get(meta.name, meta.namespace)
        if current is not None and current.metadata.uid != meta.uid:
            vlog(log, 2, _RECREATED, pod=pod, oldUID=meta.uid, newUID=current.metadata.uid)
            self.queue.done(info.uid)
            return None
        if current is None:
            log.info("Pod doesn't exist in informer cache", extra={"kv": {"pod": pod}})
        elif current.spec.node_name and not self._is_on_node(current):
            log.info(
                "Pod has been assigned to node. Abort adding it back to queue.",
                extra={"kv": {"pod": pod, "node": current.spec.node_name}},
            )
        else:
            info.backs_off = failure.backs_off
            self.queue.add_unschedulable(
                info, current, tuple(failure.unschedulable), tuple(failure.pending)
            )
            return current
        self.queue.done(info.uid)
        return pod


def _log_failure(pod: Pod, failure: Failure) -> None:
    if failure.message == NO_NODES_AVAILABLE:
        text = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
        vlog(log, 2, text, pod=pod)
    elif failure.of_group:
        text = "Unable to schedule pod belonging to a pod group; waiting"
        vlog(log, 2, text, pod=pod, err=failure.message)
    elif failure.no_fit:
        vlog(log, 2, "Unable to schedule pod; no fit; waiting", pod=pod, err=failure.message)
    else:
        log_error(log, failure.message, "Error scheduling pod; retrying", pod=pod)
