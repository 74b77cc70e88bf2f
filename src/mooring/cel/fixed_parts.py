"""Parts of an expression that read no variable: each is evaluated once, and its cost is counted in
every evaluation, as if it had been evaluated again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.api.quantity import Quantity
from mooring.cel.checker import Checked
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.slots import Run
from mooring.cel.syntax import (
    CONDITIONAL,
    INDEX,
    OPT_INDEX,
    OPT_SELECT,
    Call,
    Comprehension,
    Ident,
    Node,
    children,
)
from mooring.cel.values import EvaluationError, Optional, Semver, TypeValue

#: The most elements and characters of a value that is kept; larger ones would fill the memory.
_MAX_KEPT = 1000
#: These are attributes, whose cost depends on what surrounds them; their parts are fixed instead.
_ATTRIBUTES = frozenset({CONDITIONAL, INDEX, OPT_INDEX, OPT_SELECT})
_NOTHING: frozenset[str] = frozenset()


def fixed_parts(node: Node, checked: Checked) -> set[int]:
    """Return the ids of the loops and calls that read no variable of what surrounds them.

    Of two that contain each other, the inner one is left out unless the outer one repeats it.
    """
    found: set[int] = set()
    _settle([node], [_find(node, checked, found)], found)
    return found


def _find(node: Node, checked: Checked, found: set[int]) -> frozenset[str]:
    """Return the variables that a node reads; add to `found` the fixed parts below it."""
    if isinstance(node, Ident):
        return _NOTHING if node.id in checked.type_names else frozenset((node.name,))
    if node.id in checked.type_names:
        return _NOTHING
    parts = children(node)
    reads = [_find(part, checked, found) for part in parts]
    if isinstance(node, Comprehension):
        local = {node.accumulator, node.variable, node.second}
        free = reads[0] | reads[1] | (reads[2] | reads[3]) - local | reads[4] - {node.accumulator}
    else:
        free = _NOTHING.union(*reads)
    if free or not _is_value(node):
        _settle(parts, reads, found)
    return free


def _settle(parts: list[Node], reads: list[frozenset[str]], found: set[int]) -> None:
    """Add the parts that read nothing: their parent is not fixed."""
    found.update(
        part.id for part, free in zip(parts, reads, strict=True) if not free and _is_value(part)
    )


def _is_value(node: Node) -> bool:
    if isinstance(node, Call):
        return node.function not in _ATTRIBUTES
    return isinstance(node, Comprehension)


class _Outcome:
    """The value or the error of a part, and what computing it cost."""

    __slots__ = ("cost", "error", "limit", "value", "work")

    def __init__(self, frame: Frame, value: Any, error: EvaluationError | None) -> None:
        self.value = value
        self.error = error
        self.cost = frame.cost
        self.work = frame.work
        self.limit = frame.limit


def evaluate_once(run: Run, number: int) -> Run:
    """Return a function that evaluates a part in the first call, and counts its cost in each."""
    known: list[_Outcome | None] = []

    def replay(frame: Frame) -> Any:
        if not known:
            known.append(_evaluate(run, frame))
        outcome = known[0]
        if outcome is None or not frame.repeats(number, outcome.cost, outcome.work):
            # Too large to be kept, or this evaluation ends within the part.
            return run(frame)
        if outcome.error is not None:
            # A new exception: one that is raised again keeps the stack of every time.
            raise EvaluationError(*outcome.error.args)
        return outcome.value

    return replay


def _evaluate(run: Callable[[Frame], Any], frame: Frame) -> _Outcome | None:
    """Return what a part evaluates to; None if that is not kept."""
    inner = frame.alone()
    try:
        value = run(inner)
    except CostExceeded:
        return None
    except EvaluationError as error:
        return _Outcome(inner, None, error)
    return _Outcome(inner, value, None) if _size(value) <= _MAX_KEPT else None


def _size(value: Any) -> int:
    """Return the number of elements and characters of a value, or more than is kept."""
    size, waiting = 0, [value]
    while waiting and size <= _MAX_KEPT:
        one = waiting.pop()
        size += 1
        if isinstance(one, str | bytes):
            size += len(one)
        elif isinstance(one, list):
            waiting += one if len(one) <= _MAX_KEPT else []
            size += len(one)
        elif isinstance(one, dict):
            waiting += [*one, *one.values()] if len(one) <= _MAX_KEPT else []
            size += len(one)
        elif isinstance(one, Optional):
            waiting.append(one.value)
        elif one is not None and not isinstance(one, bool | int | float | Quantity | Semver):
            size += 0 if isinstance(one, TypeValue) else _MAX_KEPT
    return size
