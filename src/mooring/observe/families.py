"""Families: metrics with labels whose children are looked up once.

prometheus_client spends more on finding a labelled child than on counting, so a family remembers
its children: `attempts["scheduled", "default-scheduler"].inc()`.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

M = TypeVar("M", bound=MetricWrapperBase)

STABLE = "STABLE"
BETA = "BETA"
ALPHA = "ALPHA"


class Family(dict[Any, M], Generic[M]):
    """The children of a labelled metric, by a label value or the tuple of them in order."""

    def __init__(self, metric: M) -> None:
        super().__init__()
        self._metric = metric

    def __missing__(self, values: str | tuple[str, ...]) -> M:
        labels = values if isinstance(values, tuple) else (values,)
        child = self[values] = self._metric.labels(*labels)
        return child


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return `count` bounds, each `factor` times the one before.

    They are multiplied one after the other as in Go, so that their last digits are the same.
    """
    buckets = []
    for _ in range(count):
        buckets.append(start)
        start *= factor
    return tuple(buckets)


class Maker:
    """Make metrics of Kubernetes components, whose help begins with their stability.

    A metric whose feature gate is off can be used, but is not registered: nobody sees it.
    """

    def __init__(self, registry: CollectorRegistry, enabled: Callable[[str], bool]) -> None:
        self._registry = registry
        self._enabled = enabled
        #: How many metrics there are of each stability.
        self.made: Tally[str] = Tally()

    def counter(self, name: str, help: str, *, stability: str = ALPHA, gate: str = "") -> Counter:
        """Make a counter without labels."""
        return Counter(name, f"[{stability}] {help}", registry=self._place(stability, gate))

    def counters(
        self, name: str, help: str, labels: Sequence[str], *, stability: str = ALPHA, gate: str = ""
    ) -> Family[Counter]:
        """Make a counter with labels."""
        registry = self._place(stability, gate)
        return Family(Counter(name, f"[{stability}] {help}", labels, registry=registry))

    def gauge(self, name: str, help: str, *, stability: str = ALPHA, gate: str = "") -> Gauge:
        """Make a gauge without labels."""
        return Gauge(name, f"[{stability}] {help}", registry=self._place(stability, gate))

    def gauges(
        self, name: str, help: str, labels: Sequence[str], *, stability: str = ALPHA, gate: str = ""
    ) -> Family[Gauge]:
        """Make a gauge with labels."""
        registry = self._place(stability, gate)
        return Family(Gauge(name, f"[{stability}] {help}", labels, registry=registry))

    def histogram(
        self,
        name: str,
        help: str,
        buckets: Sequence[float],
        *,
        stability: str = ALPHA,
        gate: str = "",
    ) -> Histogram:
        """Make a histogram without labels."""
        registry = self._place(stability, gate)
        return Histogram(name, f"[{stability}] {help}", registry=registry, buckets=buckets)

    def histograms(
        self,
        name: str,
        help: str,
        labels: Sequence[str],
        buckets: Sequence[float],
        *,
        stability: str = ALPHA,
        gate: str = "",
    ) -> Family[Histogram]:
        """Make a histogram with labels."""
        registry = self._place(stability, gate)
        help = f"[{stability}] {help}"
        return Family(Histogram(name, help, labels, registry=registry, buckets=buckets))

    def _place(self, stability: str, gate: str) -> CollectorRegistry | None:
        if gate and not self._enabled(gate):
            return None
        self.made[stability] += 1
        return self._registry
