"""Local variables whose value is not computed yet, or could not be computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.values import EvaluationError

#: A function that evaluates a part of an expression.
Run = Callable[[Frame], Any]


class Unready:
    """A placeholder for a value that is not available."""

    __slots__ = ()


class Pending(Unready):
    """A value that is computed when it is first read."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run


class FailedValue(Unready):
    """A value that could not be computed."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def attempt(run: Run, frame: Frame) -> Any:
    """Return a value, or FailedValue if evaluation fails; CostExceeded is raised."""
    try:
        return run(frame)
    except CostExceeded:
        raise
    except EvaluationError as error:
        return FailedValue(error)


def ready(frame: Frame, place: int, value: Unready) -> Any:
    """Compute the value of a local variable that is not available yet, or raise its error."""
    found: Any = value
    if isinstance(value, Pending):
        found = frame.locals[place] = attempt(value.run, frame)
    if isinstance(found, FailedValue):
        raise found.error
    return found
