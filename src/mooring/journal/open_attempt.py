"""OpenAttempt: the data of an attempt on its way from the scheduling loop to the journal.

The loop only collects references and numbers, in one object per attempt. The thread that writes the
journal makes the entries from them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import msgspec
import numpy as np

from mooring.api import AnyPodGroup, Pod
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.recording import (
    AttemptOutline,
    PlacedAttempt,
    outline_of,
    points_at,
    weighted_points,
)
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Entry,
    Permitted,
    Reserved,
)
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.typing import Ints

_LOW = np.dtype("<i2")
#: How many totals are passed to one call of `zlib.crc32`. For more than 5 KiB it releases the
#: interpreter's lock, and a thread may then wait up to 5 ms to get it back, for each attempt.
_CHUNK = 5 * 1024 // _LOW.itemsize


class Scored(msgspec.Struct, frozen=True):
    """The part of a decision's scores that an entry needs; all of them take much more memory."""

    totals: Ints
    #: As in Decision.
    chosen: int
    best_count: int
    #: The weighted points of the chosen node.
    points: dict[str, int]

    @classmethod
    def of(cls, decision: Decision) -> Scored | None:
        """Return this part of a decision's scores; None if it has none."""
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
    """An attempt, from its beginning until its result is known.

    The scheduling loop fills it, and does not change it after handing it to the writing thread.
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
    #: The decision, until the attempt is handed over, and its time.
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
        """Record that the pod has passed Permit or waits there; drop the decision's arrays."""
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
        """Return the entry for the beginning of the attempt."""
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
        """Return the data for the entry AttemptEnds, without the decision."""
        decision = self.decision
        assert decision is not None
        outline = outline_of(
            decision, self.number, self.start, self.seed, self.sampling_start, self.group
        )
        return AttemptEnding(self.decided, outline, Scored.of(decision))


class AttemptEnding(msgspec.Struct, frozen=True):
    """The data for an entry AttemptEnds, with the totals as an array."""

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
    """Return the CRC-32 of the low 16 bits of each total, which AttemptEnds records.

    Using 16 bits is faster. Totals are a few hundreds, so different totals differ in these bits.
    """
    low = totals.astype(_LOW).data
    checksum = 0
    for begin in range(0, len(low), _CHUNK):
        checksum = zlib.crc32(low[begin : begin + _CHUNK], checksum)
    return checksum
