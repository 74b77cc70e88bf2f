"""Numbers as Go's strconv reads them and its math rounds them."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)


def parse_float(text: str) -> float | None:
    """Return the number that a text holds; None if Go's ParseFloat refuses it.

    >>> parse_float("1.5"), parse_float("1e999"), parse_float(" 1")
    (1.5, None, None)
    """
    if _NUMBER.fullmatch(text) is None:
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
