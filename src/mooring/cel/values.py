"""The values of CEL: mostly Python's own, plus those that Kubernetes adds.

int, float, str, bool, list and dict represent themselves; null is None. Unlike in Python, a bool is
not an int.
"""

# cel-go: common/types; apiserver: pkg/cel/library/{quantity,semverlib}.go

from __future__ import annotations

import re
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from mooring.api.go_format import go_text
from mooring.api.go_numbers import UINT64, parse_integer
from mooring.api.quantity import Quantity


class CompileError(Exception):
    """An expression that is invalid or not supported."""

    #: What compiling its constant patterns took, as work.
    work = 0


class EvaluationError(Exception):
    """An expression that has no value for these variables."""

    #: The cost of the evaluation up to its failure.
    cost = 0


NO_OVERLOAD = "no such overload"
#: The work of comparing two elements, in units of copying one.
_COMPARING = 8
#: Called with the number of elements or characters that a function will process; may raise.
Labour = Callable[[int], None]

_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


@total_ordering
class Semver:
    """A version as in semver.org 2.0.0; build metadata (after a plus sign) is ignored."""

    __slots__ = ("major", "minor", "order", "patch", "text")

    def __init__(self, text: str) -> None:
        found = _SEMVER.fullmatch(text)
        if found is None:
            # blang/semver: Parse
            if len(text.split(".", 2)) != 3:
                raise EvaluationError("No Major.Minor.Patch elements found")
            raise EvaluationError(f'invalid semantic version "{text}"')
        self.text = text
        self.major, self.minor, self.patch = (_version_number(found[i]) for i in (1, 2, 3))
        # A version without a pre-release part is later than one with it; numeric parts compare by
        # value and come before words.
        pre = tuple(
            (0, _version_number(part), "") if part.isdigit() else (1, 0, part)
            for part in (found[4].split(".") if found[4] else ())
        )
        self.order = (self.major, self.minor, self.patch, not pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.order == other.order

    def __lt__(self, other: Semver) -> bool:
        return self.order < other.order

    def __hash__(self) -> int:
        return hash(self.order)


def _version_number(text: str) -> int:
    # blang/semver: the numbers of a version have 64 bits
    try:
        return parse_integer(text, UINT64, "ParseUint")
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def normalize_semver(text: str) -> str:
    """Return the strict form of a lax version ("v1.02")."""
    # apiserver: pkg/cel/library/semverlib.go (normalizeAndParse)
    core = text.removeprefix("v")
    cut = min((place for place in (core.find("-"), core.find("+")) if place >= 0), default=None)
    rest = "" if cut is None else core[cut:]
    parts = (core if cut is None else core[:cut]).split(".")
    if len(parts) < 3 and rest:
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    parts += ["0"] * (3 - len(parts))
    return ".".join(part.lstrip("0") or "0" for part in parts) + rest


class TypeValue:
    """A type as a value: what type() returns."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


#: The types that the language has names for.
TYPES = {name: TypeValue(name) for name in ("bool", "int", "double", "string", "list", "map")}


class Optional:
    """A value that may be absent."""

    __slots__ = ("present", "value")

    def __init__(self, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value


NONE = Optional(False)


class Domains(dict[str, dict[str, Any]]):
    """Attributes or capacities by domain; a missing domain is empty."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


def type_name(value: Any) -> str:
    """Return CEL's name of a value's type."""
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return name
    return "null_type" if value is None else type(value).__name__


_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (list, "list"),
    (dict, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (Optional, "optional_type"),
    (TypeValue, "type"),
)


_SCALARS = frozenset({bool, int, float, str})


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a double."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _free(_: int) -> None:
    """Do nothing: the work is not counted."""


def equal(a: Any, b: Any, labour: Labour = _free) -> bool:
    """Return whether two values are equal: types must match, except that numbers compare by value.

    `labour` is called with the number of parts that are compared.
    """
    if type(a) is type(b) and type(a) in _SCALARS:
        return bool(a == b)
    waiting = [(a, b)]
    # Values can share parts many times over, so each pair of parts is compared only once.
    compared: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if isinstance(a, list | dict):
            if (id(a), id(b)) in compared:
                continue
            compared.add((id(a), id(b)))
        if isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            labour(_COMPARING * len(a))
            waiting += zip(a, b, strict=True)
        elif isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            labour(_COMPARING * len(a))
            waiting += [(a[key], b[key]) for key in a]
        elif isinstance(a, Optional) and isinstance(b, Optional):
            if a.present != b.present:
                return False
            waiting.append((a.value, b.value))
        elif isinstance(a, bool) or isinstance(b, bool):
            if a is not b:
                return False
        elif isinstance(a, list | dict) or isinstance(b, list | dict) or a != b:
            return False
    return True


def ordered(a: Any, b: Any) -> bool:
    """Return whether one value is less than another; EvaluationError if they have no order."""
    if type(a) is type(b) and type(a) in _SCALARS:
        return bool(a < b)
    if (is_number(a) and is_number(b)) or (isinstance(a, str) and isinstance(b, str)):
        return bool(a < b)
    if isinstance(a, bool) and isinstance(b, bool):
        return a < b
    raise EvaluationError(NO_OVERLOAD)


def find(holder: Any, key: Any) -> Any:
    """Return the value at a key of a map or an index of a list, or raise EvaluationError."""
    if isinstance(holder, dict):
        if isinstance(key, bool) or not isinstance(key, str | int | float):
            raise EvaluationError(f"no such key: {text_of(key)}")
        try:
            return holder[key]
        except KeyError:
            raise EvaluationError(f"no such key: {text_of(key)}") from None
    if isinstance(holder, list):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if isinstance(key, bool) or not isinstance(key, int):
            raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")
        if not 0 <= key < len(holder):
            raise EvaluationError(f"index out of bounds: {key}")
        return holder[key]
    if isinstance(holder, Optional):
        return find_optional(holder, key)
    raise EvaluationError(NO_OVERLOAD)


def find_optional(holder: Any, key: Any) -> Optional:
    """Return the value at a key or an index, or none if it is missing."""
    if isinstance(holder, Optional):
        return find_optional(holder.value, key) if holder.present else NONE
    if isinstance(holder, dict | list) and contains(holder, key, keys=True):
        return Optional(True, find(holder, key))
    return NONE


def contains(holder: Any, value: Any, labour: Labour = _free, *, keys: bool = False) -> bool:
    """Return whether a list has an element, or a map a key; with `keys`, a list an index."""
    if isinstance(holder, dict):
        return not isinstance(value, bool | list | dict) and value in holder
    if isinstance(holder, list):
        if keys:
            return isinstance(value, int) and 0 <= value < len(holder)
        labour(len(holder))
        return any(equal(value, element, labour) for element in holder)
    raise EvaluationError(NO_OVERLOAD)


def text_of(value: Any) -> str:
    """Return a value as text, as CEL's string() does."""
    return value.text if isinstance(value, Semver) else go_text(value)
