"""Evaluate calls: which arguments are evaluated, in which order, and at what cost."""

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
    """Return the function that computes a call from its frame and args, or raise CompileError."""
    work = OPERATORS.get(function) or METERED.get(function)
    if work is not None:
        return work
    plain = (METHODS if member else FUNCTIONS).get(function)
    if plain is None:
        raise CompileError(f"function '{function}' is not supported")
    found = plain
    return lambda frame, *args: found(*args)


def apply(work: Work, args: list[Run], cost: CallCost | None) -> Run:
    """Return a function that evaluates arguments, applies `work` to them, and charges the cost."""
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
        # A call that fails is charged too.
        frame.spend(1 if cost is None else cost(frame, values, value))
    return value


def _fail(frame: Frame, error: EvaluationError, values: list[Any], cost: CallCost | None) -> None:
    """Charge the cost of a call whose arguments failed, and raise their error."""
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
    # Both sides are evaluated, even if the first one fails.
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
            # A fast path: most comparisons are between two strings.
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
    """Return a function that evaluates && or ||, ignoring an error on a side that is not needed."""
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
    """Return a function that tests whether its argument is anything but false; errors pass."""

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
    """Return a function that replaces an empty optional; as for a conditional, this is free."""

    def run(frame: Frame) -> Any:
        found = optional(frame)
        if not isinstance(found, Optional):
            raise EvaluationError(NO_OVERLOAD)
        if found.present:
            return found.value if unwrap else found
        return other(frame)

    return run


def membership(arg: Run, members: list[Any]) -> Run:
    """Return a function that looks a value up in a constant list of scalars, for free."""
    # Numbers of different types are equal if their values are, but a boolean is not a number.
    known = {(isinstance(one, bool), one) for one in members}

    def run(frame: Frame) -> bool:
        value = arg(frame)
        if not isinstance(value, str | int | float):
            return False
        return (isinstance(value, bool), value) in known

    return run
