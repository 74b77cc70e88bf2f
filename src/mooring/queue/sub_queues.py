"""SubQueues: the three parts of the queue. Every pod is in exactly one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from itertools import count
from typing import Any

from mooring.framework.queued import QueuedPod
from mooring.observe import metrics as labels
from mooring.observe.logs import verbose, vlog
from mooring.observe.metrics import Metrics
from mooring.queue.backoff_queue import BackoffQueue
from mooring.queue.pod_heap import PodHeap
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.unschedulable import UnschedulablePods

log = logging.getLogger(__name__)

_MOVED = "Pod moved to an internal scheduling queue"
_GATED = "Pod moved to an internal scheduling queue, because the pod is gated"

#: The queue's name in metrics, by place.
_QUEUE = {
    Place.ACTIVE: labels.ACTIVE,
    Place.BACKOFF: labels.BACKOFF,
    Place.UNSCHEDULABLE: labels.UNSCHEDULABLE,
}


class SubQueues:
    """The active pods, the pods that back off and the unschedulable pods, with their metrics.

    Owned by the scheduling queue, which decides which pod goes where.
    """

    def __init__(
        self,
        order: Callable[[QueuedPod], Any],
        metrics: Metrics | None,
        *,
        initial_backoff: float,
        max_backoff: float,
        pop_early: bool,
    ) -> None:
        def sort_key(info: QueuedPodInfo) -> Any:
            return order(info.as_queued_pod())

        tickets = count()
        self._pods: dict[str, QueuedPodInfo] = {}
        #: The pod groups among them.
        self._groups: dict[str, QueuedPodGroupInfo] = {}
        self.active = PodHeap(sort_key, tickets)
        self.backoff = BackoffQueue(
            sort_key, tickets, initial=initial_backoff, maximum=max_backoff, pop_early=pop_early
        )
        self.unschedulable = UnschedulablePods()
        self._metrics = metrics
        self._shows_groups = False
        if metrics is not None:
            self._show_sizes(metrics)

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return a pod by "namespace/name", or None."""
        return self._pods.get(key)

    def groups(self) -> Collection[QueuedPodGroupInfo]:
        """Return the pod groups of all parts."""
        return self._groups.values()

    def among(self, place: Place) -> list[QueuedPodInfo]:
        """Return the pods of one part, in no order."""
        return [info for info in self._pods.values() if info.place is place]

    def put(self, info: QueuedPodInfo, place: Place, event: str) -> None:
        """Move a pod to a part; `event` is the reason, for metrics and the log.

        A pod that stays unschedulable is only indexed again, and not counted as an arrival.
        """
        if info.place is place is Place.UNSCHEDULABLE:
            self.unschedulable.add(info)
            return
        self.settle(info, place)
        if self._metrics is not None:
            self._count_arrival(self._metrics, _QUEUE[place], event, info)
        if verbose(log, 5) and (place is not Place.UNSCHEDULABLE or info.is_gated):
            message = _GATED if info.is_gated else _MOVED
            vlog(log, 5, message, pod=info.pod, event=event, queue=place.value)

    def settle(self, info: QueuedPodInfo, place: Place) -> None:
        """Move a pod to a part without counting it as an arrival."""
        if info.place is not None:
            self.take_out(info)
        info.place = place
        self._pods[info.key] = info
        if isinstance(info, QueuedPodGroupInfo):
            self._groups[info.key] = info
            if self._metrics is not None and not self._shows_groups:
                self._show_groups(self._metrics)
        if place is Place.ACTIVE:
            self.active.push(info)
        elif place is Place.BACKOFF:
            self.backoff.push(info)
        else:
            self.unschedulable.add(info)

    def take_out(self, info: QueuedPodInfo) -> None:
        """Remove a pod from the part it is in."""
        place, info.place = info.place, None
        self._drop(info)
        if place is Place.ACTIVE:
            self.active.remove(info)
        elif place is Place.BACKOFF:
            self.backoff.remove(info)
        else:
            self.unschedulable.remove(info)

    def pop_active(self) -> QueuedPodInfo | None:
        """Remove and return the first active pod, or return None."""
        return self._popped(self.active.pop())

    def pop_early(self, event: str) -> QueuedPodInfo | None:
        """Remove and return the refused pod whose backoff ends first, or return None."""
        info = self._popped(self.backoff.pop_early())
        if info is not None and self._metrics is not None:
            self._count_arrival(self._metrics, labels.ACTIVE, event, info)
        return info

    def pop_completed(self, now: float) -> list[QueuedPodInfo]:
        """Remove and return the pods whose backoff is over."""
        completed = list(self.backoff.pop_completed(now))
        for info in completed:
            self._popped(info)
        return completed

    def count_rejectors(self, info: QueuedPodInfo, change: int) -> None:
        """Add `change` to the number of unschedulable pods of every plugin that refused a pod."""
        if self._metrics is not None:
            for one in info.each():
                for plugin in one.rejectors:
                    self._metrics.unschedulable_pods[plugin, one.profile].inc(change)

    def validate(self) -> None:
        """Check that every pod is in exactly one part, and that each part is valid."""
        self.active.validate()
        self.backoff.validate()
        self.unschedulable.validate()
        found = [
            *((Place.ACTIVE, info) for info in self.active),
            *((Place.BACKOFF, info) for info in self.backoff),
            *((Place.UNSCHEDULABLE, info) for info in self.unschedulable),
        ]
        for place, info in found:
            assert info.place is place, f"{info} is found in {place.value}"
            assert self._pods.get(info.key) is info, f"{info} is unknown"
            assert not info.is_gated or place is Place.UNSCHEDULABLE, f"{info} is gated"
        assert len(self._pods) == len(found), "a pod is lost"
        groups = [info for info in self._pods.values() if info.is_group]
        assert sorted(self._groups) == sorted(info.key for info in groups), "a group is lost"

    def _popped(self, info: QueuedPodInfo | None) -> QueuedPodInfo | None:
        if info is not None:
            info.place = None
            self._drop(info)
        return info

    def _drop(self, info: QueuedPodInfo) -> None:
        del self._pods[info.key]
        if info.is_group:
            del self._groups[info.key]

    @staticmethod
    def _count_arrival(metrics: Metrics, queue: str, event: str, info: QueuedPodInfo) -> None:
        kind = labels.POD_GROUP if info.is_group else labels.POD
        metrics.queue_incoming_pods[queue, event].inc(info.size)
        metrics.queue_incoming_entities[queue, event, kind].inc()

    def _show_sizes(self, metrics: Metrics) -> None:
        unschedulable = self.unschedulable
        entries: dict[str, Callable[[], int]] = {
            labels.ACTIVE: lambda: len(self.active),
            labels.BACKOFF: lambda: len(self.backoff),
            labels.GATED: lambda: unschedulable.gated,
            labels.UNSCHEDULABLE: lambda: len(unschedulable) - unschedulable.gated,
        }
        for queue, size in entries.items():
            self._show_size(metrics, queue, size)

    def _show_size(self, metrics: Metrics, queue: str, entries: Callable[[], int]) -> None:
        def pods() -> int:
            """Return how many pods there are, with the members of groups."""
            return entries() + sum(group.size - 1 for group in self._groups_in(queue))

        metrics.pending_pods[queue].set_function(pods)
        metrics.queued_entities[queue, labels.POD].set_function(
            lambda: entries() - len(self._groups_in(queue))
        )

    def _show_groups(self, metrics: Metrics) -> None:
        """Show the numbers of groups, from when there is the first one."""
        for queue in (labels.ACTIVE, labels.BACKOFF, labels.GATED, labels.UNSCHEDULABLE):
            size = metrics.queued_entities[queue, labels.POD_GROUP]
            size.set_function(partial(self._count_groups, queue))
        self._shows_groups = True

    def _count_groups(self, queue: str) -> int:
        return len(self._groups_in(queue))

    def _groups_in(self, queue: str) -> list[QueuedPodGroupInfo]:
        return [group for group in self._groups.values() if _queue_of(group) == queue]


def _queue_of(info: QueuedPodInfo) -> str:
    """Return the name in metrics of the part that a pod or group is in."""
    assert info.place is not None
    return labels.GATED if info.is_gated else _QUEUE[info.place]
