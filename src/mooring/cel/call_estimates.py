"""Estimates of what function calls can cost, from the sizes of their arguments."""

# cel-go: checker/cost.go (functionCost), ext/lists.go, ext/sets.go;
# apiserver: pkg/cel/library/cost.go

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.cel.estimates import (
    LIST_COST,
    MAX,
    NOTHING,
    ONE,
    REGEX_FACTOR,
    STRING_FACTOR,
    UNKNOWN,
    Range,
    fixed,
)
from mooring.cel.types import Type

#: Returns how large the value at a path from a variable can be; None if that is not known.
Sizes = Callable[[tuple[str, ...]], Range | None]

#: The lengths of the longest pattern of a named format and of the longest format string.
_FORMAT_PATTERN = 128
_FORMAT_SIZE = 64
#: The most values of a list attribute of a device.
_ATTRIBUTE_VALUES = 48


class Argument(msgspec.Struct, frozen=True):
    """An argument of a call: its path from a variable, its type, its size, its literal value."""

    path: tuple[str, ...]
    type: Type
    size: Range | None
    literal: Any = None


class CallEstimate(msgspec.Struct, frozen=True):
    """What a call can cost, and how large its result can be."""

    cost: Range
    size: Range | None = None


_NOMINAL = frozenset(
    {
        *("masked", "prefixLength", "family", "isUnspecified", "isLoopback"),
        *("isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast", "format.named"),
        *("sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan"),
        *("compareTo", "add", "sub", "major", "minor", "patch"),
        *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
    }
)
_COMPARISONS = frozenset(
    f"{name}_{kind}"
    for name in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
) | {"equals", "not_equals"}


def estimate_call(
    sizes: Sizes, function: str, id: str, target: Argument | None, args: list[Argument]
) -> CallEstimate | None:
    """Return what a call can cost apart from its arguments, or None if it has no special cost."""
    size = _Sizer(sizes)
    found = _lists(size, id, target, args)
    if found is None and id == "dra_includes_dyn_dyn":
        found = CallEstimate(Range(0, _ATTRIBUTE_VALUES))
    if found is None:
        found = _library(size, function, id, target, args)
    return _standard(id, target, args) if found is None else found


