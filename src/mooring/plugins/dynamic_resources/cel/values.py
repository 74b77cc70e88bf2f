"""Values of CEL: Python's own for the most part, and what Kubernetes adds.

int, float, str, bool, list and dict stand for themselves; null is None. A bool is no int here,
although Python says so.
"""

# cel-go: common/types; apiserver: pkg/cel/library/{quantity,semverlib}.go

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any

from mooring.api.quantity import Quantity


class CompileError(Exception):
    """Say that an expression cannot be understood."""


class EvaluationError(Exception):
    """Say that an expression has no value for this device."""


NO_OVERLOAD = "no such overload"

_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


@total_ordering
class Semver:
    """Hold a version of semver.org 2.0.0; what stands behind a plus sign does not count."""

    __slots__ = ("major", "minor", "order", "patch", "text")

    def __init__(self, text: str) -> None:
        found = _SEMVER.fullmatch(text)
        if found is None:
            # blang/semver: Parse
            if len(text.split(".", 2)) != 3:
                raise EvaluationError("No Major.Minor.Patch elements found")
            raise EvaluationError(f'invalid semantic version "{text}"')
        self.text = text
        self.major, self.minor, self.patch = int(found[1]), int(found[2]), int(found[3])
        # A version without a pre-release part is later than one with it; numbers sort by amount
        # and come before words.
        pre = tuple(
            (0, int(part), "") if part.isdigit() else (1, 0, part)
            for part in (found[4].split(".") if found[4] else ())
        )
        self.order = (self.major, self.minor, self.patch, not pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.order == other.order

    def __lt__(self, other: Semver) -> bool:
        return self.order < other.order

    def __hash__(self) -> int:
        return hash(self.order)


def normalize_semver(text: str) -> str:
    """Bring a lax version ("v1.02") into the strict form."""
    # apiserver: pkg/cel/library/semverlib.go (normalizeAndParse)
    core = text.removeprefix("v")
    cut = min((place for place in (core.find("-"), core.find("+")) if place >= 0), default=None)
    rest = "" if cut is None else core[cut:]
    parts = (core if cut is None else core[:cut]).split(".")
    if len(parts) < 3 and rest:
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    parts += ["0"] * (3 - len(parts))
    return ".".join(part.lstrip("0") or "0" for part in parts) + rest


class Type:
    """Stand for a type: what type() returns."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


#: Types that have a name of their own in the language.
TYPES = {name: Type(name) for name in ("bool", "int", "double", "string", "list", "map")}


class Optional:
    """Hold a value, or none."""

    __slots__ = ("present", "value")

    def __init__(self, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value


NONE = Optional(False)


class Domains(dict[str, dict[str, Any]]):
    """Hold attributes or capacities by domain; a domain that is not there is empty."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


def type_name(value: Any) -> str:
    """Name a value's type as CEL does."""
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
    (Type, "type"),
)


def is_number(value: Any) -> bool:
    """Tell whether a value is an int or a double."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(a: Any, b: Any) -> bool:
    """Compare two values; those of different types differ, but numbers compare by amount."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, Optional) and isinstance(b, Optional):
        return a.present == b.present and equal(a.value, b.value)
    return bool(a == b)


def ordered(a: Any, b: Any) -> bool:
    """Tell whether one value is less than another; values without an order are an error."""
    if (is_number(a) and is_number(b)) or (isinstance(a, str) and isinstance(b, str)):
        return bool(a < b)
    if isinstance(a, bool) and isinstance(b, bool):
        return a < b
    raise EvaluationError(NO_OVERLOAD)


def find(holder: Any, key: Any) -> Any:
    """Look something up in a map or a list."""
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
    """Look something up that may be missing."""
    if isinstance(holder, Optional):
        return find_optional(holder.value, key) if holder.present else NONE
    if isinstance(holder, dict | list) and contains(holder, key, keys=True):
        return Optional(True, find(holder, key))
    return NONE


def contains(holder: Any, value: Any, *, keys: bool = False) -> bool:
    """Tell whether a list has an element, or a map a key; with `keys`, a list's place."""
    if isinstance(holder, dict):
        return not isinstance(value, bool | list | dict) and value in holder
    if isinstance(holder, list):
        if keys:
            return isinstance(value, int) and 0 <= value < len(holder)
        return any(equal(value, element) for element in holder)
    raise EvaluationError(NO_OVERLOAD)


def text_of(value: Any) -> str:
    """Print a value as CEL's string() does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Semver):
        return value.text
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
