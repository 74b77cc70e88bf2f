"""Reports of replays as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mooring.api.timestamps import format_time
from mooring.explain.tables import table
from mooring.replay.attempt_comparison import AttemptComparison, AttemptVerdict
from mooring.replay.own_history import OwnHistoryReport
from mooring.replay.report import ReplayReport
from mooring.replay.report_data import side_data
from mooring.replay.shadow_comparison import ShadowComparisons
from mooring.replay.usage import RESOURCES
from mooring.shadow.comparison import Agreement

#: Deviations that are shown; `-o json` has more.
_SHOWN = 10


def replay_lines(report: ReplayReport) -> Iterator[str]:
    """Yield the lines about a replay on the recorded state."""
    yield _summary(report)
    if report.undecided:
        yield f"  {_count(report.undecided, 'attempt')} without a recorded decision: it ended there"
    if report.contradictions:
        yield (
            f"  {_count(report.contradictions, 'entry', 'entries')} contradict the state before: "
            "the journal lacks changes"
        )
    if report.lacking:
        yield f"  {lacking_text(report)}"
    if report.other_rules:
        yield from _differences(report)
    elif report.attempts and report.reproduced:
        every = "every other decision" if report.not_comparable else "every decision"
        yield f"{every} came out the same: node, message and totals"
    if report.shadow is not None:
        yield from shadow_lines(report, report.shadow)
    if report.deviating:
        yield from _deviations(report)


def lacking_text(report: ReplayReport) -> str:
    """Return which plugins lack answers, and how many decisions differ meanwhile."""
    count = report.not_comparable + report.counts[AttemptVerdict.NOT_COMPARABLE]
    verb = "is" if count == 1 else "are"
    text = f"{_count(count, 'decision')} that differ{'s' * (count == 1)} {verb} not comparable"
    return f"{left_out_text(report.lacking)}: {text if count else 'no decision differs'}"


def left_out_text(plugins: Iterable[str]) -> str:
    """Return which plugins lack what a journal leaves out; "" stands for an unknown one."""
    names = ", ".join(sorted(name or "one that reads Secrets" for name in plugins))
    return f"the journal leaves out answers to a plugin ({names})"


def shadow_lines(report: ReplayReport, found: ShadowComparisons) -> Iterator[str]:
    """Yield the lines about the agreement with the other scheduler, for a shadow's journal."""
    yield f"the other scheduler: {_agreement(found.recorded)}, as recorded"
    if not report.other_rules:
        return
    yield f"the other scheduler: {_agreement(found.other)}, by {report.rules}"
    for (before, after), count in found.changes.most_common():
        yield f"  {count}  {before.value} → {after.value}"


def _agreement(one: Agreement) -> str:
    return (
        f"{one.agreed} of {one.decided} decided alike ({one.agreement:.1%}), {one.lost} points lost"
    )


def _summary(report: ReplayReport) -> str:
    if report.first is None or report.last is None:
        return "no attempt in this time"
    pods = _count(len(report.pods), "pod")
    runs = "" if report.runs == 1 else f", {report.runs} runs of the scheduler"
    return (
        f"{_count(report.attempts, 'attempt')} of {pods}, {format_time(report.first)} to "
        f"{format_time(report.last)}{runs}, decided again by {report.rules}"
    )


def _deviations(report: ReplayReport) -> Iterator[str]:
    rules = "by the recorded configuration " if report.other_rules else ""
    yield f"{report.deviating} of {report.attempts} decisions {rules}came out differently:"
    for one in report.deviations[:_SHOWN]:
        plugin = one.plugin or "plugin unknown"
        yield (
            f"  {one.pod}, attempt {one.attempt}, {format_time(one.time)}: {one.what} was "
            f"{_quoted(one.recorded)}, is {_quoted(one.found)} ({plugin})"
        )
    left = report.deviating - _SHOWN
    if left > 0:
        yield f"  … and {left} more"


def _quoted(text: str) -> str:
    return text if text else '""'


def _differences(report: ReplayReport) -> Iterator[str]:
    width = len(str(max(report.counts.values(), default=0)))
    for verdict in AttemptVerdict:
        count = report.counts[verdict]
        if not count and verdict is not AttemptVerdict.SAME:
            continue
        yield f"{count:>{width}}  {verdict.value}"
        for (kind, plugin), number in report.plugins.most_common():
            if kind is verdict:
                yield f"{'':>{width}}    {number}  {plugin or '-'}"
                for example in report.examples[kind, plugin]:
                    yield f"{'':>{width}}       {_example(example)}"


def _example(one: AttemptComparison) -> str:
    text = (
        f"{one.pod}, attempt {one.attempt}: {one.recorded or 'pending'} → {one.node or 'pending'}"
    )
    if one.points:
        text += f", {one.points:+} points"
    return f"{text}, {one.reason}" if one.reason else text


def own_history_lines(report: OwnHistoryReport) -> Iterator[str]:
    """Yield the lines about both histories of a replay with its own placements."""
    yield (
        f"{format_time(report.begin)} to {format_time(report.end)}, scheduled again by "
        f"{report.rules}"
    )
    if report.lacking:
        yield f"  {left_out_text(report.lacking)}: without it, pods may be placed elsewhere"
    yield ""
    yield from table(["", "RECORDED", "OWN"], own_history_rows(report))


def own_history_rows(report: OwnHistoryReport) -> Sequence[list[str]]:
    """Return what is compared, with the figures of both histories."""
    sides = [side_data(side, report.end) for side in (report.recorded, report.own)]
    rows = [
        ["pods", *(str(side["pods"]) for side in sides)],
        ["got a node", *(str(side["bound"]) for side in sides)],
    ]
    for name in ("mean", "median", "p90", "longest"):
        shown = [f"{side['pendingSeconds'][name]:.1f} s" for side in sides]
        rows.append([f"pending, {name}", *shown])
    for resource in RESOURCES:
        shown = [f"{side['requested'][resource]:.1%}" for side in sides]
        rows.append([f"{resource} requested, mean", *shown])
    rows.append(["nodes in use, mean", *(f"{side['nodesInUse']['mean']:.1f}" for side in sides)])
    rows.append(["nodes in use, most", *(str(side["nodesInUse"]["most"]) for side in sides)])
    rows.append(["preemptions", *(str(side["preemptions"]) for side in sides)])
    return rows


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"
