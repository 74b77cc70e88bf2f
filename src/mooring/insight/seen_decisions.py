"""The decisions about a cluster's pods: those of the leader, and those that a follower sees.

The scheduler that leads tells each attempt itself, as a record. A follower sees only its effect on
API objects: a pod gets a node, or a condition. If the leader tells an attempt, the follower's
sighting of the same attempt is left out, whichever comes first:

- A sighting waits for `HOLD_SECONDS` while the leader tells its decisions and has told some of the
  pod's profile: its record is usually on the way.
- If the record comes later, the sighting is withdrawn, and `revision` changes.
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

#: So many decisions are kept, of the leader and of the others.
MOST_KEPT = 2000
#: Seconds for which a sighting waits for the leader's record.
HOLD_SECONDS = 2.0
#: The clocks of the leader and of this machine may differ by so many seconds.
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
    #: Seconds since the epoch at which it was seen, or at which the leader's attempt began.
    time: float
    namespace: str
    name: str
    #: "bound", "unschedulable" or "gated" as API objects show it; "scheduled", "unschedulable" or
    #: "error" as the leader says.
    outcome: str
    scheduler: str
    node: str = ""
    message: str = ""
    uid: str = ""
    #: The number of the leader's attempt; 0 if the decision was seen in API objects.
    attempt: int = 0
    #: How the decision of a shadow compares with this one, which is that of another scheduler.
    compared: ShadowOpinion | None = None

    @property
    def result(self) -> str:
        """Return the outcome in the words for API objects."""
        return BOUND if self.outcome == Outcome.SCHEDULED.value else self.outcome


class SeenDecisions:
    """The newest decisions. Owned by the event loop of the informers."""

    def __init__(self, now: Callable[[], float], most: int = MOST_KEPT) -> None:
        self._now = now
        self._most = most
        #: By sequence number, the oldest first: sightings, and records of the leader.
        self._sighted: OrderedDict[int, SeenDecision] = OrderedDict()
        self._told: OrderedDict[int, SeenDecision] = OrderedDict()
        #: By uid: the sequence numbers of sightings, and of the leader's records by attempt.
        self._sighted_of: dict[str, set[int]] = {}
        self._told_of: dict[str, dict[tuple[int, float], int]] = {}
        #: By uid: the sightings that wait for the leader's record, the first of the oldest first.
        self._held: OrderedDict[str, list[SeenDecision]] = OrderedDict()
        #: The profiles of which the leader has told attempts.
        self._profiles: set[str] = set()
        #: The sequence number of the newest one; 0 before the first.
        self.last = 0
        #: Changes if a decision that was shown is withdrawn.
        self.revision = 0
        #: Whether the leader tells its decisions at present.
        self.leader_tells = False

    def handler(self) -> EventHandler[Pod]:
        """Return the handler for the informer of pods; what is there already does not count."""
        return EventHandler(on_update=self._updated)

    def after(self, sequence: int, most: int) -> list[SeenDecision]:
        """Return at most `most` of the newest decisions after a sequence number, by time."""

        def newer(kept: OrderedDict[int, SeenDecision]) -> Iterator[int]:
            return takewhile(lambda number: number > sequence, reversed(kept))

        found = [self._sighted[number] for number in newer(self._sighted)]
        found += [self._told[number] for number in newer(self._told)]
        found.sort(key=lambda one: (one.time, one.sequence))
        return found[-most:]

    def settle(self) -> None:
        """Add the sightings that have waited long enough for the leader's record."""
        ready = self._now() - HOLD_SECONDS
        while self._held:
            uid, waiting = next(iter(self._held.items()))
            if self.leader_tells and waiting[0].time > ready:
                return
            del self._held[uid]
            for seen in waiting:
                self._add(seen)

    # What API objects show.

    def _updated(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid or old.spec.node_name:
            return
        if new.spec.node_name:
            self._sight(new, BOUND)
            return
        condition = _scheduled(new.status.conditions)
        outcome = None if condition is None else _OUTCOMES.get(condition.reason)
        if condition is not None and outcome and condition != _scheduled(old.status.conditions):
            self._sight(new, outcome, condition.message)

    def _sight(self, pod: Pod, outcome: str, message: str = "") -> None:
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
        if self._is_told(seen):
            return
        if self.leader_tells and spec.scheduler_name in self._profiles and outcome != GATED:
            self._held.setdefault(seen.uid, []).append(seen)
            return
        self._add(seen)

    def _is_told(self, seen: SeenDecision) -> bool:
        """Return whether the leader has told this already, as the last about the pod."""
        numbers = self._told_of.get(seen.uid)
        if not numbers:
            return False
        told = self._told[max(numbers.values())]
        if told.result != seen.outcome:
            return False
        if seen.outcome == BOUND:
            return True
        later = max(self._sighted_of.get(seen.uid, ()), default=0) > told.sequence
        return told.message == seen.message and not later

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
        self._sighted[self.last] = msgspec.structs.replace(seen, sequence=self.last)
        if seen.uid:
            self._sighted_of.setdefault(seen.uid, set()).add(self.last)
        if len(self._sighted) > self._most:
            self._forget(next(iter(self._sighted)))

    def _forget(self, sequence: int) -> None:
        uid = self._sighted.pop(sequence).uid
        if uid:
            self._sighted_of[uid].discard(sequence)
            if not self._sighted_of[uid]:
                del self._sighted_of[uid]

    # What the leader tells.

    def tell(self, record: AttemptRecord) -> None:
        """Add an attempt of the leader, in place of what was seen of it.

        A record that was told before is told again if its binding failed, or if the leader was
        asked for it again; it then replaces the earlier one.
        """
        told = SeenDecision(
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
        attempts = self._told_of.setdefault(record.uid, {})
        before = attempts.get((record.attempt, record.time))
        if before is not None:
            if msgspec.structs.replace(told, sequence=before) == self._told[before]:
                return
            del self._told[before]
            self.revision += 1
        self.last += 1
        self._told[self.last] = told
        attempts[record.attempt, record.time] = self.last
        self._profiles.add(record.profile)
        self._withdraw(told)
        if len(self._told) > self._most:
            self._forget_told(next(iter(self._told)))

    def _withdraw(self, told: SeenDecision) -> None:
        """Leave out the sightings of an attempt that the leader has told."""
        waiting = [one for one in self._held.pop(told.uid, ()) if not _is_same(told, one)]
        if waiting:
            self._held[told.uid] = waiting
        for sequence in sorted(self._sighted_of.get(told.uid, ())):
            if _is_same(told, self._sighted[sequence]):
                self._forget(sequence)
                self.revision += 1

    def _forget_told(self, sequence: int) -> None:
        told = self._told.pop(sequence)
        attempts = self._told_of[told.uid]
        for key in [key for key, number in attempts.items() if number == sequence]:
            del attempts[key]
        if not attempts:
            del self._told_of[told.uid]


def _is_same(told: SeenDecision, seen: SeenDecision) -> bool:
    """Return whether a sighting is of an attempt that the leader has told."""
    if told.uid != seen.uid or told.result != seen.outcome:
        return False
    # A pod is bound once. A condition is that of the attempt if it says the same, or came later:
    # the leader tells every attempt, so a later one replaces it in turn.
    return (
        seen.outcome == BOUND
        or told.message == seen.message
        or seen.time >= told.time - CLOCK_TOLERANCE
    )


def _scheduled(conditions: Iterable[Condition]) -> Condition | None:
    return next((one for one in conditions if one.type == "PodScheduled"), None)
