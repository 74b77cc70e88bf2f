"""Examination: what every plugin says of every node, beyond what a decision needs.

The scheduling cycle stops filtering a node at the first refusal, may stop once it has found enough
nodes, and scores nothing if one node is left. To explain an attempt, every Filter plugin runs
alone on every node, with a separate state. The cycle takes its decision as always: an examination
changes neither that decision nor later ones.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.filtering import filter_nodes_with_nominated
from mooring.cycle.pre_filter import run_pre_filter
from mooring.cycle.profile import Profile
from mooring.cycle.scoring import rank
from mooring.framework.decision import Decision
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes
from mooring.framework.state import CycleState
from mooring.framework.status import Status


class Score(msgspec.Struct, frozen=True):
    """One plugin's score of one node."""

    raw: int
    normalized: int


class NodeVerdict(msgspec.Struct):
    """What the plugins said of one node."""

    name: str
    #: Whether the Filter plugins ran on it: PreFilter may have restricted them to other nodes.
    asked: bool = False
    #: Every refusal, in the order of the plugins; the pod's message counts only the first.
    refusals: list[Status] = msgspec.field(default_factory=list)
    #: Whether the node passed filtering in the attempt itself.
    feasible: bool = False
    scores: dict[str, Score] = msgspec.field(default_factory=dict)
    total: int | None = None


class Answers(msgspec.Struct):
    """The answers of the Filter plugins, collected before the attempt that is explained."""

    profile: Profile
    state: CycleState
    nodes: list[NodeVerdict]
    #: The Filter plugins that ran, in order.
    filters: list[str] = msgspec.field(default_factory=list)
    #: Faults that kept a plugin from answering for all nodes.
    faults: list[Status] = msgspec.field(default_factory=list)


class Examination(msgspec.Struct):
    """One attempt with the answers of all plugins."""

    decision: Decision
    attempt: int
    #: The node chosen by the scheduling cycle; it may have been lost later, at Reserve or Permit.
    chosen: str = ""
    #: Empty if the pod was kept out of the queue.
    nodes: Sequence[NodeVerdict] = ()
    filters: Sequence[str] = ()
    faults: Sequence[Status] = ()
    #: The weights of the Score plugins that ran, in order.
    weights: Mapping[str, int] = msgspec.field(default_factory=dict)


def ask_filters(profile: Profile, nominator: Nominator, pod: Pod, nodes: Nodes) -> Answers:
    """Run every Filter plugin on every node that PreFilter allows."""
    state = CycleState()
    answers = Answers(profile, state, [NodeVerdict(name) for name in nodes.names])
    before = run_pre_filter(profile, state, pod, nodes)
    if before.status is not None:
        return answers
    rows = list(range(len(nodes)))
    if before.node_names is not None:
        rows = sorted(row for name in before.node_names if (row := nodes.row(name)) >= 0)
    asked = nodes.select(np.array(rows, dtype=np.intp))
    for row in rows:
        answers.nodes[row].asked = True
    info = profile.handle.pod_info(pod)
    for step in profile.filter:
        if step.name in state.skip_filter_plugins:
            continue
        answers.filters.append(step.name)
        alone = copy.copy(profile)
        alone.filter = (step,)
        verdicts = filter_nodes_with_nominated(alone, nominator, state, info, asked)
        for position, status in verdicts.each(asked):
            answers.nodes[rows[position]].refusals.append(status)
        fault = verdicts.error
        if fault is not None and all(status is not fault for status, _ in verdicts.refusals):
            answers.faults.append(fault)
    return answers


def examine(answers: Answers, decision: Decision, attempt: int = 1) -> Examination:
    """Combine the plugins' answers with the decision; call it before the snapshot changes."""
    if decision.pre_enqueue is not None:
        return Examination(decision, attempt)
    found = Examination(
        decision,
        attempt,
        chosen=decision.node_name,
        nodes=answers.nodes,
        filters=answers.filters,
        faults=answers.faults,
        weights={name: scores.weight for name, scores in decision.scores.items()},
    )
    feasible = decision.feasible
    if feasible is None:
        return found
    verdicts = {verdict.name: verdict for verdict in answers.nodes}
    passed = [verdicts[name] for name in feasible.names]
    for verdict in passed:
        verdict.feasible = True
    if decision.totals is None or not passed:
        return found
    for verdict, total in zip(passed, decision.totals.tolist(), strict=True):
        verdict.total = total
    # A plugin may have normalised its scores in place, so compute the raw scores again.
    again = rank(answers.profile, answers.state, decision.pod, feasible, keep_raw=True).scores
    for name, scores in decision.scores.items():
        raw = again[name].raw if name in again else scores.raw
        pairs = zip(raw.tolist(), scores.normalized.tolist(), strict=True)
        for verdict, (before, after) in zip(passed, pairs, strict=True):
            verdict.scores[name] = Score(before, after)
    return found
