"""The search for nodes in many placements at once, for the pods of one group.

A placement is a set of nodes that all pods of the group must go to. Trying the pods in one
placement after another repeats the same work: most answers of the plugins depend on the pod and the
node alone. Here the answers for a pod are computed once for all nodes (those of earlier pods are
reused, see `reuse`), and all placements advance together, pod by pod. A pod that has found a node
counts there only in a what-if view, so nothing has to be undone, and the next pod is asked again
only about the nodes that were chosen last, one of each placement, in one pass.

The result is the same as trying placement by placement if every plugin signs the pods and none
reserves anything for them: its answer about a node then depends on that node and the pods on it.
For all other pods the caller tries placement by placement.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.filtering import filter_nodes
from mooring.cycle.pre_filter import PreFilterResult, run_pre_filter
from mooring.cycle.profile import Profile, ScoreStep
from mooring.cycle.reuse import Remembered
from mooring.cycle.scoring import ScoreError, Scores, normalize, run_pre_score, score_nodes
from mooring.cycle.signature import Signature
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import PodBatch, WhatIf
from mooring.typing import Ints, Mask

#: Filters all nodes with cached answers of identical pods; None if that is not possible.
Recall = Callable[[Profile, CycleState, Pod, Nodes, PreFilterResult], Remembered | None]
#: Asks PlacementFeasible: how many pods have a node, and how many are still to be tried.
Feasible = Callable[[int, int], Status | None]
#: Picks one of the positions of the best nodes.
Pick = Callable[[Nodes, Rows], int]

GROUP_UNSCHEDULABLE = "pod group is unschedulable"


class Course:
    """How far a group has come in one placement, and whether enough of it fits."""

    def __init__(
        self, feasible: Feasible, scheduled: int, remaining: int, *, may_be_empty: bool = False
    ) -> None:
        """Begin with so many pods that have a node, and so many that are to be tried.

        Unless it `may_be_empty`, a group does not fit if no further pod finds a node.
        """
        self._feasible = feasible
        self._may_be_empty = may_be_empty
        self._scheduled = scheduled
        self._remaining = remaining
        #: The pods that have found a node here.
        self.placed = 0
        #: What PlacementFeasible said last; at the end, why the group does not fit, or None.
        self.status = feasible(scheduled, remaining)
        #: Whether no more pods are to be tried.
        self.is_over = self.status is not None and not self.status.is_wait
        if self.status is not None and self.status.is_rejected:
            # Even if every pod found a node, they would be too few.
            self.status = Status.unschedulable(GROUP_UNSCHEDULABLE, *self.status.reasons)

    def tried(self, *, fits: bool) -> None:
        """Record that the next pod was tried."""
        self._remaining -= 1
        self._scheduled += fits
        self.placed += fits
        self.status = self._feasible(self._scheduled, self._remaining)
        self.is_over = self.status is not None and not self.status.is_wait

    def end(self) -> Status | None:
        """Return why the group does not fit after all pods were tried, or None."""
        if not self.is_over and self.status is not None:
            self.status = Status.unschedulable(GROUP_UNSCHEDULABLE, *self.status.reasons)
        elif self.status is None and not self.placed and not self._may_be_empty:
            # Enough pods of the group run already, and none of the others fits.
            self.status = Status.unschedulable(GROUP_UNSCHEDULABLE)
        return self.status


class Trial(msgspec.Struct):
    """A group's pods in one placement."""

    #: The rows of the placement.
    rows: Rows
    course: Course
    #: The row of each pod that was tried, in order; -1 for one that found no node.
    chosen: list[int] = []


class _UnsuitedError(Exception):
    """The pods cannot be searched for together."""


class _Answers(msgspec.Struct):
    """The plugins' answers for pods with one signature. An array has an entry per slot."""

    pod: Pod
    state: CycleState
    #: Whether the pods pass Filter.
    fits: Mask
    #: The raw scores; of no meaning where `fits` is False.
    scores: list[tuple[ScoreStep, Scores]]
    #: How many of the choices are counted.
    seen: int


