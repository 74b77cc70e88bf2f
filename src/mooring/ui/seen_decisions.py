"""The decisions about a cluster's pods: those that the leader reports, and those that are observed.

A leading Mooring reports each attempt as a record. A follower of the API server observes only the
effect of an attempt on API objects: a pod gets a node, or a condition. If the leader reports an
attempt, the observation of the same attempt is left out, whichever comes first:

- While the leader reports its decisions and has reported some of the pod's profile, an observation
  is held for `HOLD_SECONDS`, because the record usually follows.
- If the record comes later, the observation is withdrawn, and `revision` changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

import msgspec

from mooring.api import Condition, Pod
from mooring.explain.attempt_record import AttemptRecord
from mooring.framework.decision import Outcome
from mooring.informers.store import EventHandler

#: How many records of the leader, and how many observations, are kept.
MOST_KEPT = 2000
#: Seconds for which an observation is held in case the leader reports the same attempt.
HOLD_SECONDS = 2.0
#: By how many seconds the clocks of the leader and of this machine may differ.
CLOCK_TOLERANCE = 2.0

BOUND = "bound"
UNSCHEDULABLE = "unschedulable"
GATED = "gated"
#: The reasons of the condition PodScheduled, by outcome.
_OUTCOMES = {"Unschedulable": UNSCHEDULABLE, "SchedulingGated": GATED}


class ShadowOpinion(msgspec.Struct, frozen=True):
    """What a shadow says of another scheduler's decision, as `Compared` of the journal holds it."""

    #: One of the values of `comparison.Verdict`.
    verdict: str
    #: The node that the shadow would choose; "" if it finds none.
    node: str = ""
    #: How many points more it has than the chosen one.
    lost: int = 0
    #: The plugin to which the difference is due, and its refusal.
    plugin: str = ""
    reason: str = ""


class SeenDecision(msgspec.Struct, frozen=True):
    """One decision of the cluster's scheduler."""

    sequence: int
    #: The time of the observation, or of the start of the leader's attempt, since the epoch.
    time: float
    namespace: str
    name: str
    #: "bound", "unschedulable" or "gated" if it was observed; "scheduled", "unschedulable" or
    #: "error" if the leader reported it.
    outcome: str
    scheduler: str
    node: str = ""
    message: str = ""
    uid: str = ""
    #: The number of the leader's attempt; 0 if the decision was observed.
    attempt: int = 0
    #: How the decision of a shadow compares with this one, which is that of another scheduler.
    compared: ShadowOpinion | None = None

    @property
    def result(self) -> str:
        """Return the outcome in the words of observed decisions."""
        return BOUND if self.outcome == Outcome.SCHEDULED.value else self.outcome


