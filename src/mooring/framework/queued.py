"""QueuedPod: a pod or pod group in the scheduling queue, as QueueSort plugins see it."""

from __future__ import annotations

import msgspec

from mooring.api import AnyPodGroup, Pod
from mooring.api.spelling import spelled


@spelled(PodInfo="pod", GetPodInfo="pod")
class QueuedPod(msgspec.Struct, frozen=True):
    """A pending pod and its history in the queue.

    If `group` is set, it is a pod group or composite pod group that is queued as one, and `pod` is
    one of its pods.
    """

    pod: Pod
    #: When it entered the queue this time, in epoch seconds.
    timestamp: float
    #: When it was first added to the queue.
    initial_timestamp: float = 0.0
    attempts: int = 0
    #: Plugins that refused it in the last attempt.
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    #: The PreEnqueue plugin that holds it back, or "".
    gating_plugin: str = ""
    #: The pod group; None for a single pod.
    group: AnyPodGroup | None = None

    @property
    def priority(self) -> int:
        """Return the priority of the pod, or of the pod group."""
        return self.pod.priority if self.group is None else self.group.priority
