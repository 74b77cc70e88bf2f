"""Scheduling everything that is pending, in queue order, until nothing moves any more.

A pod that was refused is tried again when something happened that one of the plugins that refused
it waits for: another pod was placed, or left. Retries come after the pods that have not been tried,
as from a backoff queue; pods that wait at Permit are waited for last, on the virtual clock.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.decision import Decision, Outcome
from mooring.framework.queued import QueuedPod
from mooring.informers.store import EventHandler
from mooring.offline.memory_scheduler import MemoryScheduler
from mooring.queue.order import queue_order
from mooring.queue.queueing_hints import Hints

#: A pod is given up after this many attempts: two gangs could wait for each other for ever.
MAX_ATTEMPTS = 10

_UNDECIDED = (Outcome.UNSCHEDULABLE, Outcome.ERROR)
_POD_ADDED = ClusterEvent(EventResource.POD, ActionType.ADD)
_POD_DELETED = ClusterEvent(EventResource.POD, ActionType.DELETE)

#: Told after every attempt how many pods have been tried, and how many are in the queue.
Progress = Callable[[int, int], None]


class Outcomes(msgspec.Struct, frozen=True):
    """What became of the pending pods: by uid, the last decision on each."""

    decisions: dict[str, Decision]
    #: Pods that a preemption removed.
    evicted: list[Pod]


class Backlog:
    """The pending pods of a cluster, scheduled one after the other."""

    def __init__(self, scheduler: MemoryScheduler, progress: Progress | None = None) -> None:
        self._scheduler = scheduler
        self._progress = progress
        self._hints = {name: Hints(profile.plugins) for name, profile in scheduler.profiles.items()}
        first = next(iter(scheduler.profiles.values()))
        self._order = queue_order(first.queue_sort())
        self._active: list[QueuedPod] = []
        self._backoff: list[QueuedPod] = []
        #: Refused pods by uid, as they were queued.
        self._refused: dict[str, QueuedPod] = {}
        self._decisions: dict[str, Decision] = {}
        self._evicted: list[Pod] = []
        self._happened: list[tuple[ClusterEvent, Pod | None, Pod | None]] = []
        #: Every queued pod gets a later moment than the one before, as in a running scheduler.
        self._moment = 0

    async def schedule_all(self) -> Outcomes:
        """Schedule every pending pod that names a profile."""
        pods = self._scheduler.cluster.pods
        for pod in pods.list():
            # kube-scheduler: schedule_one.go (skipPodSchedule)
            waits = not pod.spec.node_name and not pod.is_terminating
            if waits and pod.spec.scheduler_name in self._scheduler.profiles:
                self._active.append(self._queued(pod))
        self._active.sort(key=self._order)
        handler = EventHandler(on_update=self._pod_updated, on_delete=self._pod_deleted)
        pods.add_handler(handler)
        try:
            while True:
                await self._drain()
                if not self._backoff and not await self._let_time_pass():
                    return Outcomes(self._decisions, self._evicted)
                self._active, self._backoff = sorted(self._backoff, key=self._order), []
        finally:
            pods.remove_handler(handler)

    def _queued(self, pod: Pod, attempts: int = 0) -> QueuedPod:
        self._moment += 1
        return QueuedPod(pod, self._scheduler.clock.now() + self._moment * 1e-6, attempts=attempts)

    async def _drain(self) -> None:
        scheduler = self._scheduler
        while self._active:
            queued = self._active.pop(0)
            meta = queued.pod.metadata
            pod = scheduler.cluster.pods.get(meta.name, meta.namespace)
            if pod is None or pod.spec.node_name or pod.metadata.uid != meta.uid:
                continue
            decision = await scheduler.schedule_one(pod)
            self._decisions[meta.uid] = decision
            if decision.outcome in _UNDECIDED or scheduler.on_the_way.get(meta.uid) is not None:
                self._refused[meta.uid] = self._queued(pod, queued.attempts + 1)
            self._requeue()
            if self._progress is not None:
                waiting = len(self._active) + len(self._backoff)
                self._progress(len(self._decisions), waiting)

    async def _let_time_pass(self) -> bool:
        """End the next wait at Permit; False where none is left."""
        if not await self._scheduler.expire_waits():
            return False
        self._requeue()
        return True

    def _requeue(self) -> None:
        """Bring back the pods for which one of the latest events is worth another attempt."""
        released = self._scheduler.queue.released
        self._happened += [(_POD_DELETED, pod, None) for pod in released]
        released.clear()
        happened, self._happened = self._happened, []
        for event, old, new in happened:
            for uid, queued, decision in self._concerned(event):
                if decision.outcome is Outcome.SCHEDULED:
                    # Waiting at Permit: not refused, so far.
                    continue
                if old is not None and old.metadata.uid == uid and decision.unschedulable_plugins:
                    # Its own release helps others only.
                    continue
                hints = self._hints[queued.pod.spec.scheduler_name]
                if queued.attempts < MAX_ATTEMPTS and hints.worth_requeuing(
                    queued.pod, decision.unschedulable_plugins, event, old, new
                ):
                    del self._refused[uid]
                    self._backoff.append(queued)
        for pod in self._scheduler.activated:
            activated = self._refused.pop(pod.metadata.uid, None)
            if activated is not None and activated.attempts < MAX_ATTEMPTS:
                self._backoff.append(activated)
        self._scheduler.activated.clear()

    def _concerned(self, event: ClusterEvent) -> list[tuple[str, QueuedPod, Decision]]:
        """Return the refused pods of which some plugin waits for such an event at all.

        Thousands of pods are refused by a few sets of plugins: each set is asked once.
        """
        answers: dict[tuple[str, frozenset[str]], bool] = {}
        found = []
        for uid, queued in self._refused.items():
            decision = self._decisions[uid]
            refused_by = decision.unschedulable_plugins
            key = (decision.profile_name, refused_by)
            answer = answers.get(key)
            if answer is None:
                hints = self._hints[decision.profile_name]
                waiting = hints.waiting_for(event)
                answer = answers[key] = not refused_by or any(
                    name in waiting or not hints.knows(name) for name in refused_by
                )
            if answer:
                found.append((uid, queued, decision))
        return found

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if new.spec.node_name and not old.spec.node_name:
            self._refused.pop(new.metadata.uid, None)
            self._happened.append((_POD_ADDED, None, new))

    def _pod_deleted(self, pod: Pod) -> None:
        self._refused.pop(pod.metadata.uid, None)
        if pod.spec.node_name:
            self._evicted.append(pod)
            self._happened.append((_POD_DELETED, pod, None))


async def schedule_all(scheduler: MemoryScheduler, progress: Progress | None = None) -> Outcomes:
    """Schedule every pending pod of a cluster in memory, with retries where they make sense."""
    return await Backlog(scheduler, progress).schedule_all()
