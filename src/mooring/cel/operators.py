"""CEL's operators on values."""

# cel-go: common/types

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mooring.api.quantity import MAX_INT64, MIN_INT64, Quantity
from mooring.cel.meter import Frame
from mooring.cel.values import (
    NO_OVERLOAD,
    EvaluationError,
    Semver,
    contains,
    equal,
    ordered,
)


class Growing(list[Any]):
    """The list that a comprehension builds; appending changes it in place."""


class GrowingMap(dict[Any, Any]):
    """The map that a comprehension builds; inserting changes it in place."""


def truth(value: Any) -> bool:
    """Return the value if it is a boolean, or raise EvaluationError."""
    if value is True or value is False:
        return bool(value)
    raise EvaluationError(NO_OVERLOAD)


def _whole(value: int) -> int:
    if not MIN_INT64 <= value <= MAX_INT64:
        raise EvaluationError("integer overflow")
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _add(frame: Frame, a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return _whole(a + b)
    if isinstance(a, str) and isinstance(b, str):
        frame.labour(len(a) + len(b))
        return a + b
    if isinstance(a, float) and isinstance(b, float):
        return a + b
    if isinstance(a, list) and isinstance(b, list):
        frame.labour(len(b))
        if isinstance(a, Growing):
            a.extend(b)
            return a
        frame.labour(len(a))
        return a + b
    raise EvaluationError(NO_OVERLOAD)


def _subtract(frame: Frame, a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        return _whole(a - b)
    if isinstance(a, float) and isinstance(b, float):
        return a - b
    raise EvaluationError(NO_OVERLOAD)


def _multiply(frame: Frame, a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        return _whole(a * b)
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    raise EvaluationError(NO_OVERLOAD)


def _divide(frame: Frame, a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        if b == 0:
            raise EvaluationError("division by zero")
        # CEL rounds towards zero.
        return _whole(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
    if isinstance(a, float) and isinstance(b, float):
        if b:
            return a / b
        if not a or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    raise EvaluationError(NO_OVERLOAD)


def _remainder(frame: Frame, a: Any, b: Any) -> int:
    if not (_is_int(a) and _is_int(b)):
        raise EvaluationError(NO_OVERLOAD)
    if b == 0:
        raise EvaluationError("modulus by zero")
    if (a, b) == (MIN_INT64, -1):
        raise EvaluationError("integer overflow")
    return int(abs(a) % abs(b)) * (-1 if a < 0 else 1)


def _negate(frame: Frame, value: Any) -> Any:
    if _is_int(value):
        return _whole(-value)
    if isinstance(value, float):
        return -value
    raise EvaluationError(NO_OVERLOAD)


def _map_insert(frame: Frame, holder: Any, *given: Any) -> Any:
    entries = [given] if len(given) == 2 else [*given[0].items()]
    if not isinstance(holder, GrowingMap):
        frame.labour(len(holder))
        holder = GrowingMap(holder)
    for key, value in entries:
        if key in holder:
            raise EvaluationError(f"insert failed: key {key} already exists")
        holder[key] = value
    return holder


def _at_most(frame: Frame, a: Any, b: Any) -> bool:
    return ordered(a, b) or equal(a, b, frame.labour)


def _equals(frame: Frame, a: Any, b: Any) -> bool:
    # apiserver: pkg/cel/{quantity,semver}.go: these are comparable only with their own type
    if isinstance(a, Quantity | Semver) and b is not None and type(a) is not type(b):
        raise EvaluationError(NO_OVERLOAD)
    return equal(a, b, frame.labour)


OPERATORS: dict[str, Callable[..., Any]] = {
    "_==_": _equals,
    "_!=_": lambda frame, a, b: not equal(a, b, frame.labour),
    "_<_": lambda frame, a, b: ordered(a, b),
    "_>_": lambda frame, a, b: ordered(b, a),
    "_<=_": _at_most,
    "_>=_": lambda frame, a, b: _at_most(frame, b, a),
    "@in": lambda frame, a, b: contains(b, a, frame.labour),
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _remainder,
    "-_": _negate,
    "!_": lambda frame, value: not truth(value),
    "cel.@mapInsert": _map_insert,
}
