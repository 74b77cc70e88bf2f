"""Durations as Go writes them: "15s", "1h30m", "1.5s"."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_LIMIT = 2**63


class Duration(int):
    """A length of time in nanoseconds; `str` prints it as Go does.

    >>> Duration.parse("1h1.5s").seconds
    3601.5
    >>> str(Duration.from_seconds(90))
    '1m30s'
    """

    __slots__ = ()

    @classmethod
    def from_seconds(cls, seconds: float) -> Duration:
        """Return the duration of a number of seconds."""
        return cls(round(seconds * _UNITS["s"]))

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Parse Go's notation; raise ValueError with Go's message for anything else."""
        sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
        if body == "0":
            return cls(0)
        problem = ValueError(f'time: invalid duration "{text}"')
        if not body:
            raise problem
        total = Fraction(0)
        place = 0
        while place < len(body):
            found = _PART.match(body, place)
            if found is None or not (found[1] or found[2]):
                raise problem
            whole, fraction, unit = found[1], found[2] or "", found[3]
            if not unit:
                raise ValueError(f'time: missing unit in duration "{text}"')
            if unit not in _UNITS:
                raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
            total += Fraction(int(whole + fraction), 10 ** len(fraction)) * _UNITS[unit]
            place = found.end()
        value = sign * int(total)
        if not -_LIMIT <= value < _LIMIT:
            raise problem
        return cls(value)

    @property
    def seconds(self) -> float:
        """Return the length in seconds."""
        return self / _UNITS["s"]

    def __str__(self) -> str:
        nanoseconds = abs(self)
        sign = "-" if self < 0 else ""
        if nanoseconds == 0:
            return "0s"
        if nanoseconds < _UNITS["s"]:
            unit = "ns" if nanoseconds < 1_000 else "µs" if nanoseconds < 1_000_000 else "ms"
            return f"{sign}{_decimal(nanoseconds, _UNITS[unit])}{unit}"
        minutes, rest = divmod(nanoseconds, _UNITS["m"])
        text = f"{_decimal(rest, _UNITS['s'])}s"
        if minutes:
            hours, minutes = divmod(minutes, 60)
            text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
        return sign + text

    def __repr__(self) -> str:
        return f"Duration.parse({str(self)!r})"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
