"""The explanation of the attempts of a pod group, or of the group's tree.

It shows the placements that were tried and why the group failed. For a tree, a table of the groups
comes first: which of them have their quorum and where, which do not and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mooring.api import CompositePodGroup, Pod, scheduling_group_key
from mooring.explain.tables import table, wrap
from mooring.framework.tried_groups import ALL_NODES, GroupLine, TriedGroup, TriedPlacement
from mooring.scheduler.examined_group import ExaminedGroup

_INDENT = "  "
#: At most this many placements are listed; the chosen one always is.
SHOWN_PLACEMENTS = 20


def group_text(pod: Pod, attempts: Sequence[ExaminedGroup], width: int | None = None) -> list[str]:
    """Return the lines that explain the attempts of a pod's group, the last one in full."""
    attempts = _with_pod(pod, attempts)
    found = attempts[-1]
    when = f"attempt {found.attempt}: {_how_ended(pod, found)}"
    lines = [f"{pod.key}, {_whose(pod, found)}, {when}"]
    for earlier in attempts[:-1]:
        ended, message = _how_ended(pod, earlier), _message(pod, earlier)
        text = f"{_INDENT}attempt {earlier.attempt}: {ended}: {message}"
        lines += wrap(text.removesuffix(": "), width, indent=_INDENT * 2)
    if message := _message(pod, found):
        lines += wrap(f"{_INDENT}{message}", width, indent=_INDENT)
    if found.tried.placements:
        shown = _tree if isinstance(found.tried.group, CompositePodGroup) else _placements
        lines += ["", *shown(found.tried, width)]
    if pods := list(_pods(found)):
        lines += ["", *pods]
    return lines


def group_data(pod: Pod, attempts: Sequence[ExaminedGroup]) -> dict[str, Any]:
    """Return everything about the last attempt of a pod's group, and how earlier ones ended.

    If the group is part of a tree, `tree` holds the whole tree.
    """
    attempts = _with_pod(pod, attempts)
    found = attempts[-1]
    namespace, _, name = scheduling_group_key(pod).partition("/")
    own = found.tried.find(name) or found.tried
    data = {
        "namespace": namespace,
        "name": name,
        **_attempt_data(pod, found),
        "minCount": own.group.min_count,
        "placements": [_placement_data(one) for one in own.placements],
        "earlierAttempts": [_attempt_data(pod, earlier) for earlier in attempts[:-1]],
    }
    if isinstance(found.tried.group, CompositePodGroup):
        data["tree"] = _group_data(found.tried)
    return data


def _with_pod(pod: Pod, attempts: Sequence[ExaminedGroup]) -> Sequence[ExaminedGroup]:
    """Return the attempts that tried a pod; later ones may have tried only other pods."""
    uid = pod.metadata.uid
    own = [one for one in attempts if any(tried.metadata.uid == uid for tried in one.pods)]
    return own or attempts


def _group_data(one: TriedGroup) -> dict[str, Any]:
    is_composite = isinstance(one.group, CompositePodGroup)
    return {
        "kind": one.group.kind,
        "name": one.group.name,
        "minGroupCount" if is_composite else "minCount": one.group.min_count,
        "tried": one.is_tried,
        "fits": one.fits,
        "message": one.message,
        "placements": [_placement_data(placement) for placement in one.placements],
    }


def _placement_data(one: TriedPlacement) -> dict[str, Any]:
    data = {
        "name": one.name,
        "nodes": one.num_nodes,
        "fits": one.status is None,
        "chosen": one.is_chosen,
        "message": "" if one.status is None else one.status.message,
        "scores": one.scores,
        "total": one.total,
    }
    if one.parts:
        return {**data, "groups": [_group_data(part) for part in one.parts]}
    pods = [
        {"name": tried.pod.metadata.name, "node": tried.node_name, "message": tried.message}
        for tried in one.pods
    ]
    return {**data, "pods": pods}


def _attempt_data(pod: Pod, found: ExaminedGroup) -> dict[str, Any]:
    return {
        "attempt": found.attempt,
        "scheduled": _how_ended(pod, found) == "scheduled",
        "message": _message(pod, found),
    }


# ---- the pod's own group


def _whose(pod: Pod, found: ExaminedGroup) -> str:
    """Return the text that names a pod's group, and the tree of the group."""
    own, top = f"pod group {scheduling_group_key(pod)}", found.tried.group
    is_tree = isinstance(top, CompositePodGroup)
    return f"{own} of composite pod group {top.key}" if is_tree else own


