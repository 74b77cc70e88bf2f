"""Families: a metric's series by the values of its labels.

A family is a dict, so finding a series costs only a dict lookup:
`attempts["scheduled", "default-scheduler"].inc()`.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from mooring.observe.series import CounterSeries, Gauge, Histogram

S = TypeVar("S", bound=CounterSeries | Gauge | Histogram)

STABLE = "STABLE"
BETA = "BETA"
ALPHA = "ALPHA"

_TOTAL = "_total"


class MetricSample(NamedTuple):
    """One line of /metrics."""

    name: str
    labels: dict[str, str]
    value: float


class MetricFamily(NamedTuple):
    """A metric at one moment; prometheus_client's `Metric` has the same fields."""

    #: Without "_total" for a counter.
    name: str
    documentation: str
    type: str
    samples: Sequence[MetricSample]


class Collector(Protocol):
    """An object that provides metrics, such as prometheus_client's collectors."""

    def collect(self) -> Iterable[Any]:
        """Return the current metrics."""
        ...


class MetricsRegistry:
    """The metrics that are exposed."""

    def __init__(self) -> None:
        self._collectors: list[Collector] = []

    def register(self, collector: Collector) -> None:
        """Expose a collector's metrics."""
        self._collectors.append(collector)

    def collect(self) -> Iterator[Any]:
        """Yield every metric with its current values."""
        for collector in self._collectors:
            yield from collector.collect()

    def get_sample_value(self, name: str, labels: dict[str, str] | None = None) -> float | None:
        """Return the value of one sample, or None if it is not exposed."""
        for family in self.collect():
            for sample in family.samples:
                if sample.name == name and sample.labels == (labels or {}):
                    return float(sample.value)
        return None


class Family(dict[Any, S], Generic[S]):
    """The series of a metric, by label value or, if there are several labels, by their tuple."""

    def __init__(
        self, kind: str, name: str, help: str, labels: Sequence[str], make: Callable[[], S]
    ) -> None:
        super().__init__()
        self.kind = kind
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self._make = make

    def __missing__(self, values: str | tuple[str, ...]) -> S:
        given = values if isinstance(values, tuple) else (values,)
        if len(given) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}, got {given}")
        series = self[values] = self._make()
        return series

    def collect(self) -> Iterable[MetricFamily]:
        """Return the metric with its current values."""
        samples: list[MetricSample] = []
        # Copied in one step: the owner may add series at the same time.
        for values, series in list(self.items()):
            given = values if isinstance(values, tuple) else (values,)
            labels = dict(zip(self.labels, given, strict=True))
            if isinstance(series, Histogram):
                samples += _lines(self.name, labels, series)
            else:
                samples.append(MetricSample(self.name, labels, series.value))
        name = self.name.removesuffix(_TOTAL) if self.kind == "counter" else self.name
        return (MetricFamily(name, self.help, self.kind, samples),)


def _lines(name: str, labels: dict[str, str], series: Histogram) -> Iterator[MetricSample]:
    up_to = list(accumulate(series.counts))
    bounds = [*(str(float(bound)) for bound in series.bounds), "+Inf"]
    for bound, count in zip(bounds, up_to, strict=True):
        yield MetricSample(f"{name}_bucket", {**labels, "le": bound}, count)
    yield MetricSample(f"{name}_sum", labels, series.sum)
    yield MetricSample(f"{name}_count", labels, up_to[-1])


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return `count` bounds, each `factor` times the one before.

    They are multiplied one after the other as in Go, so that even the last digits are equal.
    """
    buckets = []
    for _ in range(count):
        buckets.append(start)
        start *= factor
    return tuple(buckets)


class ComponentMetrics:
    """A factory of metrics of Kubernetes components, whose help begins with their stability.

    A metric whose feature gate is off can be used, but is not registered and so not exposed. So can
    a metric that the emulated release does not have.
    """

    def __init__(
        self,
        registry: MetricsRegistry,
        enabled: Callable[[str], bool],
        *,
        absent: Collection[str] = (),
        alpha: Collection[str] = (),
        help: Mapping[str, str] | None = None,
    ) -> None:
        self._registry = registry
        self._enabled = enabled
        #: The metrics to hide, those to call ALPHA, and other help texts, by name.
        self._absent, self._alpha, self._help = absent, alpha, help or {}
        #: Every metric of the release, registered or not.
        self.families: list[Family[Any]] = []
        #: The number of registered metrics by stability.
        self.made: Tally[str] = Tally()

    def counter(
        self, name: str, help: str, *, stability: str = ALPHA, gate: str = ""
    ) -> CounterSeries:
        """Create a counter without labels."""
        return self.counters(name, help, (), stability=stability, gate=gate)[()]

    def counters(
        self, name: str, help: str, labels: Sequence[str], *, stability: str = ALPHA, gate: str = ""
    ) -> Family[CounterSeries]:
        """Create a counter with labels."""
        help, stability = self._described(name, help, stability)
        family = Family("counter", name, help, labels, CounterSeries)
        return self._place(family, stability, gate)

    def gauge(self, name: str, help: str, *, stability: str = ALPHA, gate: str = "") -> Gauge:
        """Create a gauge without labels."""
        return self.gauges(name, help, (), stability=stability, gate=gate)[()]

    def gauges(
        self, name: str, help: str, labels: Sequence[str], *, stability: str = ALPHA, gate: str = ""
    ) -> Family[Gauge]:
        """Create a gauge with labels."""
        help, stability = self._described(name, help, stability)
        family = Family("gauge", name, help, labels, Gauge)
        return self._place(family, stability, gate)

    def histogram(
        self,
        name: str,
        help: str,
        buckets: Sequence[float],
        *,
        stability: str = ALPHA,
        gate: str = "",
    ) -> Histogram:
        """Create a histogram without labels."""
        return self.histograms(name, help, (), buckets, stability=stability, gate=gate)[()]

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
        """Create a histogram with labels."""
        help, stability = self._described(name, help, stability)
        family = Family("histogram", name, help, labels, lambda: Histogram(buckets))
        return self._place(family, stability, gate)

    def _described(self, name: str, help: str, stability: str) -> tuple[str, str]:
        stability = ALPHA if name in self._alpha else stability
        return f"[{stability}] {self._help.get(name, help)}", stability

    def _place(self, family: Family[S], stability: str, gate: str) -> Family[S]:
        if family.name in self._absent:
            return family
        self.families.append(family)
        if not gate or self._enabled(gate):
            self.made[stability] += 1
            self._registry.register(family)
        return family
