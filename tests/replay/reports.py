"""Reports for the tests of their forms."""

from __future__ import annotations

from mooring.journal.entries import Compared
from mooring.replay.attempt_comparison import (
    AttemptComparison,
    AttemptVerdict,
    Deviation,
)
from mooring.replay.own_history import HistorySide, OwnHistoryReport, PodTimes
from mooring.replay.report import ReplayReport
from mooring.shadow.comparison import PodComparison, Verdict

#: What a hostile plugin may call a node, or say.
HOSTILE = "<img src=x onerror=alert(1)>"


def deviating_report() -> ReplayReport:
    """Return the report of a replay in which one of two decisions differs."""
    report = ReplayReport(rules="the recorded configuration", runs=1)
    report.add_attempt("shop/web", 1_800_000_000.0, scheduled=True)
    report.add_attempt("shop/db", 1_800_000_060.0, scheduled=True)
    report.add_deviation(
        Deviation("shop/web", 2, 1_800_000_000.0, "message", HOSTILE, "", "NodeResourcesFit")
    )
    return report


def compared_report() -> ReplayReport:
    """Return the report of a replay by other rules."""
    report = ReplayReport(rules="other.yaml", other_rules=True, runs=2)
    for number, verdict in enumerate(AttemptVerdict):
        report.add_attempt(f"shop/{number}", 1_800_000_000.0 + number, scheduled=True)
        report.add(
            AttemptComparison(
                f"shop/{number}", 1, 0.0, verdict, "node-1", "node-2", "Fit", 12, HOSTILE
            )
        )
    return report


def shadow_report(*, other_rules: bool = False) -> ReplayReport:
    """Return the report of a replay of a shadow's journal."""
    report = ReplayReport(rules="other.yaml", other_rules=other_rules, runs=1)
    report.add_attempt("shop/web", 1_800_000_000.0, scheduled=True)
    found = report.shadow_comparisons()
    found.recorded.count(Verdict.OTHER_NODE, 7)
    if other_rules:
        recorded = Compared(1.0, "u", Verdict.OTHER_NODE.value, "a", "b", 7)
        found.add_other(recorded, PodComparison("shop/web", Verdict.AGREED, "a", "a"))
    return report


def own_report() -> OwnHistoryReport:
    """Return the report of a history of its own."""
    own = HistorySide(pods={"a": PodTimes(0.0, bound=4.0), "b": PodTimes(0.0, bound=10.0)})
    recorded = HistorySide(pods={"a": PodTimes(0.0, bound=4.0), "b": PodTimes(0.0)}, preemptions=3)
    return OwnHistoryReport(HOSTILE, 0.0, 100.0, recorded, own)
