"""Scaling of raw scores to the range 0 to 100, with Go's int64 and float64 arithmetic.

Go's integers wrap and its integer division truncates toward zero; numpy wraps too, but rounds down.
"""

from __future__ import annotations

import numpy as np

from mooring import MAX_NODE_SCORE
from mooring.typing import Floats, Ints

#: What Go on amd64 makes of a float that no int64 can hold, NaN included.
NOT_AN_INT64 = -(2**63)
#: Below this, a product with 100 is exact in a float64.
EXACT = 2**46


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


def scaled(parts: Ints, factor: int, whole: int) -> Ints:
    """Return `parts * factor / whole` truncated toward zero, for a whole other than 0."""
    if 0 < whole < EXACT and 0 <= factor <= MAX_NODE_SCORE and parts.min(initial=0) >= 0:
        # Exact: the product is, and a quotient of at most 100 cannot round up to the next integer.
        return (parts * float(factor) / whole).astype(np.int64)
    with np.errstate(over="ignore"):
        return quotient(parts * factor, whole)


def lowest_to_highest(scores: Ints) -> Ints:
    """Scale so that the lowest score becomes 0 and the highest 100; all 0 if all are equal."""
    if not len(scores):
        return scores
    lowest, highest = int(scores.min()), int(scores.max())
    if lowest == highest:
        return np.zeros(len(scores), dtype=np.int64)
    with np.errstate(over="ignore"):
        return scaled(scores - lowest, MAX_NODE_SCORE, wrapped(highest - lowest))


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
    if lowest == highest:
        return np.full(len(costs), MAX_NODE_SCORE, dtype=np.int64)
    width = wrapped(int(highest) - int(lowest))
    with np.errstate(over="ignore"):
        shares = (costs - lowest) * float(MAX_NODE_SCORE) / float(width)
    return MAX_NODE_SCORE - (shares.astype(np.int64) if width > 0 else to_int64(shares))


def reverse_by_highest(scores: Ints) -> Ints:
    """Scale so that 0 becomes 100 and the highest score 0; all 100 if the highest is 0."""
    # kube-scheduler: plugins/helper/normalize_score.go (DefaultNormalizeScore)
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64)
    return MAX_NODE_SCORE - scaled(scores, MAX_NODE_SCORE, highest)


def wrapped(number: int) -> int:
    """Return an integer as an int64 holds it."""
    return (number + 2**63) % 2**64 - 2**63
