"""NodeRisks: requests, limits and risk by load of every node, kept up to date row by row.

The risk by load depends on a node's pods and measurements, not on the pod to be scheduled: it is
computed again only for nodes whose pods have changed, and for all nodes when measurements arrive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

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

_NOTHING = NodeMetrics()
_MEGA = 1.0 / 1024.0 / 1024.0


class NodeRisks:
    """Columns over all nodes; the first index of most is 0 for cpu, 1 for memory.

    Owned by the plugin.
    """

    def __init__(self, smoothing: float) -> None:
        #: The factor that smoothing has taken from standard deviations.
        self._smoothing = smoothing
        self._measurements: Measurements | None = None
        self._generation = -1
        #: What pods request and may use, by uid.
        self._amounts: dict[str, tuple[PodSpec, PodAmounts, PodAmounts]] = {}
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
            self._weigh_all(every.names)
        else:
            for row in set(rows):
                self._weigh(row, every.info(row).name)
                self.log.append(row)
        self._generation = nodes.generation
        return self

    def _amounts_of(self, pod: Pod) -> tuple[PodSpec, PodAmounts, PodAmounts]:
        found = self._amounts.get(pod.metadata.uid)
        if found is None or found[0] is not pod.spec:
            requests = pod_requests_of(pod)
            limits = pod_limits_of(pod).at_least(requests)
            found = self._amounts[pod.metadata.uid] = (pod.spec, requests, limits)
        return found

    def _sum(self, row: int, node: NodeInfo) -> None:
        """Add up what a node's pods request and may use."""
        offered = node.node.status.allocatable
        self.capacity[:, row] = milli_value(offered.get("cpu", 0)), value(offered.get("memory", 0))
        requests, limits = [0, 0], [0, 0]
        for info in node.pods.values():
            _, requested, limited = self._amounts_of(info.pod)
            requests[0] += requested.cpu
            requests[1] += requested.memory
            limits[0] += limited.cpu
            limits[1] += limited.memory
        self.requests[:, row] = [wrapped(one) for one in requests]
        self.limits[:, row] = [wrapped(one) for one in limits]

    def _weigh(self, row: int, name: str) -> None:
        """Compute the risk by load of one node."""
        assert self._measurements is not None
        measured = self._measurements.by_node.get(name, _NOTHING)
        self.measured[row] = bool(measured.metrics)
        for index, kind in enumerate((CPU, MEMORY)):
            self.by_load[index, row] = self._by_load(
                measured,
                kind,
                int(self.capacity[index, row]),
                int(self.requests[index, row]),
                int(self.limits[index, row]),
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

    def _by_load(
        self, measured: NodeMetrics, kind: str, capacity: int, request: int, limit: int
    ) -> float:
        """Return how likely the load exceeds what the pods of a node request."""
        load = resource_load(measured, kind)
        if not load.known or capacity <= 0:
            return 0.0
        whole = float(capacity) * (1.0 if kind == CPU else _MEGA)
        mu = _within(load.average * whole / 100 / whole)
        sigma = _within(load.deviation * whole / 100 / whole) * self._smoothing
        most = mu * (1 - mu) if 0 < mu < 1 else 0.0
        sigma = min(sigma, math.sqrt(most * MAX_VARIANCE))
        request = min(request, capacity)
        threshold = _within(request / capacity)
        probability, shape = _probability(mu, sigma, threshold)
        if request <= limit < capacity:
            bound = limit / capacity
            if bound == 0:
                probability = 1.0
            elif shape is not None and (below := probability_below(shape, bound)) > 0:
                probability = _within(probability / below)
        return 1 - probability


def _within(x: float) -> float:
    return min(max(x, 0.0), 1.0)


def _probability(
    mu: float, sigma: float, threshold: float
) -> tuple[float, tuple[float, float] | None]:
    """Return how likely a load stays below a threshold, and its distribution if it has one."""
    if mu == 0 or (sigma == 0 and mu <= threshold):
        return 1.0, None
    if sigma == 0:
        return 0.0, None
    shape = shape_of(mu, sigma)
    if shape is None:
        return 0.0, None
    return probability_below(shape, threshold), shape
