"""QOSSort: higher priority first, then the better quality-of-service class, then earlier arrival.

# scheduler-plugins: pkg/qos/queue_sort.go
"""

from __future__ import annotations

from mooring import Plugin, QueuedPod
from mooring.api.pod_qos import BEST_EFFORT, BURSTABLE, GUARANTEED, qos_class

#: The order of the classes, lowest first; one that is not known goes last.
_ORDER = {GUARANTEED: 0, BURSTABLE: 1, BEST_EFFORT: 2}


class QOSSort(Plugin):
    """A plugin that orders the queue by priority, quality-of-service class and time.

    Choose it instead of PrioritySort if pods of equal priority compete: those that request what
    they need go first, and pods without requests last. It has no arguments.
    """

    name = "QOSSort"

    def sort_key(self, queued: QueuedPod) -> tuple[int, int, float]:
        """Return the key by which the queue sorts, lowest first."""
        quality = _ORDER.get(qos_class(queued.pod), len(_ORDER))
        return -queued.pod.priority, quality, queued.timestamp

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        """Return whether `a` goes before `b`."""
        return self.sort_key(a) < self.sort_key(b)
