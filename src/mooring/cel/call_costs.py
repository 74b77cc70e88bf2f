"""The costs of calls, computed from their arguments and their result."""

# cel-go: interpreter/runtimecost.go (costCall), ext/sets.go; apiserver: pkg/cel/library/cost.go

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mooring.api.quantity import Quantity
from mooring.cel.estimates import REGEX_FACTOR, STRING_FACTOR
from mooring.cel.meter import Frame
from mooring.cel.values import Optional, Semver

#: Returns the cost of a call; an argument that failed is None.
CallCost = Callable[[Frame, list[Any], Any], int]


def size_of(value: Any) -> int:
    """Return the size of a value for the purpose of costs: 1 if it has none."""
    if isinstance(value, str | list | dict | bytes):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return 1


def traversal(frame: Frame, value: Any) -> int:
    """Return the cost of traversing a value and everything in it."""
    # Values can share parts many times over, so each part is visited only once.
    known: dict[int, int] = {}
    waiting = [value]
    while waiting:
        found = waiting[-1]
        parts = _parts(found)
        unknown = [one for one in parts if isinstance(one, list | dict) and id(one) not in known]
        if unknown and id(found) not in known:
            frame.labour(len(unknown))
            waiting += unknown
            continue
        waiting.pop()
        frame.labour(len(parts))
        known[id(found)] = sum([_part_cost(one, known) for one in parts])
    return known[id(value)]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [*value, *value.values()] if isinstance(value, dict) else [value]


def _part_cost(value: Any, known: dict[int, int]) -> int:
    if isinstance(value, str):
        return int(len(value.encode(errors="surrogatepass")) * STRING_FACTOR)
    return known[id(value)] if isinstance(value, list | dict) else 1


def text_cost(count: int) -> int:
    """Return the cost of processing this many characters."""
    return math.ceil(count * STRING_FACTOR)


def _first(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(size_of(args[0]))


def _first_twice(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(size_of(args[0]) * 2)


def _result_twice(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(size_of(result) * 2)


def _traverse(frame: Frame, args: list[Any], result: Any) -> int:
    return traversal(frame, args[0])


def _pattern(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(1 + size_of(args[0])) * math.ceil(size_of(args[1]) * REGEX_FACTOR)


def _product(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(size_of(args[0])) * text_cost(size_of(args[1]))


def _sum(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(size_of(args[0]) + size_of(args[1]))


def _shorter(frame: Frame, args: list[Any], result: Any) -> int:
    return text_cost(min(size_of(args[0]), size_of(args[1])))


def _equality(frame: Frame, args: list[Any], result: Any) -> int:
    return 1 if isinstance(args[0], Quantity | Semver) else _shorter(frame, args, result)


def _second(frame: Frame, args: list[Any], result: Any) -> int:
    return size_of(args[1])


def _sets(factor: int) -> CallCost:
    return lambda frame, args, result: 1 + size_of(args[0]) * size_of(args[1]) * factor


_OVERLOADS_FIRST: dict[str, CallCost] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
_FUNCTIONS: dict[str, CallCost] = {
    **{name: _traverse for name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")},
    **{name: _first for name in ("lowerAscii", "upperAscii", "substring", "trim")},
    **{name: _first for name in ("quantity", "isQuantity", "semver", "isSemver")},
    "replace": _first_twice,
    "split": _first_twice,
    "join": _result_twice,
    "find": _pattern,
    "findAll": _pattern,
    "_==_": _equality,
}
_OVERLOADS: dict[str, CallCost] = {
    "starts_with_string": _first,
    "ends_with_string": _first,
    "in_list": _second,
    "add_string": _sum,
    "matches_string": _pattern,
    "contains_string": _product,
    "not_equals": _shorter,
    **{f"{name}_string": _shorter for name in ("less", "greater", "less_equals", "greater_equals")},
}


def call_cost(function: str, id: str) -> CallCost | None:
    """Return the function that computes the cost of a call, or None if the cost is always 1.

    `id` is the overload that is called, or an empty string if it depends on the values.
    """
    return _OVERLOADS_FIRST.get(id) or _FUNCTIONS.get(function) or _OVERLOADS.get(id)