def _own_failure(pod: Pod, found: ExaminedGroup) -> TriedGroup | None:
    """Return the first group from the top to the pod's own that does not fit in a fitting tree."""
    if found.status is not None or not isinstance(found.tried.group, CompositePodGroup):
        return None
    own = scheduling_group_key(pod).partition("/")[2]
    above = [one for _, one in found.tried.walk() if one.find(own) is not None]
    return next((one for one in above if not one.fits), None)


def _how_ended(pod: Pod, found: ExaminedGroup) -> str:
    if _own_failure(pod, found) is not None:
        return f"unschedulable, the rest of {found.tried.group.name} was scheduled"
    if found.status is None:
        return "scheduled"
    return "failed" if found.status.is_error else "unschedulable"


def _message(pod: Pod, found: ExaminedGroup) -> str:
    own = _own_failure(pod, found)
    if own is not None:
        return own.message
    return "" if found.status is None else found.status.message


# ---- trees


def tree_table(groups: Sequence[GroupLine]) -> list[str]:
    """Return the lines of a table with the groups of a tree."""
    return table(
        ["GROUP", "NEEDS", "PLACED", "PLACEMENT", "RESULT"],
        [
            [
                f"{_INDENT * one.depth}{one.name}",
                str(one.needs),
                one.placed,
                one.placement,
                one.result,
            ]
            for one in groups
        ],
    )


def _tree(top: TriedGroup, width: int | None) -> Iterator[str]:
    """Yield the table of a tree's groups, then the placements of groups that have several."""
    groups = list(top.walk())
    yield from tree_table(top.lines())
    for _, one in groups:
        if len(one.placements) == 1 and not isinstance(one.group, CompositePodGroup):
            yield from _refusals(one, one.placements, width)
    for _, one in groups:
        if len(one.placements) > 1:
            yield ""
            yield from _placements(one, width)


# ---- placements


def _placements(found: TriedGroup, width: int | None) -> Iterator[str]:
    plugins = list(dict.fromkeys(name for one in found.placements for name in one.scores))
    fits = sum(one.status is None for one in found.placements)
    is_part = bool(found.group.parent_key) or isinstance(found.group, CompositePodGroup)
    if len(found.placements) > 1:
        name = found.group.name if is_part else "the group"
        yield f"Placements: {name} fits in {fits} of {len(found.placements)}"
    shown = _shown(found.placements)
    scored = [*plugins, "TOTAL"] if plugins else []
    counted = "GROUPS" if isinstance(found.group, CompositePodGroup) else "PODS"
    headers = ["PLACEMENT", "NODES", counted, *scored, "RESULT"]
    rows = [
        [
            one.name or ALL_NODES,
            str(one.num_nodes),
            f"{one.placed} of {found.size}",
            *(str(one.scores.get(name, "-")) for name in plugins),
            *(["-" if one.total is None else str(one.total)] if plugins else []),
            _result(one),
        ]
        for one in shown
    ]
    yield from table(headers, rows)
    if len(shown) < len(found.placements):
        yield f"{_INDENT}and {len(found.placements) - len(shown)} more"
    yield from _refusals(found, shown, width)


def _refusals(
    found: TriedGroup, placements: Sequence[TriedPlacement], width: int | None
) -> Iterator[str]:
    """Yield the first pod or part that was refused in each placement that does not fit."""
    only = len(found.placements) == 1 and bool(found.group.parent_key)
    for one in placements:
        text = _refused(one)
        if one.status is not None and text:
            name = found.group.name if only else one.name or ALL_NODES
            yield from wrap(f"{name}: {text}", width, indent=_INDENT)


def _refused(one: TriedPlacement) -> str:
    """Return the first pod or part that does not fit in a placement, and why; "" if all fit."""
    part = next((part for part in one.parts if part.is_tried and not part.fits), None)
    if part is not None:
        return f"{part.group.name}: {part.result}"
    pod = next((tried for tried in one.pods if tried.message), None)
    return "" if pod is None else f"{pod.pod.key}: {pod.message}"


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
    """Yield a table of the pods and their nodes if the group or its tree was scheduled."""
    groups = () if found.status is not None else found.tried.walk()
    placed = [one.chosen for _, one in groups if one.fits and one.chosen is not None]
    rows = [[one.pod.key, one.node_name or one.message] for place in placed for one in place.pods]
    if rows:
        yield from table(["POD", "NODE"], rows)
