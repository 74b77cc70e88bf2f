"""Explanations of recorded attempts: the examination of `explain`, on the state of a journal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from mooring.api import Pod
from mooring.api.timestamps import format_time
from mooring.errors import ObjectError
from mooring.explain.examination import Examination, ask_filters, examine
from mooring.framework.decision import Outcome
from mooring.framework.tried_groups import GroupLine
from mooring.journal.entries import (
    AttemptBegins,
    Entry,
    SegmentHead,
)
from mooring.journal.journal_reading import read_journal
from mooring.replay.engine import NO_PROFILE, ReplayEngine
from mooring.replay.recorded_steps import (
    RecordedAttempt,
    RecordedGroup,
    recorded_steps,
)
from mooring.replay.replaying import Replay, RunRules

#: What is said of a trial.
ONLY_A_TRIAL = (
    "the pod's group was refused before the pod was tried; this is a trial in another placement, "
    "or without pods that could be preempted"
)

#: Seconds after the beginning of an attempt within which it has certainly ended.
_MARGIN = 3600.0


class ExplainedAttempt(msgspec.Struct, frozen=True):
    """The explanation of a recorded attempt."""

    found: Examination
    #: The attempt as it was recorded.
    attempt: RecordedAttempt
    #: A text that names the rules that were applied.
    rules: str
    #: The groups of the tree of the pod's group; empty if there is no tree.
    tree: Sequence[GroupLine] = ()
    #: Whether it is only a trial: the pod's group was refused before the pod was tried.
    is_trial: bool = False
    #: The plugins that lack answers which the journal leaves out; "" if a name is not known.
    lacking: Sequence[str] = ()


def find_attempts(folder: str | os.PathLike[str], name: str, namespace: str) -> list[AttemptBegins]:
    """Return the recorded attempts of a pod, oldest first; "" stands for any namespace.

    In the attempt of a group, a pod may have several cycles: one for each placement, and more when
    PodGroupPostFilter tries the group without other pods. Only the cycle that decided the pod's
    result is returned, or the first one if none of them did.

    Raise ObjectError if there is none, or if pods of several namespaces have the name.
    """

    def is_asked(cycle: RecordedAttempt) -> bool:
        begins = cycle.begins
        return begins.name == name and namespace in ("", begins.namespace)

    found: list[AttemptBegins] = []
    for step in recorded_steps(read_journal(folder)):
        if isinstance(step, RecordedGroup):
            cycles = [one for one in step.steps if isinstance(one, RecordedAttempt)]
            cycles = [one for one in cycles if is_asked(one)][:1]
            cycles = [step.counted(one.begins.uid) or one for one in cycles]
        else:
            cycles = [step] if isinstance(step, RecordedAttempt) and is_asked(step) else []
        found += [cycle.begins for cycle in cycles]
    if not found:
        where = f" in namespace {namespace}" if namespace else ""
        raise ObjectError(
            f'the journal holds no attempt of a pod "{name}"{where}; -n names a namespace, and '
            "`mooring replay DIR` says which time the journal covers"
        )
    namespaces = sorted({entry.namespace for entry in found})
    if len(namespaces) > 1:
        raise ObjectError(
            f'the journal holds pods "{name}" in namespaces {", ".join(namespaces)}: choose one '
            "with -n"
        )
    return found


def choose_attempt(found: list[AttemptBegins], number: int | None) -> AttemptBegins:
    """Return the latest attempt, or the latest one with a number."""
    wanted = [entry for entry in found if number in (None, entry.attempt)]
    if not wanted:
        numbers = ", ".join(str(entry.attempt) for entry in found)
        raise ObjectError(
            f"the journal holds no attempt {number} of pod {found[-1].namespace}/{found[-1].name}; "
            f"its attempts: {numbers}"
        )
    return wanted[-1]


def explain_attempt(
    folder: str | os.PathLike[str],
    chosen: AttemptBegins,
    rules_of: Callable[[SegmentHead], RunRules],
) -> ExplainedAttempt:
    """Explain a recorded attempt; `rules_of` returns the rules to apply.

    If it is one of several cycles of the pod in an attempt of its group, the one that decided the
    pod's result is explained, or the first one if none of them did.
    """
    explaining = _Explaining(chosen)
    tree: Sequence[GroupLine] = ()
    replay = Replay(rules_of, before_attempt=explaining.look)
    entries = _up_to(read_journal(folder, since=chosen.time), chosen)
    try:
        for step in recorded_steps(entries):
            if isinstance(step, RecordedGroup):
                explaining.expect(step)
            replay.take(step)
            if explaining.found is not None:
                tree = replay.tree if isinstance(step, RecordedGroup) else ()
                break
    finally:
        replay.close()
    if explaining.found is None or explaining.attempt is None:
        raise ObjectError(
            f"the state before attempt {chosen.attempt} of pod {chosen.namespace}/{chosen.name} at "
            f"{format_time(chosen.time)} cannot be rebuilt: the journal lacks its pod"
        )
    return ExplainedAttempt(
        explaining.found,
        explaining.attempt,
        replay.report.rules,
        tree,
        explaining.is_trial,
        sorted(replay.report.lacking),
    )


def _up_to(entries: Iterable[Entry], chosen: AttemptBegins) -> Iterator[Entry]:
    """Yield the entries up to those of an attempt, and some more, which complete its group."""
    for entry in entries:
        if entry.time > chosen.time + _MARGIN:
            return
        yield entry


class _Explaining:
    """What examines the chosen attempt when a replay comes to it."""

    def __init__(self, chosen: AttemptBegins) -> None:
        self._chosen = chosen
        #: The cycle to examine, if the attempt is that of a group.
        self._cycle: RecordedAttempt | None = None
        #: Whether the pod's result does not come from it.
        self.is_trial = False
        self.found: Examination | None = None
        self.attempt: RecordedAttempt | None = None

    def expect(self, group: RecordedGroup) -> None:
        """Find the cycle that counts if the chosen one is part of a group's attempt."""
        cycles = group.cycles(self._chosen.uid)
        if any(one.begins == self._chosen for one in cycles):
            counted = group.counted(self._chosen.uid)
            self._cycle, self.is_trial = counted or cycles[0], counted is None

    def look(self, attempt: RecordedAttempt, engine: ReplayEngine, pod: Pod) -> None:
        """Examine an attempt if it is the chosen one."""
        if self.found is not None or not self._is_chosen(attempt):
            return
        profile = engine.scheduler.profiles.get(pod.spec.scheduler_name)
        if profile is None:
            served = ", ".join(sorted(engine.scheduler.profiles))
            raise ObjectError(NO_PROFILE.format(pod.spec.scheduler_name, served))
        self.attempt = attempt
        if attempt.begins.beside:
            decision = engine.decide(attempt.begins, pod)
            if decision.outcome is Outcome.GATED:
                self.found = Examination(decision, attempt.begins.attempt)
                return
        nodes = engine.scheduler.cache.nodes
        answers = ask_filters(profile, engine.scheduler.nominator, pod, nodes)
        decision = engine.examine(attempt.begins, pod, post_filter=attempt.begins.post_filter)
        self.found = examine(answers, decision, attempt.begins.attempt)

    def _is_chosen(self, attempt: RecordedAttempt) -> bool:
        if self._cycle is not None:
            return attempt is self._cycle
        return attempt.begins == self._chosen
