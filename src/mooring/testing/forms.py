"""Checks that both forms of Filter and Score agree: on all nodes, some, one, in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from mooring.framework.nodes import Nodes, Rows
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.testing.bench import Answers, Bench
from mooring.testing.plugin_answers import Case, feasible_nodes

FORMS_AGREE = "both forms agree"
SUBSET = "the answer for some nodes is that for all"
REPEATABLE = "asking changes nothing"
ALIKE = "one score that stands for all nodes is normalised as all of them are"

_FORMS = "{} in vector form, {} in node form"
_VIEWS = "{} among all nodes, {} among some of them, with the same state"
_ALIKE = "{} as one of many equal scores, {} alone"
_AGAIN = "{} the first time, {} the second, with the same state"


def check_filter(bench: Bench, case: Case, rng: random.Random) -> Answers:
    """Check the forms of Filter, and return its answers for all nodes."""
    state, pod, nodes = CycleState(), case.pod, bench.nodes
    before = bench.pre_filter(state, pod)
    if before.status is not None:
        return [before.status] * len(nodes)
    whole = bench.ask_nodes(state, pod, nodes)
    if bench.profile.filter and bench.plugin.name not in state.skip_filter_plugins:
        names = nodes.names
        (step,) = bench.profile.filter
        if step.node is not None and step.vector is not None:
            each = bench.ask_each(state, pod, nodes)
            case.compare_filter(FORMS_AGREE, names, whole, each, _FORMS)
        for rows in _views(nodes, rng):
            expected = [whole[row] for row in rows.tolist()]
            for view in (nodes.select(rows), WhatIf(nodes, rows)):
                some = bench.ask_nodes(state, pod, view)
                case.compare_filter(SUBSET, view.names, expected, some, _VIEWS)
        again = bench.ask_nodes(state, pod, nodes)
        case.compare_filter(REPEATABLE, names, whole, again, _AGAIN)
    if before.node_names is None:
        return whole
    return [
        answer if name in before.node_names else before.outside
        for name, answer in zip(nodes.names, whole, strict=True)
    ]


def check_score(bench: Bench, case: Case, answers: Answers, rng: random.Random) -> int:
    """Check the forms of Score and the range of its scores; return how many nodes were scored."""
    feasible = feasible_nodes(bench, answers)
    if not bench.profile.score or not len(feasible):
        return 0
    state = CycleState()
    bench.pre_filter(state, case.pod)
    bench.ask_nodes(state, case.pod, bench.nodes)
    found = bench.rank(state, case.pod, feasible).scores.get(bench.plugin.name)
    if found is None:
        return 0
    _check_score_forms(bench, case, state, feasible, found.raw.tolist(), rng)
    # The range must also hold if another plugin has refused some of the nodes.
    fewer = feasible.where(np.array([rng.random() < 0.6 for _ in range(len(feasible))]))
    if len(fewer):
        bench.rank(state.clone(), case.pod, fewer)
    return len(feasible)


def _check_score_forms(
    bench: Bench, case: Case, state: CycleState, feasible: Nodes, raw: list[int], rng: random.Random
) -> None:
    (step,) = bench.profile.score
    pod, names = case.pod, feasible.names
    if step.node is not None:
        each = [_score_of(step.node(state, pod, info)) for info in feasible.infos()]
        both = step.vector is not None
        check, words = (FORMS_AGREE, _FORMS) if both else (REPEATABLE, _AGAIN)
        case.compare_scores(check, names, raw, each, words)
    if step.vector is None:
        return
    again = step.vector(state, pod, feasible)
    case.compare_scores(REPEATABLE, names, raw, _listed(again, len(names)), _AGAIN)
    if type(again) is int and step.normalize is not None and not step.normalizes_with_nodes:
        many = step.normalize(state, pod, np.array(raw, dtype=np.int64)).tolist()
        one = step.normalize(state, pod, np.array([again], dtype=np.int64)).tolist()
        case.compare_scores(ALIKE, names, many, one * len(names), _ALIKE)
    for positions in _views(feasible, rng):
        rows = positions if feasible.rows is None else feasible.rows[positions]
        expected = [raw[position] for position in positions.tolist()]
        view = feasible.select(rows)
        some = _listed(step.vector(state, pod, view), len(view))
        case.compare_scores(SUBSET, view.names, expected, some, _VIEWS)


def _listed(answer: Any, size: int) -> list[Any]:
    """Return one score per node; an integer answer applies to all of them."""
    return [answer] * size if type(answer) is int else list(answer.tolist())


def _score_of(answer: object) -> object:
    return answer.message if isinstance(answer, Status) else answer


def _views(nodes: Nodes, rng: random.Random) -> Iterator[Rows]:
    """Yield positions: all of them reversed, some in random order, and each one alone."""
    size = len(nodes)
    yield np.arange(size, dtype=np.intp)[::-1]
    shuffled = rng.sample(range(size), size)
    yield np.array(shuffled[: rng.randint(1, size)], dtype=np.intp)
    for position in range(size):
        yield np.array([position], dtype=np.intp)
