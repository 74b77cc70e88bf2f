"""NodeRisks: requests, limits and risk by load of every node, kept up to date row by row.

The risk by load depends on a node's pods and measurements, not on the pod to be scheduled: it is
computed again only for nodes whose pods have changed, and for all nodes when measurements arrive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from mooring import NodeInfo, Nodes
from mooring.api import Pod, PodSpec, milli_value, value
from mooring.contrib.load.measurements import (
    CPU,
    MEMORY,
    Measurements,
    NodeMetrics,
    resource_load,
)
from mooring.contrib.load.pod_amounts import PodAmounts, pod_limits_of, pod_requests_of
from mooring.contrib.low_risk_over_commitment.beta import MAX_VARIANCE, probability_below, shape_of
from mooring.contrib.low_risk_over_commitment.beta_arrays import risks_by_load
from mooring.contrib.score_ranges import wrapped
from mooring.typing import Floats, Ints, Mask

#: What a pod requests, and what it may use.
Amounts = tuple[PodAmounts, PodAmounts]

_NOTHING = NodeMetrics()
_MEGA = 1.0 / 1024.0 / 1024.0


class _Load(msgspec.Struct, frozen=True, gc=False):
    """The measured load of one resource of a node, as parts of its capacity."""

    capacity: int
    mean: float
    deviation: float
    #: Alpha and beta of its distribution; None if it has none.
    shape: tuple[float, float] | None
    #: Whether the resource was measured at all.
    known: bool


class NodeRisks:
    """Columns over all nodes; the first index of most is 0 for cpu, 1 for memory.

    Owned by the plugin.
    """

    def __init__(self, smoothing: float) -> None:
        #: The factor that smoothing has taken from standard deviations.
        self._smoothing = smoothing
        self._measurements: Measurements | None = None
        self._generation = -1
        #: The amounts of the pods of each node, by uid, with the spec that they are from.
        self._amounts: list[dict[str, tuple[PodSpec, Amounts]]] = []
        #: The spec that was last read, and its amounts.
        self._last: tuple[PodSpec, Amounts] = (PodSpec(), (PodAmounts(), PodAmounts()))
        #: Grows whenever all rows are computed again.
        self.version = 0
        #: Rows that have changed since, in order.
        self.log: list[int] = []
        self._resize(0)

    def _resize(self, size: int) -> None:
        #: What nodes can offer, and what their pods request and may use.
        self.capacity: Ints = np.zeros((2, size), dtype=np.int64)
        self.requests: Ints = np.zeros((2, size), dtype=np.int64)
        self.limits: Ints = np.zeros((2, size), dtype=np.int64)
        self.by_load: Floats = np.zeros((2, size))
        self.measured: Mask = np.zeros(size, dtype=np.bool_)
        self._amounts = [{} for _ in range(size)]
        #: The measured load of each node, computed when it is needed.
        self._loads: tuple[list[_Load | None], ...] = ([None] * size, [None] * size)

    def of(self, measurements: Measurements, nodes: Nodes) -> NodeRisks:
        """Return the columns, up to date with measurements and nodes."""
        if self._generation == nodes.generation and self._measurements is measurements:
            return self
        every = nodes.all
        rows: Iterable[int] | None = nodes.changed_since(self._generation)
        if rows is None or len(every) != len(self.measured):
            self._resize(len(every))
            rows = range(len(every))
            self._measurements = None
        for row in set(rows):
            self._sum(row, every.info(row))
        if self._measurements is not measurements:
            self._measurements = measurements
            self.version += 1
            self.log.clear()
            self._loads = ([None] * len(every), [None] * len(every))
            self._weigh_all(every.names)
        else:
            for row in set(rows):
                self._weigh(row, every.info(row).name)
                self.log.append(row)
        self._generation = nodes.generation
        return self

    def amounts_of(self, pod: Pod) -> Amounts:
        """Return what a pod requests and may use."""
        spec, (last, found) = pod.spec, self._last
        # A pod that was just placed has a new spec, with the containers that were scored.
        if (
            spec.containers is not last.containers
            or spec.init_containers is not last.init_containers
            or spec.overhead is not last.overhead
        ):
            requests = pod_requests_of(pod)
            found = requests, pod_limits_of(pod).at_least(requests)
            self._last = spec, found
        return found

    def _sum(self, row: int, node: NodeInfo) -> None:
        """Add up what a node's pods request and may use."""
        offered = node.node.status.allocatable
        capacity, requests, limits = self.capacity, self.requests, self.limits
        capacity[0, row] = milli_value(offered.get("cpu", 0))
        capacity[1, row] = value(offered.get("memory", 0))
        before, found = self._amounts[row], {}
        cpu = memory = most_cpu = most_memory = 0
        for uid, info in node.pods.items():
            pod = info.pod
            entry = before.get(uid)
            if entry is None or entry[0] is not pod.spec:
                entry = pod.spec, self.amounts_of(pod)
            found[uid] = entry
            requested, limited = entry[1]
            cpu += requested.cpu
            memory += requested.memory
            most_cpu += limited.cpu
            most_memory += limited.memory
        self._amounts[row] = found
        requests[0, row], requests[1, row] = wrapped(cpu), wrapped(memory)
        limits[0, row], limits[1, row] = wrapped(most_cpu), wrapped(most_memory)

    def _weigh(self, row: int, name: str) -> None:
        """Compute the risk by load of one node."""
        assert self._measurements is not None
        measured = self._measurements.by_node.get(name, _NOTHING)
        self.measured[row] = bool(measured.metrics)
        for index, kind in enumerate((CPU, MEMORY)):
            capacity = int(self.capacity[index, row])
            load = self._loads[index][row]
            if load is None or load.capacity != capacity:
                load = self._loads[index][row] = self._load(measured, kind, capacity)
            self.by_load[index, row] = _by_load(
                load, int(self.requests[index, row]), int(self.limits[index, row])
            )

    def _weigh_all(self, names: Sequence[str]) -> None:
        """Compute the risk by load of all nodes, as `_weigh` does for one."""
        assert self._measurements is not None
        by_node = self._measurements.by_node
        found = [by_node.get(name, _NOTHING) for name in names]
        self.measured[:] = [bool(one.metrics) for one in found]
        for index, kind in enumerate((CPU, MEMORY)):
            loads = [resource_load(one, kind) for one in found]
            self.by_load[index] = risks_by_load(
                np.array([load.average for load in loads], dtype=np.float64),
                np.array([load.deviation for load in loads], dtype=np.float64),
                np.array([load.known for load in loads], dtype=np.bool_),
                self._smoothing,
                1.0 if kind == CPU else _MEGA,
                (self.capacity[index], self.requests[index], self.limits[index]),
            )

    def _load(self, measured: NodeMetrics, kind: str, capacity: int) -> _Load:
        """Return the load of one resource of a node."""
        load = resource_load(measured, kind)
        if not load.known or capacity <= 0:
            return _Load(capacity, 0.0, 0.0, None, False)
        whole = float(capacity) * (1.0 if kind == CPU else _MEGA)
        mean = _within(load.average * whole / 100 / whole)
        deviation = _within(load.deviation * whole / 100 / whole) * self._smoothing
        most = mean * (1 - mean) if 0 < mean < 1 else 0.0
        deviation = min(deviation, math.sqrt(most * MAX_VARIANCE))
        shape = shape_of(mean, deviation) if mean and deviation else None
        return _Load(capacity, mean, deviation, shape, True)


def _by_load(load: _Load, request: int, limit: int) -> float:
    """Return how likely a load exceeds what the pods of its node request."""
    if not load.known:
        return 0.0
    capacity, shape = load.capacity, load.shape
    request = min(request, capacity)
    threshold = _within(request / capacity)
    probability = _probability(load, threshold)
    if request <= limit < capacity:
        bound = limit / capacity
        if bound == 0:
            probability = 1.0
        elif shape is not None:
            below = probability if bound == threshold else probability_below(shape, bound)
            if below > 0:
                probability = _within(probability / below)
    return 1 - probability


def _probability(load: _Load, threshold: float) -> float:
    """Return how likely a load stays below a threshold."""
    if load.mean == 0 or (load.deviation == 0 and load.mean <= threshold):
        return 1.0
    return 0.0 if load.shape is None else probability_below(load.shape, threshold)


def _within(x: float) -> float:
    return min(max(x, 0.0), 1.0)
