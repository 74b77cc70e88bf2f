"""Score for one node by the strategies that look at each cell alone."""

# scheduler-plugins: pkg/noderesourcetopology/score.go, least_allocated.go, most_allocated.go,
# balanced_allocation.go

from __future__ import annotations

from collections.abc import Callable, Sequence

from mooring import MAX_NODE_SCORE
from mooring.api.quantity import value_of_nanos
from mooring.contrib.node_resource_topology.args import (
    BALANCED_ALLOCATION,
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
)
from mooring.contrib.node_resource_topology.cells import Amounts, Cell
from mooring.contrib.score_ranges import NOT_AN_INT64

#: By resource; those not listed, and those below 1, weigh 1.
Weights = dict[str, int]
CellScore = Callable[[Amounts, Amounts, Weights], int]


def weight_of(weights: Weights, resource: str) -> int:
    """Return the weight of a resource."""
    return max(weights.get(resource, 1), 1)


def score_request(
    request: Amounts, cells: Sequence[Cell], strategy: CellScore, weights: Weights
) -> int:
    """Return the lowest score of a cell, leaving out cells that score 0: they do not fit."""
    scores = [strategy(request, cell.available, weights) for cell in cells]
    return min((score for score in scores if score), default=0)


def _least(request: Amounts, available: Amounts, weights: Weights) -> int:
    return _mean(request, available, weights, lambda whole, asked: whole - asked)


def _most(request: Amounts, available: Amounts, weights: Weights) -> int:
    return _mean(request, available, weights, lambda whole, asked: asked)


def _mean(
    request: Amounts, available: Amounts, weights: Weights, share: Callable[[int, int], int]
) -> int:
    total = divisor = 0
    for resource, asked in request.items():
        weight = weight_of(weights, resource)
        divisor += weight
        whole = available.get(resource, 0)
        if whole and asked <= whole:
            # Whole units, rounded up.
            size = value_of_nanos(whole)
            total += share(size, value_of_nanos(asked)) * MAX_NODE_SCORE // size * weight
    # A container that requests nothing has no share of anything.
    return total // divisor if divisor else 0


def _balanced(request: Amounts, available: Amounts, weights: Weights) -> int:
    fractions = []
    for resource, asked in request.items():
        size = value_of_nanos(available.get(resource, 0))
        fraction = float(value_of_nanos(asked)) / float(size) if size else 1.0
        if not 0 <= fraction <= 1:
            # An agent may report that less than nothing is left.
            return 0
        fractions.append(fraction)
    count = len(fractions)
    if count < 2:
        # The variance of one number is not a number.
        return NOT_AN_INT64
    mean = _sum(fractions) / count
    squares = _sum([(one - mean) * (one - mean) for one in fractions])
    rest = _sum([one - mean for one in fractions])
    variance = (squares - rest * rest / count) / (count - 1)
    return int((1 - variance) * float(MAX_NODE_SCORE))


def _sum(numbers: Sequence[float]) -> float:
    # Not sum(): from Python 3.12 on it compensates rounding, which Go does not.
    total = 0.0
    for one in numbers:
        total += one
    return total


STRATEGY: dict[str, CellScore] = {
    LEAST_ALLOCATED: _least,
    MOST_ALLOCATED: _most,
    BALANCED_ALLOCATION: _balanced,
}


def mean_of(scores: Sequence[int]) -> int:
    """Return the mean of the scores of containers, truncated."""
    return int(_sum([float(score) for score in scores]) / len(scores)) if scores else 0