class _Sizer:
    """The sizes of arguments."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def __call__(self, argument: Argument) -> Range:
        if argument.size is not None:
            return argument.size
        found = self._sizes(argument.path)
        return UNKNOWN if found is None else found

    def element(self, argument: Argument) -> Argument | None:
        """Return an element of a list argument, or None if the type has no elements."""
        if not argument.type.parameters:
            return None
        path = (*argument.path, "@items") if argument.path else ()
        return Argument(path, argument.type.parameters[0], None)


# cel-go's extensions, which take precedence over everything else.


def _lists(
    size: _Sizer, id: str, target: Argument | None, args: list[Argument]
) -> CallEstimate | None:
    if id.startswith("list_sets_"):
        factor = 2.0 if id == "list_sets_equivalent_list" else 1.0
        return CallEstimate((size(args[0]) * size(args[1])).scale(factor) + ONE)
    if id == "lists_range":
        return _allocating(1.0, fixed(_whole(args[0], MAX)))
    if target is None:
        return None
    if id == "list_slice":
        end, start = _whole(args[1], size(target).high), _whole(args[0], 0)
        return _allocating(1.0, fixed((end - start) % (MAX + 1)))
    if id == "list_reverse":
        return _allocating(1.0, size(target))
    if id in ("list_flatten", "list_flatten_int"):
        return _allocating(float(_whole(args[0], MAX) if args else 1), size(target))
    if id == "list_distinct":
        return _allocating(2.0, size(target) * size(target))
    if id.startswith("list_") and id.endswith(("_sort", "_sortByAssociatedKeys")):
        sorted_by = size(args[0] if args else target)
        text = id.startswith(("list_string_", "list_bytes_"))
        return _allocating(2.0 + (STRING_FACTOR if text else 0.0), sorted_by * sorted_by)
    return None


def _allocating(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scale(factor) + ONE + fixed(LIST_COST), size)


def _whole(argument: Argument, otherwise: int) -> int:
    value = argument.literal
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 0)
    return otherwise


# Kubernetes' libraries.


def _library(
    size: _Sizer, function: str, id: str, target: Argument | None, args: list[Argument]
) -> CallEstimate | None:
    if function in _NOMINAL or id == "cidr_ip":
        return CallEstimate(ONE)
    work = _FUNCTIONS.get(function)
    if work is not None and args:
        return work(size, id, args)
    method = _METHODS.get(function)
    if method is not None and target is not None:
        return method(size, target, args)
    if function == "_==_" and args[0].type == args[1].type:
        return _equality(args[0].type)
    return None


def _equality(found: Type) -> CallEstimate | None:
    if found.name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"):
        return CallEstimate(ONE)
    if found.name == "kubernetes.NamedFormat":
        return CallEstimate(Range(1, _FORMAT_SIZE).scale(STRING_FACTOR))
    if found.name == "kubernetes.URL":
        return CallEstimate(ONE.scale(STRING_FACTOR))
    return None


def _traverse(size: _Sizer, id: str, args: list[Argument]) -> CallEstimate:
    return CallEstimate(size(args[0]).scale(STRING_FACTOR))


def _traverse_keeping(size: _Sizer, id: str, args: list[Argument]) -> CallEstimate:
    return CallEstimate(size(args[0]).scale(STRING_FACTOR), size(args[0]))


def _canonical(size: _Sizer, id: str, args: list[Argument]) -> CallEstimate:
    return CallEstimate(size(args[0]).scale(2 * STRING_FACTOR))


def _contains_address(size: _Sizer, id: str, args: list[Argument]) -> CallEstimate:
    bytes = Range(4, 16)
    cost = (bytes + bytes).scale(STRING_FACTOR)
    if id.startswith("cidr_contains_cidr"):
        cost = cost + bytes.scale(STRING_FACTOR) + ONE
    if id.endswith("_string"):
        cost += size(args[0]).scale(STRING_FACTOR)
    return CallEstimate(cost)


def _validate(size: _Sizer, id: str, args: list[Argument]) -> CallEstimate:
    cost = size(args[0]).scale(STRING_FACTOR).scale(_FORMAT_PATTERN * REGEX_FACTOR)
    return CallEstimate(cost)


def _search(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    each = ONE
    element = size.element(target)
    if element is None:
        return CallEstimate(size(target).scale(STRING_FACTOR))
    if element.type.kind in ("string", "bytes"):
        each += size(element).scale(STRING_FACTOR)
    return CallEstimate(size(target) * each)


def _keep(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    return CallEstimate(size(target).scale(STRING_FACTOR), size(target))


def _replace(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    given, old, new = size(target), size(args[0]), size(args[1])
    most = kept_most = least = kept_least = 0
    if old.low == 0:
        most, kept_most = min(given.high + 1, MAX), given.high
    elif new.high <= old.low:
        kept_most = given.high
    else:
        most = _ceil(given.high, old.low)
    if old.high == 0:
        least, kept_least = min(given.low + 1, MAX), given.low
    elif old.high <= new.low:
        kept_least = given.low
    else:
        least = _ceil(given.low, old.high)
    made = Range(least, most) * new + Range(kept_least, kept_most)
    return CallEstimate(given.scale(2 * STRING_FACTOR), made)


def _ceil(a: int, b: int) -> int:
    return min(math.ceil(float(a) / float(b)), MAX)


def _split(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    given = size(target)
    most = given.high
    if len(args) > 1 and isinstance(args[1].literal, int):
        most = args[1].literal % (MAX + 1)
    return CallEstimate(given.scale(2 * STRING_FACTOR), Range(0, most))


def _join(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    count, made = size(target), NOTHING
    if (element := size.element(target)) is not None:
        made = count * size(element)
    if args:
        made += size(args[0]) * Range(max(count.low - 1, 0), max(count.high - 1, 0))
    return CallEstimate(made.scale(STRING_FACTOR), made)


def _find(size: _Sizer, target: Argument, args: list[Argument]) -> CallEstimate:
    given = size(target)
    cost = (given + ONE).scale(STRING_FACTOR) * size(args[0]).scale(REGEX_FACTOR)
    return CallEstimate(cost, Range(0, given.high))


_Work = Callable[[_Sizer, str, list[Argument]], CallEstimate]
_FUNCTIONS: dict[str, _Work] = {
    **{name: _traverse_keeping for name in ("url", "jsonpatch.escapeKey")},
    **{name: _traverse for name in ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity")},
    **{name: _traverse for name in ("semver", "isSemver")},
    "ip.isCanonical": _canonical,
    "containsIP": _contains_address,
    "containsCIDR": _contains_address,
    "validate": _validate,
}
_Method = Callable[[_Sizer, Argument, list[Argument]], CallEstimate]
_METHODS: dict[str, _Method] = {
    **{name: _search for name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")},
    **{name: _keep for name in ("lowerAscii", "upperAscii", "substring", "trim")},
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
}


# The standard functions.


def _standard(id: str, target: Argument | None, args: list[Argument]) -> CallEstimate | None:
    def size(argument: Argument) -> Range:
        return UNKNOWN if argument.size is None else argument.size

    if id == "string_format" and target is not None:
        return CallEstimate(size(target).scale(STRING_FACTOR))
    if id in ("string_to_bytes", "bytes_to_string", "strings_quote"):
        given = size(args[0])
        made = {
            "string_to_bytes": Range(given.low, given.high * 4 % (MAX + 1)),
            "bytes_to_string": Range(given.low // 4, given.high),
            "strings_quote": Range(given.low + 2, (given.high * 2 + 2) % (MAX + 1)),
        }[id]
        return CallEstimate(given.scale(STRING_FACTOR), made)
    if id in ("starts_with_string", "ends_with_string"):
        return CallEstimate(size(args[0]).scale(STRING_FACTOR))
    if id == "in_list":
        return CallEstimate(size(args[1]).scale(1.0))
    if id == "matches_string" and target is not None:
        text = (size(target) + ONE).scale(STRING_FACTOR)
        return CallEstimate(text * size(args[0]).scale(REGEX_FACTOR))
    if id == "contains_string" and target is not None:
        return CallEstimate(size(target).scale(STRING_FACTOR) * size(args[0]).scale(STRING_FACTOR))
    if id in _COMPARISONS:
        most = min(size(args[0]).high, size(args[1]).high)
        return CallEstimate(Range(1 if most else 0, most).scale(STRING_FACTOR))
    return None
