"""The natural logarithm, bit for bit as Go computes it.

The platform's `log` differs from Go's in the last bit for about one whole number in a hundred.
Scores are rounded from multiples of it, so equal scores need the same arithmetic.
"""

# Go: math/log.go, after FreeBSD's e_log.c

from __future__ import annotations

from functools import lru_cache
from math import frexp

_HALF_SQRT_2 = 7.07106781186547524401e-01
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_L1 = 6.666666666666735130e-01
_L2 = 3.999999999940941908e-01
_L3 = 2.857142874366239149e-01
_L4 = 2.222219843214978396e-01
_L5 = 1.818357216161805012e-01
_L6 = 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01


@lru_cache(maxsize=4096)
def log(number: int) -> float:
    """Return the natural logarithm of a positive whole number.

    >>> log(2)
    0.6931471805599453
    """
    fraction, exponent = frexp(number)
    if fraction < _HALF_SQRT_2:
        fraction *= 2
        exponent -= 1
    f = fraction - 1
    k = float(exponent)
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (_L1 + s4 * (_L3 + s4 * (_L5 + s4 * _L7)))
    t2 = s4 * (_L2 + s4 * (_L4 + s4 * _L6))
    r = t1 + t2
    half_square = 0.5 * f * f
    return k * _LN2_HIGH - ((half_square - (s * (half_square + r) + k * _LN2_LOW)) - f)
