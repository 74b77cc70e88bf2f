"""SimulationQueue: the scheduling queue of a scheduler whose owner may choose the pods."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.queue.event_types import ASSIGNED_POD_DELETE
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.scheduling_queue import SchedulingQueue

#: Why a pod has its place, in the metrics of a copy.
_COPIED = "Copied"


class SimulationQueue(SchedulingQueue):
    """A scheduling queue that begins when it is opened, counts events and gives pods up.

    Until it is opened, it keeps no pods: the owner chooses the next one. Nominations are kept up to
    date in any case.
    """

    is_open = False
    #: A pod is given up after this many attempts.
    max_attempts: float = math.inf
    #: Whether the end of a nomination is an event, and a preemptor that backs off is activated
    #: when its victims have left.
    like_live = True
    #: How many events have occurred.
    events = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        #: The uids of the pods that are not tried any more.
        self._given_up: set[str] = set()
        #: The changes to handle when `held` ends; None if it is not in progress.
        self._held: list[Callable[[], None]] | None = None
        #: The pods that plugins have activated while the queue was closed, each once.
        self.activated: list[Pod] = []
        #: The pod or pod group that was popped last; None if none was ready.
        self.popped: QueuedPodInfo | None = None

    def add(self, pod: Pod) -> None:
        """Add a new pod."""
        self._given_up.discard(pod.metadata.uid)
        if self._held is not None:
            self._held.append(partial(self.add, pod))
        elif self.is_open:
            super().add(pod)
        elif self._nominator is not None:
            self._nominator.add(pod)

    def update(self, old: Pod, new: Pod) -> None:
        """Replace a pod by its new version; see `SchedulingQueue`."""
        if self._held is not None:
            self._held.append(partial(self.update, old, new))
        elif self.is_open and new.metadata.uid not in self._given_up:
            super().update(old, new)
        elif self._nominator is not None:
            self._nominator.update(old, new)

    def delete(self, pod: Pod) -> None:
        """Remove a pod that was deleted or bound."""
        if self._held is not None:
            self._held.append(partial(self.delete, pod))
        else:
            super().delete(pod)

    def copy_from(self, other: SimulationQueue) -> None:
        """Give the pods in another queue the place and the history that they have there."""
        self.max_attempts, self.like_live = other.max_attempts, other.like_live
        self.events, self._given_up = other.events, set(other._given_up)
        latest = 0
        for place in Place:
            for info in other._places.among(place):
                if (mine := self._places.get(info.key)) is not None:
                    self._places.take_out(mine)
                clone = _copied(info)
                latest = max(latest, clone.sequence)
                self._places.put(clone, place, _COPIED)
        while next(self._sequence) < latest:
            pass
        for info in self._places.among(Place.ACTIVE):
            if info.uid in self._given_up:
                self._places.take_out(info)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take note of changes, and handle them at the end.

        What runs beside the loop finds its own writes in the cache immediately, but pods are queued
        again only after it, as if the watch events had arrived later.
        """
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for call in held:
                call()

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the pod or pod group to schedule now, or return None."""
        while (info := super().pop()) is not None and info.attempts > self.max_attempts:
            for member in info.each():
                self._given_up.add(member.uid)
                self.done(member.uid)
            if isinstance(info, QueuedPodGroupInfo):
                super().group_attempted(info, GroupOutcome.ERROR)
        self.popped = info
        return info

    def add_unschedulable(
        self,
        info: QueuedPodInfo,
        pod: Pod,
        unschedulable_plugins: Collection[str] = (),
        pending_plugins: Collection[str] = (),
    ) -> None:
        """Put a popped pod that could not be scheduled back, in its latest version."""
        if self.is_open:
            super().add_unschedulable(info, pod, unschedulable_plugins, pending_plugins)

    def group_attempted(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """End the attempt for a popped group: those of its pods that failed are put back as one."""
        if self.is_open:
            super().group_attempted(info, outcome)

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Queue the unschedulable pods that an event may help, and count the event."""
        if self._held is not None:
            self._held.append(partial(self.move_all, event, old, new, check))
            return
        is_nomination = event is ASSIGNED_POD_DELETE and not old.spec.node_name
        if is_nomination and not self.like_live:
            return
        self.events += 1
        super().move_all(event, old, new, check)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Make pods active that back off or are unschedulable."""
        if self._held is not None:
            self._held.append(partial(self.activate, pods))
        elif self.like_live and self.is_open:
            super().activate(pods)
        elif self.is_open:
            # Victims leave immediately, and their preemptor is not to overtake pods that have not
            # been tried: a pod that an event has queued again keeps its place.
            super().activate(pod for pod in pods if not self._backs_off(pod))
        else:
            known = {pod.metadata.uid for pod in self.activated}
            self.activated.extend(pod for pod in pods if pod.metadata.uid not in known)

    def _backs_off(self, pod: Pod) -> bool:
        info = self.get(pod.key)
        return info is not None and info.place is Place.BACKOFF


def _copied(info: QueuedPodInfo) -> QueuedPodInfo:
    """Return a pod or group with the same history, in no part of a queue."""
    clone = copy(info)
    clone.place, clone.ticket, clone.filed = None, None, None
    if isinstance(clone, QueuedPodGroupInfo):
        clone.members = {key: copy(member) for key, member in clone.members.items()}
        if (gating := clone.gating_member) is not None:
            clone.gating_member = clone.members.get(gating.key)
    return clone
