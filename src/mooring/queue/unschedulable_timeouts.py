"""When unschedulable pods are tried again although nothing has changed."""

from __future__ import annotations

import math

from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.unschedulable import UnschedulablePods, waiting_since

#: Seconds after which an unschedulable pod is tried again although nothing changed.
# kube-scheduler: --pod-max-in-unschedulable-pods-duration
DEFAULT_MAX_IN_UNSCHEDULABLE = 300.0
#: Seconds between two searches for such pods.
FLUSH_INTERVAL = 30.0


class UnschedulableTimeouts:
    """The search, every `FLUSH_INTERVAL`, for pods that have been unschedulable for too long.

    A hint may have been wrong about them. Owned by the scheduling queue.
    """

    def __init__(self, pods: UnschedulablePods, maximum: float, now: float) -> None:
        self._pods = pods
        self._maximum = maximum
        self._next_look = now + FLUSH_INTERVAL

    def take_due(self, now: float) -> list[QueuedPodInfo]:
        """Return the pods to try again now, and take note of that; cheap between two searches."""
        if now < self._next_look:
            return []
        self._next_look = now + FLUSH_INTERVAL
        leftover = self._pods.older_than(now - self._maximum)
        for info in leftover:
            info.was_flushed = True
            info.flush_timestamp = now
            for member in info.each():
                member.was_flushed = True
        return leftover

    def next_wakeup(self) -> float | None:
        """Return when `take_due` will have something to do; None if no pod is unschedulable."""
        if not len(self._pods):
            return None
        due = self._pods.oldest + self._maximum
        return max(self._next_look, math.nextafter(due, math.inf))

    def latest(self, info: QueuedPodInfo) -> float:
        """Return when an unschedulable pod is tried again at the latest."""
        due = waiting_since(info) + self._maximum
        return self._next_look if due < self._next_look else due + FLUSH_INTERVAL
