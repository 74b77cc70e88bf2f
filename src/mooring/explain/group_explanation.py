"""The explanation of a pod group's attempts: the placements that were tried, and why it failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mooring.api import Pod
from mooring.explain.tables import table, wrap
from mooring.scheduler.examined_group import ExaminedGroup, TriedPlacement

_INDENT = "  "
#: At most this many placements are listed; the chosen one always is.
SHOWN_PLACEMENTS = 20
ALL_NODES = "all nodes"


def group_text(pod: Pod, attempts: Sequence[ExaminedGroup], width: int | None = None) -> list[str]:
    """Return the lines that explain the attempts of a pod's group, the last one in full."""
    found = attempts[-1]
    when = f"attempt {found.attempt}: {_how_ended(found)}"
    lines = [f"{pod.key}, pod group {found.group.key}, {when}"]
    for earlier in attempts[:-1]:
        text = f"{_INDENT}attempt {earlier.attempt}: {_how_ended(earlier)}: {_message(earlier)}"
        lines += wrap(text.removesuffix(": "), width, indent=_INDENT * 2)
    if message := _message(found):
        lines += wrap(f"{_INDENT}{message}", width, indent=_INDENT)
    if found.placements:
        lines += ["", *_placements(found, width)]
    if pods := list(_pods(found)):
        lines += ["", *pods]
    return lines


def group_data(attempts: Sequence[ExaminedGroup]) -> dict[str, Any]:
    """Return everything about a group's last attempt, and how the ones before it ended."""
    found = attempts[-1]
    return {
        "namespace": found.group.metadata.namespace,
        "name": found.group.metadata.name,
        **_attempt_data(found),
        "minCount": found.group.min_count,
        "placements": [
            {
                "name": one.name,
                "nodes": one.num_nodes,
                "fits": one.status is None,
                "chosen": one.is_chosen,
                "message": "" if one.status is None else one.status.message,
                "scores": one.scores,
                "total": one.total,
                "pods": [
                    {
                        "name": tried.pod.metadata.name,
                        "node": tried.node_name,
                        "message": tried.message,
                    }
                    for tried in one.pods
                ],
            }
            for one in found.placements
        ],
        "earlierAttempts": [_attempt_data(earlier) for earlier in attempts[:-1]],
    }


def _attempt_data(found: ExaminedGroup) -> dict[str, Any]:
    return {
        "attempt": found.attempt,
        "scheduled": found.status is None,
        "message": _message(found),
    }


def _how_ended(found: ExaminedGroup) -> str:
    if found.status is None:
        return "scheduled"
    return "failed" if found.status.is_error else "unschedulable"


def _message(found: ExaminedGroup) -> str:
    return "" if found.status is None else found.status.message


def _placements(found: ExaminedGroup, width: int | None) -> Iterator[str]:
    plugins = list(dict.fromkeys(name for one in found.placements for name in one.scores))
    fits = sum(one.status is None for one in found.placements)
    if len(found.placements) > 1:
        yield f"Placements: the group fits in {fits} of {len(found.placements)}"
    shown = _shown(found.placements)
    scored = [*plugins, "TOTAL"] if plugins else []
    headers = ["PLACEMENT", "NODES", "PODS", *scored, "RESULT"]
    rows = [
        [
            one.name or ALL_NODES,
            str(one.num_nodes),
            f"{one.placed} of {len(found.pods)}",
            *(str(one.scores.get(name, "-")) for name in plugins),
            *(["-" if one.total is None else str(one.total)] if plugins else []),
            _result(one),
        ]
        for one in shown
    ]
    yield from table(headers, rows)
    if len(shown) < len(found.placements):
        yield f"{_INDENT}and {len(found.placements) - len(shown)} more"
    for one in shown:
        refused = next((tried for tried in one.pods if tried.message), None)
        if one.status is not None and refused is not None:
            name = one.name or ALL_NODES
            text = f"{name}: {refused.pod.key}: {refused.message}"
            yield from wrap(text, width, indent=_INDENT)


def _shown(placements: Sequence[TriedPlacement]) -> Sequence[TriedPlacement]:
    """Return the placements to list: the first ones, those that fit before the others."""
    if len(placements) <= SHOWN_PLACEMENTS:
        return placements
    ordered = sorted(placements, key=lambda one: (not one.is_chosen, one.status is not None))
    return ordered[:SHOWN_PLACEMENTS]


def _result(one: TriedPlacement) -> str:
    if one.status is not None:
        return one.status.message
    return "fits, chosen" if one.is_chosen else "fits"


def _pods(found: ExaminedGroup) -> Iterator[str]:
    """Yield the nodes of the pods of a group that was scheduled."""
    chosen = [one for one in found.placements if one.is_chosen]
    if chosen:
        rows = [[one.pod.key, one.node_name or one.message] for one in chosen[0].pods]
        yield from table(["POD", "NODE"], rows)
