"""SchedulingJournal: what a scheduler takes in and decides, written to files.

The scheduling loop only appends references to a deque: API objects are immutable. `pump`, usually
called by a thread (`JournalThread`), encodes, compresses and writes them. An error of the disk ends
the journal, and nothing else.

A new segment begins with a checkpoint. `pump` asks for it, the loop takes it between two cycles,
and `pump` writes it slice by slice, after the entries that wait.
"""

from __future__ import annotations

import errno
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import AnyPodGroup, CompositePodGroup, Pod
from mooring.explain.recording import outline_of
from mooring.framework.decision import Decision
from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.journal.change_entries import change_entry
from mooring.journal.checkpoint import Checkpoint, RecentPlacements, take_checkpoint
from mooring.journal.entries import (
    AttemptBegins,
    Bound,
    CheckpointEnds,
    Compared,
    Entry,
    ExtenderAnswer,
    Failed,
    Forgot,
    GaveBack,
    GroupBegins,
    GroupEnds,
    Nominated,
    Permitted,
    RecordedStatus,
    Reserved,
    SegmentHead,
    WorkBegins,
)
from mooring.journal.open_attempt import AttemptEnding, OpenAttempt, Scored
from mooring.journal.segment_writer import SegmentWriter
from mooring.journal.work_runs import AnswerEncoder, Fetch, WorkRuns
from mooring.observe.clock import Clock
from mooring.observe.journal_metrics import JournalMetrics
from mooring.observe.logs import log_error
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.taps import SilentTap

log = logging.getLogger(__name__)

ENDED = "The journal ends; scheduling goes on"

#: The uncompressed bytes of a frame.
_BLOCK = 2**18
#: How many entries of a checkpoint are encoded between two looks at what waits.
_SLICE = 500
#: How many entries are encoded at once.
_BATCH = 64
#: When this many items wait, those of about thirty attempts, they should be written, because each
#: attempt keeps an array of its totals until then.
_MANY = 128
#: If more items wait, the disk does not keep up.
MAX_WAITING = 1_000_000
_TOO_SLOW = OSError(errno.ETIMEDOUT, "the disk does not keep up with the changes")


