"""CEL's functions and methods, by name. An argument of the wrong type is "no such overload"."""

# cel-go: ext/strings.go, ext/sets.go; apiserver: pkg/cel/library

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, isfinite
from typing import Any

from mooring.api.quantity import NANOS, Quantity
from mooring.cel import patterns
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.patterns import Pattern, PatternError
from mooring.cel.values import (
    NO_OVERLOAD,
    NONE,
    EvaluationError,
    Optional,
    Semver,
    TypeValue,
    contains,
    equal,
    is_number,
    normalize_semver,
    ordered,
    text_of,
    type_name,
)
from mooring.errors import ObjectError

_INT64 = range(-(2**63), 2**63)
#: Python's conversions also accept blanks and underscores, which Go's strconv refuses.
_NOT_GO = re.compile(r"[\s_]")
#: The most values of a list attribute of a device.
_MAX_INCLUDES = 48
#: The work of reading a character of a version, and of reporting that a text is no quantity.
_PARSING_VERSION, _FAILURE = 3, 80


def _demand(condition: bool) -> None:
    if not condition:
        raise EvaluationError(NO_OVERLOAD)


def _strings(*values: Any) -> None:
    _demand(all(isinstance(value, str) for value in values))


def _on_strings(work: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        _strings(*values)
        return work(*values)

    return call


def _pattern(frame: Frame, text: str) -> Pattern:
    try:
        return patterns.compile(text)
    except PatternError as error:
        frame.labour(error.work)
        raise EvaluationError(str(error)) from None


def _size(value: Any) -> int:
    _demand(isinstance(value, str | list | dict))
    return len(value)


def _go_number(text: str) -> str:
    if _NOT_GO.search(text):
        raise ValueError
    return text


def _int(frame: Frame, value: Any) -> int:
    if isinstance(value, str):
        frame.labour(len(value))
        try:
            value = int(_go_number(value))
        except ValueError:
            raise EvaluationError("type conversion error from 'string' to 'int'") from None
    _demand(is_number(value))
    if isinstance(value, float) and not isfinite(value):
        raise EvaluationError("integer overflow")
    found = int(value)
    if found not in _INT64:
        raise EvaluationError("integer overflow")
    return found


def _double(frame: Frame, value: Any) -> float:
    if isinstance(value, str):
        frame.labour(len(value))
        try:
            return float(_go_number(value))
        except ValueError:
            raise EvaluationError(f'strconv.ParseFloat: parsing "{value}"') from None
    _demand(is_number(value))
    return float(value)


def _string(value: Any) -> str:
    _demand(isinstance(value, str | int | float | Quantity | Semver))
    return text_of(value)


def _bool(value: Any) -> bool:
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    _demand(isinstance(value, bool))
    return bool(value)


def _quantity(frame: Frame, text: Any) -> Quantity:
    _strings(text)
    try:
        return Quantity(text)
    except ObjectError:
        frame.labour(_FAILURE)
        raise EvaluationError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def _semver(frame: Frame, text: Any, lax: Any = False) -> Semver:
    _strings(text)
    frame.labour(_PARSING_VERSION * len(text))
    return Semver(normalize_semver(text) if lax else text)


def _succeeds(make: Callable[..., Any]) -> Callable[..., bool]:
    def call(frame: Frame, text: Any, *rest: Any) -> bool:
        _strings(text)
        try:
            make(frame, text, *rest)
        except CostExceeded:
            raise
        except EvaluationError:
            return False
        return True

    return call


def _pair(a: Any, b: Any) -> None:
    _demand(
        (isinstance(a, Quantity) and isinstance(b, Quantity))
        or (isinstance(a, Semver) and isinstance(b, Semver))
    )


def _compare_to(a: Any, b: Any) -> int:
    _pair(a, b)
    return int(a > b) - int(a < b)


def _amount(value: Any) -> Quantity:
    if isinstance(value, int) and not isinstance(value, bool):
        return Quantity(value)
    _demand(isinstance(value, Quantity))
    found: Quantity = value
    return found


def _as_integer(value: Any) -> int:
    _demand(isinstance(value, Quantity))
    if value.nanos % NANOS:
        raise EvaluationError("cannot convert value to integer")
    return int(value.value())


def _as_float(value: Any) -> float:
    amount = _amount(value).nanos
    try:
        return amount / NANOS
    except OverflowError:
        return inf if amount > 0 else -inf


def _sign(value: Any) -> int:
    _demand(isinstance(value, Quantity))
    return int(value.nanos > 0) - int(value.nanos < 0)


def _part(name: str) -> Callable[[Any], int]:
    def call(value: Any) -> int:
        _demand(isinstance(value, Semver))
        part: int = getattr(value, name)
        return part

    return call


def _contains(holder: Any, value: Any) -> bool:
    _strings(holder, value)
    return value in holder


def _matches(frame: Frame, text: Any, pattern: Any) -> bool:
    _strings(text, pattern)
    return _pattern(frame, pattern).matches(text, frame.labour)


def _find(frame: Frame, text: Any, pattern: Any) -> str:
    _strings(text, pattern)
    return _pattern(frame, pattern).find(text, frame.labour)


def _find_all(frame: Frame, text: Any, pattern: Any, limit: Any = -1) -> list[str]:
    _strings(text, pattern)
    return _pattern(frame, pattern).find_all(text, limit, frame.labour)


def _substring(text: Any, start: Any, end: Any = None) -> str:
    _strings(text)
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    found: str = text[start:end]
    return found


def _split(text: Any, separator: Any, limit: Any = -1) -> list[str]:
    _strings(text, separator)
    if limit == 0:
        return []
    if not separator:
        return list(text)
    found: list[str] = text.split(separator, limit - 1 if limit > 0 else -1)
    return found


def _replace(frame: Frame, text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    _strings(text, old, new)
    count = text.count(old) if limit < 0 else min(text.count(old), limit)
    frame.labour(len(text) + count * len(new))
    found: str = text.replace(old, new, limit)
    return found


def _join(frame: Frame, values: Any, separator: Any = "") -> str:
    _demand(isinstance(values, list))
    frame.labour(len(values) * (1 + len(separator)))
    _strings(separator, *values)
    frame.labour(sum(map(len, values)))
    found: str = separator.join(values)
    return found


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _text(octets: bytes) -> str:
    return octets.decode(errors="surrogatepass")


def _char_at(text: Any, place: Any) -> str:
    _strings(text)
    if not 0 <= place <= len(text):
        raise EvaluationError(f"index out of range: {place}")
    found: str = text[place : place + 1]
    return found


def _listed(values: Any) -> list[Any]:
    _demand(isinstance(values, list))
    found: list[Any] = values
    return found


def _least(values: Any, sign: int) -> Any:
    found = _listed(values)
    if not found:
        raise EvaluationError(
            "min called on empty list" if sign > 0 else "max called on empty list"
        )
    best = found[0]
    for value in found[1:]:
        if ordered(value, best) if sign > 0 else ordered(best, value):
            best = value
    return best


def _index_of(frame: Frame, text: Any, value: Any, start: Any = 0) -> int:
    if isinstance(text, list):
        found = (i for i, one in enumerate(text) if equal(one, value, frame.labour))
        return next(found, -1)
    _strings(text, value)
    return int(text.find(value, start))


def _last_index_of(frame: Frame, text: Any, value: Any, start: Any = None) -> int:
    if isinstance(text, list):
        places = range(len(text) - 1, -1, -1)
        return next((i for i in places if equal(text[i], value, frame.labour)), -1)
    _strings(text, value)
    if start is not None:
        text = text[: start + len(value)]
    # Python's search takes linear time from the left, but not from the right.
    found = text[::-1].find(value[::-1])
    return -1 if found < 0 else len(text) - found - len(value)


def _optional(value: Any) -> Optional:
    _demand(isinstance(value, Optional))
    found: Optional = value
    return found


def _value(optional: Any) -> Any:
    if not _optional(optional).present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _includes(frame: Frame, target: Any, value: Any) -> bool:
    if not isinstance(target, list):
        return equal(target, value, frame.labour)
    if len(target) > _MAX_INCLUDES:
        raise EvaluationError(
            f"'includes' function cannot be applied to lists longer than {_MAX_INCLUDES} values"
        )
    return contains(target, value, frame.labour)


def _all_in(frame: Frame, some: Any, of: Any) -> bool:
    return all(contains(_listed(of), value, frame.labour) for value in _listed(some))


def _some_in(frame: Frame, some: Any, of: Any) -> bool:
    return any(contains(_listed(of), value, frame.labour) for value in _listed(some))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "string": _string,
    "bool": _bool,
    "dyn": lambda value: value,
    "type": lambda value: TypeValue(type_name(value)),
    "sign": _sign,
    "optional.of": lambda value: Optional(True, value),
    "optional.none": lambda: NONE,
}

#: Functions whose work is not proportional to their cost, so they count it separately.
METERED: dict[str, Callable[..., Any]] = {
    "int": _int,
    "double": _double,
    "quantity": _quantity,
    "isQuantity": _succeeds(_quantity),
    "semver": _semver,
    "isSemver": _succeeds(_semver),
    "sets.contains": lambda frame, a, b: _all_in(frame, b, a),
    "sets.intersects": _some_in,
    "sets.equivalent": lambda frame, a, b: _all_in(frame, a, b) and _all_in(frame, b, a),
    "replace": _replace,
    "join": _join,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "includes": _includes,
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
}

METHODS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "startsWith": _on_strings(str.startswith),
    "endsWith": _on_strings(str.endswith),
    "contains": _contains,
    # Methods of bytes change ASCII letters only.
    "lowerAscii": _on_strings(lambda text: _text(_bytes(text).lower())),
    "upperAscii": _on_strings(lambda text: _text(_bytes(text).upper())),
    "trim": _on_strings(str.strip),
    "charAt": _char_at,
    "substring": _substring,
    "split": _split,
    "sum": lambda values: sum(_listed(values)),
    "min": lambda values: _least(values, 1),
    "max": lambda values: _least(values, -1),
    "isGreaterThan": lambda a, b: _compare_to(a, b) > 0,
    "isLessThan": lambda a, b: _compare_to(a, b) < 0,
    "compareTo": _compare_to,
    "add": lambda a, b: _amount(a) + _amount(b),
    "sub": lambda a, b: _amount(a) - _amount(b),
    "asInteger": _as_integer,
    "isInteger": lambda value: _amount(value).nanos % NANOS == 0,
    "asApproximateFloat": _as_float,
    "major": _part("major"),
    "minor": _part("minor"),
    "patch": _part("patch"),
    "hasValue": lambda optional: _optional(optional).present,
    "value": _value,
}
