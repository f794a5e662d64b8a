"""Logarithms and exponentials with the same bits wherever a value stands in an array.

numpy may compute ``log`` and ``exp`` by vector instructions for some stretches of an array and by the C library for
others, and nothing promises that these agree to the last bit, on every machine and in every version. Where they do not,
a row would be encoded otherwise if another row were left out. Here they are made of operations that IEEE 754 defines to
the last bit (sums, products, quotients, roundings, exponents), each done element by element, so a value alone decides.

The formulas are those of fdlibm: x = 2^e m with m around 1, s = f/(2 + f) for m = 1 + f, and

    log(1 + f) = f - s (f - R),    R = 2/3 s^2 + 2/5 s^4 + ...    |s| < 0.172
    exp(x) = 2^k exp(r),           r = x - k log 2,                |r| < 0.347, by its Taylor sum.

Relative errors are below 2^-51 (tests).
"""

from __future__ import annotations

import math

import numpy as np

from discreet.core.arrays import Floats

LN2 = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""log 2 as a sum: its products with whole numbers up to 2^20 are exact in the first part."""

ATANH = tuple(2 / (2 * j + 1) for j in range(12, 0, -1))
"""Coefficients of R/s^2, the highest power of s^2 first."""

TAYLOR = tuple(1 / math.factorial(j) for j in range(14, 1, -1))
"""Coefficients of (exp(r) - 1 - r)/r^2, the highest power of r first."""


def log(x: Floats) -> Floats:
    """Compute the natural logarithm; NaN where there is none, at 0 too."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        m, e = np.frexp(x)
        small = m < math.sqrt(0.5)
        f = np.where(small, m + m, m) - 1.0
        s = f / (2.0 + f)
        R = _horner(ATANH, s * s) * (s * s)
        k = e - small.astype(float)
        result: Floats = k * LN2[0] - ((s * (f - R) - k * LN2[1]) - f)
        return np.where((x > 0) & np.isfinite(x), result, np.nan)


def log1p(x: Floats) -> Floats:
    """Compute log(1 + x), accurate for small x too."""
    with np.errstate(invalid="ignore", divide="ignore"):
        u = 1.0 + x
        result: Floats = log(u) + (x - (u - 1.0)) / u
    return result


def exp(x: Floats) -> Floats:
    """Compute the exponential; infinite where no float can hold it."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        k = np.rint(np.clip(x, -800.0, 800.0) * (1 / math.log(2)))
        r = (x - k * LN2[0]) - k * LN2[1]
        sums = 1.0 + (r + r * r * _horner(TAYLOR, r))
        result: Floats = np.ldexp(sums, k.astype(np.int64))
        return np.where(np.abs(x) < 800.0, result, np.where(x > 0, np.inf, np.where(x < 0, 0.0, x)))


def _horner(coefficients: tuple[float, ...], x: Floats) -> Floats:
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result
