"""Series: the numbers behind a metric, one per combination of label values.

Those of prometheus_client take a lock and some microseconds for each observation, and a pod causes
dozens. These are plain numbers. Two threads may count at the same time: there is no call between
reading and writing a number, so the interpreter does not switch threads there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence


class CounterSeries:
    """A number that grows. Hot loops add to `value` directly."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, amount: float = 1) -> None:
        """Add an amount."""
        self.value += amount


class Gauge:
    """A number that goes up and down, or is computed when it is read."""

    __slots__ = ("_read", "_value")

    def __init__(self) -> None:
        self._value: float = 0
        self._read: Callable[[], float] | None = None

    @property
    def value(self) -> float:
        """Return the current number."""
        return self._value if self._read is None else self._read()

    def inc(self, amount: float = 1) -> None:
        """Add an amount."""
        self._value += amount

    def dec(self, amount: float = 1) -> None:
        """Subtract an amount."""
        self._value -= amount

    def set(self, value: float) -> None:
        """Set the number."""
        self._value = value

    def set_function(self, read: Callable[[], float]) -> None:
        """Compute the number with a function when it is read, possibly in another thread."""
        self._read = read


class Histogram:
    """Counts of values by the smallest bound that is not below them; the last count is the rest."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
