"""Tables with a row per node: the verdicts of the Filter plugins, and the scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mooring.explain.examination import Examination
from mooring.explain.filter_verdicts import PASSES
from mooring.explain.outcome_texts import why_not_asked, why_not_feasible
from mooring.explain.tables import fold, table
from mooring.framework.decision import PluginScores
from mooring.framework.nodes import Rows
from mooring.framework.status import Code

_INDENT = "  "
_CELLS = {
    Code.UNSCHEDULABLE: "no",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "never",
    Code.PENDING: "pending",
}
_LEGEND = "no: refused; never: refused, and preemption would not help; -: not asked"


def filter_rows(found: Examination, most: int) -> Iterator[str]:
    """Yield what each Filter plugin said of the best nodes, if any node was refused."""
    verdicts = found.verdicts
    refusing = {status.plugin for status in verdicts.statuses}
    names = [name for name in verdicts.codes if name in refusing]
    if not len(verdicts) or (not names and verdicts.asked.all()):
        return
    headers = ["NODE", *(fold(name) for name in names), "REASONS"]
    order = _best_first(found)
    rows = [
        [verdicts.names[row], *(_verdict(found, name, row) for name in names), _reasons(found, row)]
        for row in order[:most].tolist()
    ]
    yield from table(headers, rows, indent=_INDENT)
    yield from _left_off(len(order), most)
    yield _INDENT + _LEGEND


def score_table(found: Examination, most: int, also: str = "") -> Iterator[str]:
    """Yield the scores of the best nodes, the chosen one first, and of the node `also`."""
    feasible, totals = found.feasible, found.decision.totals
    if feasible is None or (totals is None and not found.scores):
        return
    if totals is None:
        totals = np.zeros(len(feasible), dtype=np.int64)
    names = found.verdicts.names
    chosen = np.array([names[row] != found.chosen for row in feasible.tolist()])
    order = np.lexsort((np.array([names[row] for row in feasible.tolist()]), -totals, chosen))
    headers = ["NODE", *(fold(name) for name in found.scores), "TOTAL"]
    weights = ["(weight)", *(str(scores.weight) for scores in found.scores.values()), ""]
    rows = [
        [
            names[feasible[position]],
            *(_points(scores, position) for scores in found.scores.values()),
            "-" if found.decision.totals is None else str(totals[position]),
        ]
        for place, position in enumerate(order.tolist())
        if place < most or names[feasible[position]] == also
    ]
    yield from table(headers, [weights, *rows], indent=_INDENT)
    yield from _left_off(len(order), most)


def _best_first(found: Examination) -> Rows:
    """Return the rows: the chosen node, scored ones by total, then those with fewest refusals."""
    verdicts = found.verdicts
    totals = np.full(len(verdicts), -1, dtype=np.int64)
    if found.feasible is not None:
        scored = found.decision.totals
        totals[found.feasible] = 0 if scored is None else scored
    names = np.array(verdicts.names)
    order = np.lexsort((names, verdicts.refusals, ~verdicts.asked, -totals, names != found.chosen))
    return order.astype(np.intp)


def _verdict(found: Examination, plugin: str, row: int) -> str:
    verdicts = found.verdicts
    if not verdicts.asked[row]:
        return "-"
    code = int(verdicts.codes[plugin][row])
    return "ok" if code == PASSES else _CELLS.get(verdicts.statuses[code].code, "error")


def _reasons(found: Examination, row: int) -> str:
    verdicts = found.verdicts
    if not verdicts.asked[row]:
        return why_not_asked(found)
    refusals = verdicts.of_node(row)
    if not refusals and found.feasible is not None and row not in found.feasible:
        return f"not needed: {why_not_feasible(found)}"
    return ", ".join(status.message for status in refusals)


def _points(scores: PluginScores, position: int) -> str:
    raw, normalized = int(scores.raw[position]), int(scores.normalized[position])
    return str(raw) if raw == normalized else f"{raw} → {normalized}"


def _left_off(count: int, most: int) -> list[str]:
    left = count - most
    return [f"{_INDENT}… and {left} more; --nodes all shows them"] if left > 0 else []
