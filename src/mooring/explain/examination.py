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
from msgspec.structs import replace

from mooring.api import Pod
from mooring.cycle.filtering import filter_nodes_with_nominated
from mooring.cycle.pre_filter import run_pre_filter
from mooring.cycle.profile import Profile
from mooring.cycle.scoring import rank
from mooring.explain.causes import Cause, Diagnoser, NearMiss, causes_of, near_misses
from mooring.explain.filter_verdicts import FilterVerdicts
from mooring.framework.decision import Decision, PluginScores
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.state import CycleState
from mooring.framework.status import Status


class Answers(msgspec.Struct):
    """The answers of the Filter plugins, collected before the attempt that is explained."""

    profile: Profile
    state: CycleState
    verdicts: FilterVerdicts
    causes: list[Cause] = msgspec.field(default_factory=list)
    near_misses: list[NearMiss] = msgspec.field(default_factory=list)
    #: Faults that kept a plugin from answering for all nodes.
    faults: list[Status] = msgspec.field(default_factory=list)


class Examination(msgspec.Struct):
    """One attempt with the answers of all plugins."""

    decision: Decision
    attempt: int
    #: The node chosen by the scheduling cycle; it may have been lost later, at Reserve or Permit.
    chosen: str = ""
    #: Without nodes if the pod was kept out of the queue.
    verdicts: FilterVerdicts = msgspec.field(default_factory=FilterVerdicts)
    #: The refused nodes by their first refusal.
    causes: Sequence[Cause] = ()
    near_misses: Sequence[NearMiss] = ()
    faults: Sequence[Status] = ()
    #: The nodes that passed filtering in the attempt itself, as rows of `verdicts`; None if Filter
    #: was not reached.
    feasible: Rows | None = None
    #: By Score plugin, in order; arrays have an entry per feasible node.
    scores: Mapping[str, PluginScores] = msgspec.field(default_factory=dict)
    #: Whether this is what the attempt itself found: `verdicts` has each node's first refusal only.
    recorded: bool = False

    @property
    def best(self) -> list[str]:
        """Return the names of the nodes that share the top total."""
        totals, feasible = self.decision.totals, self.feasible
        if totals is None or feasible is None or not len(totals):
            return [self.chosen] if self.chosen else []
        names = self.verdicts.names
        return [names[row] for row in feasible[totals == totals.max()].tolist()]


def ask_filters(profile: Profile, nominator: Nominator, pod: Pod, nodes: Nodes) -> Answers:
    """Run every Filter plugin on every node that PreFilter allows."""
    state = CycleState()
    state.examines = True
    verdicts = FilterVerdicts(nodes.names)
    answers = Answers(profile, state, verdicts)
    before = run_pre_filter(profile, state, pod, nodes)
    if before.status is not None:
        return answers
    rows: Rows = np.arange(len(nodes))
    if before.node_names is not None:
        found = sorted(row for name in before.node_names if (row := nodes.row(name)) >= 0)
        rows = np.array(found, dtype=np.intp)
    verdicts.asked[rows] = True
    asked = nodes.select(rows)
    info = profile.handle.pod_info(pod)
    for step in profile.filter:
        if step.name in state.skip_filter_plugins:
            continue
        verdicts.add_plugin(step.name)
        alone = copy.copy(profile)
        alone.filter = (step,)
        said = filter_nodes_with_nominated(alone, nominator, state, info, asked)
        for status, positions in said.refusals:
            verdicts.refuse(step.name, status, rows[positions])
        fault = said.error
        if fault is not None and all(status is not fault for status, _ in said.refusals):
            answers.faults.append(fault)
    diagnoser = Diagnoser(profile, state, pod, nodes)
    answers.causes = causes_of(verdicts, diagnoser)
    answers.near_misses = near_misses(verdicts, diagnoser)
    return answers


def examine(answers: Answers, decision: Decision, attempt: int = 1) -> Examination:
    """Combine the plugins' answers with the decision; call it before the snapshot changes."""
    if decision.pre_enqueue is not None:
        return Examination(decision, attempt)
    found = Examination(
        decision,
        attempt,
        chosen=decision.node_name,
        verdicts=answers.verdicts,
        causes=answers.causes,
        near_misses=answers.near_misses,
        faults=answers.faults,
    )
    feasible = decision.feasible
    if feasible is None:
        return found
    found.feasible = np.arange(len(feasible)) if feasible.rows is None else feasible.rows
    if not decision.scores or not len(feasible):
        return found
    # A plugin may have normalised its scores in place, so compute the raw scores again.
    again = rank(answers.profile, answers.state, decision.pod, feasible, keep_raw=True).scores
    found.scores = {
        name: replace(scores, raw=again[name].raw) if name in again else scores
        for name, scores in decision.scores.items()
    }
    return found
