"""QueuedPodInfo: a pending pod, from its arrival in the queue until it is bound.

# kube-scheduler: framework/types.go (QueuedPodInfo)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

import msgspec

from mooring.api import Pod
from mooring.framework.queued import QueuedPod

#: Earlier than any time: a pod that never failed has no backoff.
NEVER = -math.inf
_NOBODY: frozenset[str] = frozenset()


class Place(Enum):
    """The part of the queue a pod is in, named as in kube-scheduler's log."""

    ACTIVE = "Active"
    BACKOFF = "Backoff"
    UNSCHEDULABLE = "Unschedulable"


class Filed(msgspec.Struct, frozen=True, gc=False):
    """The profile and plugins under which UnschedulablePods has indexed a pod."""

    profile: str
    plugins: tuple[str, ...]
    gated: bool


class QueuedPodInfo:
    """A pending pod and its history. Times are seconds since the epoch.

    Owned by the queue; while the pod is in flight, by the scheduling loop.
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
        "backs_off",
        "consecutive_errors",
        "filed",
        "flush_timestamp",
        "gating_plugin",
        "initial_attempt_timestamp",
        "key",
        "pending_plugins",
        "place",
        "pod",
        "sequence",
        "ticket",
        "timestamp",
        "uid",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    #: Whether this is a pod group (QueuedPodGroupInfo).
    is_group: ClassVar[bool] = False

    def __init__(self, pod: Pod, timestamp: float, sequence: int) -> None:
        self.pod = pod
        self.uid: str = pod.metadata.uid
        #: "namespace/name". It identifies a pod in the queue: a recreated pod replaces the old.
        self.key: str = pod.key
        #: When the pod was last added to the queue.
        self.timestamp = timestamp
        #: Orders pods with equal keys by arrival.
        self.sequence = sequence
        #: When the pod first became active; None if it has not yet.
        self.initial_attempt_timestamp: float | None = None
        self.attempts = 0
        #: Attempts that ended in a refusal; errors do not count.
        self.unschedulable_count = 0
        #: Errors since the last refusal.
        self.consecutive_errors = 0
        self.backoff_expiration: float = NEVER
        #: Whether the last attempt took so long that the pod waits for its whole backoff.
        self.backs_off = False
        #: Plugins that refused the pod, and plugins that left it pending (`Status.pending`).
        self.unschedulable_plugins: frozenset[str] = _NOBODY
        self.pending_plugins: frozenset[str] = _NOBODY
        #: The PreEnqueue plugin that gates the pod, or "".
        self.gating_plugin = ""
        #: Whether the pod is tried only because it was unschedulable for so long.
        self.was_flushed = False
        self.flush_timestamp: float = NEVER
        self.place: Place | None = None
        #: The ticket of its valid heap entry; None if it is in no heap.
        self.ticket: int | None = None
        #: How UnschedulablePods has indexed it; None if it is not unschedulable.
        self.filed: Filed | None = None

    @property
    def size(self) -> int:
        """The number of pods: 1 unless this is a pod group."""
        return 1

    def each(self) -> Iterable[QueuedPodInfo]:
        """Return the pods: this one, or the members of a pod group."""
        return (self,)

    @property
    def profile(self) -> str:
        """The name of the profile that schedules the pod."""
        return self.pod.spec.scheduler_name

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin gates the pod."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that refused the pod or left it pending."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    def as_queued_pod(self) -> QueuedPod:
        """Return the view of the pod that QueueSort plugins get."""
        return QueuedPod(
            self.pod,
            self.timestamp,
            self.initial_attempt_timestamp or 0.0,
            self.attempts,
            self.unschedulable_plugins,
            self.pending_plugins,
            self.gating_plugin,
        )

    def __repr__(self) -> str:
        place = "in flight or gone" if self.place is None else self.place.value
        return f"QueuedPodInfo({self.key!r}, {place})"
