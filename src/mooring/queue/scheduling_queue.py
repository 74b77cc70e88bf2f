"""SchedulingQueue: the pending pods, and which of them is scheduled next.

    add ──▶ active ──pop──▶ in flight ──▶ bound (done)
              ▲  ▲              │
              │  └── backoff ◀──┤ refused, but an event that may help came meanwhile; or an error
              │         ▲       │
              └── unschedulable ◀┘ refused
                 (gated pods too)

A refused pod waits for an event that a plugin which refused it has registered, and whose queueing
hint says that it may help. It is then tried again, after its backoff. Nothing here waits or does
I/O: the clock is passed in, `next_wakeup` returns when the loop must call `flush`, and `pop`
returns None if no pod is ready.

With the gate GenericWorkload, the pods of a pod group are queued as one (`pod_group_queue`).

kube-scheduler guards four structures with locks. Here one loop owns the queue, so no operation sees
a half-finished change.

# kube-scheduler: backend/queue/scheduling_queue.go
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any

from mooring.api import AnyPodGroup, Pod
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.features import FeatureGates
from mooring.framework.pod_groups import PodGroups
from mooring.framework.queued import QueuedPod
from mooring.observe import metrics as labels
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, verbose, vlog
from mooring.observe.metrics import Metrics
from mooring.queue import event_types
from mooring.queue.backoff_queue import DEFAULT_INITIAL_BACKOFF, DEFAULT_MAX_BACKOFF
from mooring.queue.in_flight import InFlight
from mooring.queue.nominator import PodNominator
from mooring.queue.pod_group_queue import GroupOutcome, PodGroupQueue
from mooring.queue.pre_enqueue import PreEnqueue, QueueProfile
from mooring.queue.queue_places import QueuePlaces
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.queueing_hints import Hints, QueueingStrategy
from mooring.queue.sub_queues import SubQueues
from mooring.queue.unschedulable_timeouts import (
    DEFAULT_MAX_IN_UNSCHEDULABLE,
    UnschedulableTimeouts,
)

log = logging.getLogger(__name__)

_MOVED = "Pod moved to an internal scheduling queue"
_NOT_INTERESTING = "receive an event that isn't interested by any enabled plugins"
_MOVED_BY_UPDATE = "Pod moved to an internal scheduling queue because the Pod is updated"


class SchedulingQueue:
    """Every pending pod that a profile schedules. Owned by the scheduling loop."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        order: Callable[[QueuedPod], Any],
        clock: Clock,
        *,
        features: FeatureGates | None = None,
        nominator: PodNominator | None = None,
        pod_groups: PodGroups | None = None,
        metrics: Metrics | None = None,
        initial_backoff: float = DEFAULT_INITIAL_BACKOFF,
        max_backoff: float = DEFAULT_MAX_BACKOFF,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
    ) -> None:
        """Make an empty queue; without `pod_groups`, pods of groups are queued one by one."""
        features = features or FeatureGates()
        self._now = now = clock.now
        self._nominator = nominator
        self._pop_from_backoff = features.enabled("SchedulerPopFromBackoffQ")
        self._resizes = features.enabled("InPlacePodVerticalScalingSchedulerPreemption")
        self._changes = event_types.Changes(features)
        release = features.release
        self._nominates_gated_pods = release.nominates_gated_pods
        self._pod_add = self._changes.pod_add.label
        #: An update of a pod that the queue does not know; an addition since 1.37.
        self._unknown_update = (
            self._pod_add if release.nominates_gated_pods else self._changes.pod_update.label
        )
        self._hints = {
            name: Hints(
                profile.plugins,
                metrics=metrics,
                now=now,
                node_add_includes_taints=release.node_add_includes_taints,
                pre_hints=features.enabled("SchedulerPreQueueingHints"),
            )
            for name, profile in profiles.items()
        }
        self._no_hints = Hints({})
        self._pre_enqueue = PreEnqueue(profiles, now, metrics)
        self._sequence = count()
        self._places = SubQueues(
            order,
            metrics,
            initial_backoff=initial_backoff,
            max_backoff=max_backoff,
            pop_early=self._pop_from_backoff,
        )
        self._in_flight = InFlight(metrics)
        self._groups: PodGroupQueue | None = None
        if pod_groups is not None:
            self._groups = PodGroupQueue(
                pod_groups,
                self._places,
                self._in_flight,
                self._pre_enqueue,
                now=now,
                sequence=self._sequence,
                requeue=self._requeue,
                strategy_after_flight=self._strategy_after_flight,
                metrics=metrics,
            )
        elif metrics is not None and release.pod_groups:
            # Shown as 0 while the gate of pod groups is off.
            for queue in (labels.INCOMPLETE, labels.PENDING):
                metrics.pending_pods[queue].set(0)
        self._timeouts = UnschedulableTimeouts(
            self._places.unschedulable, max_in_unschedulable, now()
        )
        #: Where each pod is, for display.
        self.where = QueuePlaces(
            self._places, self._in_flight, self._groups, self._hints, self._timeouts
        )
        #: The number of pods popped so far.
        self.scheduling_cycle = 0

    # ---- changes of pods

    def add(self, pod: Pod) -> None:
        """Add a new pod."""
        if (groups := self._groups_of(pod)) is not None:
            self._forget_member(groups, pod)
            if self._nominator is not None:
                self._nominator.add(pod)
            groups.add(QueuedPodInfo(pod, self._now(), next(self._sequence)))
            return
        self._forget(pod.key)
        info = QueuedPodInfo(pod, self._now(), next(self._sequence))
        self._enter(info, self._pod_add)

    def update(self, old: Pod, new: Pod) -> None:
        """Replace a pod by its new version.

        If the pod is in flight, the change is considered when it returns to the queue. If it is
        unschedulable, it is tried again if a plugin that refused it says that the change may help.
        """
        changes = self._changes.of_pod(old, new, is_target=True)
        if new.metadata.uid in self._in_flight:
            for event in changes:
                self._in_flight.note(event, old, new)
            return
        if (groups := self._groups_of(old)) is not None:
            self._update_member(groups, changes, old, new)
            return
        info = self._places.get(old.key)
        if info is None:
            info = QueuedPodInfo(new, self._now(), next(self._sequence))
            self._enter(info, self._unknown_update)
            return
        if info.place is Place.UNSCHEDULABLE:
            self._replace(info, old, new)
            self._requeue_updated(info, changes, old, new)
        else:
            # Its position in the order may have changed, so remove it and add it again.
            place = info.place
            assert place is not None
            self._places.take_out(info)
            self._replace(info, old, new)
            self._places.settle(info, place)

    def delete(self, pod: Pod) -> None:
        """Remove a pod that was deleted or bound. A pod in flight still needs a call of `done`."""
        if self._nominator is not None:
            self._nominator.delete(pod.metadata.uid)
        info = self._places.get(pod.key)
        if info is not None and info.uid == pod.metadata.uid:
            self._forget(pod.key)
        elif (groups := self._groups_of(pod)) is not None:
            self._forget_member(groups, pod)

    # ---- changes of pod groups

    def add_group(self, group: AnyPodGroup) -> None:
        """Queue the pods that have waited for a pod group to exist."""
        if self._groups is not None:
            self._groups.group_added(group)

    def update_group(self, group: AnyPodGroup) -> None:
        """Replace the object of a pod group."""
        if self._groups is not None:
            self._groups.group_updated(group)

    def delete_group(self, group: AnyPodGroup) -> None:
        """Take a pod group out of the queue; its pods wait until it exists again."""
        if self._groups is not None:
            self._groups.group_deleted(group)

    # ---- the scheduling loop

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the pod or pod group to schedule now, or return None.

        The pod is in flight until `done` or `add_unschedulable`. If no pod is active, a refused pod
        is taken before its backoff ends. An attempt for a group ends with `group_attempted`.
        """
        while True:
            info = self._places.pop_active()
            if info is None and self._pop_from_backoff:
                info = self._places.pop_early(event_types.POP_FROM_BACKOFF)
            if info is None:
                return None
            info.attempts += 1
            self._places.count_rejectors(info, -1)
            if not self._take_off(info):
                log_error(
                    log,
                    f"the same pod is tracked in multiple places in the scheduler: {info.key}",
                    "Discarding the popped pod",
                )
                continue
            self.scheduling_cycle += 1
            return info

    def _take_off(self, info: QueuedPodInfo) -> bool:
        """Record that a pod or group is in flight; False if it is already."""
        if isinstance(info, QueuedPodGroupInfo):
            return self._groups is not None and self._groups.popped(info)
        if info.uid in self._in_flight:
            return False
        self._in_flight.start(info.pod)
        return True

    def done(self, uid: str) -> None:
        """Record that a popped pod is no longer in flight: it is about to be bound, or is gone."""
        self._in_flight.done(uid)

    def add_unschedulable(
        self,
        info: QueuedPodInfo,
        pod: Pod,
        unschedulable_plugins: Collection[str] = (),
        pending_plugins: Collection[str] = (),
    ) -> None:
        """Put a popped pod that could not be scheduled back, in its latest version.

        Without plugins the attempt ended with an error: the pod backs off. With plugins it waits
        for an event that they registered, unless one arrived while it was in flight.
        """
        info.unschedulable_plugins = frozenset(unschedulable_plugins)
        info.pending_plugins = frozenset(pending_plugins)
        if (groups := self._groups_of(pod)) is not None:
            info.pod, info.uid = pod, pod.metadata.uid
            self._count_failure(info)
            self._places.count_rejectors(info, 1)
            groups.failed(info)
            return
        present = self._places.get(pod.key)
        if present is not None:
            assert present.place is not None
            log_error(
                log,
                f"Pod {pod.key} is already present in the {present.place.value.lower()} queue",
                "Error occurred",
            )
            self._in_flight.done(info.uid)
            return
        info.pod, info.uid = pod, pod.metadata.uid
        self._count_failure(info)
        self._places.backoff.start(info)
        self._places.count_rejectors(info, 1)
        strategy = self._strategy_after_flight(info)
        place = self._requeue(info, strategy, event_types.SCHEDULE_ATTEMPT_FAILURE)
        self._in_flight.done(info.uid)
        if verbose(log, 3):
            pairs = {"hint": int(strategy), "unschedulable plugins": info.rejectors}
            vlog(
                log,
                3,
                _MOVED,
                pod=pod,
                event=event_types.SCHEDULE_ATTEMPT_FAILURE,
                queue=place.value,
                schedulingCycle=self.scheduling_cycle,
                **pairs,
            )

    def group_attempted(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """End the attempt for a popped group: those of its pods that failed are put back as one."""
        assert self._groups is not None
        self._groups.attempted(info, outcome)

    def _count_failure(self, info: QueuedPodInfo) -> None:
        if info.rejectors:
            info.unschedulable_count += 1
            info.consecutive_errors = 0
        else:
            info.consecutive_errors += 1
        info.timestamp = self._now()
        info.sequence = next(self._sequence)
        info.was_flushed = False

    def flush(self) -> None:
        """Make pods active whose waiting time is over; cheap if there are none.

        Those are the pods whose backoff is over and, checked every `FLUSH_INTERVAL`, the pods that
        have been unschedulable for so long that a hint may have been wrong about them.
        """
        now = self._now()
        for info in self._places.pop_completed(now):
            self._move_to_active(info, event_types.BACKOFF_COMPLETE, from_backoff=True)
        if leftover := self._timeouts.take_due(now):
            self._move(leftover, event_types.UNSCHEDULABLE_TIMED_OUT, None, None)

    def next_wakeup(self) -> float | None:
        """Return when `flush` will have something to do, or None if no pod waits for a time."""
        moments = (self._places.backoff.next_completion(), self._timeouts.next_wakeup())
        return min((moment for moment in moments if moment is not None), default=None)

    # ---- events

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Queue the unschedulable pods that an event may help.

        Hints are called only for pods that pass `check` and whose refusing plugins wait for such an
        event. For pods in flight, they are called when the pod returns to the queue.
        """
        if not len(self._places.unschedulable) and not len(self._in_flight):
            # Nothing is waiting, the usual case while the initial list is processed.
            return
        if event.is_wildcard:
            found = list(self._places.unschedulable)
        else:
            interesting = False
            found = []
            for profile, hints in self._hints.items():
                waiting = hints.waiting_for(event)
                interesting = interesting or bool(waiting)
                if len(self._places.unschedulable):
                    every = self._places.unschedulable.refusers(profile)
                    refusers = [*waiting, *(one for one in every if not hints.knows(one))]
                    named = {
                        name: [info.key for one in pods if (info := self._queued(one)) is not None]
                        for name, pods in hints.concerned(event, old, new).items()
                    }
                    found += self._places.unschedulable.refused_by(profile, refusers, named)
            if not interesting and not found:
                # `_move` still keeps it for pods in flight: an extender may yet refuse one.
                vlog(log, 6, _NOT_INTERESTING, event=event.label)
        if check is not None:
            found = [info for info in found if any(check(one.pod) for one in info.each())]
        self._move(found, event, old, new)

    def _queued(self, pod: Pod) -> QueuedPodInfo | None:
        """Return the entry of the queue that a pod is in, alone or with its group."""
        groups = self._groups_of(pod)
        return self._places.get(pod.key) if groups is None else groups.find(pod)[1]

    def activate(self, pods: Iterable[Pod]) -> None:
        """Make pods active that back off or are unschedulable.

        A pod in flight is queued again when it returns; an unknown pod is ignored.
        """
        for pod in pods:
            info = self._queued(pod)
            if info is None or info.place is Place.ACTIVE:
                if pod.metadata.uid in self._in_flight:
                    self._in_flight.note(event_types.FORCE_ACTIVATED, None, pod)
                continue
            from_backoff = info.place is Place.BACKOFF
            if from_backoff:
                self._places.take_out(info)
            self._move_to_active(info, event_types.FORCE_ACTIVATE, from_backoff=from_backoff)

    # ---- for debugging and display

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return a pod by "namespace/name", or None if it is in none of the three parts.

        A pod of a pod group is in its group, which is the one that has a `place`.
        """
        info = self._places.get(key)
        if info is None and self._groups is not None:
            for group in self._places.groups():
                if (member := group.members.get(key)) is not None:
                    return member
        return info

    def pods_in(self, place: Place) -> list[Pod]:
        """Return the pods of one part of the queue, in no order."""
        return [one.pod for info in self._places.among(place) for one in info.each()]

    def pods_without_group(self) -> list[Pod]:
        """Return the pods that wait for their pod group to exist, or for its attempt to end."""
        return [] if self._groups is None else [one.pod for one in self._groups.waiting()]

    def count_queued(self) -> int:
        """Return the number of pods that are active or back off."""
        return len(self._places.active) + len(self._places.backoff)

    def in_flight(self) -> list[Pod]:
        """Return the pods that are being scheduled."""
        return list(self._in_flight)

    def summary(self) -> str:
        """Return the sizes of the queue's parts, as kube-scheduler's cache dump shows them."""
        places = self._places
        sizes = f"activeQ:{len(places.active)}; backoffQ:{len(places.backoff)}; "
        if self._groups is None:
            return f"{sizes}unschedulablePods:{len(places.unschedulable)}"
        waiting = f"unschedulableEntities:{len(places.unschedulable)}; "
        return sizes + waiting + self._groups.summary()

    def validate(self) -> None:
        """Check that every pod is in exactly one part, and that every kept event is needed."""
        self._places.validate()
        self._in_flight.validate()
        if self._groups is not None:
            self._groups.validate()

    # ---- pods of groups

    def _groups_of(self, pod: Pod) -> PodGroupQueue | None:
        """Return the queue of pod groups if a pod belongs there; one to be resized does not."""
        if pod.spec.scheduling_group is None or (self._resizes and is_resize_deferred(pod)):
            return None
        return self._groups

    def _forget_member(self, groups: PodGroupQueue, pod: Pod) -> None:
        member = groups.delete(pod)
        if member is not None:
            self._places.count_rejectors(member, -1)

    def _update_member(
        self, groups: PodGroupQueue, changes: list[ClusterEvent], old: Pod, new: Pod
    ) -> None:
        member, group = groups.find(old)
        if member is None:
            self.add(new)
            return
        self._replace(member, old, new)
        if group is None:
            return
        if group.pod is old:
            group.pod = new
        if group.place is Place.UNSCHEDULABLE:
            self._requeue_updated(group, changes, old, new)

    # ---- moving pods

    def _move(self, found: list[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any) -> None:
        label = event.label
        for info in found:
            if info.is_gated and self._pre_enqueue.holds(info):
                # It stays where it is whatever the hints would say, so skip them: with a thousand
                # preemptors, each comes here for every victim of all the others.
                info.was_flushed = False
                continue
            strategy = self._strategy(info, event, old, new)
            if strategy is QueueingStrategy.SKIP:
                if verbose(log, 5):
                    vlog(log, 5, "Event is not making pod schedulable", pod=info.pod, event=label)
                continue
            self._places.take_out(info)
            self._requeue(info, strategy, label)
        if self._in_flight.note(event, old, new) and verbose(log, 5):
            vlog(log, 5, "Event received while pods are in flight", event=label)

    def _strategy(
        self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any
    ) -> QueueingStrategy:
        hints = self._hints.get(info.profile, self._no_hints)
        refused, pending = info.unschedulable_plugins, info.pending_plugins
        if not isinstance(info, QueuedPodGroupInfo):
            return hints.strategy(info.pod, refused, pending, event, old, new)
        # If the event may help one member, the group is tried again.
        best = QueueingStrategy.SKIP
        for member in info.concerned(event, new):
            best = max(best, hints.strategy(member.pod, refused, pending, event, old, new))
            if best is QueueingStrategy.IMMEDIATELY or (best and not pending):
                break
        return best

    def _strategy_after_flight(self, info: QueuedPodInfo) -> QueueingStrategy:
        if not info.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        uid = info.pod.metadata.uid
        if uid not in self._in_flight:
            log_error(
                log,
                "in flight Pod isn't found in the scheduling queue. If you see this error log, "
                "it's likely a bug in the scheduler",
                "Error getting cluster events for pod",
                pod=info.pod,
            )
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for event, old, new in self._in_flight.since(uid):
            best = max(best, self._strategy(info, event, old, new))
            if best is QueueingStrategy.IMMEDIATELY or (best and not info.pending_plugins):
                break
        return best

    def _requeue_updated(
        self, info: QueuedPodInfo, changes: list[ClusterEvent], old: Pod, new: Pod
    ) -> None:
        for event in changes:
            strategy = self._strategy(info, event, old, new)
            if strategy is QueueingStrategy.SKIP:
                continue
            place = self._requeue(info, strategy, event.label)
            if place is not Place.UNSCHEDULABLE:
                vlog(log, 5, _MOVED_BY_UPDATE, pod=new, event=event.label, queue=place.value)
                return

    def _requeue(self, info: QueuedPodInfo, strategy: QueueingStrategy, label: str) -> Place:
        backs_off = self._places.backoff.is_waiting(info, self._now())
        if strategy is QueueingStrategy.SKIP:
            self._places.put(info, Place.UNSCHEDULABLE, label)
        elif strategy is QueueingStrategy.AFTER_BACKOFF and backs_off:
            self._move_to_backoff(info, label)
        else:
            self._move_to_active(info, label)
        assert info.place is not None
        return info.place

    def _enter(self, info: QueuedPodInfo, label: str) -> None:
        """Queue a pod that was not in the queue."""
        self._move_to_active(info, label)
        if self._nominator is not None and (self._nominates_gated_pods or not info.is_gated):
            self._nominator.add(info.pod)

    def _move_to_active(
        self, info: QueuedPodInfo, label: str, *, from_backoff: bool = False
    ) -> None:
        # With early popping, PreEnqueue ran when the pod began to back off.
        if not (from_backoff and self._pop_from_backoff):
            self._pre_enqueue.run(info)
        if info.is_gated:
            info.was_flushed = False
            self._places.put(info, Place.UNSCHEDULABLE, label)
            return
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._now()
        self._places.put(info, Place.ACTIVE, label)
        if info.is_group:
            for member in info.each():
                if member.initial_attempt_timestamp is None:
                    member.initial_attempt_timestamp = info.initial_attempt_timestamp

    def _move_to_backoff(self, info: QueuedPodInfo, label: str) -> None:
        if self._pop_from_backoff:
            self._pre_enqueue.run(info)
            if info.is_gated:
                info.was_flushed = False
                self._places.put(info, Place.UNSCHEDULABLE, label)
                return
        self._places.put(info, Place.BACKOFF, label)

    def _replace(self, info: QueuedPodInfo, old: Pod, new: Pod) -> None:
        info.pod, info.uid = new, new.metadata.uid
        if self._nominator is not None:
            self._nominator.update(old, new)

    def _forget(self, key: str) -> None:
        info = self._places.get(key)
        if info is not None:
            self._places.take_out(info)
            self._places.count_rejectors(info, -1)
