"""Reuse: for identical pods, the plugins run only on the nodes that changed since the last one.

Pods created from one template arrive in batches. The plugins' answers for the first pod on all
nodes are cached by its signature. For the next pod, the plugins run only on rows changed since, in
node form if those are few; all other answers are reused. Answers of plugins that do not read pods
are reused even for changed rows, as long as no node object changes. The decision is the same as
without reuse.

Not cached are verdicts while pods are nominated (a nomination counts for some pods and not for
others), searches that PreFilter narrowed or that are sampled, and faults. A Score plugin that
cannot sign a pod runs on all nodes each time; the answers of the other plugins are still reused.

kube-scheduler's own batching (framework/runtime/batch.go) returns the next best node of the last
ranking, for pods of which a node takes only one. Columns make the general case as cheap.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.filtering import filter_nodes, filter_one
from mooring.cycle.profile import Profile, ScoreStep
from mooring.cycle.scoring import (
    Ranking,
    ScoreError,
    Scores,
    Weighed,
    add_up,
    rank,
    run_pre_score,
    score_nodes,
    score_one,
    weigh,
)
from mooring.cycle.signature import PodSigner, Signature
from mooring.cycle.timing import (
    EXPIRED,
    FILTER,
    POD_FAILED,
    POD_INCOMPATIBLE,
    POD_NOT_BATCHABLE,
    SCORE,
    SIGN,
)
from mooring.framework.decision import NodeStatuses, PluginScores
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Ints

#: How many signatures are cached per profile.
_SIGNATURES = 16
#: Up to this many changed rows are evaluated one by one: arrays would be slower for so few.
FEW = 6
#: If more than one row in this many has changed, all rows are evaluated.
MOST = 4


class Reuse:
    """A cache of plugin answers by signature, for one profile. Owned by its cycle."""

    def __init__(self, profile: Profile) -> None:
        self.signer = PodSigner(profile)
        self._profile = profile
        # The API server adds topology labels to a pod when it binds it to a node with a zone, so
        # ignoring label changes lets more results be reused.
        names = {step.name for step in profile.filter} | {step.name for step in profile.score}
        plugins = [profile.plugins[name] for name in names]
        self._reads_labels = any(one.reads_pods and one.reads_pod_labels for one in plugins)
        #: In the order of use, the most recent last.
        self._remembered: dict[Hashable, Remembered] = {}

    def recall(self, state: CycleState, pod: Pod, nodes: Nodes) -> Remembered | None:
        """Filter all nodes, reusing cached answers if there are any, and cache the result.

        PreFilter must have run. None if the pod cannot be signed or a plugin failed.
        """
        recorder = self._profile.recorder
        start = recorder.now()
        signature = self.signer.sign(state, pod)
        recorder.point(SIGN, None, start)
        if signature is None:
            recorder.looked_up(False, recorder.now() - start)
            recorder.dropped(POD_NOT_BATCHABLE)
            return None
        found = self._remembered.pop(signature.key, None)
        is_new = found is None
        if found is None:
            found = Remembered(self._profile, self._reads_labels)
            if len(self._remembered) >= _SIGNATURES:
                del self._remembered[next(iter(self._remembered))]
                recorder.dropped(POD_INCOMPATIBLE)
        found.signature = signature
        hits, begin = found.hits, recorder.now()
        if not found.filter(state, pod, nodes):
            recorder.dropped(POD_FAILED)
            return None
        recorder.point(FILTER, None, begin)
        recorder.looked_up(found.hits > hits, begin - start)
        if found.hits == hits and not is_new:
            recorder.dropped(EXPIRED)
        begin = recorder.now()
        self._remembered[signature.key] = found
        recorder.remembered(begin)
        return found


class _Known(msgspec.Struct, frozen=True):
    """One Score plugin's scores, and its fragment of the pod's signature."""

    fragment: Hashable
    weighed: Weighed


#: A plugin's scores before and after, and the places where they may differ; None for all.
_Move = tuple[Weighed, Weighed, list[int] | None]


class Remembered:
    """The plugins' answers on all nodes, for pods with one signature."""

    #: Signature of the pod that is being scheduled.
    signature: Signature
    #: The result of Filter for that pod, and the nodes that pass.
    statuses: NodeStatuses
    feasible: Nodes
    #: Snapshot generations of the statuses and of the scores; None if there are none.
    _filtered_at: int | None
    _scored_at: int | None
    _known: dict[str, _Known]
    #: Weighted totals of the scores in `_known`.
    _totals: Ints

    def __init__(self, profile: Profile, reads_labels: bool) -> None:
        """Make an empty cache; `reads_labels` says whether a plugin may read labels of pods."""
        self._profile = profile
        self._reads_labels = reads_labels
        self._node_generation: int | None = None
        #: Rows that have been scored; None for all.
        self._scored: Rows | None = None
        #: How often cached rows were reused.
        self.hits = 0

    def filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> bool:
        """Run Filter on the rows that changed, or on all; return False if a plugin failed."""
        if self._node_generation != nodes.node_generation:
            self._node_generation = nodes.node_generation
            self._filtered_at = self._scored_at = None
        rows = self._changed(nodes, self._filtered_at)
        if rows is None:
            passed = self._filter_all(state, pod, nodes)
        else:
            self.hits += 1
            passed = self._filter_rows(state, pod, nodes, rows)
        self._filtered_at = nodes.generation
        return passed

    def _changed(self, nodes: Nodes, generation: int | None) -> list[int] | None:
        """Return the rows that changed after a generation; None if all must be evaluated."""
        if generation is None:
            return None
        if generation == nodes.generation:
            return []
        touched = nodes.changed_since(generation, ignore_pod_labels=not self._reads_labels)
        if touched is None or len(touched) <= 1:
            return touched
        rows = list(dict.fromkeys(touched))
        return None if len(rows) * MOST > len(nodes.all) else rows

    def _filter_all(self, state: CycleState, pod: Pod, nodes: Nodes) -> bool:
        verdicts = filter_nodes(self._profile, state, pod, nodes)
        if verdicts.error is not None:
            return False
        statuses = NodeStatuses(nodes)
        for status, rows in verdicts.refusals:
            statuses.refuse(rows, status)
        statuses.accept(slice(None) if verdicts.passed is None else verdicts.passed)
        self.statuses = statuses
        self.feasible = nodes if verdicts.passed is None else nodes.select(verdicts.passed)
        return True

    def _filter_rows(self, state: CycleState, pod: Pod, nodes: Nodes, rows: list[int]) -> bool:
        found: list[tuple[Status | None, Rows]] = []
        if len(rows) <= FEW:
            for row in rows:
                one = np.array((row,), dtype=np.intp)
                earlier = self.statuses.at(row)
                # No node object has changed, so a node that passed still passes the plugins that
                # do not read pods.
                status = filter_one(
                    self._profile, state, pod, nodes.select(one), by_pods_only=earlier is None
                )
                if status is not None and not status.is_rejected:
                    return False
                if status != earlier:
                    found.append((status, one))
        else:
            some = np.array(rows, dtype=np.intp)
            verdicts = filter_nodes(self._profile, state, pod, nodes.select(some))
            if verdicts.error is not None:
                return False
            found += [(status, some[positions]) for status, positions in verdicts.refusals]
            found.append((None, some if verdicts.passed is None else some[verdicts.passed]))
        if found:
            self._record(found, nodes)
        return True

    def _record(self, found: list[tuple[Status | None, Rows]], nodes: Nodes) -> None:
        # Earlier decisions still refer to the old statuses.
        statuses = self.statuses = self.statuses.copy()
        for status, rows in found:
            if status is None:
                statuses.accept(rows)
            else:
                statuses.refuse(rows, status)
        passing = statuses.passing
        self.feasible = nodes if len(passing) == len(nodes) else nodes.select(passing)

    # Score.

    def rank(self, state: CycleState, pod: Pod) -> Ranking:
        """Score the feasible nodes: run Score on the rows that changed, or on all."""
        nodes = self.feasible
        changed = self._changed(nodes, self._scored_at)
        recorder = self._profile.recorder
        ranking: Ranking | None = None
        with suppress(ScoreError):
            run_pre_score(self._profile, state, pod, nodes)
            start = recorder.now()
            ranking = self._rank(state, pod, nodes, changed)
            recorder.point(SCORE, None, start)
            if changed:
                recorder.rescored(start)
        if ranking is None:
            # Score all nodes again, so that the error is the same as without reuse.
            return rank(self._profile, state, pod, nodes)
        self._scored = nodes.rows
        self._scored_at = nodes.generation
        return ranking

    def raw_scores(self, plugin: str) -> Scores | None:
        """Return what a Score plugin said of the feasible nodes; None if it has not signed."""
        known = self._known.get(plugin)
        return None if known is None else known.weighed.raw

    def _rank(
        self, state: CycleState, pod: Pod, nodes: Nodes, changed: list[int] | None
    ) -> Ranking:
        before = {} if changed is None else self._known
        places = _places(nodes, changed or ())
        aligned = _same(self._scored, nodes.rows)
        known: dict[str, _Known] = {}
        scores: dict[str, PluginScores] = {}
        unsigned: list[Weighed] = []
        moves: list[_Move] = []
        for step in self._profile.of(state).score:
            name = step.name
            if name in state.skip_score_plugins:
                continue
            fragment = self.signature.fragment(name)
            if fragment is None:
                one = weigh(step, state, pod, nodes, score_nodes(step, state, pod, nodes))
                unsigned.append(one)
                scores[name] = one.scores
                continue
            earlier = before.get(name)
            holds = earlier is not None and earlier.fragment == fragment
            if earlier is not None and holds and aligned and not (places and step.reads_pods):
                known[name] = earlier
                scores[name] = earlier.weighed.scores
                continue
            moved: list[int] | None = None
            if earlier is None or not holds:
                raw = score_nodes(step, state, pod, nodes)
                if not isinstance(raw, int):
                    # The plugin may write to its array later.
                    raw = _read_only(raw.copy())
            else:
                raw = earlier.weighed.raw
                if not aligned and not isinstance(raw, int):
                    raw = _realigned(raw, self._scored, nodes)
                if places:
                    raw = _updated(step, state, pod, nodes, places, raw)
                if aligned and step.normalize is None:
                    moved = places
            if earlier is not None and aligned and raw is earlier.weighed.raw:
                one = earlier.weighed
            else:
                one = weigh(step, state, pod, nodes, raw, keep_raw=True, places=moved)
                if earlier is not None:
                    moves.append((earlier.weighed, one, moved))
            known[name] = _Known(fragment, one)
            scores[name] = one.scores
        if not before or not aligned or known.keys() != before.keys():
            self._totals = add_up((each.weighed for each in known.values()), len(nodes))
        elif moves:
            self._totals = _moved(self._totals, moves)
        self._known = known
        totals = _read_only(self._totals)
        if unsigned:
            totals = totals + add_up(unsigned, len(nodes))
        return Ranking(scores, totals)


