"""Reports of replays as one HTML file, without scripts and without anything to load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from mooring.api.timestamps import format_time
from mooring.replay.attempt_comparison import AttemptVerdict
from mooring.replay.own_history import OwnHistoryReport
from mooring.replay.report import ReplayReport
from mooring.replay.report_text import (
    lacking_text,
    left_out_text,
    own_history_rows,
    replay_lines,
    shadow_lines,
)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }}
body {{ max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ border-bottom: 1px solid #8888; padding: .25rem .75rem; text-align: left; }}
th {{ vertical-align: bottom; }}
td {{ vertical-align: top; overflow-wrap: anywhere; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def replay_page(report: ReplayReport) -> str:
    """Return the page about a replay on the recorded state."""
    return _page("Replay of a journal", _replay_parts(report))


def own_history_page(report: OwnHistoryReport) -> str:
    """Return the page about both histories of a replay with its own placements."""
    return _page("Replay of a journal with its own placements", _own_parts(report))


def _page(title: str, parts: Iterator[str]) -> str:
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return _PAGE.format(title=escape(title), body=body)


def _replay_parts(report: ReplayReport) -> Iterator[str]:
    yield f"<p>{escape(next(replay_lines(report)))}</p>"
    if report.other_rules:
        rows = [[verdict.value, str(report.counts[verdict])] for verdict in AttemptVerdict]
        yield from _table(["Verdict", "Attempts"], rows, numbers=(1,))
        yield from _differences(report)
    elif report.reproduced:
        every = "Every other decision" if report.not_comparable else "Every decision"
        yield f"<p>{every} came out the same: node, message and totals.</p>"
    if report.lacking:
        yield f"<p>{escape(lacking_text(report))}.</p>"
    if report.shadow is not None:
        for line in shadow_lines(report, report.shadow):
            yield f"<p>{escape(line.strip())}</p>"
    if report.contradictions:
        yield (
            f"<p>{report.contradictions} entries contradict the state before: the journal lacks "
            "changes.</p>"
        )
    if report.deviating:
        yield f"<h2>{report.deviating} decisions came out differently</h2>"
        rows = [
            [
                one.pod,
                str(one.attempt),
                format_time(one.time),
                one.what,
                one.recorded,
                one.found,
                one.plugin,
            ]
            for one in report.deviations
        ]
        headers = ["Pod", "Attempt", "Time", "What", "Recorded", "Now", "Plugin"]
        yield from _table(headers, rows, numbers=(1,))


def _differences(report: ReplayReport) -> Iterator[str]:
    rows = [
        [
            verdict.value,
            plugin or "-",
            str(count),
            one.pod,
            str(one.attempt),
            one.recorded or "pending",
            one.node or "pending",
            f"{one.points:+}" if one.points else "",
            one.reason,
        ]
        for (verdict, plugin), count in report.plugins.most_common()
        for one in report.examples[verdict, plugin]
    ]
    if rows:
        yield "<h2>Examples</h2>"
        headers = ["Verdict", "Plugin", "Attempts", "Pod", "Attempt", "Recorded", "Now", "Points"]
        yield from _table([*headers, "Reason"], rows, numbers=(2, 4, 7))


def _own_parts(report: OwnHistoryReport) -> Iterator[str]:
    times = f"{format_time(report.begin)} to {format_time(report.end)}"
    yield f"<p>{escape(times)}, scheduled again by {escape(report.rules)}</p>"
    if report.lacking:
        yield f"<p>{escape(left_out_text(report.lacking))}.</p>"
    yield from _table(["", "Recorded", "Own"], own_history_rows(report), numbers=(1, 2))


def _table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> Iterator[str]:
    yield "<table>"
    yield "<tr>" + "".join(f'<th scope="col">{escape(one)}</th>' for one in headers) + "</tr>"
    for row in rows:
        cells = "".join(
            f'<td class="number">{escape(cell)}</td>'
            if place in numbers
            else f"<td>{escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        yield f"<tr>{cells}</tr>"
    yield "</table>"
