"""The Beta distribution for many nodes at once, with the operations of `beta` in the same order.

The loops run on arrays; what is left is done number by number, because numpy's logarithms and
powers differ from Python's in the last digit.
"""

from __future__ import annotations

import numpy as np

from mooring.contrib.low_risk_over_commitment.beta import (
    BIG,
    BIG_INVERSE,
    EPSILON,
    ITERATIONS,
    MAX_VARIANCE,
    SMALLEST,
    THRESHOLD,
    scaled,
    series_sum,
    turn,
)
from mooring.typing import Floats, Ints, Mask


def risks_by_load(
    average: Floats,
    deviation: Floats,
    known: Mask,
    smoothing: float,
    unit: float,
    sums: tuple[Ints, Ints, Ints],
) -> Floats:
    """Return how likely the load of each node exceeds what its pods request.

    `average` and `deviation` are in percent; `sums` are what nodes can offer, and what their pods
    request and may use, which `unit` turns into the unit of measurements.
    """
    capacity, requests, limits = sums
    risks = np.zeros(len(average))
    rows = np.flatnonzero(known & (capacity > 0))
    if not len(rows):
        return risks
    whole = capacity[rows].astype(np.float64) * unit
    mu = np.clip(average[rows] * whole / 100 / whole, 0.0, 1.0)
    sigma = np.clip(deviation[rows] * whole / 100 / whole, 0.0, 1.0) * smoothing
    most = np.where((mu > 0) & (mu < 1), mu * (1 - mu), 0.0)
    sigma = np.minimum(sigma, np.sqrt(most * MAX_VARIANCE))
    request = np.minimum(requests[rows], capacity[rows])
    threshold = np.clip(request / capacity[rows], 0.0, 1.0)
    alpha, beta, has_shape = _shapes(mu, sigma)
    certain = (mu == 0) | ((sigma == 0) & (mu <= threshold))
    has_shape &= ~certain & (sigma != 0)
    probability = np.where(certain, 1.0, 0.0)
    probability[has_shape] = probabilities_below(
        alpha[has_shape], beta[has_shape], threshold[has_shape]
    )
    limit = limits[rows]
    bounded = (request <= limit) & (limit < capacity[rows])
    probability[bounded & (limit == 0)] = 1.0
    conditional = bounded & (limit != 0) & has_shape
    bound = limit[conditional] / capacity[rows][conditional]
    below = probabilities_below(alpha[conditional], beta[conditional], bound)
    found = probability[conditional]
    share = np.clip(found / np.where(below > 0, below, 1.0), 0.0, 1.0)
    probability[conditional] = np.where(below > 0, share, found)
    risks[rows] = 1 - probability
    return risks


