"""Scheduling everything that is pending, in queue order, until nothing moves any more.

The pods are in the queue of a live scheduler: a refused pod is tried again when an event occurs
that a plugin which refused it has registered for: another pod is placed or leaves, or a claim or a
volume changes.

Two rules differ, because time is virtual and a run has to end. The clock is advanced only if no pod
is ready: to the end of a wait at Permit, or to the end of a backoff. A pod whose attempt ended with
an error is waited for only if an event has occurred since that attempt began; without one, the
error would repeat. And a pod is given up after `MAX_ATTEMPTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from mooring.api import Pod, scheduling_group_key
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.decision import Decision, Outcome
from mooring.framework.status import Status
from mooring.informers.store import EventHandler, Store
from mooring.queue import event_types
from mooring.queue.order import queue_order
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.scheduler.event_handlers import ClusterEvents
from mooring.scheduler.inbox import Inbox
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_scheduler import MemoryScheduler

#: A pod is given up after this many attempts: two gangs could wait for each other forever.
MAX_ATTEMPTS = 10

#: Called after every attempt with the numbers of pods that have been tried, and that are queued.
Progress = Callable[[int, int], None]


class Outcomes(msgspec.Struct, frozen=True):
    """What became of the pending pods."""

    #: The last decision on each pod, by uid, in the order in which the pods were first tried; pods
    #: that PreEnqueue kept out come last.
    decisions: dict[str, Decision]
    #: Pods that a preemption removed.
    evicted: list[Pod]
    #: By "namespace/name" of a victim: the pod that preempted it, as "namespace/name", or the pod
    #: group, with the kind before it.
    preemptors: Mapping[str, str]


class EventCountingQueue(SchedulingQueue):
    """A scheduling queue that counts the cluster events."""

    #: How many events have occurred.
    events = 0

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Queue the unschedulable pods that an event may help, and count the event."""
        self.events += 1
        super().move_all(event, old, new, check)


