"""The replay of a journal on its recorded state: every attempt is decided again and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mooring.config.rules import Rules
from mooring.framework.decision import Decision
from mooring.framework.tried_groups import GroupLine
from mooring.journal.entries import (
    AttemptEnds,
    Bound,
    Change,
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
from mooring.journal.open_attempt import totals_digest
from mooring.replay.attempt_comparison import (
    AttemptComparison,
    AttemptVerdict,
    Deviation,
    compare_attempt,
    deviating_plugin,
    find_deviation,
    incomparable,
    verdict_of,
)
from mooring.replay.engine import ReplayEngine
from mooring.replay.group_replay import BeforeAttempt, GroupReplay, make_group_replay
from mooring.replay.recorded_checkpoint import RecordedCheckpoint
from mooring.replay.recorded_steps import (
    RecordedAttempt,
    RecordedGroup,
    RecordedStep,
    recorded_steps,
)
from mooring.replay.report import ReplayReport
from mooring.replay.shadow_comparison import compare_again
from mooring.replay.taking import taking
from mooring.shadow.comparison import Verdict


class RunRules(msgspec.Struct, frozen=True):
    """The rules for one run of a scheduler: the recorded ones if they are known, and others."""

    recorded: Rules | None
    other: Rules | None = None


class _Engine(msgspec.Struct, frozen=True):
    engine: ReplayEngine
    groups: GroupReplay | None


class Replay:
    """A replay on the recorded state.

    `rules_of` gives the rules of each run of a scheduler that the journal holds. `before_attempt`
    is called with each recorded attempt and the engine of the recorded rules, ready to decide it.
    """

    def __init__(
        self,
        rules_of: Callable[[SegmentHead], RunRules],
        *,
        since: float | None = None,
        before_attempt: BeforeAttempt | None = None,
    ) -> None:
        self.report = ReplayReport()
        self._rules_of = rules_of
        self._since = since
        self._before_attempt = before_attempt
        self._recorded: _Engine | None = None
        self._other: _Engine | None = None
        self._engines: Sequence[_Engine] = ()
        #: The methods that handle steps, by the type of the step.
        self._takers: Mapping[type[Any], Callable[[Any], None]] = {
            Change: self._take_change,
            PodUpdate: self._take_change,
            RecordedAttempt: self._take_attempt,
            Reserved: self._take_reserved,
            Permitted: self._take_permitted,
            Bound: self._take_bound,
            Failed: self._take_failed,
            GaveBack: self._take_gave_back,
            Fetched: self._take_fetched,
            WorkBegins: self._take_work,
            Nominated: self._take_nominated,
            Forgot: self._take_forgot,
            RecordedGroup: self._take_group,
            RecordedCheckpoint: self._take_checkpoint,
            SegmentHead: self._begin_run,
            Compared: self._take_compared,
        }

    def run(self, entries: Iterable[Entry]) -> ReplayReport:
        """Replay entries; return what was found."""
        try:
            for step in recorded_steps(entries):
                self.take(step)
        finally:
            self.close()
        return self.report

    def take(self, step: RecordedStep) -> None:
        """Replay one step of the journal."""
        with taking(step):
            self._takers[type(step)](step)

    def _take_reserved(self, entry: Reserved) -> None:
        for one in self._engines:
            one.engine.reserve(entry.time, entry.uid, entry.node)

    def _take_permitted(self, entry: Permitted) -> None:
        for one in self._engines:
            one.engine.permit(entry.time, entry.uid, entry.waits)

    def _take_gave_back(self, entry: GaveBack) -> None:
        for one in self._engines:
            one.engine.give_back(entry)

    def _take_fetched(self, entry: Fetched) -> None:
        for one in self._engines:
            one.engine.fetched(entry)

    def _take_work(self, entry: WorkBegins) -> None:
        for one in self._engines:
            one.engine.work_begins(entry.time, entry.work)

    def _take_nominated(self, entry: Nominated) -> None:
        for one in self._engines:
            one.engine.nominate(entry.uid, entry.node)

    def _take_forgot(self, entry: Forgot) -> None:
        for one in self._engines:
            one.engine.forgot(entry.uid)

    def _take_bound(self, entry: Bound) -> None:
        for one in self._engines:
            one.engine.bound(entry.time, entry.uid)

    def _take_failed(self, entry: Failed) -> None:
        for one in self._engines:
            one.engine.failed(entry)

    def _take_checkpoint(self, checkpoint: RecordedCheckpoint) -> None:
        for one in self._engines:
            checkpoint.restore(one.engine)

    def _take_compared(self, entry: Compared) -> None:
        # The decision of the attempt is missing.
        self.report.contradictions += 1

    def _begin_run(self, head: SegmentHead) -> None:
        self.close()
        rules = self._rules_of(head)
        report = self.report
        report.runs += 1
        report.other_rules = rules.other is not None
        applied = rules.other or rules.recorded
        report.rules = "" if applied is None else applied.text
        self._recorded = None
        if rules.recorded is not None:
            self._recorded = _make(rules.recorded, self._before_attempt)
        self._other = None if rules.other is None else _make(rules.other, lenient=True)
        self._engines = [one for one in (self._recorded, self._other) if one is not None]

    def close(self) -> None:
        """Close the engines."""
        for one in self._engines:
            self.report.lacking.update(one.engine.answers.lacking)
            one.engine.close()
        self._engines = ()

    def _take_change(self, change: Change | PodUpdate) -> None:
        if not self._engines:
            return
        # The engines hold the same objects.
        obj = self._engines[0].engine.informers.object_after(change)
        for one in self._engines:
            if not one.engine.take_in_object(change, obj):
                self._note_contradiction(one)

    # Attempts.

    def _counts(self, time: float) -> bool:
        return self._since is None or time >= self._since

    def _take_attempt(self, attempt: RecordedAttempt) -> None:
        begins, ends = attempt.begins, attempt.ends
        decisions: list[Decision | None] = []
        for one in (self._recorded, self._other):
            if one is None:
                decisions.append(None)
                continue
            pod = one.engine.begin(begins, attempt.answers)
            if pod is None or pod.metadata.resource_version != begins.resource_version:
                self._note_contradiction(one)
            if pod is None:
                decisions.append(None)
                continue
            if one is self._recorded and self._before_attempt is not None:
                self._before_attempt(attempt, one.engine, pod)
            decisions.append(one.engine.decide(begins, pod))
        if begins.beside and attempt.compared is None:
            self.report.contradictions += 1
        if not self._counts(attempt.time):
            return
        if attempt.compared is not None:
            self._compare_again(attempt, attempt.compared, *decisions)
        if ends is None:
            self.report.undecided += 1
            return
        record = ends.record
        self.report.add_attempt(record.key, attempt.time, scheduled=bool(record.node))
        before, decision = decisions
        if self._recorded is not None and before is not None:
            self._check(attempt, ends, before, self._recorded.engine)
        if self._other is not None and decision is not None:
            self.report.add(self._compare(attempt, ends, decision, self._other.engine))

    def _compare_again(
        self,
        attempt: RecordedAttempt,
        recorded: Compared,
        before: Decision | None,
        decision: Decision | None,
    ) -> None:
        """Compare with the other scheduler again, as the shadow that wrote the journal did."""
        found = self.report.shadow_comparisons()
        verdict = Verdict(recorded.verdict)
        found.recorded.count(verdict, recorded.lost)
        if decision is not None:
            found.add_other(recorded, compare_again(recorded, decision))
        if before is None:
            return
        now = compare_again(recorded, before)
        if (now.verdict, now.lost) != (verdict, recorded.lost):
            begins = attempt.begins
            self._note_deviation(
                begins.profile,
                Deviation(
                    f"{begins.namespace}/{begins.name}",
                    begins.attempt,
                    begins.time,
                    "comparison",
                    f"{recorded.verdict}, {recorded.lost} points lost",
                    f"{now.verdict.value}, {now.lost} points lost",
                    now.plugin,
                ),
            )

    def _lacking(self, profile: str) -> Sequence[str]:
        """Return the plugins of a profile that lack answers which the journal leaves out."""
        return () if self._recorded is None else self._recorded.engine.lacking(profile)

    def _note_deviation(self, profile: str, found: Deviation) -> None:
        if self._lacking(profile):
            self.report.not_comparable += 1
        else:
            self.report.add_deviation(found)

    def _note_contradiction(self, one: _Engine) -> None:
        if one is self._engines[0]:
            self.report.contradictions += 1

    def _check(
        self,
        attempt: RecordedAttempt,
        ends: AttemptEnds,
        decision: Decision,
        engine: ReplayEngine | None,
    ) -> None:
        """Compare a decision under the recorded rules with what was recorded.

        `engine` is in the state of the decision; None if it has gone on meanwhile.
        """
        totals = decision.totals
        digest = 0 if totals is None or not len(totals) else totals_digest(totals)
        found = find_deviation(ends, decision, digest)
        if found is not None:
            examined = decision
            if engine is not None:
                examined = engine.examine(attempt.begins, decision.pod)
            plugin, record = deviating_plugin(ends, decision, examined), ends.record
            deviation = Deviation(record.key, record.attempt, record.time, *found, plugin)
            self._note_deviation(attempt.begins.profile, deviation)

    def _compare(
        self, attempt: RecordedAttempt, ends: AttemptEnds, decision: Decision, engine: ReplayEngine
    ) -> AttemptComparison:
        """Compare a decision under other rules with what was recorded."""
        record, verdict = ends.record, verdict_of(ends, decision)
        if verdict is AttemptVerdict.SAME:
            return AttemptComparison(
                record.key, record.attempt, record.time, verdict, record.node, record.node
            )
        profile = attempt.begins.profile
        lacking = {*engine.lacking(profile), *self._lacking(profile)}
        if lacking:
            return incomparable(record, decision.node_name, lacking)
        pod = decision.pod
        examined = engine.examine(attempt.begins, pod)
        before = None
        if self._recorded is not None:
            before = self._recorded.engine.examine(attempt.begins, pod)
        return compare_attempt(ends, decision, examined, before)

    # Pod groups.

    @property
    def tree(self) -> Sequence[GroupLine]:
        """Return the groups of the tree that was replayed last by the recorded rules.

        It is empty if the last group had no tree.
        """
        groups = None if self._recorded is None else self._recorded.groups
        return () if groups is None else groups.tree

    def _take_group(self, group: RecordedGroup) -> None:
        """Repeat the attempt for a group; under other rules its pods are compared by outcome."""
        for one in self._engines:
            if one.groups is None:
                continue
            repeated = one.groups.repeat(group)
            if not self._counts(group.time):
                continue
            for attempt, decision in repeated:
                if attempt is None:
                    if one is self._recorded and decision is not None:
                        self._check_extra(group, decision)
                    continue
                if attempt.ends is None:
                    continue
                if one is self._recorded:
                    self._check_member(attempt, attempt.ends, decision)
                elif decision is not None:
                    self._add_member(attempt, attempt.ends, decision, one.engine)

    def _add_member(
        self, attempt: RecordedAttempt, ends: AttemptEnds, decision: Decision, engine: ReplayEngine
    ) -> None:
        """Compare the decision about a pod of a group under other rules by its outcome."""
        verdict, record = verdict_of(ends, decision), ends.record
        lacking = {*engine.lacking(record.profile), *self._lacking(record.profile)}
        if lacking and verdict is not AttemptVerdict.SAME:
            self.report.add(incomparable(record, decision.node_name, lacking))
            return
        self.report.add(
            AttemptComparison(
                record.key,
                record.attempt,
                record.time,
                verdict,
                record.node,
                decision.node_name,
                reason=decision.message,
            )
        )

    def _check_extra(self, group: RecordedGroup, decision: Decision) -> None:
        """Report a cycle that was not recorded in a group's attempt whose end was."""
        if group.ends is None:
            return
        key, uid = decision.pod.key, decision.pod.metadata.uid
        cycles = (step.begins for step in group.steps if isinstance(step, RecordedAttempt))
        number = next((begins.attempt for begins in cycles if begins.uid == uid), 0)
        deviation = Deviation(key, number, group.time, "order", "nothing", key)
        self._note_deviation(decision.pod.spec.scheduler_name, deviation)

    def _check_member(
        self,
        attempt: RecordedAttempt,
        ends: AttemptEnds,
        decision: Decision | None,
    ) -> None:
        record = ends.record
        self.report.add_attempt(record.key, attempt.time, scheduled=bool(record.node))
        if decision is None or decision.pod.metadata.uid != record.uid:
            found = "nothing" if decision is None else decision.pod.key
            deviation = Deviation(
                record.key, record.attempt, record.time, "order", record.key, found
            )
            self._note_deviation(attempt.begins.profile, deviation)
        else:
            self._check(attempt, ends, decision, None)


def _make(
    rules: Rules, before_attempt: BeforeAttempt | None = None, *, lenient: bool = False
) -> _Engine:
    engine = ReplayEngine(rules, lenient=lenient)
    return _Engine(engine, make_group_replay(engine, before_attempt))