def _shapes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats, Mask]:
    """Return alpha and beta, and which distributions exist."""
    variance = (deviation * deviation + mean * mean) - mean * mean
    exists = ~((variance < 0) | (variance >= mean * (1 - mean)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean * (1 - mean) / variance
    scale = np.maximum(ratio - 1, SMALLEST)
    return mean * scale, (1 - mean) * scale, exists


def probabilities_below(alpha: Floats, beta: Floats, x: Floats) -> Floats:
    """Return the probabilities of a load of at most `x`, for x from 0 to 1."""
    found = np.where((alpha > 0) & (beta > 0) & (x == 1), 1.0, 0.0)
    inner = np.flatnonzero((alpha > 0) & (beta > 0) & (x > 0) & (x < 1))
    with np.errstate(all="ignore"):
        values = _incomplete(alpha[inner], beta[inner], x[inner])
        found[inner] = np.where((values >= 0) & (values <= 1), values, 0.0)
    return found


def _incomplete(aa: Floats, bb: Floats, xx: Floats) -> Floats:
    turned = (xx > aa / (aa + bb)) & ~((bb * xx <= 1) & (xx <= 0.95))
    a, b = np.where(turned, bb, aa), np.where(turned, aa, bb)
    x, xc = np.where(turned, 1 - xx, xx), np.where(turned, xx, 1 - xx)
    values = np.zeros(len(aa))
    series = (b * x <= 1) & (x <= 0.95)
    values[series] = _power_series(a[series], b[series], x[series])
    first = ~series & (x * (a + b - 2.0) - (a - 1.0) < 0.0)
    second = ~series & ~first
    factor = np.zeros(len(aa))
    factor[first] = _continued_fraction(a[first], b[first], x[first], first=True)
    factor[second] = _continued_fraction(a[second], b[second], x[second], first=False) / xc[second]
    for index in np.flatnonzero(~series).tolist():
        values[index] = scaled(
            float(a[index]),
            float(b[index]),
            float(x[index]),
            float(xc[index]),
            float(factor[index]),
        )
    for index in np.flatnonzero(turned).tolist():
        values[index] = turn(float(values[index]))
    return values


def _power_series(a: Floats, b: Floats, x: Floats) -> Floats:
    inverse = 1.0 / a
    t = (1.0 - b) * x
    first = v = t / (a + 1.0)
    n = 2.0
    s = np.zeros(len(a))
    z = EPSILON * inverse
    active = np.abs(v) > z
    while active.any():
        t = np.where(active, t * ((n - b) * x / n), t)
        v = np.where(active, t / (a + n), v)
        s = np.where(active, s + v, s)
        n += 1.0
        active = active & (np.abs(v) > z)
    s = s + first
    s = s + inverse
    return np.array(
        [series_sum(*map(float, one)) for one in zip(a, b, x, s, strict=True)], dtype=np.float64
    )


def _continued_fraction(a: Floats, b: Floats, x: Floats, *, first: bool) -> Floats:
    z = x if first else x / (1.0 - x)
    k1, k2, k5, k6 = (a, a + b, 1.0, b - 1.0) if first else (a, b - 1.0, 1.0, a + b)
    step = 1.0 if first else -1.0
    k3, k4, k7, k8 = a, a + 1.0, a + 1.0, a + 2.0
    pkm2, qkm2 = np.zeros(len(a)), np.ones(len(a))
    pkm1, qkm1 = np.ones(len(a)), np.ones(len(a))
    answer, ratio = np.ones(len(a)), np.ones(len(a))
    active = np.ones(len(a), dtype=np.bool_)
    for _ in range(ITERATIONS):
        if not active.any():
            break
        xk = -(z * k1 * k2) / (k3 * k4)
        pk = pkm1 + pkm2 * xk
        qk = qkm1 + qkm2 * xk
        pkm2, pkm1, qkm2, qkm1 = pkm1, pk, qkm1, qk
        xk = (z * k5 * k6) / (k7 * k8)
        pk = pkm1 + pkm2 * xk
        qk = qkm1 + qkm2 * xk
        pkm2, pkm1, qkm2, qkm1 = pkm1, pk, qkm1, qk
        ratio = np.where(qk != 0, pk / qk, ratio)
        change = np.where(ratio != 0, np.abs((answer - ratio) / ratio), 1.0)
        answer = np.where(active & (ratio != 0), ratio, answer)
        active = active & ~(change < THRESHOLD)
        k1, k2, k3, k4 = k1 + 1.0, k2 + step, k3 + 2.0, k4 + 2.0
        k5, k6, k7, k8 = k5 + 1.0, k6 - step, k7 + 2.0, k8 + 2.0
        large = np.abs(qk) + np.abs(pk) > BIG
        small = (np.abs(qk) < BIG_INVERSE) | (np.abs(pk) < BIG_INVERSE)
        factor = np.where(large, BIG_INVERSE, 1.0)
        again = np.where(small, BIG, 1.0)
        pkm2, pkm1 = pkm2 * factor * again, pkm1 * factor * again
        qkm2, qkm1 = qkm2 * factor * again, qkm1 * factor * again
    return answer
