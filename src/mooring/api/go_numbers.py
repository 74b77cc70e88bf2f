"""Numbers and booleans read as Go reads them, with the errors of its strconv package, and rounded
as its math package rounds them."""

# Go: strconv/atoi.go, strconv/atof.go, strconv/atob.go, math/floor.go (Round)

from __future__ import annotations

import math
import re

from mooring.api.go_format import go_quote

_UNSIGNED = re.compile(r"[0-9]+", re.ASCII)
_SIGNED = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
#: Longer numbers are out of every range; Python refuses to convert very long ones.
_MAX_DIGITS = 20
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}

INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)
UINT64 = range(2**64)


def parse_int64(text: str) -> int | None:
    """Return a decimal integer of 64 bits; None if a text is not one.

    >>> parse_int64("+5"), parse_int64("5.0")
    (5, None)
    """
    if _SIGNED.fullmatch(text) is None or len(text) > 64:
        return None
    number = int(text)
    return number if number in INT64 else None


def parse_integer(text: str, within: range, function: str = "ParseInt") -> int:
    """Return a decimal integer within a range; raise ValueError with the message of `function`.

    Only integers of a range with negative numbers may have a sign.
    """
    syntax = _SIGNED if within.start < 0 else _UNSIGNED
    if syntax.fullmatch(text) is None:
        raise ValueError(f"strconv.{function}: parsing {go_quote(text)}: invalid syntax")
    if len(text.lstrip("+-0")) > _MAX_DIGITS or int(text) not in within:
        raise ValueError(f"strconv.{function}: parsing {go_quote(text)}: value out of range")
    return int(text)


def parse_bool(text: str) -> bool:
    """Return a boolean; raise ValueError with Go's message."""
    found = _BOOLEANS.get(text)
    if found is None:
        raise ValueError(f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    return found


def parse_float(text: str) -> float | None:
    """Return the number that a text holds; None if Go's ParseFloat refuses it.

    >>> parse_float("1.5"), parse_float("1e999"), parse_float(" 1")
    (1.5, None, None)
    """
    if _FLOAT.fullmatch(text) is None:
        return None
    number = float(text)
    return None if math.isinf(number) and "n" not in text.lower() else number


def round_half_away(number: float) -> int:
    """Return the nearest integer, halves away from zero, as Go's math.Round.

    >>> round_half_away(2.5), round_half_away(-2.5), round_half_away(0.49999999999999994)
    (3, -3, 0)
    """
    whole = math.trunc(number)
    return whole + (1 if number > 0 else -1) * (abs(number - whole) >= 0.5)
