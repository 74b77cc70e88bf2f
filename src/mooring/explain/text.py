"""Explanations as text: the node by plugin tables that `--explain` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mooring.explain.examination import Examination, NodeVerdict, Score
from mooring.explain.misses import nearest_misses
from mooring.explain.outcome_texts import how_ended, message_of, why_chosen
from mooring.explain.tables import fold, table, wrap
from mooring.framework.decision import PostFilterResult
from mooring.framework.status import Code, Status

#: The most rows that a table shows; JSON and YAML output has all of them.
MAX_ROWS = 30

_INDENT = "  "
_CELLS = {
    Code.UNSCHEDULABLE: "no",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "never",
    Code.PENDING: "pending",
}
_LEGEND = "no: refused; never: refused, and preemption would not help; -: not asked"


def explanation_text(attempts: Sequence[Examination], width: int | None = None) -> list[str]:
    """Return the lines that explain a pod's last attempt, and how the ones before it ended."""
    found = attempts[-1]
    decision = found.decision
    lines = [
        f"{decision.pod.key}, profile {decision.profile_name}, attempt {found.attempt}: "
        f"{how_ended(decision, found.chosen)}"
    ]
    for earlier in attempts[:-1]:
        lines += wrap(
            f"{_INDENT}attempt {earlier.attempt}: {how_ended(earlier.decision, earlier.chosen)}: "
            f"{message_of(earlier.decision)}",
            width,
            indent=_INDENT * 2,
        )
        lines += _post_filter(earlier.decision.post_filter)
    if message := message_of(decision):
        lines += wrap(f"{_INDENT}{message}", width, indent=_INDENT)
    lines += _post_filter(decision.post_filter)
    for status in (*decision.errors, *found.faults):
        lines += [f"{_INDENT}{line}" for line in status.traceback.splitlines()]
    for section in (_filter(found, width), _score(found, width), _choice(found), _misses(found)):
        if block := list(section):
            lines += ["", *block]
    return lines


def _filter(found: Examination, width: int | None) -> Iterator[str]:
    decision = found.decision
    status = decision.pre_enqueue or decision.pre_filter
    if status is not None:
        point = "PreEnqueue" if decision.pre_enqueue is not None else "PreFilter"
        yield f"{point}: {_said(status)}"
        return
    if not found.nodes:
        return
    passing = sum(verdict.asked and not verdict.refusals for verdict in found.nodes)
    yield f"Filter: {passing} of {len(found.nodes)} nodes pass"
    refusing = {status.plugin for verdict in found.nodes for status in verdict.refusals}
    names = [name for name in found.filters if name in refusing]
    if names or any(not verdict.asked for verdict in found.nodes):
        headers = ["NODE", *(fold(name) for name in names), "REASONS"]
        shown = _best_first(found, found.nodes)
        rows = [
            [verdict.name, *(_verdict(verdict, name) for name in names), _reasons(found, verdict)]
            for verdict in shown[:MAX_ROWS]
        ]
        yield from table(headers, rows, indent=_INDENT)
        yield from _left_off(len(shown))
        yield _INDENT + _LEGEND
    for fault in found.faults:
        yield from wrap(f"{_INDENT}failed: {fault.message}", width, indent=_INDENT * 2)
    silent = refusing | {fault.plugin for fault in found.faults}
    agreed = [name for name in found.filters if name not in silent]
    if agreed:
        yield from wrap(f"{_INDENT}no objection: {', '.join(agreed)}", width, indent=_INDENT * 2)
    skipped = sorted(decision.skipped_filter or ())
    if skipped:
        yield from wrap(f"{_INDENT}skipped: {', '.join(skipped)}", width, indent=_INDENT * 2)


def _score(found: Examination, width: int | None) -> Iterator[str]:
    decision = found.decision
    if decision.totals is None:
        return
    shown = _best_first(found, (verdict for verdict in found.nodes if verdict.feasible))
    yield "Score: raw → normalised, or one number where they are equal; the total is weighted"
    headers = ["NODE", *(fold(name) for name in found.weights), "TOTAL"]
    rows = [
        ["(weight)", *(str(weight) for weight in found.weights.values()), ""],
        *(
            [
                verdict.name,
                *(_points(verdict.scores[name]) for name in found.weights),
                str(verdict.total),
            ]
            for verdict in shown[:MAX_ROWS]
        ),
    ]
    yield from table(headers, rows, indent=_INDENT)
    yield from _left_off(len(shown))
    skipped = sorted(decision.skipped_score or ())
    if skipped:
        yield from wrap(f"{_INDENT}skipped: {', '.join(skipped)}", width, indent=_INDENT * 2)


def _choice(found: Examination) -> Iterator[str]:
    if found.chosen:
        yield f"Chosen: {found.chosen}: {why_chosen(found)}"


def _misses(found: Examination) -> Iterator[str]:
    misses = nearest_misses(found.nodes)
    if not misses:
        return
    yield "Nearest misses: refused by one plugin alone"
    rows = [[miss.node, miss.status.plugin, miss.status.message] for miss in misses[:MAX_ROWS]]
    yield from table(["NODE", "PLUGIN", "REASONS"], rows, indent=_INDENT)
    yield from _left_off(len(misses))


def _post_filter(result: PostFilterResult | None) -> list[str]:
    if result is None or not result.nominated_node:
        return []
    victims = ", ".join(pod.key for pod in result.victims)
    line = f"{_INDENT}nominated to {result.nominated_node}"
    return [f"{line}, preempting {victims}" if victims else line]


def _best_first(found: Examination, nodes: Iterable[NodeVerdict]) -> list[NodeVerdict]:
    """Return the nodes: the chosen one, scored ones by total, then those with fewest refusals."""
    return sorted(
        nodes,
        key=lambda verdict: (
            verdict.name != found.chosen,
            not verdict.feasible,
            -1 if verdict.total is None else -verdict.total,
            not verdict.asked,
            len(verdict.refusals),
            verdict.name,
        ),
    )


def _verdict(verdict: NodeVerdict, plugin: str) -> str:
    if not verdict.asked:
        return "-"
    for status in verdict.refusals:
        if status.plugin == plugin:
            return _CELLS.get(status.code, "error")
    return "ok"


def _reasons(found: Examination, verdict: NodeVerdict) -> str:
    if not verdict.asked:
        return "left out by PreFilter"
    if not verdict.refusals and found.decision.feasible is not None and not verdict.feasible:
        return "not needed: enough nodes were found"
    return ", ".join(status.message for status in verdict.refusals)


def _said(status: Status) -> str:
    return f"{status.plugin}: {status.message}" if status.plugin else status.message


def _points(score: Score) -> str:
    if score.raw == score.normalized:
        return str(score.raw)
    return f"{score.raw} → {score.normalized}"


def _left_off(count: int) -> list[str]:
    left = count - MAX_ROWS
    return [f"{_INDENT}… and {left} more; -o json has all of them"] if left > 0 else []
