"""Compare what we decide with what was recorded, as the README of the recordings says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

#: A reason that prints Go structures; everything from here to the next sentence is left out.
_GO_STRUCTURES = re.compile(r"resource gap: map\[.*\]")
#: Scores of these plugins come from exponentials, whose last digits depend on the maths library.
_INEXACT = frozenset({"Peaks"})


def differences(ours: dict[str, Any], recorded: dict[str, Any], fields: Iterable[str]) -> list[str]:
    """Return where fields of ours and of the recording differ, as "path: ours, recorded"."""
    found: list[str] = []
    slack = _slack(recorded)
    for field in sorted(fields):
        there = ours.get(field), recorded.get(field)
        if field == "total" and slack and _within(slack, *there):
            continue
        _compare((field,), *there, found)
    return found


def _slack(recorded: dict[str, Any]) -> int:
    """Return how far totals may differ: normalised scores may by 1, times the weight."""
    weights: dict[str, int] = recorded.get("scoreWeights") or {}
    return sum(weights[name] for name in _INEXACT & weights.keys())


def _within(slack: int, ours: Any, recorded: Any) -> bool:
    if not isinstance(ours, dict) or not isinstance(recorded, dict):
        return False
    return ours.keys() == recorded.keys() and all(
        abs(ours[name] - recorded[name]) <= slack for name in ours
    )


def _compare(path: tuple[str, ...], ours: Any, recorded: Any, found: list[str]) -> None:
    if isinstance(ours, dict) and isinstance(recorded, dict):
        for key in sorted({*ours, *recorded}):
            there = ours.get(key, "absent"), recorded.get(key, "absent")
            _compare((*path, key), *there, found)
    elif isinstance(ours, list) and isinstance(recorded, list) and len(ours) == len(recorded):
        for index, pair in enumerate(zip(ours, recorded, strict=True)):
            _compare((*path, str(index)), *pair, found)
    elif not _equal(path, ours, recorded):
        found.append(f"{'/'.join(path)}: ours {ours!r}, recorded {recorded!r}")


def _equal(path: tuple[str, ...], ours: Any, recorded: Any) -> bool:
    if isinstance(ours, str) and isinstance(recorded, str):
        return _GO_STRUCTURES.sub("resource gap", ours) == _GO_STRUCTURES.sub(
            "resource gap", recorded
        )
    if path[0] == "scores" and len(path) > 1 and path[1] in _INEXACT:
        return _close(path[-1], ours, recorded)
    return bool(ours == recorded)


def _close(field: str, ours: int, recorded: int) -> bool:
    if field == "raw":
        return math.isclose(ours, recorded, rel_tol=1e-12)
    return abs(ours - recorded) <= (field == "normalized")