class PlacementSearch:
    """The search for the nodes of one group's pods in all placements together.

    A slot is one node in one placement; the slots of a placement are contiguous.
    """

    def __init__(
        self,
        profile: Profile,
        nodes: Nodes,
        pods: Sequence[Pod],
        trials: Sequence[Trial],
        *,
        recall: Recall,
        sign: Callable[[CycleState, Pod], Signature | None],
        pick: Pick,
        new_state: Callable[[], CycleState],
    ) -> None:
        self._profile = profile
        self._nodes = nodes
        self._pods = pods
        self._trials = trials
        self._recall = recall
        self._sign = sign
        self._pick = pick
        self._new_state = new_state
        self._rows: Rows = np.concatenate([trial.rows for trial in trials])
        ends = np.cumsum([len(trial.rows) for trial in trials])
        self._starts: Rows = np.concatenate((np.zeros(1, dtype=np.intp), ends[:-1]))
        self._views = [nodes.select(trial.rows) for trial in trials]
        self._batch = PodBatch([profile.handle.pod_info(pod) for pod in pods])
        self._answers: dict[Hashable, _Answers] = {}
        #: Chosen slots in the order of choice, and by slot the positions of the pods on it.
        self._choices: list[int] = []
        self._taken: dict[int, list[int]] = {}
        #: The plugins that refused a node for any pod.
        self.refusers: set[str] = set()

    def run(self) -> bool:
        """Try every pod in every placement; return False if these pods need one at a time.

        Each trial then holds the outcome; after False they are of no meaning.
        """
        try:
            for position, pod in enumerate(self._pods):
                if all(trial.course.is_over for trial in self._trials):
                    break
                self._try(position, pod)
        except _UnsuitedError:
            return False
        for trial in self._trials:
            trial.course.end()
        return True

    def _try(self, position: int, pod: Pod) -> None:
        answers = self._answers_for(pod)
        totals = self._totals(answers)
        best = np.maximum.reduceat(totals, self._starts)
        for number, trial in enumerate(self._trials):
            course = trial.course
            if course.is_over:
                continue
            highest = int(best[number])
            if highest < 0:
                trial.chosen.append(-1)
                course.tried(fits=False)
                continue
            start = int(self._starts[number])
            found = np.flatnonzero(totals[start : start + len(trial.rows)] == highest)
            place = int(found[0]) if len(found) == 1 else self._pick(self._views[number], found)
            trial.chosen.append(int(trial.rows[place]))
            self._choices.append(start + place)
            self._taken.setdefault(start + place, []).append(position)
            course.tried(fits=True)

    # Answers.

    def _answers_for(self, pod: Pod) -> _Answers:
        """Return the answers for a pod beside the pods that have been placed."""
        profile = self._profile
        state = self._new_state()
        before = run_pre_filter(profile, state, pod, self._nodes)
        if before.status is not None:
            raise _UnsuitedError
        signature = self._sign(state, pod)
        if signature is None or not _is_alone(profile, state, signature):
            raise _UnsuitedError
        fragments = tuple(signature.fragment(step.name) for step in profile.score)
        key = (signature.key, fragments)
        answers = self._answers.get(key)
        if answers is None:
            answers = self._answers[key] = self._ask_all(state, pod, before, signature)
        if answers.seen < len(self._choices):
            self._ask_again(answers)
        return answers

    def _ask_all(
        self, state: CycleState, pod: Pod, before: PreFilterResult, signature: Signature
    ) -> _Answers:
        """Return the answers for a pod without the pods that have been placed."""
        known = self._recall(self._profile, state, pod, self._nodes, before)
        if known is None:
            raise _UnsuitedError
        feasible = known.feasible
        self.refusers.update(status.plugin for status in known.statuses.columns[1])
        answers = _Answers(pod, state, np.ones(len(self._rows), dtype=np.bool_), [], 0)
        if feasible.rows is not None:
            passing = np.zeros(len(self._nodes), dtype=np.bool_)
            passing[feasible.rows] = True
            answers.fits = passing[self._rows]
        if not len(feasible):
            return answers
        ranking = known.rank(state, pod)
        if ranking.error is not None:
            raise _UnsuitedError
        for step in self._profile.of(state).score:
            one = known.raw_scores(step.name)
            if step.name not in ranking.scores:
                continue
            if one is None or signature.fragment(step.name) is None:
                raise _UnsuitedError
            answers.scores.append((step, one if isinstance(one, int) else self._spread(one, known)))
        return answers

    def _spread(self, scores: Ints, known: Remembered) -> Ints:
        """Return the scores of the feasible nodes by slot."""
        rows = known.feasible.rows
        if rows is None:
            return scores[self._rows]
        every = np.zeros(len(self._nodes), dtype=np.int64)
        every[rows] = scores
        return every[self._rows]

    def _ask_again(self, answers: _Answers) -> None:
        """Ask about the slots that were chosen since the answers were given."""
        slots = np.array(list(dict.fromkeys(self._choices[answers.seen :])), dtype=np.intp)
        answers.seen = len(self._choices)
        state, pod = answers.state, answers.pod
        view = self._view(slots)
        verdicts = filter_nodes(self._profile, state, pod, view)
        if verdicts.error is not None:
            raise _UnsuitedError
        self.refusers.update(status.plugin for status, _ in verdicts.refusals)
        passed = slots if verdicts.passed is None else slots[verdicts.passed]
        if not answers.fits[passed].all():
            # A node that did not pass before has no scores.
            raise _UnsuitedError
        if len(passed) < len(slots):
            answers.fits[slots] = False
            answers.fits[passed] = True
            slots, view = passed, self._view(passed)
        if not len(slots):
            return
        scores = []
        for step, raw in answers.scores:
            scores.append((step, self._score_again(step, answers, view, slots, raw)))
        answers.scores = scores

    def _score_again(
        self, step: ScoreStep, answers: _Answers, view: WhatIf, slots: Rows, raw: Scores
    ) -> Scores:
        if not step.reads_pods:
            return raw
        try:
            scores = score_nodes(step, answers.state, answers.pod, view)
        except ScoreError:
            raise _UnsuitedError from None
        if isinstance(raw, int):
            if isinstance(scores, int) and scores == raw:
                return raw
            raw = np.full(len(self._rows), raw, dtype=np.int64)
        raw[slots] = scores
        return raw

    def _view(self, slots: Rows) -> WhatIf:
        """Return the nodes of slots with the pods that have been placed on them."""
        view = WhatIf(self._nodes, self._rows[slots])
        pairs = [
            (position, member)
            for position, slot in enumerate(slots.tolist())
            for member in self._taken.get(slot, ())
        ]
        if pairs:
            positions, members = np.array(pairs, dtype=np.intp).T
            view.add_batch(positions, self._batch, members)
        return view

    # Totals.

    def _totals(self, answers: _Answers) -> Ints:
        """Return the total of each slot; -1 if the pod does not fit there."""
        totals = np.zeros(len(self._rows), dtype=np.int64)
        shared: list[tuple[ScoreStep, Ints]] = []
        for step, raw in answers.scores:
            if isinstance(raw, int):
                # The same for all nodes, so it does not decide.
                continue
            if step.normalize is None:
                if not _in_range(raw[answers.fits]):
                    raise _UnsuitedError
                totals += raw * step.weight
            else:
                shared.append((step, raw))
        if shared:
            self._add_normalized(totals, answers, shared)
        totals[~answers.fits] = -1
        return totals

    def _add_normalized(
        self, totals: Ints, answers: _Answers, shared: Sequence[tuple[ScoreStep, Ints]]
    ) -> None:
        """Add the scores that depend on those of the other nodes of the placement."""
        for number, trial in enumerate(self._trials):
            start = int(self._starts[number])
            slots = start + np.flatnonzero(answers.fits[start : start + len(trial.rows)])
            if trial.course.is_over or len(slots) < 2:
                continue
            nodes, state = self._view(slots), answers.state.clone()
            try:
                run_pre_score(self._profile, state, answers.pod, nodes)
                for step, raw in shared:
                    if step.name in state.skip_score_plugins:
                        continue
                    scores = normalize(step, state, answers.pod, raw[slots], nodes)
                    if not _in_range(scores):
                        raise _UnsuitedError
                    totals[slots] += scores * step.weight
            except ScoreError:
                raise _UnsuitedError from None


def _in_range(scores: Ints) -> bool:
    if not len(scores):
        return True
    return bool(scores.min() >= MIN_NODE_SCORE) and bool(scores.max() <= MAX_NODE_SCORE)


def _is_alone(profile: Profile, state: CycleState, signature: Signature) -> bool:
    """Return whether no plugin's answers about a pod depend on where other pods of it went.

    A plugin that signs the pod says so of Filter and Score, and hence of what PreFilter prepares.
    """
    skipped = state.skip_filter_plugins
    reserves = {step.name for step in (*profile.reserve, *profile.unreserve)}
    return reserves <= skipped and all(
        step.name in skipped or signature.has(step.name) for step in profile.pre_filter
    )