class SchedulingJournal(SilentTap):
    """A tap that writes a journal: one run of a scheduler.

    The taps are called by the scheduling loop, `pump` by one thread at a time.
    """

    def __init__(
        self, writer: SegmentWriter, head: SegmentHead, clock: Clock, metrics: JournalMetrics
    ) -> None:
        self._writer = writer
        self._head = head
        self._now = clock.now
        self._metrics = metrics
        self._waiting: deque[Any] = deque()
        #: Called by the loop when many entries wait; `pump` should follow soon.
        self.when_many: Callable[[], object] = _do_nothing
        self._running: RunningScheduler | None = None
        #: Whether events are written: from the first checkpoint until a failure.
        self._writes = False
        #: What the current attempt began with, and its pod group.
        self._seed = self._sampling_start = 0
        self._group: AnyPodGroup | None = None
        self._works = WorkRuns()
        self._placements = RecentPlacements(clock.now())
        #: The latest attempt, until its result is known, so that a placed pod needs one item and
        #: not four. None if the attempt has been put on the list.
        self._open: OpenAttempt | None = None
        #: Why the journal has ended; None while it is written.
        self.failure: Exception | None = None
        # Set by `pump`, cleared by the loop.
        self._wants_checkpoint = False
        #: Whether the loop has been asked for a checkpoint that is not complete yet.
        self._checkpoint_due = False
        # Used by `pump` only.
        self._encoder = msgspec.json.Encoder()
        self._block = bytearray()
        self._answers = AnswerEncoder()
        self._checkpoint: Iterator[Entry] | None = None
        self._checkpoint_time = 0.0
        self._checkpoint_entries = 0
        #: The bytes of the segment when its checkpoint was complete.
        self._base = 0
        self._first = True
        metrics.active.set(1)

    def attach(self, running: RunningScheduler) -> None:
        """Begin with the state of a scheduler; what it does before is not written."""
        self._running = running
        self._checkpoint_due = True
        self._take_checkpoint()

    @property
    def waiting(self) -> int:
        """The number of entries that wait for `pump`."""
        return len(self._waiting)

    # The taps: called by the scheduling loop.

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """See SchedulingTap."""
        if self._writes:
            self._put((self._now(), kind, old, new))

    def assigning(self, pod: Pod, node_name: str) -> None:
        """See SchedulingTap."""
        self._placements.add(self._now(), pod.metadata.uid)

    def nominated(self, uid: str, node_name: str) -> None:
        """See SchedulingTap."""
        self._put(Nominated(self._now(), uid, node_name))

    def forgot(self, uid: str) -> None:
        """See SchedulingTap."""
        self._put(Forgot(self._now(), uid))

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """See SchedulingTap."""
        self._put_open()
        meta, self._group = info.group.metadata, info.group
        members = tuple(member.uid for member in info.in_order())
        is_composite = isinstance(info.group, CompositePodGroup)
        self._put(GroupBegins(start, meta.namespace, meta.name, seed, members, is_composite))

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """See SchedulingTap."""
        self._put_open()
        meta, self._group = info.group.metadata, None
        ended = outcome.name.lower()
        self._put(
            GroupEnds(self._now(), meta.namespace, meta.name, ended, info.victims, info.counted)
        )

    def deciding(
        self,
        info: QueuedPodInfo,
        start: float,
        within: Rows | None,
        seed: int,
        sampling_start: int,
    ) -> None:
        """See SchedulingTap."""
        if self._open is not None:
            self._put_open()
        self._seed, self._sampling_start = seed, sampling_start
        if self._writes:
            self._open = OpenAttempt(
                info, info.pod, info.attempts, start, within, seed, sampling_start, self._group
            )

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """See SchedulingTap."""
        if not self._writes:
            return
        attempt = self._open
        if attempt is None:
            # Another item was put since the attempt began, and its beginning with it.
            attempt = self._open = OpenAttempt(
                info,
                info.pod,
                info.attempts,
                start,
                None,
                self._seed,
                self._sampling_start,
                self._group,
                begun=True,
            )
        attempt.decision, attempt.decided = decision, self._now()

    def _put_open(self) -> None:
        """Put what is known of the latest attempt on the list, unless it is there already."""
        attempt, self._open = self._open, None
        if attempt is None:
            return
        if not attempt.begun:
            self._put(attempt.beginning())
        if attempt.decision is not None:
            self._put(attempt.ending())
            if attempt.reserved:
                node = attempt.decision.node_name
                self._put(Reserved(attempt.reserved, attempt.info.uid, node))

    def extender_answered(
        self, extender: str, verb: str, pod: Pod, answer: Any, error: str
    ) -> None:
        """See SchedulingTap."""
        now = self._now()
        self._put(ExtenderAnswer(now, extender, verb, pod.metadata.uid, answer, error))

    def work_begins(self, work: str) -> None:
        """See SchedulingTap."""
        now = self._now()
        self._works.begin(now, work)
        self._put(WorkBegins(now, work))

    def fetched(self, request: str, answer: Any, error: str, work: str = "") -> None:
        """See SchedulingTap."""
        fetch = Fetch(self._now(), request, answer, error, work)
        self._works.add(fetch)
        self._put(fetch)

    def reserved(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        current = self._open
        if (
            current is not None
            and current.info is attempt.info
            and current.decision is not None
            # A pod of a group may be placed again where an earlier cycle placed it.
            and (current.group is None or current.decision.node_name == _placement(attempt)[1])
        ):
            current.reserved = self._now()
        else:
            self._put(Reserved(self._now(), *_placement(attempt)))

    def permitted(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        current = self._open
        if (
            current is not None
            and current.info is attempt.info
            and current.reserved
            and current.group is None
        ):
            current.place(attempt, self._now())
            self._open = None
            self._put(current)
            return
        assert attempt.assumed is not None
        wait = attempt.assumed.wait
        waits = {} if wait is None else dict(wait.waits)
        self._put(Permitted(self._now(), attempt.info.uid, waits))

    def gave_back(self, attempt: SchedulingAttempt, status: Status) -> None:
        """See SchedulingTap."""
        recorded = RecordedStatus(int(status.code), status.reasons, status.plugin)
        self._put(GaveBack(self._now(), *_placement(attempt), recorded))

    def bound(self, attempt: SchedulingAttempt) -> None:
        """See SchedulingTap."""
        assumed = attempt.assumed
        assert assumed is not None
        self._put(Bound(self._now(), attempt.info.uid, assumed.node_name))

    def failed(self, info: QueuedPodInfo, failure: Failure) -> None:
        """See SchedulingTap."""
        self._put(
            Failed(
                self._now(),
                info.uid,
                failure.message,
                failure.rejected,
                tuple(failure.unschedulable),
                tuple(failure.pending),
                failure.nominated,
            )
        )

    def compared(
        self, begins: AttemptBegins, decision: Decision | None, compared: Compared
    ) -> None:
        """Record a decision of a shadow, and what the other scheduler did.

        Call it before the change that shows what the other scheduler did. `decision` is None if the
        shadow failed.
        """
        ends = None
        if decision is not None:
            outline = outline_of(
                decision, begins.attempt, begins.time, begins.seed, begins.sampling_start
            )
            ends = AttemptEnding(compared.time, outline, Scored.of(decision))
        self._put(_Comparison(begins, ends, compared))

    def _put(self, item: Any) -> None:
        if not self._writes:
            return
        if self._open is not None:
            self._put_open()
        self._waiting.append(item)
        count = len(self._waiting)
        if count == _MANY:
            self.when_many()
        if self._wants_checkpoint:
            self._wants_checkpoint = False
            assert self._running is not None
            self._running.scheduler.inbox.post(self._take_checkpoint)
        if count > MAX_WAITING:
            self._end(_TOO_SLOW)

    def _take_checkpoint(self) -> None:
        """Take a checkpoint between two cycles, once the loop has handled all that was posted.

        The stores may be ahead of what is still posted.
        """
        assert self._running is not None
        inbox = self._running.scheduler.inbox
        if len(inbox):
            inbox.post(self._take_checkpoint)
        elif self.failure is None:
            self._put_open()
            self._writes = True
            self._waiting.append(
                take_checkpoint(self._running, self._now(), self._works.last(), self._placements)
            )

    # Writing: called by one thread.

    def pump(self) -> None:
        """Write everything that waits."""
        if self.failure is not None:
            return
        try:
            self._write_waiting()
            while self._checkpoint is not None:
                self._write_slice(self._checkpoint)
                self._write_waiting()
        except Exception as error:
            # Usually of the disk. An entry that cannot be encoded must not end the thread silently.
            self._end(error)

    def close(self) -> None:
        """Write what waits; the writer stays open for the next run."""
        self._put_open()
        self.pump()
        self._metrics.active.set(0)

    def _end(self, error: Exception) -> None:
        if self.failure is None:
            self.failure, self._writes = error, False
            self._metrics.active.set(0)
            log_error(log, error, ENDED, folder=str(self._writer.folder))
        self._waiting.clear()
        self._checkpoint = None

    def _write_waiting(self) -> None:
        waiting, block = self._waiting, self._block
        batch: list[Entry] = []
        while waiting:
            item = waiting.popleft()
            if type(item) is OpenAttempt:
                batch += item.entries()
            elif type(item) is tuple:
                batch.append(change_entry(*item))
            elif isinstance(item, AttemptEnding):
                batch.append(item.entry())
            elif isinstance(item, Checkpoint):
                self._add_all(batch)
                self._begin_segment(item)
            elif isinstance(item, Fetch):
                batch.append(self._answers.encode(item))
            elif isinstance(item, _Comparison):
                # All entries go into one frame, so that a killed process writes all or none.
                batch += item.entries()
            else:
                batch.append(item)
            if len(batch) >= _BATCH:
                self._add_all(batch)
                if len(block) >= _BLOCK:
                    self._flush()
        self._add_all(batch)
        self._flush()

    def _add_all(self, batch: list[Entry]) -> None:
        """Encode a batch of entries, and clear it."""
        if batch:
            self._block += self._encoder.encode_lines(batch)
            batch.clear()

    def _add(self, entry: Entry) -> None:
        self._encoder.encode_into(entry, self._block, -1)
        self._block += b"\n"

    def _flush(self) -> None:
        if self._block:
            self._metrics.written.inc(self._writer.write(bytes(self._block)))
            self._block.clear()
        if self._checkpoint_due:
            return
        size = self._writer.size
        if size >= self._writer.segment_bytes and size >= 2 * self._base:
            self._checkpoint_due = self._wants_checkpoint = True

    def _begin_segment(self, checkpoint: Checkpoint) -> None:
        self._flush()
        number = self._writer.begin()
        self._answers.begin_segment()
        time = self._checkpoint_time = checkpoint.begins.time
        self._add(replace(self._head, time=time, number=number, first=self._first))
        self._add(checkpoint.begins)
        self._first = False
        self._checkpoint_entries = 0
        self._checkpoint = checkpoint.entries()
        if checkpoint.is_empty:
            # Nothing to write: the segment is complete with its first frame.
            self._write_slice(self._checkpoint)

    def _write_slice(self, entries: Iterator[Entry]) -> None:
        for _ in range(_SLICE):
            entry = next(entries, None)
            if entry is None:
                self._add(CheckpointEnds(self._checkpoint_time, self._checkpoint_entries))
                self._checkpoint = None
                self._flush()
                self._base = self._writer.size
                self._checkpoint_due = False
                self._writer.remove_oldest()
                return
            self._checkpoint_entries += 1
            self._add(entry)
            if len(self._block) >= _BLOCK:
                self._flush()


def _do_nothing() -> None:
    """Leave it to the caller of `pump` when to write."""


class _Comparison(msgspec.Struct, frozen=True):
    """A decision of a shadow, and its comparison with the other scheduler's."""

    begins: AttemptBegins
    ends: AttemptEnding | None
    compared: Compared

    def entries(self) -> Iterator[Entry]:
        """Yield the entries."""
        yield self.begins
        if self.ends is not None:
            yield self.ends.entry()
        yield self.compared


def _placement(attempt: SchedulingAttempt) -> tuple[str, str]:
    assumed = attempt.assumed
    assert assumed is not None
    return attempt.info.uid, assumed.node_name
