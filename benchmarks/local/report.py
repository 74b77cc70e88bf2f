"""Figures of two servers side by side."""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One measured figure."""

    name: str
    unit: str
    value: float
    #: The server's CPU time per operation, in milliseconds.
    cpu: float = 0.0
    #: Whether less is better.
    lower: bool = False


def heading(left: str, right: str) -> str:
    """Return the first line of a table."""
    return f"{'':<36}{'':<14}{left:>16}{right:>14}{'ratio':>8}   CPU ms each"


def lines(left: list[Figure], right: list[Figure]) -> list[str]:
    """Return the figures of two servers; a ratio above 1 means the second is better."""
    found = []
    for one, other in zip(left, right, strict=True):
        best, rest = (one.value, other.value) if one.lower else (other.value, one.value)
        ratio = best / rest if rest else 0.0
        cpu = f"   {one.cpu:.2f} {other.cpu:.2f}" if one.cpu or other.cpu else ""
        found.append(
            f"{one.name:<36}{one.unit:<14}{one.value:>16.1f}{other.value:>14.1f}{ratio:>8.2f}{cpu}"
        )
    return found
