"""Score: which of the feasible nodes is best.

# kube-scheduler: framework/runtime/framework.go (RunPreScorePlugins, RunScorePlugins)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.profile import Profile, ScoreStep
from mooring.cycle.timing import PRE_SCORE, SCORE
from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.decision import PluginScores
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE, MIN_NODE_SCORE
from mooring.framework.points import Point
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.typing import Ints

#: Highest score of an extender. # kube-scheduler: k8s.io/kube-scheduler/extender/v1
MAX_EXTENDER_PRIORITY = 10

_PRE_SCORE = 'running PreScore plugin "{}": {}'
_SCORE = 'running Score plugins: plugin "{}" failed with: {}'
_NORMALIZE = 'running Normalize on Score plugins: plugin "{}" failed with: {}'
_RANGE = (
    'applying score defaultWeights on Score plugins: plugin "{}" returns an invalid score {}, '
    "it should in the range of [{}, {}] after normalizing, node {}"
)
_ARRAY = "an int64 array with an entry per node"

#: A score per node, or one score that all nodes have.
Scores = Ints | int


class Ranking(msgspec.Struct):
    """The result of Score; arrays are in the order of the nodes."""

    scores: dict[str, PluginScores]
    totals: Ints
    #: A plugin's fault, which ends the cycle.
    error: Status | None = None


class Weighed(msgspec.Struct, frozen=True):
    """One plugin's part in the totals."""

    raw: Scores
    normalized: Scores
    weight: int
    #: The same scores as arrays with an entry per node.
    scores: PluginScores


class ScoreError(Exception):
    """A plugin's fault in PreScore, Score or NormalizeScore.

    `normalized` holds the scores of which one is out of range.
    """

    def __init__(self, status: Status, normalized: Scores | None = None) -> None:
        self.status = status
        self.normalized = normalized


def _failed(text: str, name: str, status: Status) -> ScoreError:
    message = text.format(name, status.message)
    return ScoreError(Status(Code.ERROR, (message,), plugin=name, traceback=status.traceback))


def score_nodes(step: ScoreStep, state: CycleState, pod: Pod, nodes: Nodes) -> Scores:
    """Call a Score plugin; return a score per node, or one score that all nodes have."""
    if step.vector is None:
        return _score_each(step, state, pod, nodes)
    step.evaluations.value += len(nodes)
    try:
        answer = step.vector(state, pod, nodes)
    except BaseException as error:
        raise _failed(_SCORE, step.name, fault(step.name, Point.SCORE, error)) from None
    if type(answer) is int:
        return answer
    return _array(step, "score_nodes", _SCORE, answer, len(nodes))


def rank(
    profile: Profile, state: CycleState, pod: Pod, nodes: Nodes, *, keep_raw: bool = False
) -> Ranking:
    """Run PreScore, Score and NormalizeScore and add up the weighted scores.

    With `keep_raw`, raw scores are kept even from a plugin that normalises in place.
    """
    weighed: list[Weighed] = []
    scores: dict[str, PluginScores] = {}
    error: Status | None = None
    #: The step that is running, and its raw scores.
    step: ScoreStep | None = None
    raw: Scores | None = None
    recorder = profile.recorder
    try:
        run_pre_score(profile, state, pod, nodes)
    except ScoreError as found:
        return Ranking(scores, add_up(weighed, len(nodes)), found.status)
    start = recorder.now()
    try:
        skips = state.skip_score_plugins
        for step in profile.of(state).score:
            if step.name not in skips:
                raw = None
                raw = score_nodes(step, state, pod, nodes)
                one = weigh(step, state, pod, nodes, raw, keep_raw=keep_raw)
                weighed.append(one)
                scores[step.name] = one.scores
    except ScoreError as found:
        error = found.status
        if step is not None and raw is not None:
            scores[step.name] = _of_failed(raw, found.normalized, step.weight, len(nodes))
    recorder.point(SCORE, error, start)
    return Ranking(scores, add_up(weighed, len(nodes)), error)


def weigh(
    step: ScoreStep,
    state: CycleState,
    pod: Pod,
    nodes: Nodes,
    raw: Scores,
    *,
    keep_raw: bool = False,
    places: Sequence[int] | None = None,
) -> Weighed:
    """Normalise the raw scores of all nodes; with `keep_raw`, in an array of their own.

    If the plugin does not normalise and `places` is given, only the scores at those places are
    checked for their range; the others have been checked before.
    """
    size, weight = len(nodes), step.weight
    if isinstance(raw, int) and step.normalizes_with_nodes:
        # Normalisation may depend on the node, so one score for all nodes is not enough.
        raw = np.full(size, raw, dtype=np.int64)
    if isinstance(raw, int):
        return _weighed_alike(raw, _normalized_alike(step, state, pod, nodes, raw), weight, size)
    if step.normalize is not None:
        given = raw.copy() if keep_raw else raw
        normalized = normalize(step, state, pod, given, nodes)
        _check_range(step.name, nodes, normalized)
        if keep_raw:
            # The scores are kept, and the plugin may write to its own array later.
            normalized = given if normalized is given else normalized.copy()
            normalized.flags.writeable = False
        return Weighed(raw, normalized, weight, PluginScores(raw, normalized, weight))
    if places is None:
        _check_range(step.name, nodes, raw)
    else:
        for place in places:
            if not MIN_NODE_SCORE <= raw[place] <= MAX_NODE_SCORE:
                raise _out_of_range(step.name, int(raw[place]), nodes.names[place], raw)
    return Weighed(raw, raw, weight, PluginScores(raw, raw, weight))


def _of_failed(raw: Scores, normalized: Scores | None, weight: int, size: int) -> PluginScores:
    """Return the scores of a plugin that failed after Score."""
    before, after = (
        _constant(one, size) if isinstance(one, int) else one
        for one in (raw, raw if normalized is None else normalized)
    )
    return PluginScores(before, after, weight, is_normalized=normalized is not None)


