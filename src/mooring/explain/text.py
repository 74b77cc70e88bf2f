"""Explanations as text: refused nodes grouped by cause, and the scores of the best nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mooring.explain.amounts import diagnosis_text, missing_text
from mooring.explain.causes import Cause, NearMiss
from mooring.explain.examination import Examination
from mooring.explain.node_table import filter_rows, score_table
from mooring.explain.outcome_texts import how_ended, message_of, why_chosen, why_not_asked
from mooring.explain.tables import table, wrap
from mooring.framework.decision import PostFilterResult
from mooring.framework.diagnosis import keys_of
from mooring.framework.status import Status

#: How many nodes the tables show if nothing else is asked for.
SHOWN_NODES = 10

_INDENT = "  "
#: At most this many groups of nearest misses are shown.
_MISSES = 4


def explanation_text(
    attempts: Sequence[Examination],
    width: int | None = None,
    *,
    nodes: int | None = None,
    current: str = "",
    queue: str = "",
) -> list[str]:
    """Return the lines that explain a pod's last attempt, and how the ones before it ended.

    With `nodes`, a table also shows what each plugin said of that many nodes. `current` is the node
    of a pod that is examined as if it had none. `queue` says where a pod waits (`queue_text`).
    """
    found = attempts[-1]
    decision = found.decision
    when = f"attempt {found.attempt}" if found.attempt else "asked now"
    lines = [
        f"{decision.pod.key}, profile {decision.profile_name}, {when}: "
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
    for section in (
        _filter(found, width),
        _causes(found),
        (*_nearest(found, width), *_queue(queue, width)),
        () if nodes is None else filter_rows(found, nodes),
        _score(found, SHOWN_NODES if nodes is None else nodes, width, current),
        _choice(found, width),
        _comparison(found, width, current),
    ):
        if block := list(section):
            lines += ["", *block]
    return lines


def _filter(found: Examination, width: int | None) -> Iterator[str]:
    decision, verdicts = found.decision, found.verdicts
    status = decision.pre_enqueue or decision.pre_filter
    if status is not None:
        point = "PreEnqueue" if decision.pre_enqueue is not None else "PreFilter"
        yield f"{point}: {_said(status)}"
        return
    if not len(verdicts):
        return
    yield f"Filter: {np.count_nonzero(verdicts.passing)} of {len(verdicts)} nodes pass"
    left_out = len(verdicts) - int(np.count_nonzero(verdicts.asked))
    if left_out:
        yield f"{_INDENT}{why_not_asked(found)}: {_counted(left_out)}"
    for fault in found.faults:
        yield from wrap(f"{_INDENT}failed: {fault.message}", width, indent=_INDENT * 2)
    silent = {status.plugin for status in (*verdicts.statuses, *found.faults)}
    for title, names in (
        ("no objection", [name for name in verdicts.codes if name not in silent]),
        ("skipped", sorted(decision.skipped_filter or ())),
    ):
        if names:
            yield from wrap(f"{_INDENT}{title}: {', '.join(names)}", width, indent=_INDENT * 2)


def _causes(found: Examination) -> Iterator[str]:
    if found.causes:
        rows = [
            ["", str(cause.nodes), cause.status.plugin, _about(cause)] for cause in found.causes
        ]
        width = max(len("NODES"), *(len(row[1]) for row in rows))
        rows = [[row[0], row[1].rjust(width), *row[2:]] for row in rows]
        about = "FOR EXAMPLE" if found.causes[0].example else "REASON"
        yield from table(["WHY NOT", "NODES".rjust(width), "PLUGIN", about], rows)


def _about(cause: Cause) -> str:
    if not cause.example:
        # A limited answer has no examples.
        return ": ".join(filter(None, (cause.status.message, ", ".join(keys_of(cause.diagnosis)))))
    text = diagnosis_text(cause.diagnosis) or cause.status.for_node(cause.example).message
    return f"{cause.example}: {text}"


def _nearest(found: Examination, width: int | None) -> Iterator[str]:
    misses = found.near_misses
    if found.chosen or not misses:
        return
    asking = [miss for miss in misses if miss.missing]
    others = [miss for miss in misses if not miss.missing]
    parts = [_less(miss, is_first=i == 0) for i, miss in enumerate(asking[:_MISSES])]
    parts += [
        f"{_counted(miss.nodes)} if {miss.status.plugin} passed "
        f"{'it' if miss.nodes == 1 else 'them'}"
        for miss in others[:_MISSES]
    ]
    yield from wrap(f"NEAREST  {'; '.join(parts)}", width, indent=" " * 9)


def _queue(queue: str, width: int | None) -> list[str]:
    return wrap(f"QUEUE    {queue}", width, indent=" " * 9) if queue else []


def _less(miss: NearMiss, *, is_first: bool) -> str:
    if is_first:
        return f"{_counted(miss.nodes)} if it asked for {missing_text(miss.missing)} less"
    return f"{miss.nodes} more with {missing_text(miss.missing)} less"


def _score(found: Examination, nodes: int, width: int | None, current: str) -> Iterator[str]:
    totals = found.decision.totals
    if found.feasible is None or (totals is None and not found.scores):
        return
    ends = "scoring failed, so there is no total" if totals is None else "the total is weighted"
    yield f"Score: raw → normalised, or one number where they are equal; {ends}"
    yield from score_table(found, nodes, current)
    skipped = sorted(found.decision.skipped_score or ())
    if skipped:
        yield from wrap(f"{_INDENT}skipped: {', '.join(skipped)}", width, indent=_INDENT * 2)


def _choice(found: Examination, width: int | None) -> Iterator[str]:
    if found.chosen:
        text = ": ".join(filter(None, ("Chosen", found.chosen, why_chosen(found))))
        yield from wrap(text, width, indent=_INDENT)


def _comparison(found: Examination, width: int | None, current: str) -> Iterator[str]:
    """Yield how the node that a pod is on compares with the best one."""
    names = found.verdicts.names
    if not current or current not in names:
        return
    row = names.index(current)
    if refusals := found.verdicts.of_node(row):
        text = ", ".join(f"{status.plugin}: {status.message}" for status in refusals)
        yield from wrap(f"Its node {current} would be refused: {text}", width, indent=_INDENT)
        return
    totals, feasible = found.decision.totals, found.feasible
    if totals is None or feasible is None or row not in feasible:
        return
    less = int(totals.max() - totals[feasible == row][0])
    text = "has the highest total" if not less else f"has {less} less than the highest total"
    yield f"Its node {current} {text}"


def _post_filter(result: PostFilterResult | None) -> list[str]:
    if result is None or not result.nominated_node:
        return []
    victims = ", ".join(pod.key for pod in result.victims)
    line = f"{_INDENT}nominated to {result.nominated_node}"
    return [f"{line}, preempting {victims}" if victims else line]


def _said(status: Status) -> str:
    return f"{status.plugin}: {status.message}" if status.plugin else status.message


def _counted(nodes: int) -> str:
    return f"{nodes} node" if nodes == 1 else f"{nodes} nodes"
