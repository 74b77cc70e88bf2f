"""Texts that say how an attempt ended and why a node was chosen."""

from __future__ import annotations

import numpy as np

from mooring.api import scheduling_group_key
from mooring.explain.examination import Examination
from mooring.framework.decision import Decision, Outcome

#: At most this many tied nodes are named.
_NAMES = 5

#: Several placements may be searched together; then each pod is only asked about the node found.
_IN_PLACEMENT = "the only node of the group's placement that passes, or found in a search of all"


def why_chosen(found: Examination) -> str:
    """Return why the scheduling cycle chose its node; empty if it chose none, or is not known."""
    decision = found.decision
    if not found.chosen or not len(found.verdicts):
        return ""
    if decision.totals is None:
        if decision.pod.status.nominated_node_name == found.chosen:
            return "the pod was nominated to it, and it passes"
        is_of_group = bool(scheduling_group_key(decision.pod))
        asked = found.verdicts.asked
        if np.count_nonzero(found.verdicts.passing) == 1 and (asked.all() or not is_of_group):
            return "the only node that passes, so nothing was scored"
        if is_of_group:
            return _IN_PLACEMENT
        return "the first node that passes, and no more were sought"
    best = found.best
    top = int(decision.totals.max())
    if len(best) == 1:
        return f"the highest total, {top}{_lead(found)}"
    names = ", ".join(sorted(best)[:_NAMES]) + (", …" if len(best) > _NAMES else "")
    return f"one of {len(best)} nodes with the highest total, {top} ({names}), picked at random"


def why_not_asked(found: Examination) -> str:
    """Return why there are nodes that no Filter plugin was asked about."""
    if not found.recorded or found.decision.pre_filter_nodes is not None:
        return "left out by PreFilter"
    return f"not asked, {why_not_feasible(found)}"


def why_not_feasible(found: Examination) -> str:
    """Return why there are nodes that no plugin refuses and that are not feasible."""
    if scheduling_group_key(found.decision.pod):
        return "outside the group's placement or not needed"
    return "enough nodes were found"


def _lead(found: Examination) -> str:
    """Return by how much the best node leads the next, and the plugin that adds most to that."""
    totals, feasible = found.decision.totals, found.feasible
    if totals is None or feasible is None or len(totals) < 2:
        return ""
    next_best, best = np.argsort(totals, kind="stable")[-2:]
    lead = int(totals[best] - totals[next_best])
    gains = {
        name: int(scores.normalized[best] - scores.normalized[next_best]) * scores.weight
        for name, scores in found.scores.items()
    }
    plugin = max(gains, key=gains.__getitem__)
    name = found.verdicts.names[feasible[next_best]]
    return f", {lead} more than {name} ({plugin} {gains[plugin]:+})"


def how_ended(decision: Decision, node: str = "") -> str:
    """Return in a few words how an attempt ended; `node` is the one that the cycle chose."""
    if decision.outcome is Outcome.SCHEDULED:
        return f"scheduled to {decision.node_name}"
    if decision.outcome is Outcome.GATED:
        return "gated"
    word = "failed" if decision.outcome is Outcome.ERROR else "unschedulable"
    return f"{word}, {node} was chosen and given up" if node else word


def message_of(decision: Decision) -> str:
    """Return why the pod stayed pending, in kube-scheduler's words; empty if it did not."""
    if decision.pre_enqueue is not None:
        return decision.pre_enqueue.message
    return decision.message