def add_up(weighed: Iterable[Weighed], size: int) -> Ints:
    """Return the weighted total of each node."""
    totals: Ints | None = None
    #: The sum that plugins with one score for all nodes add to every total.
    alike = 0
    for one in weighed:
        if isinstance(one.normalized, int):
            alike += one.normalized * one.weight
        elif totals is None:
            totals = one.normalized * one.weight
        else:
            totals += one.normalized if one.weight == 1 else one.normalized * one.weight
    if totals is None:
        return np.full(size, alike, dtype=np.int64)
    if alike:
        totals += alike
    return totals


@lru_cache(maxsize=128)
def _weighed_alike(raw: int, score: int, weight: int, size: int) -> Weighed:
    """Return the contribution of a plugin that gives all nodes the same score."""
    each = PluginScores(_constant(raw, size), _constant(score, size), weight)
    return Weighed(raw, score, weight, each)


@lru_cache(maxsize=128)
def _constant(score: int, size: int) -> Ints:
    scores = np.full(size, score, dtype=np.int64)
    scores.flags.writeable = False
    return scores


def _normalized_alike(step: ScoreStep, state: CycleState, pod: Pod, nodes: Nodes, raw: int) -> int:
    """Normalise one score that all nodes have."""
    score = raw
    if step.normalize is not None:
        one = np.array([raw], dtype=np.int64)
        score = int(normalize(step, state, pod, one, nodes)[0])
    if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
        raise _out_of_range(step.name, score, nodes.names[0], score)
    return score


def run_pre_score(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> None:
    """Run the PreScore plugins and record in the state which of them return Skip."""
    recorder = profile.recorder
    start = recorder.now()
    error: Status | None = None
    try:
        _run_pre_score(profile.of(state), state, pod, nodes)
    except ScoreError as found:
        error = found.status
        raise
    finally:
        recorder.point(PRE_SCORE, error, start)


def _run_pre_score(profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> None:
    skipped: list[str] = []
    try:
        for step in profile.pre_score:
            try:
                status = step.call(state, pod, nodes)
            except BaseException as error:
                status = fault(step.name, Point.PRE_SCORE, error)
            if status is None:
                step.evaluations.value += 1
                continue
            if not isinstance(status, Status):
                status = wrong_type(
                    step.name, Point.PRE_SCORE, "pre_score", "a Status or None", status
                )
            if status.is_skip:
                skipped.append(step.name)
                continue
            step.evaluations.value += 1
            if not status.is_success:
                raise _failed(_PRE_SCORE, step.name, status)
    finally:
        state.skip_score_plugins = frozenset(skipped)


def _array(step: ScoreStep, method: str, text: str, answer: Any, size: int) -> Ints:
    if isinstance(answer, np.ndarray) and answer.shape == (size,):
        if answer.dtype == np.int64:
            return answer
        if answer.dtype.kind in "iu":
            return answer.astype(np.int64)
    if not isinstance(answer, Status):
        answer = wrong_type(step.name, Point.SCORE, method, f"{_ARRAY} ({size})", answer)
    raise _failed(text, step.name, answer)


def _score_each(step: ScoreStep, state: CycleState, pod: Pod, nodes: Nodes) -> Ints:
    scores = [score_one(step, state, pod, info) for info in nodes.infos()]
    return np.array(scores, dtype=np.int64)


def score_one(step: ScoreStep, state: CycleState, pod: Pod, node: NodeInfo) -> int:
    """Call a Score plugin's node form for one node."""
    step.evaluations.value += 1
    step.progress()
    call, name = step.node, step.name
    assert call is not None
    try:
        score = call(state, pod, node)
    except BaseException as error:
        raise _failed(_SCORE, name, fault(name, Point.SCORE, error, node.name)) from None
    if type(score) is not int:
        if isinstance(score, Status):
            raise _failed(_SCORE, name, score)
        if not isinstance(score, int | np.integer) or isinstance(score, bool):
            wrong = wrong_type(name, Point.SCORE, "score", "an int or a Status", score, node.name)
            raise _failed(_SCORE, name, wrong)
        score = int(score)
    if not -(2**63) <= score < 2**63:
        raise _out_of_range(name, score, node.name)
    return score


def normalize(step: ScoreStep, state: CycleState, pod: Pod, raw: Ints, nodes: Nodes) -> Ints:
    """Call a plugin's NormalizeScore with the scores of all nodes; it may change `raw` in place."""
    assert step.normalize is not None
    arguments = (state, pod, raw, nodes) if step.normalizes_with_nodes else (state, pod, raw)
    try:
        answer = step.normalize(*arguments)
    except BaseException as error:
        raise _failed(_NORMALIZE, step.name, fault(step.name, Point.SCORE, error)) from None
    return _array(step, "normalize_score", _NORMALIZE, answer, len(raw))


def _check_range(name: str, nodes: Nodes, scores: Ints) -> None:
    # Viewed as unsigned, a negative score is huge, so one comparison finds both.
    if len(scores) and np.maximum.reduce(scores.view(np.uint64)) > MAX_NODE_SCORE:
        wrong = np.flatnonzero((scores > MAX_NODE_SCORE) | (scores < MIN_NODE_SCORE))
        position = int(wrong[0])
        raise _out_of_range(name, int(scores[position]), nodes.names[position], scores)


def _out_of_range(name: str, score: int, node: str, normalized: Scores | None = None) -> ScoreError:
    text = _RANGE.format(name, score, MIN_NODE_SCORE, MAX_NODE_SCORE, node)
    return ScoreError(Status(Code.ERROR, (text,), plugin=name), normalized)
