"""PodComparison: a decision of ours beside the node that another scheduler has chosen."""

from __future__ import annotations

from collections import Counter
from enum import Enum

import msgspec
import numpy as np

from mooring.explain.outcome_texts import message_of
from mooring.framework.decision import Decision, Outcome
from mooring.virtual.comparing_scheduler import weighted_gains


class Verdict(Enum):
    """How a decision compares with that of the other scheduler."""

    #: Their node is one of our best.
    AGREED = "agreed"
    #: Their node passes, and another one has a higher total.
    OTHER_NODE = "other node"
    #: A plugin refuses their node, and another node passes.
    REFUSED = "refused by us"
    #: No node passes.
    PENDING_HERE = "pending here"
    #: They leave a pod pending that we would place.
    PENDING_THERE = "pending there"
    #: The nodes in question changed too shortly before.
    UNDECIDABLE = "undecidable"
    #: A plugin failed.
    ERROR = "error"


class PodComparison(msgspec.Struct, frozen=True):
    """One pod, the node it got, and what we would have done."""

    pod: str
    verdict: Verdict
    #: The node that the other scheduler chose; "" if it chose none.
    theirs: str = ""
    #: One of our best nodes; "" if there is none.
    ours: str = ""
    #: By how much the total of their node is lower than the highest.
    lost: int = 0
    #: The plugin that refuses their node, or that adds most to the difference.
    plugin: str = ""
    #: The refusal of their node, or why the pod would be pending.
    reason: str = ""


class Agreement(msgspec.Struct):
    """Counts of how often a set of rules agrees with another scheduler."""

    counts: Counter[Verdict] = msgspec.field(default_factory=Counter)
    #: The sum of the points by which the other scheduler's nodes score less than our best ones.
    lost: int = 0

    def count(self, verdict: Verdict, lost: int) -> None:
        """Count a comparison."""
        self.counts[verdict] += 1
        if verdict is not Verdict.UNDECIDABLE:
            self.lost += lost

    @property
    def agreed(self) -> int:
        """Return for how many pods both made the same decision."""
        return self.counts[Verdict.AGREED]

    @property
    def decided(self) -> int:
        """Return how many pods were compared and could be decided."""
        return self.counts.total() - self.counts[Verdict.UNDECIDABLE]

    @property
    def agreement(self) -> float:
        """Return the share of agreement among the pods that could be decided; 1.0 without any."""
        return self.agreed / self.decided if self.decided else 1.0


def compare(decision: Decision, node_name: str) -> PodComparison:
    """Compare a decision, for which all nodes were examined, with the node that a pod got."""
    pod = decision.pod.key
    if decision.outcome is Outcome.ERROR:
        return PodComparison(pod, Verdict.ERROR, node_name, reason=decision.message)
    refusal = None if decision.statuses is None else decision.statuses.get(node_name)
    if decision.outcome is not Outcome.SCHEDULED:
        plugin, reason = "", message_of(decision)
        first = decision.pre_enqueue or decision.pre_filter
        if refusal is not None and refusal.plugin:
            plugin, reason = refusal.plugin, refusal.message
        elif first is not None:
            plugin = first.plugin
        return PodComparison(pod, Verdict.PENDING_HERE, node_name, plugin=plugin, reason=reason)
    best = decision.best
    if node_name in best:
        return PodComparison(pod, Verdict.AGREED, node_name, node_name)
    feasible = [] if decision.feasible is None else list(decision.feasible.names)
    if node_name not in feasible or decision.totals is None:
        plugin = "" if refusal is None else refusal.plugin
        reason = "" if refusal is None else refusal.message
        return PodComparison(pod, Verdict.REFUSED, node_name, best[0], plugin=plugin, reason=reason)
    return _other_node(decision, feasible, node_name)


def _other_node(decision: Decision, names: list[str], node_name: str) -> PodComparison:
    assert decision.totals is not None
    theirs, ours = names.index(node_name), int(np.argmax(decision.totals))
    gains = weighted_gains(decision, node_name, names[ours])
    return PodComparison(
        decision.pod.key,
        Verdict.OTHER_NODE,
        node_name,
        names[ours],
        lost=int(decision.totals[ours] - decision.totals[theirs]),
        plugin=max(gains, key=gains.__getitem__, default=""),
    )
