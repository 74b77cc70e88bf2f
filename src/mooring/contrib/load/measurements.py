"""Measurements: the load of nodes, in the form of load-watcher's API."""

# load-watcher: pkg/watcher/watcher.go, watcher_json.go

from __future__ import annotations

import math

import msgspec
from msgspec.structs import replace

from mooring.errors import ObjectError

CPU = "CPU"
MEMORY = "Memory"
AVERAGE = "AVG"
DEVIATION = "STD"
LATEST = "Latest"
#: A load beyond this, in percent and of either sign, is a mistake of the source.
MAX_PERCENT = 10_000.0


class LoadMetric(msgspec.Struct, frozen=True):
    """One measured number, in percent of a node's capacity."""

    name: str = ""
    #: CPU, Memory…
    type: str = ""
    #: AVG, STD, Latest, or "" for an average.
    operator: str = ""
    rollup: str = ""
    value: float = 0.0


class NodeMetrics(msgspec.Struct, frozen=True):
    """What was measured on one node."""

    metrics: tuple[LoadMetric, ...] = ()


class LoadWindow(msgspec.Struct, frozen=True):
    """The time that measurements cover, in seconds since the epoch."""

    duration: str = ""
    start: int = 0
    end: int = 0


class _Data(msgspec.Struct, frozen=True):
    by_node: dict[str, NodeMetrics] = msgspec.field(default_factory=dict, name="NodeMetricsMap")


class Measurements(msgspec.Struct, frozen=True):
    """The measured load of a cluster."""

    timestamp: int = 0
    window: LoadWindow = LoadWindow()
    source: str = ""
    data: _Data = _Data()

    @property
    def by_node(self) -> dict[str, NodeMetrics]:
        """Return what was measured, by node name."""
        return self.data.by_node


def measurements_of(
    by_node: dict[str, NodeMetrics], window: LoadWindow, source: str
) -> Measurements:
    """Return what a source measured in a window."""
    return Measurements(timestamp=window.end, window=window, source=source, data=_Data(by_node))


def read_measurements(body: bytes) -> Measurements:
    """Decode an answer of load-watcher; raise ObjectError if it makes no sense."""
    try:
        found = msgspec.json.decode(body, type=Measurements)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ObjectError(f"not an answer of a load watcher: {error}") from None
    for node, measured in found.by_node.items():
        for metric in measured.metrics:
            if not math.isfinite(metric.value):
                raise ObjectError(
                    f"not an answer of a load watcher: {metric.type} of node {node} is "
                    f"{metric.value}"
                )
    return found


def is_plausible(percent: float) -> bool:
    """Return whether a load can be used: it is a number, and not absurdly large."""
    return abs(percent) <= MAX_PERCENT


def without_implausible(found: Measurements) -> tuple[Measurements, str]:
    """Return measurements without loads that cannot be used, and the first of these as text."""
    left_out = ""
    by_node: dict[str, NodeMetrics] = {}
    for node, measured in found.by_node.items():
        good = tuple(metric for metric in measured.metrics if is_plausible(metric.value))
        by_node[node] = measured if len(good) == len(measured.metrics) else NodeMetrics(good)
        if not left_out and len(good) < len(measured.metrics):
            bad = next(one for one in measured.metrics if not is_plausible(one.value))
            left_out = f"{bad.type} of node {node} is {bad.value} %"
    return (replace(found, data=_Data(by_node)) if left_out else found), left_out


class ResourceLoad(msgspec.Struct, frozen=True, gc=False):
    """Average and standard deviation of one resource of a node, in percent."""

    average: float = 0.0
    deviation: float = 0.0
    #: Whether the resource was measured at all.
    known: bool = False


def resource_load(measured: NodeMetrics, kind: str) -> ResourceLoad:
    """Return the load of CPU or Memory.

    An average counts before a latest value or one without an operator.
    """
    # scheduler-plugins: pkg/trimaran/resourcestats.go (GetResourceData)
    average = deviation = 0.0
    has_average = known = False
    for metric in measured.metrics:
        if metric.type != kind:
            continue
        known = True
        if metric.operator == AVERAGE:
            average, has_average = metric.value, True
        elif metric.operator == DEVIATION:
            deviation = metric.value
        elif metric.operator in ("", LATEST) and not has_average:
            average = metric.value
    return ResourceLoad(average, deviation, known)


def cpu_values(measured: NodeMetrics) -> list[float]:
    """Return the average or latest values of the CPU, in the order in which they are listed."""
    return [
        metric.value
        for metric in measured.metrics
        if metric.type == CPU and metric.operator in (AVERAGE, LATEST)
    ]