def _same(rows: Rows | None, others: Rows | None) -> bool:
    # Usually both are one object, and then nothing needs to be compared.
    if rows is others:
        return True
    return rows is not None and others is not None and np.array_equal(rows, others)


def _places(nodes: Nodes, rows: Sequence[int]) -> list[int]:
    """Return the positions in `nodes` of the rows that are among them."""
    if nodes.rows is None:
        return list(rows)
    places = []
    for row, place in zip(rows, np.searchsorted(nodes.rows, rows).tolist(), strict=True):
        if place < len(nodes.rows) and nodes.rows[place] == row:
            places.append(place)
    return places


def _realigned(scores: Ints, rows: Rows | None, nodes: Nodes) -> Ints:
    """Return the scores of `rows` in the order of `nodes`; rows without a score get 0."""
    if rows is not None:
        every = np.zeros(len(nodes.all), dtype=np.int64)
        every[rows] = scores
        scores = every
    return _read_only(nodes.gather(scores))


def _updated(
    step: ScoreStep, state: CycleState, pod: Pod, nodes: Nodes, places: list[int], scores: Scores
) -> Scores:
    """Compute the scores at some places again; return the same array if none changed."""
    asked: Scores | list[int]
    if len(places) <= FEW and step.node is not None:
        asked = [score_one(step, state, pod, nodes.info(place)) for place in places]
    else:
        rows = np.array(places, dtype=np.intp)
        some = nodes.select(rows if nodes.rows is None else nodes.rows[rows])
        asked = score_nodes(step, state, pod, some)
        asked = [asked] * len(places) if isinstance(asked, int) else asked.tolist()
    if isinstance(scores, int):
        if all(score == scores for score in asked):
            return scores
        scores = np.full(len(nodes), scores, dtype=np.int64)
    elif asked == [scores.item(place) for place in places]:
        return scores
    else:
        scores = scores.copy()
    for place, score in zip(places, asked, strict=True):
        scores[place] = score
    return _read_only(scores)


def _moved(totals: Ints, moves: list[_Move]) -> Ints:
    """Return the totals after some plugins' scores changed at some places."""
    totals = totals.copy()
    for old, new, places in moves:
        if places is None:
            totals += (new.normalized - old.normalized) * new.weight
        else:
            for place in places:
                totals[place] += (_at(new, place) - _at(old, place)) * new.weight
    return totals


def _at(weighed: Weighed, place: int) -> int:
    scores = weighed.normalized
    return scores if isinstance(scores, int) else scores.item(place)


def _read_only(scores: Ints) -> Ints:
    scores.flags.writeable = False
    return scores
