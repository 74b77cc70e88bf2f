"""The steps of a journal: entries that belong together are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Bound,
    Change,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    CheckpointPlacement,
    CheckpointWork,
    Compared,
    Entry,
    ExtenderAnswer,
    Failed,
    Fetched,
    Forgot,
    GaveBack,
    GroupBegins,
    GroupEnds,
    Nominated,
    Permitted,
    PodUpdate,
    Reserved,
    SegmentHead,
    WorkBegins,
)
from mooring.replay.recorded_checkpoint import RecordedCheckpoint
from mooring.replay.recorded_extender import FILTER
from mooring.replay.taking import taking


class RecordedAttempt(msgspec.Struct, frozen=True):
    """One scheduling cycle."""

    begins: AttemptBegins
    answers: Sequence[ExtenderAnswer]
    #: None if the cycle ended with an unexpected error, or was the last thing that was recorded.
    ends: AttemptEnds | None
    #: What the other scheduler did, if a shadow decided.
    compared: Compared | None = None

    @property
    def time(self) -> float:
        """Return when it began."""
        return self.begins.time


class RecordedGroup(msgspec.Struct, frozen=True):
    """One attempt for a pod group."""

    begins: GroupBegins
    steps: Sequence[RecordedAttempt | Reserved | Permitted | GaveBack | Failed]
    #: None if it was the last thing that was recorded.
    ends: GroupEnds | None

    @property
    def time(self) -> float:
        """Return when it began."""
        return self.begins.time

    def cycles(self, uid: str) -> list[RecordedAttempt]:
        """Return the scheduling cycles of a pod, in order."""
        cycles = (step for step in self.steps if isinstance(step, RecordedAttempt))
        return [cycle for cycle in cycles if cycle.begins.uid == uid]

    def counted(self, uid: str) -> RecordedAttempt | None:
        """Return the cycle that a pod's result comes from (`QueuedPodGroupInfo.counted`).

        None if the pod was not tried in the placement that counts.
        """
        cycles = self.cycles(uid)
        if self.ends is None or self.ends.counted is None:
            return self._likely(uid, cycles)
        number = self.ends.counted.get(uid, len(cycles))
        return cycles[number] if number < len(cycles) else None

    def _likely(self, uid: str, cycles: Sequence[RecordedAttempt]) -> RecordedAttempt | None:
        """Return the cycle that probably counts, if that was not recorded.

        If the pod has found a node and shares the fate of its group, that is its first cycle: the
        group's message is about the first placement.
        """
        node = message = ""
        for step in self.steps:
            match step:
                case Reserved(uid=one) if one == uid:
                    node = step.node
                case GaveBack(uid=one) if one == uid:
                    node = ""
                case Failed(uid=one) if one == uid:
                    message = step.message
        records = [(one, one.ends.record) for one in cycles if one.ends is not None]
        if node:
            same = [one for one, record in records if record.node == node][-1:]
        else:
            same = [one for one, record in records if message and record.message == message][:1]
        return next(iter(same or cycles), None)


RecordedStep = (
    SegmentHead
    | RecordedCheckpoint
    | Change
    | PodUpdate
    | Fetched
    | WorkBegins
    | RecordedAttempt
    | RecordedGroup
    | Reserved
    | Permitted
    | GaveBack
    | Nominated
    | Forgot
    | Bound
    | Failed
    | Compared
)


_GROUP_LIMITS = frozenset({GroupBegins, GroupEnds})
#: The entries that are steps on their own, unless they occur within an attempt.
_ALONE = frozenset(
    {
        SegmentHead,
        Change,
        PodUpdate,
        Fetched,
        WorkBegins,
        GroupBegins,
        GroupEnds,
        Reserved,
        Permitted,
        GaveBack,
        Nominated,
        Forgot,
        Bound,
        Failed,
    }
)


def recorded_steps(entries: Iterable[Entry]) -> Iterator[RecordedStep]:
    """Yield the steps of a journal in order."""
    group: GroupBegins | None = None
    members: list[RecordedAttempt | Reserved | Permitted | GaveBack | Failed] = []
    for step in _single_steps(entries):
        if group is None and type(step) not in _GROUP_LIMITS:
            # This is by far the most frequent case.
            yield step  # type: ignore[misc]
        elif isinstance(step, GroupBegins):
            group, members = step, []
        elif group is None:
            continue
        elif isinstance(step, GroupEnds):
            yield RecordedGroup(group, members, step)
            group = None
        elif isinstance(step, RecordedAttempt | Reserved | Permitted | GaveBack | Failed):
            members.append(step)
        elif isinstance(step, Fetched | WorkBegins | Nominated):
            yield step
        else:
            # The group's attempt ended with an unexpected error.
            yield RecordedGroup(group, members, None)
            group = None
            yield step
    if group is not None:
        yield RecordedGroup(group, members, None)


def _single_steps(entries: Iterable[Entry]) -> Iterator[RecordedStep | GroupBegins | GroupEnds]:
    checkpoint: RecordedCheckpoint | None = None
    begins: AttemptBegins | None = None
    answers: list[ExtenderAnswer] = []
    #: The periodic work that ran while the cycle waited for an extender.
    meanwhile: list[Fetched | WorkBegins] = []
    #: The decision of a shadow, until its comparison follows.
    ends: AttemptEnds | None = None
    for entry in entries:
        if begins is None and type(entry) in _ALONE:
            # By far the most entries.
            yield entry  # type: ignore[misc]
            continue
        if ends is not None and begins is not None and not isinstance(entry, Compared):
            yield RecordedAttempt(begins, answers, ends)
            begins = ends = None
        match entry:
            case AttemptBegins():
                if begins is not None:
                    yield RecordedAttempt(begins, answers, None)
                    yield from meanwhile
                    meanwhile.clear()
                begins, answers = entry, []
            case ExtenderAnswer():
                answers.append(entry)
                if entry.verb == FILTER:
                    # The plugins scored after they had received these measurements.
                    yield from meanwhile
                    meanwhile.clear()
            case AttemptEnds() if begins is not None and begins.beside:
                ends = entry
            case Compared():
                if begins is not None and begins.uid == entry.uid:
                    yield RecordedAttempt(begins, answers, ends, entry)
                else:
                    yield entry
                begins = ends = None
            case AttemptEnds():
                if begins is not None:
                    yield RecordedAttempt(begins, answers, entry)
                    begins = None
                    yield from meanwhile
                    meanwhile.clear()
            case CheckpointBegins():
                checkpoint = RecordedCheckpoint(entry)
            case CheckpointObject() | CheckpointWork() | CheckpointPlacement():
                if checkpoint is not None:
                    with taking(entry):
                        checkpoint.add(entry)
            case CheckpointEnds():
                if checkpoint is not None:
                    yield checkpoint
                    checkpoint = None
            case WorkBegins() | Fetched() if begins is not None and entry.work:
                meanwhile.append(entry)
            case WorkBegins() | Fetched() | Nominated():
                yield entry
            case _:
                if begins is not None:
                    yield RecordedAttempt(begins, answers, None)
                    begins = None
                    yield from meanwhile
                    meanwhile.clear()
                yield entry
    if begins is not None:
        yield RecordedAttempt(begins, answers, ends)
    yield from meanwhile
