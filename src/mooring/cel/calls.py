"""How calls are evaluated: which arguments, in which order, and what that costs."""

# cel-go: interpreter/interpretable.go, cel/optlib (or, orValue)

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from mooring.cel.call_costs import CallCost
from mooring.cel.estimates import STRING_FACTOR
from mooring.cel.functions import FUNCTIONS, METERED, METHODS
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.operators import OPERATORS, truth
from mooring.cel.slots import Run, attempt
from mooring.cel.syntax import EQUALS, NOT_EQUALS
from mooring.cel.values import NO_OVERLOAD, CompileError, EvaluationError, Optional

Work = Callable[..., Any]


def implementation(function: str, member: bool) -> Work:
    """Return what computes a function from a frame and its arguments, or raise CompileError."""
    work = OPERATORS.get(function) or METERED.get(function)
    if work is not None:
        return work
    plain = (METHODS if member else FUNCTIONS).get(function)
    if plain is None:
        raise CompileError(f"function '{function}' is not supported")
    found = plain
    return lambda frame, *args: found(*args)


def apply(work: Work, args: list[Run], cost: CallCost | None) -> Run:
    """Return what evaluates arguments and applies a function to them; the call has its cost."""
    if len(args) == 2:
        return _apply_two(work, args[0], args[1], cost)
    if len(args) == 1:
        return _apply_one(work, args[0], cost)

    def run(frame: Frame) -> Any:
        return _compute(frame, work, [arg(frame) for arg in args], cost)

    return run


def _compute(frame: Frame, work: Work, values: list[Any], cost: CallCost | None) -> Any:
    value: Any = None
    try:
        value = work(frame, *values)
    except TypeError:
        raise EvaluationError(NO_OVERLOAD) from None
    finally:
        # A call that fails has its cost, too.
        frame.spend(1 if cost is None else cost(frame, values, value))
    return value


def _fail(frame: Frame, error: EvaluationError, values: list[Any], cost: CallCost | None) -> None:
    """Count the cost of a call whose arguments failed, and raise why."""
    if not isinstance(error, CostExceeded):
        frame.spend(1 if cost is None else cost(frame, values, None))
    raise error


def _apply_one(work: Work, arg: Run, cost: CallCost | None) -> Run:
    def run(frame: Frame) -> Any:
        try:
            value = arg(frame)
        except EvaluationError as error:
            _fail(frame, error, [None], cost)
        return _compute(frame, work, [value], cost)

    return run


def _apply_two(work: Work, left: Run, right: Run, cost: CallCost | None) -> Run:
    # Both sides are evaluated, whatever the first one gives.
    equality = work is OPERATORS[EQUALS] or work is OPERATORS[NOT_EQUALS]

    def run(frame: Frame) -> Any:
        try:
            a = left(frame)
        except CostExceeded:
            raise
        except EvaluationError as error:
            attempt(right, frame)
            _fail(frame, error, [None, None], cost)
        try:
            b = right(frame)
        except EvaluationError as error:
            _fail(frame, error, [a, None], cost)
        if cost is None:
            frame.cost += 1
        elif equality and type(a) is str and type(b) is str:
            # Most comparisons are between two texts.
            frame.cost += ceil(min(len(a), len(b)) * STRING_FACTOR)
        else:
            return _compute(frame, work, [a, b], cost)
        if frame.cost > frame.limit:
            raise CostExceeded
        try:
            return work(frame, a, b)
        except TypeError:
            raise EvaluationError(NO_OVERLOAD) from None

    return run


def junction(left: Run, right: Run, *, decides: bool) -> Run:
    """Return what evaluates && or ||; an error on one side does not count if the other decides."""
    other = not decides

    def run(frame: Frame) -> bool:
        try:
            found: object = left(frame)
            if found is decides:
                return decides
            if found is not other:
                raise EvaluationError(NO_OVERLOAD)
        except CostExceeded:
            raise
        except EvaluationError:
            if truth(right(frame)) is decides:
                return decides
            raise
        return truth(right(frame))

    return run


def not_strictly_false(arg: Run) -> Run:
    """Return what asks whether something is true, or failed."""

    def run(frame: Frame) -> bool:
        try:
            value = arg(frame)
        except CostExceeded:
            raise
        except EvaluationError:
            value = None
        frame.cost += 1
        if frame.cost > frame.limit:
            raise CostExceeded
        return value is not False

    return run


def otherwise(optional: Run, other: Run, *, unwrap: bool) -> Run:
    """Return what gives another value if there is none; like a conditional, that costs nothing."""

    def run(frame: Frame) -> Any:
        found = optional(frame)
        if not isinstance(found, Optional):
            raise EvaluationError(NO_OVERLOAD)
        if found.present:
            return found.value if unwrap else found
        return other(frame)

    return run


def membership(arg: Run, members: list[Any]) -> Run:
    """Return what looks something up in a constant list of texts and numbers, without cost."""
    # Numbers of different types are equal if their amounts are, but a boolean is no number.
    known = {(isinstance(one, bool), one) for one in members}

    def run(frame: Frame) -> bool:
        value = arg(frame)
        if not isinstance(value, str | int | float):
            return False
        return (isinstance(value, bool), value) in known

    return run
