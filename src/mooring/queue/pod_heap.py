"""A heap of queued pods from which any pod can be removed.

A pod that is taken out of the middle leaves its entry behind; the entry is recognised by its ticket
and dropped when it comes up, or when such entries are more than half of the heap.

The key may come from a plugin. If it raises, or returns keys that cannot be compared, it is not
called again: the heap continues with a fallback order, and no pod is lost.

# kube-scheduler: backend/heap/heap.go
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from mooring.framework.plugin_errors import raise_if_external
from mooring.queue.queued_pod_info import QueuedPodInfo

log = logging.getLogger(__name__)

_Key = Callable[[QueuedPodInfo], Any]
_Entry = tuple[Any, int, int, QueuedPodInfo]


class PodHeap:
    """A heap of pods, lowest key first; pods with equal keys in the order of their arrival.

    Heaps between which pods move must share `tickets`.
    """

    def __init__(self, key: _Key, tickets: count[int], fallback: _Key | None = None) -> None:
        self._key = key
        self._fallback = fallback or by_priority
        self._tickets = tickets
        self._entries: list[_Entry] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def entries(self) -> int:
        """The number of entries, with those that removed pods left behind."""
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return (entry[3] for entry in self._entries if _is_valid(entry))

    def position(self, info: QueuedPodInfo) -> int:
        """Return how many pods will be popped up to and including this one, from 1.

        0 if it is not in this heap, or if a plugin's keys cannot be compared.
        """
        own = next((entry for entry in self._entries if entry[2] == info.ticket), None)
        if own is None:
            return 0
        try:
            before = sum(entry[:3] < own[:3] for entry in self._entries if _is_valid(entry))
        except Exception:
            return 0
        return before + 1

    def in_order(self) -> list[QueuedPodInfo]:
        """Return the pods in the order in which they will be popped."""
        valid = [entry for entry in self._entries if _is_valid(entry)]
        try:
            valid.sort(key=lambda entry: entry[:3])
        except Exception:
            # A plugin's keys cannot be compared: the order is not known.
            return [entry[3] for entry in valid]
        return [entry[3] for entry in valid]

    def push(self, info: QueuedPodInfo) -> None:
        """Add a pod that is in no heap."""
        info.ticket = ticket = next(self._tickets)
        self._size += 1
        try:
            heapq.heappush(self._entries, (self._key(info), info.sequence, ticket, info))
        except BaseException as error:
            self._fall_back(error, info)

    def peek(self) -> QueuedPodInfo | None:
        """Return the first pod, or None."""
        while self._entries:
            _, _, ticket, info = self._entries[0]
            if info.ticket == ticket:
                return info
            self._drop_first()
        return None

    def pop(self) -> QueuedPodInfo | None:
        """Remove and return the first pod, or return None."""
        info = self.peek()
        if info is not None:
            info.ticket = None
            self._size -= 1
            self._drop_first()
        return info

    def remove(self, info: QueuedPodInfo) -> None:
        """Remove a pod that is in this heap."""
        info.ticket = None
        self._size -= 1
        if len(self._entries) > 2 * self._size:
            self._entries = [entry for entry in self._entries if _is_valid(entry)]
            try:
                heapq.heapify(self._entries)
            except BaseException as error:
                self._fall_back(error)

    def _drop_first(self) -> None:
        try:
            heapq.heappop(self._entries)
        except BaseException as error:
            # heappop has already removed the first entry when comparing the others raises.
            self._fall_back(error)

    def _fall_back(self, error: BaseException, *more: QueuedPodInfo) -> None:
        raise_if_external(error)
        log.error(
            "QueueSort failed; pods are ordered by priority and time from now on", exc_info=error
        )
        key = self._key = self._fallback
        inside = {info.ticket: info for info in (*self, *more)}
        self._entries = [(key(info), info.sequence, info.ticket, info) for info in inside.values()]
        heapq.heapify(self._entries)

    def validate(self) -> None:
        """Check that the entries are in heap order and that the size is right."""
        entries = self._entries
        for index in range(1, len(entries)):
            parent, child = entries[(index - 1) // 2], entries[index]
            assert not child[:3] < parent[:3], f"{child[3]} stands before {parent[3]}"
        assert self._size == sum(1 for _ in self), "the size of the heap is wrong"


def _is_valid(entry: _Entry) -> bool:
    return entry[3].ticket == entry[2]


def by_priority(info: QueuedPodInfo) -> tuple[int, float]:
    """Return a key that orders pods as PrioritySort does."""
    return -info.as_queued_pod().priority, info.timestamp