class SeenDecisions:
    """The newest decisions. Owned by the event loop of the informers."""

    def __init__(self, now: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._now = now
        self._most = most
        #: By sequence number, the oldest first: observations, and records of the leader.
        self._observed: OrderedDict[int, SeenDecision] = OrderedDict()
        self._reported: OrderedDict[int, SeenDecision] = OrderedDict()
        #: By uid: the sequence numbers of observations, and of the leader's records by attempt.
        self._observed_of: dict[str, set[int]] = {}
        self._reported_of: dict[str, dict[tuple[int, float], int]] = {}
        #: By uid: the observations that are held, the pod with the oldest one first.
        self._held: OrderedDict[str, list[SeenDecision]] = OrderedDict()
        #: The profiles of which the leader has reported attempts.
        self._profiles: set[str] = set()
        #: The sequence number of the newest one; 0 before the first.
        self.last = 0
        #: A number that changes when a decision is withdrawn.
        self.revision = 0
        #: Whether the leader currently reports its decisions.
        self.leader_reports = False

    def handler(self) -> EventHandler[Pod]:
        """Return the handler for the informer of pods; it ignores the initial list."""
        return EventHandler(on_update=self._updated)

    def after(self, sequence: int, most: int) -> list[SeenDecision]:
        """Return at most `most` of the newest decisions after a sequence number, by time."""

        def newer(kept: OrderedDict[int, SeenDecision]) -> Iterator[int]:
            return takewhile(lambda number: number > sequence, reversed(kept))

        found = [self._observed[number] for number in newer(self._observed)]
        found += [self._reported[number] for number in newer(self._reported)]
        found.sort(key=lambda one: (one.time, one.sequence))
        return found[-most:]

    def settle(self) -> None:
        """Add the observations that have been held long enough."""
        ready = self._now() - HOLD_SECONDS
        while self._held:
            uid, waiting = next(iter(self._held.items()))
            if self.leader_reports and waiting[0].time > ready:
                return
            del self._held[uid]
            for seen in waiting:
                self._add(seen)

    # Observations of API objects.

    def _updated(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid or old.spec.node_name:
            return
        if new.spec.node_name:
            self._observe(new, BOUND)
            return
        condition = _scheduled(new.status.conditions)
        outcome = None if condition is None else _OUTCOMES.get(condition.reason)
        if condition is not None and outcome and condition != _scheduled(old.status.conditions):
            self._observe(new, outcome, condition.message)

    def _observe(self, pod: Pod, outcome: str, message: str = "") -> None:
        meta, spec = pod.metadata, pod.spec
        seen = SeenDecision(
            0,
            self._now(),
            meta.namespace,
            meta.name,
            outcome,
            spec.scheduler_name,
            spec.node_name,
            message,
            meta.uid,
        )
        if self._is_reported(seen):
            return
        if self.leader_reports and spec.scheduler_name in self._profiles and outcome != GATED:
            self._held.setdefault(seen.uid, []).append(seen)
            return
        self._add(seen)

    def _is_reported(self, seen: SeenDecision) -> bool:
        """Return whether the leader's last record about the pod is this decision."""
        numbers = self._reported_of.get(seen.uid)
        if not numbers:
            return False
        reported = self._reported[max(numbers.values())]
        if reported.result != seen.outcome:
            return False
        if seen.outcome == BOUND:
            return True
        later = max(self._observed_of.get(seen.uid, ()), default=0) > reported.sequence
        return reported.message == seen.message and not later

    def add(
        self,
        time: float,
        namespace: str,
        name: str,
        outcome: str,
        scheduler: str,
        node: str = "",
        message: str = "",
        compared: ShadowOpinion | None = None,
    ) -> None:
        """Add a decision, which is the newest one."""
        self._add(
            SeenDecision(
                0, time, namespace, name, outcome, scheduler, node, message, compared=compared
            )
        )

    def _add(self, seen: SeenDecision) -> None:
        self.last += 1
        self._observed[self.last] = msgspec.structs.replace(seen, sequence=self.last)
        if seen.uid:
            self._observed_of.setdefault(seen.uid, set()).add(self.last)
        if len(self._observed) > self._most:
            self._forget(next(iter(self._observed)))

    def _forget(self, sequence: int) -> None:
        uid = self._observed.pop(sequence).uid
        if uid:
            self._observed_of[uid].discard(sequence)
            if not self._observed_of[uid]:
                del self._observed_of[uid]

    # Records of the leader.

    def add_record(self, record: AttemptRecord) -> None:
        """Add an attempt that the leader reports, in place of observations of it.

        The leader reports an attempt again if its binding failed, or after the link to the leader
        was opened again; the new record then replaces the earlier one.
        """
        reported = SeenDecision(
            self.last + 1,
            record.time,
            record.namespace,
            record.name,
            record.outcome,
            record.profile,
            record.node if record.outcome == Outcome.SCHEDULED.value else "",
            record.message,
            record.uid,
            record.attempt,
        )
        attempts = self._reported_of.setdefault(record.uid, {})
        before = attempts.get((record.attempt, record.time))
        if before is not None:
            if msgspec.structs.replace(reported, sequence=before) == self._reported[before]:
                return
            del self._reported[before]
            self.revision += 1
        self.last += 1
        self._reported[self.last] = reported
        attempts[record.attempt, record.time] = self.last
        self._profiles.add(record.profile)
        self._withdraw(reported)
        if len(self._reported) > self._most:
            self._forget_reported(next(iter(self._reported)))

    def _withdraw(self, reported: SeenDecision) -> None:
        """Remove the observations of an attempt that the leader has reported."""
        waiting = [one for one in self._held.pop(reported.uid, ()) if not _is_same(reported, one)]
        if waiting:
            self._held[reported.uid] = waiting
        for sequence in sorted(self._observed_of.get(reported.uid, ())):
            if _is_same(reported, self._observed[sequence]):
                self._forget(sequence)
                self.revision += 1

    def _forget_reported(self, sequence: int) -> None:
        reported = self._reported.pop(sequence)
        attempts = self._reported_of[reported.uid]
        for key in [key for key, number in attempts.items() if number == sequence]:
            del attempts[key]
        if not attempts:
            del self._reported_of[reported.uid]


def _is_same(reported: SeenDecision, seen: SeenDecision) -> bool:
    """Return whether an observation is of an attempt that the leader has reported."""
    if reported.uid != seen.uid or reported.result != seen.outcome:
        return False
    # A pod is bound once. A condition belongs to the attempt if it has the same message or came
    # later. It may even belong to a later attempt, which the leader will report too.
    return (
        seen.outcome == BOUND
        or reported.message == seen.message
        or seen.time >= reported.time - CLOCK_TOLERANCE
    )


def _scheduled(conditions: Iterable[Condition]) -> Condition | None:
    return next((one for one in conditions if one.type == "PodScheduled"), None)
