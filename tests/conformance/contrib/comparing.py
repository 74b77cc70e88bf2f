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
    if not _INEXACT.isdisjoint(recorded.get("scores") or ()):
        # The total is the sum of normalised scores, each of which may differ by 1.
        fields = set(fields) - {"total"}
    for field in sorted(fields):
        _compare((field,), ours.get(field), recorded.get(field), found)
    return found


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
