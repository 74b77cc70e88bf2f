"""The Beta distribution: how likely a measured load stays below a threshold.

The distribution function is the regularised incomplete beta function as Cephes computes it, with
the same operations in the same order: one number at a time here, many in `beta_arrays`.
"""

# gonum: mathext/internal/cephes/incbeta.go

from __future__ import annotations

import math

#: Above this argument the gamma function does not fit into a float64.
MAX_GAMMA = 171.624376956302725
BIG = 4.503599627370496e15
BIG_INVERSE = 2.22044604925031308085e-16
EPSILON = 1.0 / (1 << 53)
MAX_LOG = 1024 * math.log(2)
MIN_LOG = -1075 * math.log(2)
THRESHOLD = 3.0 * EPSILON
ITERATIONS = 301
SMALLEST = 5e-324
#: The part of the largest possible variance that is allowed.
MAX_VARIANCE = 0.99


def shape_of(mean: float, deviation: float) -> tuple[float, float] | None:
    """Return alpha and beta of the distribution; None if there is none with these moments."""
    variance = (deviation * deviation + mean * mean) - mean * mean
    if mean < 0 or mean > 1 or variance < 0 or variance >= mean * (1 - mean):
        return None
    ratio = mean * (1 - mean) / variance if variance else math.inf
    scale = max(ratio - 1, SMALLEST)
    return mean * scale, (1 - mean) * scale


def probability_below(shape: tuple[float, float], x: float) -> float:
    """Return the probability of a load of at most `x`; 0 if it cannot be computed."""
    alpha, beta = shape
    if not (alpha > 0 and beta > 0 and 0 <= x <= 1):
        return 0.0
    if x in (0.0, 1.0):
        return x
    found = incomplete_beta(alpha, beta, x)
    return found if 0 <= found <= 1 else 0.0


def incomplete_beta(aa: float, bb: float, xx: float) -> float:
    """Return the regularised incomplete beta function, for 0 < xx < 1."""
    if bb * xx <= 1 and xx <= 0.95:
        return power_series(aa, bb, xx)
    turned = xx > aa / (aa + bb)
    a, b, xc, x = (bb, aa, xx, 1 - xx) if turned else (aa, bb, 1 - xx, xx)
    if turned and b * x <= 1.0 and x <= 0.95:
        return turn(power_series(a, b, x))
    # Choose the expansion that converges faster.
    if x * (a + b - 2.0) - (a - 1.0) < 0.0:
        factor = continued_fraction(a, b, x, first=True)
    else:
        factor = continued_fraction(a, b, x, first=False) / xc
    found = scaled(a, b, x, xc, factor)
    return turn(found) if turned else found


def turn(found: float) -> float:
    """Return the probability of the other side."""
    return 1.0 - EPSILON if found <= EPSILON else 1.0 - found


def scaled(a: float, b: float, x: float, xc: float, factor: float) -> float:
    """Return factor * x^a * (1-x)^b * Γ(a+b) / (a * Γ(a) * Γ(b))."""
    y = a * log(x)
    t = b * log(xc)
    if a + b < MAX_GAMMA and abs(y) < MAX_LOG and abs(t) < MAX_LOG:
        t = power(xc, b)
        t *= power(x, a)
        t /= a
        t *= factor
        return t * _inverse(exp(log_beta(a, b)))
    y += t - log_beta(a, b)
    y += log(factor / a)
    return 0.0 if y < MIN_LOG else exp(y)


def power_series(a: float, b: float, x: float) -> float:
    """Return the function by its power series, for small b * x."""
    inverse = 1.0 / a
    u = (1.0 - b) * x
    v = u / (a + 1.0)
    first = v
    t = u
    n = 2.0
    s = 0.0
    z = EPSILON * inverse
    while abs(v) > z:
        u = (n - b) * x / n
        t *= u
        v = t / (a + n)
        s += v
        n += 1.0
    s += first
    s += inverse
    return series_sum(a, b, x, s)


def series_sum(a: float, b: float, x: float, s: float) -> float:
    """Return the function, given the sum of its power series."""
    u = a * log(x)
    if a + b < MAX_GAMMA and abs(u) < MAX_LOG:
        return s * _inverse(exp(log_beta(a, b))) * power(x, a)
    t = -log_beta(a, b) + u + log(s)
    return 0.0 if t < MIN_LOG else exp(t)


def continued_fraction(a: float, b: float, x: float, *, first: bool) -> float:
    """Return one of the two continued fractions of the function."""
    z = x if first else x / (1.0 - x)
    k1, k2, k5, k6 = (a, a + b, 1.0, b - 1.0) if first else (a, b - 1.0, 1.0, a + b)
    step = 1.0 if first else -1.0
    k3, k4, k7, k8 = a, a + 1.0, a + 1.0, a + 2.0
    pkm2, qkm2, pkm1, qkm1 = 0.0, 1.0, 1.0, 1.0
    answer = ratio = 1.0
    for _ in range(ITERATIONS):
        xk = -(z * k1 * k2) / (k3 * k4)
        pk = pkm1 + pkm2 * xk
        qk = qkm1 + qkm2 * xk
        pkm2, pkm1, qkm2, qkm1 = pkm1, pk, qkm1, qk
        xk = (z * k5 * k6) / (k7 * k8)
        pk = pkm1 + pkm2 * xk
        qk = qkm1 + qkm2 * xk
        pkm2, pkm1, qkm2, qkm1 = pkm1, pk, qkm1, qk
        if qk != 0:
            ratio = pk / qk
        if ratio != 0:
            change = abs((answer - ratio) / ratio)
            answer = ratio
        else:
            change = 1.0
        if change < THRESHOLD:
            return answer
        k1 += 1.0
        k2 += step
        k3 += 2.0
        k4 += 2.0
        k5 += 1.0
        k6 -= step
        k7 += 2.0
        k8 += 2.0
        if abs(qk) + abs(pk) > BIG:
            pkm2 *= BIG_INVERSE
            pkm1 *= BIG_INVERSE
            qkm2 *= BIG_INVERSE
            qkm1 *= BIG_INVERSE
        if abs(qk) < BIG_INVERSE or abs(pk) < BIG_INVERSE:
            pkm2 *= BIG
            pkm1 *= BIG
            qkm2 *= BIG
            qkm1 *= BIG
    return answer


# Go's functions return infinities and NaN where Python's raise.


def log(x: float) -> float:
    """Return the natural logarithm."""
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def exp(x: float) -> float:
    """Return e to the power of x."""
    return math.inf if x > MAX_LOG else math.exp(x)


def power(x: float, y: float) -> float:
    """Return x to the power of y, for x of at least 0."""
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):
        return math.inf


def log_beta(a: float, b: float) -> float:
    """Return the logarithm of the complete beta function, for a and b above 0."""
    if math.isinf(a) or math.isinf(b):
        return math.nan
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _inverse(x: float) -> float:
    return 1.0 / x if x else math.inf
