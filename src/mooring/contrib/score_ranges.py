"""Scaling of raw scores to the range 0 to 100, with Go's int64 and float64 arithmetic.

Go's integers wrap and its integer division truncates toward zero; numpy wraps too, but rounds down.
"""

from __future__ import annotations

import numpy as np

from mooring import MAX_NODE_SCORE
from mooring.typing import Floats, Ints

#: What Go on amd64 makes of a float that no int64 can hold, NaN included.
NOT_AN_INT64 = -(2**63)


def quotient(dividend: Ints, divisor: int | Ints) -> Ints:
    """Return `dividend / divisor` truncated toward zero; 0 for a divisor of 0."""
    by = np.asarray(divisor, dtype=np.int64)
    safe = np.where(by == 0, 1, by)
    floor = dividend // safe
    floor += (dividend % safe != 0) & ((dividend < 0) != (safe < 0))
    return np.where(by == 0, 0, floor)


def to_int64(values: Floats) -> Ints:
    """Return floats truncated toward zero; those that no int64 can hold become its minimum."""
    fits = (values > -9.3e18) & (values < 9.223372036854775807e18)
    with np.errstate(invalid="ignore"):
        return np.where(fits, values, 0.0).astype(np.int64) + np.where(fits, 0, NOT_AN_INT64)


def round_half_away(values: Floats) -> Floats:
    """Round to the nearest integer, halves away from zero, as Go's math.Round does."""
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1.0, values), whole)


def lowest_to_highest(scores: Ints) -> Ints:
    """Scale so that the lowest score becomes 0 and the highest 100; all 0 if all are equal."""
    if not len(scores):
        return scores
    lowest = scores.min()
    with np.errstate(over="ignore"):
        width = scores.max() - lowest
        if width == 0:
            return np.zeros(len(scores), dtype=np.int64)
        return quotient((scores - lowest) * MAX_NODE_SCORE, width)


def highest_to_lowest(costs: Ints) -> Ints:
    """Scale costs so that the lowest becomes 100 and the highest 0.

    Costs that are all 0 stay 0, and costs that are all equal become 100.
    """
    # scheduler-plugins: pkg/networkaware/networkoverhead, pkg/trimaran/peaks (NormalizeScore)
    if not len(costs):
        return costs
    lowest, highest = costs.min(), costs.max()
    if lowest == 0 and highest == 0:
        return costs
    with np.errstate(over="ignore"):
        width = highest - lowest
        if width == 0:
            return np.full(len(costs), MAX_NODE_SCORE, dtype=np.int64)
        scaled = MAX_NODE_SCORE * (costs - lowest).astype(np.float64) / float(width)
    return MAX_NODE_SCORE - to_int64(scaled)


def reverse_by_highest(scores: Ints) -> Ints:
    """Scale so that 0 becomes 100 and the highest score 0; all 100 if the highest is 0."""
    # kube-scheduler: plugins/helper/normalize_score.go (DefaultNormalizeScore)
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64)
    with np.errstate(over="ignore"):
        return MAX_NODE_SCORE - quotient(scores * MAX_NODE_SCORE, highest)
