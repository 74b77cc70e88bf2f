"""BackoffQueue: pods that failed and must wait a little before they are tried again.

The wait doubles with every failure. Pods that a plugin refused and pods that failed with an error
are in two heaps: an idle scheduler takes refused pods before their backoff ends, because that
delays no other pod. The backoff after an error always runs to its end, because it protects the API
server; so does that of a pod group, whose attempt is as long as those of all its pods, and that of
a refused pod whose attempt took too long (`Status.after_backoff`). A group may
wait longer than a pod: the longest backoff is multiplied by the root of its size.

With early popping, the ends of backoffs are rounded down to whole seconds, so that pods whose
backoff ends in the same second are ordered as in the active queue.

# kube-scheduler: backend/queue/backoff_queue.go
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from mooring.queue.pod_heap import PodHeap, by_priority
from mooring.queue.queued_pod_info import QueuedPodInfo

#: Seconds. # kube-scheduler: apis/config/v1/defaults.go
DEFAULT_INITIAL_BACKOFF = 1.0
DEFAULT_MAX_BACKOFF = 10.0

#: Seconds. Pods whose backoff ends within the same window are ordered as in the active queue.
ORDERING_WINDOW = 1.0


class BackoffQueue:
    """The pods whose backoff is not over. Owned by the scheduling queue."""

    def __init__(
        self,
        order: Callable[[QueuedPodInfo], Any],
        tickets: count[int],
        *,
        initial: float = DEFAULT_INITIAL_BACKOFF,
        maximum: float = DEFAULT_MAX_BACKOFF,
        pop_early: bool = True,
    ) -> None:
        self._initial = initial
        self._maximum = maximum
        self._aligned = pop_early

        def expiration(info: QueuedPodInfo) -> float:
            return info.backoff_expiration

        def expiration_then_order(info: QueuedPodInfo) -> tuple[float, Any]:
            return info.backoff_expiration, order(info)

        def expiration_then_priority(info: QueuedPodInfo) -> tuple[float, Any]:
            return info.backoff_expiration, by_priority(info)

        self._refused = PodHeap(
            expiration_then_order if pop_early else expiration, tickets, expiration_then_priority
        )
        self._faulty = PodHeap(expiration, tickets)

    def __len__(self) -> int:
        return len(self._refused) + len(self._faulty)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        yield from self._refused
        yield from self._faulty

    def start(self, info: QueuedPodInfo) -> None:
        """Compute when the backoff of a pod that has just failed ends."""
        failures = info.consecutive_errors or info.unschedulable_count
        if self._maximum and failures:
            duration = self.duration(failures, info.size)
            info.backoff_expiration = self._align(info.timestamp + duration)

    def duration(self, failures: int, size: int = 1) -> float:
        """Return the backoff in seconds after this many failures of so many pods."""
        maximum = self._maximum * math.sqrt(size)
        try:
            return min(math.ldexp(self._initial, failures - 1), maximum)
        except OverflowError:
            return maximum

    def is_waiting(self, info: QueuedPodInfo, now: float) -> bool:
        """Return whether a pod must still wait.

        With early popping it waits until the end of the second in which its backoff expires.
        """
        return info.backoff_expiration >= self._align(now)

    def push(self, info: QueuedPodInfo) -> None:
        """Add a pod."""
        self._heap_of(info).push(info)

    def remove(self, info: QueuedPodInfo) -> None:
        """Remove a pod that is in this queue."""
        self._heap_of(info).remove(info)

    def end_of(self, info: QueuedPodInfo) -> float:
        """Return when the backoff of a pod is over."""
        return info.backoff_expiration + (ORDERING_WINDOW if self._aligned else 0.0)

    def pop_early(self) -> QueuedPodInfo | None:
        """Remove and return the refused pod whose backoff ends first, or return None."""
        return self._refused.pop()

    def pop_completed(self, now: float) -> Iterator[QueuedPodInfo]:
        """Remove and yield the pods whose backoff is over, the refused ones first."""
        for heap in (self._refused, self._faulty):
            while (info := heap.peek()) is not None and not self.is_waiting(info, now):
                heap.pop()
                yield info

    def next_completion(self) -> float | None:
        """Return when the next backoff is over, or None if the queue is empty."""
        heads = [
            info.backoff_expiration
            for heap in (self._refused, self._faulty)
            if (info := heap.peek()) is not None
        ]
        if not heads:
            return None
        expiration = min(heads)
        return (
            expiration + ORDERING_WINDOW if self._aligned else math.nextafter(expiration, math.inf)
        )

    def validate(self) -> None:
        """Check both heaps, and that every pod is in the right one."""
        self._refused.validate()
        self._faulty.validate()
        for info in self._refused:
            assert info.rejectors, f"{info} was refused by nobody"
            waits = info.is_group or info.backs_off
            assert not waits, f"{info} could be popped early"
        for info in self._faulty:
            refused = info.rejectors and not (info.is_group or info.backs_off)
            assert not refused, f"{info} was refused by {info.rejectors}"

    def _heap_of(self, info: QueuedPodInfo) -> PodHeap:
        refused = info.unschedulable_plugins or info.pending_plugins
        waits = info.is_group or info.backs_off
        return self._refused if refused and not waits else self._faulty

    def _align(self, moment: float) -> float:
        return float(math.floor(moment)) if self._aligned else moment
