"""The state of a cluster at a moment of its past, read from a journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from mooring.api import Pod
from mooring.config.rules import Rules
from mooring.explain.attempt_record import AttemptRecord
from mooring.framework.decision import Outcome
from mooring.informers.store import Store
from mooring.journal.entries import (
    AttemptEnds,
    Bound,
    Change,
    CheckpointEnds,
    Compared,
    Entry,
    Failed,
    Fetched,
    Forgot,
    GaveBack,
    Nominated,
    Permitted,
    PodUpdate,
    Reserved,
    SegmentHead,
    WorkBegins,
)
from mooring.journal.journal_reading import read_journal
from mooring.replay.engine import ReplayEngine
from mooring.replay.journal_span import first_entry, journal_end
from mooring.replay.recorded_checkpoint import RecordedCheckpoint
from mooring.replay.recorded_steps import (
    RecordedAttempt,
    RecordedGroup,
    RecordedStep,
    recorded_steps,
)
from mooring.replay.taking import taking
from mooring.scheduler.scheduler import Scheduler
from mooring.ui.seen_decisions import (
    BOUND,
    UNSCHEDULABLE,
    SeenDecisions,
    ShadowOpinion,
)

Folder = str | os.PathLike[str]
RulesOf = Callable[[SegmentHead], Rules]


class JournalMoment:
    """A scheduler in the state that a journal holds for one moment; a `PageSource`.

    The objects are those that the recorded scheduler had taken in. Its attempts are not decided
    again: a pod is where they put it.
    """

    failure = ""
    lost_since: float | None = None
    unread: Sequence[str] = ()

    def __init__(
        self, engine: ReplayEngine, decisions: SeenDecisions, *, is_shadow: bool = False
    ) -> None:
        self._engine = engine
        self.decisions = decisions
        #: Whether a shadow wrote the journal: then another scheduler put the pods where they are.
        self.is_shadow = is_shadow

    @property
    def scheduler(self) -> Scheduler:
        """Return the scheduler."""
        return self._engine.scheduler

    @property
    def pods(self) -> Store[Pod]:
        """Return all pods that have not finished."""
        return self._engine.pods

    @property
    def rules(self) -> str:
        """Return whose rules are applied."""
        return self._engine.rules.text

    def close(self) -> None:
        """Close the plugins."""
        self._engine.close()


def journal_span(folder: Folder) -> tuple[float, float]:
    """Return when a journal begins and ends, in seconds since the epoch."""
    first = first_entry(folder)
    return first.time, max(first.time, journal_end(folder))


def read_moment_of(folder: Folder, time: float, rules_of: RulesOf) -> JournalMoment:
    """Return the state at a time, which takes as long as to read the segment that holds it.

    `rules_of` gives the rules for a run of the scheduler that wrote the journal. Call it in a
    thread. Raise JournalError if the journal cannot be read.
    """
    building = _Building(rules_of)
    try:
        for step in recorded_steps(_up_to(read_journal(folder, since=time), time)):
            with taking(step):
                building.take(step)
    except BaseException:
        building.close()
        raise
    assert building.engine is not None, "a journal begins with a head"
    return JournalMoment(building.engine, building.decisions, is_shadow=building.is_shadow)


def _up_to(entries: Iterable[Entry], time: float) -> Iterator[Entry]:
    """Yield the entries up to a time, and all of a checkpoint, which took a while to write."""
    is_whole = False
    for entry in entries:
        if is_whole and entry.time > time:
            return
        if isinstance(entry, SegmentHead | CheckpointEnds):
            is_whole = isinstance(entry, CheckpointEnds)
        yield entry


class _Building:
    """An engine that takes in the steps of a journal."""

    def __init__(self, rules_of: RulesOf) -> None:
        self._rules_of = rules_of
        self.engine: ReplayEngine | None = None
        self.is_shadow = False
        self.decisions = SeenDecisions(lambda: 0.0)

    def take(self, step: RecordedStep) -> None:
        if isinstance(step, SegmentHead):
            self.close()
            self.engine = ReplayEngine(self._rules_of(step), lenient=True)
            self.is_shadow = step.their_config is not None
            return
        engine = self.engine
        assert engine is not None, "a journal begins with a head"
        match step:
            case RecordedCheckpoint():
                step.restore(engine)
            case Change() | PodUpdate():
                engine.take_in(step)
            case RecordedAttempt(compared=Compared() as compared):
                self._add_compared(step, compared)
            case RecordedAttempt():
                self._add(step.ends)
            case RecordedGroup():
                for member in step.steps:
                    self._take_member(engine, member)
                self._add_group(engine, step)
            case _:
                self._take_member(engine, step)

    def _take_member(self, engine: ReplayEngine, step: object) -> None:
        match step:
            case Reserved():
                engine.reserve(step.time, step.uid, step.node)
            case GaveBack():
                engine.give_back(step)
            case WorkBegins():
                engine.work_begins(step.time, step.work)
            case Fetched():
                engine.fetched(step)
            case Nominated():
                engine.nominate(step.uid, step.node)
            case Forgot():
                engine.forgot(step.uid)
            case Bound():
                engine.bound(step.time, step.uid)

    def _add(self, ends: AttemptEnds | None) -> None:
        if ends is not None:
            record = ends.record
            self.decisions.add(
                record.time,
                record.namespace,
                record.name,
                _outcome(record),
                record.profile,
                record.node,
                record.message,
            )

    def _add_group(self, engine: ReplayEngine, group: RecordedGroup) -> None:
        """Add what became of the pods of a group; what was only tried is no decision."""
        nodes: dict[str, str] = {}
        results: dict[str, Permitted | Failed] = {}
        for step in group.steps:
            if isinstance(step, Reserved):
                nodes[step.uid] = step.node
            elif isinstance(step, Permitted | Failed):
                results[step.uid] = step
        for uid, result in results.items():
            for pod in engine.pods_of(uid):
                outcome, node, message = BOUND, nodes.get(uid, ""), ""
                if isinstance(result, Failed):
                    outcome = UNSCHEDULABLE if result.rejected else Outcome.ERROR.value
                    node, message = "", result.message
                meta, profile = pod.metadata, pod.spec.scheduler_name
                self.decisions.add(
                    result.time, meta.namespace, meta.name, outcome, profile, node, message
                )

    def _add_compared(self, attempt: RecordedAttempt, compared: Compared) -> None:
        """Add what the other scheduler did, and what a shadow would have done."""
        begins = attempt.begins
        opinion = ShadowOpinion(
            compared.verdict, compared.ours, compared.lost, compared.plugin, compared.reason
        )
        self.decisions.add(
            compared.time,
            begins.namespace,
            begins.name,
            BOUND if compared.theirs else UNSCHEDULABLE,
            begins.profile,
            compared.theirs,
            compared=opinion,
        )

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()


def _outcome(record: AttemptRecord) -> str:
    return BOUND if record.outcome == Outcome.SCHEDULED.value else record.outcome
