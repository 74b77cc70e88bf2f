"""The decisions that a follower of a cluster sees: pods that get a node, and pods that do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from mooring.api import Condition, Pod
from mooring.informers.store import EventHandler

#: So many decisions are kept.
MOST_KEPT = 2000

BOUND = "bound"
UNSCHEDULABLE = "unschedulable"
GATED = "gated"
#: The reasons of the condition PodScheduled, by outcome.
_OUTCOMES = {"Unschedulable": UNSCHEDULABLE, "SchedulingGated": GATED}


class SeenDecision(msgspec.Struct, frozen=True):
    """One decision of the cluster's scheduler, as its API objects show it."""

    sequence: int
    #: Seconds since the epoch at which it was seen.
    time: float
    namespace: str
    name: str
    #: "bound", "unschedulable", "gated" or "error".
    outcome: str
    scheduler: str
    node: str = ""
    message: str = ""


class SeenDecisions:
    """The newest decisions, oldest first. Owned by the event loop of the informers."""

    def __init__(self, now: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._now = now
        self._kept: deque[SeenDecision] = deque(maxlen=most)
        #: The sequence number of the newest one; 0 before the first.
        self.last = 0

    def handler(self) -> EventHandler[Pod]:
        """Return the handler for the informer of pods; what is there already does not count."""
        return EventHandler(on_update=self._updated)

    def after(self, sequence: int, most: int) -> list[SeenDecision]:
        """Return at most `most` of the newest decisions after a sequence number, oldest first."""
        count = min(self.last - sequence, most, len(self._kept))
        return list(self._kept)[len(self._kept) - count :] if count > 0 else []

    def _updated(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid or old.spec.node_name:
            return
        if new.spec.node_name:
            self._add_pod(new, BOUND)
            return
        condition = _scheduled(new.status.conditions)
        outcome = None if condition is None else _OUTCOMES.get(condition.reason)
        if condition is not None and outcome and condition != _scheduled(old.status.conditions):
            self._add_pod(new, outcome, condition.message)

    def _add_pod(self, pod: Pod, outcome: str, message: str = "") -> None:
        meta, spec = pod.metadata, pod.spec
        self.add(
            self._now(),
            meta.namespace,
            meta.name,
            outcome,
            spec.scheduler_name,
            spec.node_name,
            message,
        )

    def add(
        self,
        time: float,
        namespace: str,
        name: str,
        outcome: str,
        scheduler: str,
        node: str = "",
        message: str = "",
    ) -> None:
        """Add a decision, which is the newest one."""
        self.last += 1
        self._kept.append(
            SeenDecision(self.last, time, namespace, name, outcome, scheduler, node, message)
        )


def _scheduled(conditions: Iterable[Condition]) -> Condition | None:
    return next((one for one in conditions if one.type == "PodScheduled"), None)
