"""LogLimit: how often to log an error that a server may cause with every line that it sends."""

from __future__ import annotations

#: How many lines are logged before they become rarer.
FIRST_LINES = 10


class LogLimit:
    """A count of equal errors: the first ones are logged, then those whose number is a power of 2.

    >>> limit = LogLimit()
    >>> [number for number in (limit.count() for _ in range(70)) if number]
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64]
    """

    def __init__(self) -> None:
        self._count = 0

    def count(self) -> int:
        """Count an error, and return its number if it is to be logged; else 0."""
        self._count = number = self._count + 1
        return number if number <= FIRST_LINES or number & (number - 1) == 0 else 0
