"""Repeats the comparisons of a shadow's journal with the decisions of a replay."""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec.structs import replace

from mooring.framework.decision import Decision, Outcome
from mooring.journal.entries import EVERY_NODE, Compared
from mooring.shadow.comparison import Agreement, PodComparison, Verdict, compare


def compare_again(recorded: Compared, decision: Decision) -> PodComparison:
    """Compare a decision, for which all nodes were examined, with what the other scheduler did.

    They agree if the pod is pending in both schedulers. Differences are not attributed to the
    rules of the other scheduler.
    """
    found = compare(decision, recorded.theirs) if recorded.theirs else _compare_pending(decision)
    nodes = {name for name in (found.theirs, found.ours) if name}
    unsettled = nodes if EVERY_NODE in recorded.unsettled else recorded.unsettled
    if found.verdict is Verdict.AGREED or nodes.isdisjoint(unsettled):
        return found
    return replace(found, verdict=Verdict.UNDECIDABLE)


def _compare_pending(decision: Decision) -> PodComparison:
    pod = decision.pod.key
    if decision.outcome is Outcome.ERROR:
        return PodComparison(pod, Verdict.ERROR, reason=decision.message)
    if decision.outcome is Outcome.SCHEDULED:
        return PodComparison(pod, Verdict.PENDING_THERE, ours=decision.node_name)
    return PodComparison(pod, Verdict.AGREED)


class ShadowComparisons(msgspec.Struct):
    """The agreement that a shadow recorded, and the agreement under other rules."""

    recorded: Agreement = msgspec.field(default_factory=Agreement)
    other: Agreement = msgspec.field(default_factory=Agreement)
    #: How verdicts change under other rules: (recorded, now).
    changes: Counter[tuple[Verdict, Verdict]] = msgspec.field(default_factory=Counter)

    def add_other(self, recorded: Compared, found: PodComparison) -> None:
        """Count a comparison under other rules."""
        self.other.count(found.verdict, found.lost)
        before = Verdict(recorded.verdict)
        if before is not found.verdict:
            self.changes[before, found.verdict] += 1
