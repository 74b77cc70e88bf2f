"""Reports of replays as plain data: the shape that docs/replay.md describes."""

from __future__ import annotations

import math
from typing import Any

from mooring.api.timestamps import format_micro_time
from mooring.replay.attempt_comparison import AttemptComparison, AttemptVerdict, Deviation
from mooring.replay.own_history import HistorySide, OwnHistoryReport
from mooring.replay.report import History, ReplayReport
from mooring.replay.shadow_comparison import ShadowComparisons
from mooring.replay.usage import RESOURCES
from mooring.shadow.comparison import Agreement, Verdict

#: Version of the format; increased when a field changes its meaning or is removed.
VERSION = 1


def replay_data(report: ReplayReport) -> dict[str, Any]:
    """Return the report of a replay on the recorded state."""
    data = {
        "version": VERSION,
        "history": History.RECORDED.value,
        "rules": report.rules,
        "runs": report.runs,
        "attempts": report.attempts,
        "scheduled": report.scheduled,
        "pods": len(report.pods),
        "first": _time(report.first),
        "last": _time(report.last),
        "undecided": report.undecided,
        "contradictions": report.contradictions,
        "reproduced": report.reproduced,
        "deviating": report.deviating,
        "deviations": [_deviation(one) for one in report.deviations],
        "notComparable": report.not_comparable,
        "lacking": sorted(report.lacking),
    }
    if report.shadow is not None:
        data["shadow"] = _shadow(report.shadow, other_rules=report.other_rules)
    if report.other_rules:
        data["counts"] = {verdict.value: report.counts[verdict] for verdict in AttemptVerdict}
        data["differences"] = [
            {
                "verdict": verdict.value,
                "plugin": plugin,
                "attempts": count,
                "examples": [_comparison(one) for one in report.examples[verdict, plugin]],
            }
            for (verdict, plugin), count in report.plugins.most_common()
        ]
    return data


def _shadow(found: ShadowComparisons, *, other_rules: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"recorded": _agreement(found.recorded)}
    if other_rules:
        data["now"] = _agreement(found.other)
        data["changes"] = [
            {"recorded": before.value, "now": after.value, "pods": count}
            for (before, after), count in found.changes.most_common()
        ]
    return data


def _agreement(one: Agreement) -> dict[str, Any]:
    return {
        "decided": one.decided,
        "agreement": one.agreement,
        "pointsLost": one.lost,
        "counts": {verdict.value: one.counts[verdict] for verdict in Verdict},
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else format_micro_time(seconds)


def _deviation(one: Deviation) -> dict[str, Any]:
    return {
        "pod": one.pod,
        "attempt": one.attempt,
        "time": _time(one.time),
        "what": one.what,
        "recorded": one.recorded,
        "found": one.found,
        "plugin": one.plugin,
    }


def _comparison(one: AttemptComparison) -> dict[str, Any]:
    return {
        "pod": one.pod,
        "attempt": one.attempt,
        "time": _time(one.time),
        "recorded": one.recorded,
        "node": one.node,
        "points": one.points,
        "reason": one.reason,
    }


def own_history_data(report: OwnHistoryReport) -> dict[str, Any]:
    """Return both histories of a replay with its own placements."""
    return {
        "version": VERSION,
        "history": History.OWN.value,
        "rules": report.rules,
        "begin": _time(report.begin),
        "end": _time(report.end),
        "recorded": side_data(report.recorded, report.end),
        "own": side_data(report.own, report.end),
        "lacking": sorted(report.lacking),
    }


def side_data(side: HistorySide, end: float) -> dict[str, Any]:
    """Return the figures of one history."""
    waits = side.waits(end)
    return {
        "pods": len(side.pods),
        "bound": side.bound,
        "pendingSeconds": {
            "mean": sum(waits) / len(waits) if waits else 0.0,
            "median": _quantile(waits, 0.5),
            "p90": _quantile(waits, 0.9),
            "longest": waits[-1] if waits else 0.0,
        },
        "requested": {resource: side.usage.share(resource) for resource in RESOURCES},
        "nodesInUse": {"mean": side.usage.nodes, "most": side.usage.most_nodes},
        "preemptions": side.preemptions,
    }


def _quantile(values: list[float], share: float) -> float:
    """Return the smallest of sorted values that at least this share does not exceed."""
    if not values:
        return 0.0
    return values[max(0, math.ceil(len(values) * share) - 1)]
