"""The scoring strategies of NodeResourcesFit.

Each computes one node in Python integers and all nodes in float64, with equal results: the scores
are whole numbers up to 100, and `allocation` divides exactly.
"""

# kube-scheduler: plugins/noderesources/least_allocated.go, most_allocated.go,
# requested_to_capacity_ratio.go

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from mooring.errors import ConfigError
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.plugins.args import (
    LEAST_ALLOCATED,
    MAX_CUSTOM_PRIORITY_SCORE,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ScoringStrategy,
    UtilizationShapePoint,
)
from mooring.plugins.node_resources.allocation import (
    Capacity,
    Floats,
    Share,
    allocated_floats,
    amounts_of,
    capacity_of,
    non_zero_allocated,
    percent,
    percent_of_nodes,
    quotient,
)
from mooring.typing import Ints


class Strategy(ABC):
    """A way to score a node by its utilization: the weighted mean of the resources' ratings."""

    @abstractmethod
    def rate(self, requested: int, allocatable: int) -> int:
        """Rate one resource of one node from 0 to 100."""

    @abstractmethod
    def rate_nodes(self, nodes: Nodes, share: Share, capacity: Capacity) -> Floats:
        """Rate one resource of all nodes; the rating of a node that offers none is not read."""

    def score(self, node: NodeInfo, shares: Sequence[Share]) -> int:
        """Score one node."""
        total = weights = 0
        for share, allocatable, allocated in amounts_of(node, shares, non_zero=True):
            total += self.rate(allocated + share.request, allocatable) * share.weight
            weights += share.weight
        return quotient(total, weights) if weights else 0

    def score_nodes(self, nodes: Nodes, shares: Sequence[Share]) -> Ints:
        """Score all nodes."""
        total: Floats | None = None
        weights: float | Floats = 0.0
        for share in shares:
            capacity = capacity_of(nodes, share)
            rating = self.rate_nodes(nodes, share, capacity)
            weight: float | Floats = float(share.weight)
            if capacity.present is not None:
                weight = nodes.gather(capacity.present).astype(np.float64) * share.weight
            if capacity.present is not None or share.weight != 1:
                rating *= weight
            total = rating if total is None else np.add(total, rating, out=total)
            weights = weights + weight
        if total is None:
            return np.zeros(len(nodes), dtype=np.int64)
        # A node that offers none of the resources has total 0.
        total /= np.maximum(weights, 1.0) if isinstance(weights, np.ndarray) else weights
        return total.astype(np.int64)


class LeastAllocated(Strategy):
    """The strategy that favours nodes with more resources free."""

    def rate(self, requested: int, allocatable: int) -> int:
        """Rate by the fraction that would stay free."""
        return 0 if requested > allocatable else percent(allocatable - requested, allocatable)

    def rate_nodes(self, nodes: Nodes, share: Share, capacity: Capacity) -> Floats:
        """Rate by the fraction that would stay free."""
        if not capacity.exact:
            left = nodes.gather(capacity.amounts) - non_zero_allocated(nodes, share)
            left -= share.request
            return percent_of_nodes(nodes, np.maximum(left, 0, out=left), capacity)
        divisor = nodes.gather(capacity.divisor)
        free = divisor - allocated_floats(nodes, share)
        free -= share.request
        # Checking for a negative amount takes half the time of np.maximum, and few nodes have one.
        if free.min(initial=0.0) < 0.0:
            np.maximum(free, 0.0, out=free)
        free *= 100.0
        free /= divisor
        return np.trunc(free, out=free)


def _used_percent(nodes: Nodes, share: Share, capacity: Capacity) -> Floats:
    used = non_zero_allocated(nodes, share) + share.request
    np.minimum(used, nodes.gather(capacity.amounts), out=used)
    return percent_of_nodes(nodes, used, capacity)


class MostAllocated(Strategy):
    """The strategy that favours nodes with fewer resources free."""

    def rate(self, requested: int, allocatable: int) -> int:
        """Rate by the fraction that would be allocated."""
        return percent(min(requested, allocatable), allocatable)

    def rate_nodes(self, nodes: Nodes, share: Share, capacity: Capacity) -> Floats:
        """Rate by the fraction that would be allocated."""
        return _used_percent(nodes, share, capacity)


class RequestedToCapacityRatio(Strategy):
    """The strategy that rates utilization by a function given as points.

    A resource rated 0 has no weight.
    """

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
        points = [(point.utilization, point.score * scale) for point in shape]
        self._table = [_interpolate(points, utilization) for utilization in range(101)]
        self._ratings = np.array(self._table, dtype=np.float64)

    def rate(self, requested: int, allocatable: int) -> int:
        """Rate by the fraction that would be allocated."""
        used = percent(min(requested, allocatable), allocatable)
        return self._table[min(max(used, 0), 100)]

    def rate_nodes(self, nodes: Nodes, share: Share, capacity: Capacity) -> Floats:
        """Rate by the fraction that would be allocated."""
        used = _used_percent(nodes, share, capacity)
        return self._ratings[np.clip(used, 0.0, 100.0, out=used).astype(np.intp)]

    def score(self, node: NodeInfo, shares: Sequence[Share]) -> int:
        """Score one node, rounding half up."""
        total = weights = 0
        for share, allocatable, allocated in amounts_of(node, shares, non_zero=True):
            rating = self.rate(allocated + share.request, allocatable)
            if rating > 0:
                total += rating * share.weight
                weights += share.weight
        return int(float(total) / float(weights) + 0.5) if weights else 0

    def score_nodes(self, nodes: Nodes, shares: Sequence[Share]) -> Ints:
        """Score all nodes, rounding half up."""
        total: Floats = np.zeros(len(nodes))
        weights: Floats = np.zeros(len(nodes))
        for share in shares:
            capacity = capacity_of(nodes, share)
            rating = self.rate_nodes(nodes, share, capacity)
            if capacity.present is not None:
                rating *= nodes.gather(capacity.present)
            total += rating * share.weight
            weights += (rating > 0) * float(share.weight)
        total /= np.maximum(weights, 1.0, out=weights)
        total += 0.5
        return total.astype(np.int64)


def _interpolate(points: Sequence[tuple[int, int]], utilization: int) -> int:
    """Interpolate linearly between points, with truncating integer division as in Go."""
    # kube-scheduler: plugins/helper/shape_score.go
    before = points[0]
    if utilization <= before[0]:
        return before[1]
    for after in points[1:]:
        if utilization <= after[0]:
            rise = (after[1] - before[1]) * (utilization - before[0])
            run = after[0] - before[0]
            step = abs(rise) // run
            return before[1] + (step if rise >= 0 else -step)
        before = after
    return before[1]


def make_strategy(strategy: ScoringStrategy) -> Strategy:
    """Return the strategy that the arguments name."""
    if strategy.type == LEAST_ALLOCATED:
        return LeastAllocated()
    if strategy.type == MOST_ALLOCATED:
        return MostAllocated()
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO and ratio is not None and ratio.shape:
        return RequestedToCapacityRatio(ratio.shape)
    raise ConfigError(f"scoring strategy {strategy.type} is not supported")
