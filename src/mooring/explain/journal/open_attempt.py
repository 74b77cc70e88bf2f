"""OpenAttempt: what the scheduling loop hands over of an attempt, and the entries made from it.

The loop only collects references and numbers, in one object per attempt. The thread that writes the
journal makes the entries.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import msgspec
import numpy as np

from mooring.api import AnyPodGroup, Pod
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Entry,
    Permitted,
    Reserved,
)
from mooring.explain.recording import (
    AttemptOutline,
    PlacedAttempt,
    outline_of,
    points_at,
    weighted_points,
)
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.typing import Ints

_LOW = np.dtype("<i2")
#: The totals of one call of `zlib.crc32`: of more than 5 KiB it releases the interpreter's lock. A
#: thread that has released it waits for up to 5 ms to get it back, once for each attempt.
_CHUNK = 5 * 1024 // _LOW.itemsize


class Scored(msgspec.Struct, frozen=True):
    """What an entry needs of the scores: these take several times as much memory."""

    totals: Ints
    #: As in Decision.
    chosen: int
    best_count: int
    #: The weighted points of the chosen node.
    points: dict[str, int]

    @classmethod
    def of(cls, decision: Decision) -> Scored | None:
        """Return what a decision says of its scores; None if there are none."""
        totals = decision.totals
        if totals is None or not len(totals):
            return None
        chosen = decision.chosen
        if chosen >= 0:
            points = points_at(decision, chosen)
        else:
            points = weighted_points(decision, decision.node_name)
        return cls(totals, chosen, decision.best_count, points)


class OpenAttempt(msgspec.Struct):
    """An attempt, from its beginning until it is known what became of it.

    The loop fills it, and does not touch it after it has handed it over.
    """

    info: QueuedPodInfo
    pod: Pod
    #: The number of the attempt of this pod, from 1.
    number: int
    start: float
    within: Rows | None
    seed: int
    sampling_start: int
    #: The pod group, or the top of the tree of groups, that is being tried.
    group: AnyPodGroup | None
    #: Whether AttemptBegins has been written.
    begun: bool = False
    #: The decision, until it is handed over, and the time of it.
    decision: Decision | None = None
    decided: float = 0.0
    #: When Reserve had passed; 0 if it has not.
    reserved: float = 0.0
    # If the pod has found its node:
    placed: SchedulingAttempt | None = None
    narrowed_by: frozenset[str] = frozenset()
    scored: Scored | None = None
    permitted: float = 0.0
    waits: dict[str, float] = {}

    def place(self, attempt: SchedulingAttempt, now: float) -> None:
        """Take note that the pod has passed Permit, or waits there; drop the decision's arrays."""
        decision, assumed = self.decision, attempt.assumed
        assert decision is not None and assumed is not None
        self.placed, self.permitted = attempt, now
        self.narrowed_by = decision.unschedulable_plugins
        self.scored = Scored.of(decision)
        if assumed.wait is not None:
            self.waits = dict(assumed.wait.waits)
        self.decision = None

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of an attempt whose pod has found its node."""
        placed = self.placed
        assert placed is not None and placed.assumed is not None
        if not self.begun:
            yield self.beginning()
        record = PlacedAttempt(
            placed, self.number, self.narrowed_by, self.seed, self.sampling_start
        ).record()
        if self.waits:
            yield _make_end(self.decided, record, self.scored)
            yield Reserved(self.reserved, record.uid, record.node)
            yield Permitted(self.permitted, record.uid, self.waits)
        else:
            yield _make_end(self.decided, record, self.scored, self.reserved, self.permitted)

    def beginning(self) -> AttemptBegins:
        """Return the entry of the beginning."""
        meta, within = self.pod.metadata, self.within
        return AttemptBegins(
            self.start,
            meta.namespace,
            meta.name,
            meta.uid,
            meta.resource_version,
            self.pod.spec.scheduler_name,
            self.number,
            self.seed,
            self.sampling_start,
            None if within is None else tuple(within.tolist()),
            self.group is None,
        )

    def ending(self) -> AttemptEnding:
        """Return what AttemptEnds is made from, without the decision."""
        decision = self.decision
        assert decision is not None
        outline = outline_of(
            decision, self.number, self.start, self.seed, self.sampling_start, self.group
        )
        return AttemptEnding(self.decided, outline, Scored.of(decision))


class AttemptEnding(msgspec.Struct, frozen=True):
    """The end of an attempt whose totals are still an array."""

    time: float
    outline: AttemptOutline
    scored: Scored | None

    def entry(self) -> AttemptEnds:
        """Return the entry."""
        return _make_end(self.time, self.outline.record(), self.scored)


def _make_end(
    time: float,
    record: AttemptRecord,
    scored: Scored | None,
    reserved: float = 0.0,
    permitted: float = 0.0,
) -> AttemptEnds:
    if scored is None:
        return AttemptEnds(time, record, reserved=reserved, permitted=permitted)
    totals, best = scored.totals, scored.best_count
    if best:
        top = totals.item(scored.chosen)
    else:
        top = int(totals.max())
        best = int(np.count_nonzero(totals == top))
    return AttemptEnds(
        time, record, totals_digest(totals), top, best, scored.points, reserved, permitted
    )


def totals_digest(totals: Ints) -> int:
    """Return the CRC-32 by which AttemptEnds compares totals: of their low 16 bits, for speed.

    A total is a few hundreds, so that two that differ have different ones.
    """
    low = totals.astype(_LOW).data
    checksum = 0
    for begin in range(0, len(low), _CHUNK):
        checksum = zlib.crc32(low[begin : begin + _CHUNK], checksum)
    return checksum
