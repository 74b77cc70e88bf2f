"""QueuedPodInfo: a pending pod, from its first day in the queue until it is bound.

# kube-scheduler: framework/types.go (QueuedPodInfo)
"""

from __future__ import annotations

import math
from enum import Enum

import msgspec

from mooring.api import Pod
from mooring.framework.queued import QueuedPod

#: Before any moment: a pod that never failed waits for nothing.
NEVER = -math.inf
_NOBODY: frozenset[str] = frozenset()


class Place(Enum):
    """Name the part of the queue a pod is in, with kube-scheduler's words for its log."""

    ACTIVE = "Active"
    BACKOFF = "Backoff"
    UNSCHEDULABLE = "Unschedulable"


class Filed(msgspec.Struct, frozen=True, gc=False):
    """Remember under which plugins of which profile a pod is to be found."""

    profile: str
    plugins: tuple[str, ...]
    gated: bool


class QueuedPodInfo:
    """Hold a pending pod and its history. Owned by the queue; between pop and return, lent.

    Times are seconds since the epoch.
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
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

    def __init__(self, pod: Pod, timestamp: float, sequence: int) -> None:
        self.pod = pod
        self.uid: str = pod.metadata.uid
        #: "namespace/name": the queue knows a pod by it, since a recreated pod takes its place.
        self.key: str = pod.key
        #: When the pod came into the queue, this time.
        self.timestamp = timestamp
        #: Orders pods that came at the same moment.
        self.sequence = sequence
        #: When it was first ready to be tried; None while it is gated.
        self.initial_attempt_timestamp: float | None = None
        self.attempts = 0
        #: Attempts that ended in a refusal; faults do not count.
        self.unschedulable_count = 0
        #: Faults in a row, up to now.
        self.consecutive_errors = 0
        self.backoff_expiration: float = NEVER
        #: Plugins that refused the pod, and those that wait for something outside.
        self.unschedulable_plugins: frozenset[str] = _NOBODY
        self.pending_plugins: frozenset[str] = _NOBODY
        #: The PreEnqueue plugin that holds it back, or "".
        self.gating_plugin = ""
        #: Whether it is tried only because it was unschedulable for so long.
        self.was_flushed = False
        self.flush_timestamp: float = NEVER
        self.place: Place | None = None
        #: Its valid entry in a heap; None if it is in none.
        self.ticket: int | None = None
        #: How the unschedulable pods have filed it; None where it is not among them.
        self.filed: Filed | None = None

    @property
    def profile(self) -> str:
        """Return the name of the profile that schedules the pod."""
        return self.pod.spec.scheduler_name

    @property
    def is_gated(self) -> bool:
        """Tell whether a PreEnqueue plugin holds the pod back."""
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> frozenset[str]:
        """Return the plugins that refused the pod or left it pending."""
        pending = self.pending_plugins
        return self.unschedulable_plugins | pending if pending else self.unschedulable_plugins

    def as_queued_pod(self) -> QueuedPod:
        """Return what QueueSort plugins see."""
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