class _RemovableHandlers:
    """The stores of a cluster as informers whose handlers can be removed."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster
        self._added: list[tuple[Store[Any], EventHandler[Any]]] = []

    def informer(self, kind: Any) -> _RemovableHandlersOfKind:
        """Return the informer of a kind."""
        return _RemovableHandlersOfKind(self._cluster.store(kind), self._added)

    def remove(self) -> None:
        """Stop calling the handlers."""
        for store, handler in self._added:
            store.remove_handler(handler)


class _RemovableHandlersOfKind(msgspec.Struct, frozen=True):
    """The store of one kind as an informer."""

    store: Store[Any]
    added: list[tuple[Store[Any], EventHandler[Any]]]

    def add_handler(self, handler: EventHandler[Any]) -> None:
        """Call a handler for every object there is, and for every change from now on."""
        self.added.append((self.store, handler))
        self.store.add_handler(handler)


class Backlog:
    """The pending pods of a cluster, scheduled one after the other."""

    def __init__(self, scheduler: MemoryScheduler, progress: Progress | None = None) -> None:
        self._scheduler = scheduler
        self._progress = progress
        first = next(iter(scheduler.profiles.values()))
        settings = scheduler.settings
        self._queue = EventCountingQueue(
            scheduler.profiles,
            queue_order(first.queue_sort()),
            scheduler.clock,
            features=scheduler.features,
            pod_groups=scheduler.pod_groups,
            initial_backoff=settings.pod_initial_backoff_seconds,
            max_backoff=settings.pod_max_backoff_seconds,
            # Nothing else happens while time passes, so no hint can have been wrong.
            max_in_unschedulable=math.inf,
        )
        #: What happened during an attempt, for the queue to handle after it.
        self._inbox = Inbox()
        self._events = ClusterEvents(
            cache=scheduler.cluster.cache,
            queue=self._queue,
            profiles=scheduler.profiles,
            on_the_way=scheduler.on_the_way,
            inbox=self._inbox,
            features=scheduler.features,
            clock=scheduler.clock,
            metrics=scheduler.metrics,
            pod_groups=scheduler.pod_groups,
        )
        self._decisions: dict[str, Decision] = {}
        self._gated: dict[str, Decision] = {}
        self._evicted: list[Pod] = []
        self._preemptors: dict[str, str] = {}
        #: By uid, the number of events at the start of an attempt that ended with an error.
        self._errors: dict[str, int] = {}
        #: The uids of pods that are not tried any more.
        self._given_up: set[str] = set()

    async def schedule_all(self) -> Outcomes:
        """Schedule every pending pod that names a profile."""
        scheduler = self._scheduler
        pods = scheduler.cluster.pods
        informers = _RemovableHandlers(scheduler.cluster)
        self._events.attach_registered(informers)
        # These are events about objects that were there before the pods.
        self._inbox.drain()
        handler = EventHandler(on_update=self._pod_updated, on_delete=self._pod_deleted)
        for pod in pods.list():
            if not pod.spec.node_name and self._is_ours(pod):
                if scheduler.pod_groups is not None:
                    scheduler.pod_groups.set_pending(pod)
                self._queue.add(pod)
        pods.add_handler(handler)
        try:
            with scheduler.taking_from(self._queue):
                await self._note_gated()
                while await self._turn() or await self._let_time_pass():
                    pass
        finally:
            pods.remove_handler(handler)
            informers.remove()
        # A gate may have opened meanwhile.
        still_gated = {
            uid: decision for uid, decision in self._gated.items() if uid not in self._decisions
        }
        return Outcomes(self._decisions | still_gated, self._evicted, self._preemptors)

    def _is_ours(self, pod: Pod) -> bool:
        # kube-scheduler: schedule_one.go (skipPodSchedule)
        return pod.spec.scheduler_name in self._scheduler.profiles and not pod.is_terminating

    async def _note_gated(self) -> None:
        """Record why PreEnqueue keeps pods out: the queue knows the plugin only."""
        gates: dict[str, Status] = {}
        others: list[Pod] = []
        waiting = self._queue.pods_without_group()
        for pod in (*self._queue.pods_in(Place.UNSCHEDULABLE), *waiting):
            attempt = await self._scheduler.decide(pod)
            decision = attempt.decision
            if decision.outcome is Outcome.GATED:
                self._gated[pod.metadata.uid] = decision
                if decision.pre_enqueue is not None:
                    gates[scheduling_group_key(pod)] = decision.pre_enqueue
            else:
                self._scheduler.discard(attempt)
                others.append(pod)
        for pod in others:
            status = gates.get(scheduling_group_key(pod))
            if status is None or pod.spec.scheduling_group is None:
                self._queue.activate([pod])
                continue
            # The pod waits for another one of its group.
            decision = Decision(pod, pod.spec.scheduler_name, Outcome.GATED, pre_enqueue=status)
            self._gated[pod.metadata.uid] = decision

    async def _turn(self) -> bool:
        """Try one pod; False if none is ready."""
        self._take_in()
        self._queue.flush()
        info = self._queue.pop()
        if info is None:
            return False
        if info.attempts > MAX_ATTEMPTS:
            for one in info.each():
                self._given_up.add(one.uid)
                self._queue.done(one.uid)
            if isinstance(info, QueuedPodGroupInfo):
                self._queue.group_attempted(info, GroupOutcome.ERROR)
            return True
        await self._try(info)
        if self._progress is not None:
            self._progress(len(self._decisions), self._queue.count_queued())
        return True

    async def _try(self, info: QueuedPodInfo) -> None:
        events = self._queue.events
        if isinstance(info, QueuedPodGroupInfo):
            decisions = await self._scheduler.schedule_group(info)
            group = f"{info.group.entity_type} {info.group.key}"
            self._preemptors.update(dict.fromkeys(info.victims, group))
        else:
            decisions = [await self._scheduler.schedule_one(info.pod, info)]
        for decision in decisions:
            uid = decision.pod.metadata.uid
            self._decisions[uid] = decision
            victims = () if decision.post_filter is None else decision.post_filter.victims
            self._preemptors.update((victim.key, decision.pod.key) for victim in victims)
            self._errors.pop(uid, None)
        if info.place is Place.BACKOFF and not info.rejectors:
            self._errors.update((one.uid, events) for one in info.each())
        self._take_in()

    async def _let_time_pass(self) -> bool:
        """Advance the clock to the next moment at which something ends; False if there is none."""
        moment = self._scheduler.on_the_way.next_deadline()
        if self._is_backoff_awaited():
            completion = self._queue.next_wakeup()
            assert completion is not None
            moment = completion if moment is None else min(moment, completion)
        if moment is None:
            return False
        await self._scheduler.advance_to(moment)
        return True

    def _is_backoff_awaited(self) -> bool:
        events, errors = self._queue.events, self._errors
        return any(
            errors.get(pod.metadata.uid, -1) < events for pod in self._queue.pods_in(Place.BACKOFF)
        )

    def _take_in(self) -> None:
        """Handle what happened during an attempt."""
        self._inbox.drain()
        activated, queue = self._scheduler.activated, self._queue
        for pod in activated:
            info = queue.get(pod.key)
            # A pod that an event has queued again keeps its place: victims leave at once here, and
            # their preemptor is not to overtake pods that have not been tried.
            if info is None or info.place is not Place.BACKOFF:
                queue.activate((pod,))
        activated.clear()

    # Changes of pods. kube-scheduler: eventhandlers.go

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        self._inbox.post(self._handle_update, old, new)

    def _handle_update(self, old: Pod, new: Pod) -> None:
        uid = new.metadata.uid
        groups = self._scheduler.pod_groups
        if new.spec.node_name:
            if not old.spec.node_name:
                if groups is not None:
                    groups.remove_pending(old)
                self._queue.move_all(event_types.ASSIGNED_POD_ADD, None, new)
                self._queue.delete(old)
        elif (
            self._is_ours(new)
            and uid not in self._given_up
            and not self._scheduler.cluster.cache.is_assumed(uid)
        ):
            if groups is not None:
                groups.set_pending(new)
            self._queue.update(old, new)

    def _pod_deleted(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._evicted.append(pod)
        self._inbox.post(self._handle_delete, pod)

    def _handle_delete(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._queue.move_all(event_types.ASSIGNED_POD_DELETE, pod, None)
        if self._scheduler.pod_groups is not None:
            self._scheduler.pod_groups.remove_pending(pod)
        self._queue.delete(pod)


async def schedule_all(scheduler: MemoryScheduler, progress: Progress | None = None) -> Outcomes:
    """Schedule every pending pod of a cluster in memory, with retries if they may help."""
    return await Backlog(scheduler, progress).schedule_all()
