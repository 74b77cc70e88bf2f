"""PrioritySort: higher priority first, then earlier arrival."""

# kube-scheduler: plugins/queuesort/priority_sort.go

from __future__ import annotations

from mooring.framework.plugin import Plugin
from mooring.framework.queued import QueuedPod


class PrioritySort(Plugin):
    """The plugin that orders the queue by priority, then by time of entering it."""

    name = "PrioritySort"

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Return the key by which the queue sorts, lowest first."""
        return -queued.priority, queued.timestamp

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        """Return whether `a` goes before `b`."""
        return self.sort_key(a) < self.sort_key(b)
