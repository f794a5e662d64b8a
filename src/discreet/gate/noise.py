"""Noise: real Gaussians rounded to a grid without floating-point error, and spherical Laplace vectors.

A released value is ``x + sd * Z`` rounded to a grid, with ``Z`` a *real* standard normal. Rounding is
post-processing, so the guarantee is that of the ideal Gaussian mechanism as long as the integers have exactly
the law of a rounded real Gaussian; `rounded_normal` says why they do.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.errors import ParameterError
from discreet.gate.entropy import GUARD, NO_NOISE, Entropy, Uniform, Words, precise
from discreet.privacy.events.gaussian import grid_exponent

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NORMAL_BITS = 39
"""`normals` are rounded to multiples of 2^-39."""

#: scipy's ndtri is assumed to err by at most NDTRI_RELATIVE |z| + NDTRI_ABSOLUTE at doubles in [2**-64, 1/2].
NDTRI_RELATIVE = 4e-15
NDTRI_ABSOLUTE = 2e-16

# The terms of the bracket's error bound, derived in the notes of `rounded_normal`.
_SLOPE = NDTRI_RELATIVE + 3e-16
_FLOOR = NDTRI_ABSOLUTE + 8e-16
_UNRESOLVED = 1.26

_MAGNITUDE = 2**63 - 1
_CHUNK = 2**15


def rounded_normal(offset: ArrayLike, scale: ArrayLike, source: Entropy) -> IntArray:
    """Return the integers nearest to ``offset + scale * Z``, with independent *real* standard normals Z.

    Parameters
    ----------
    offset, scale : array of float
        Exact doubles in [0, 1) and in [1, 2**40); scale broadcasts to the shape of offset.
    source : Entropy
        With `NO_NOISE`, Z is zero and halves round up.

    Notes
    -----
    One bit is the sign of Z. The other 63 are the first digits u of a real uniform P in (0, 1/2): P lies in
    ``[u, u + 1] / 2**64`` and -abs(Z) = z(P), the normal quantile. Further digits are drawn when they matter.
    Both of the following paths return the rounded real value, a function of the sign and of all digits of P;
    so the law of the output is exactly that of a rounded real Gaussian.

    *Fast path.* Let û be u rounded to a double, and ẑ = ndtri(û / 2**64). Mills' ratio p/phi(z) is at most
    sqrt(pi/2), so z' = 1/phi(z) <= 1.2534/p, and z moves by at most 1.2534 (2**-53 + 1/û) (1 + 2**-51)
    between û / 2**64 and P. With the error of ndtri and the rounding of a product and a sum, the double v of
    ``offset + scale * ẑ`` is within ``scale * (_SLOPE |ẑ| + _FLOOR + _UNRESOLVED / û)`` of the real value:
    _SLOPE holds NDTRI_RELATIVE and two roundings (2.3e-16); _FLOOR holds NDTRI_ABSOLUTE and the roundings of
    u (1.4e-16) and of the offset (1.2e-16); what they hold beyond this covers the rounding of the bound and
    of its comparison. If the bracket holds no half-integer, the integer nearest to v is the answer. A û of 0
    is replaced by 1, where the bound is above 1/2 and settles nothing.

    *Slow path.* The value is below k + 1/2 where P is above (for a negative Z, below) Phi(c), c being known.
    mpmath computes Phi(c) with 32 bits more than are known of P; it is compared with both ends of P's
    interval, allowing an error of 2**-16 of its length, and while that is undecided 64 more bits are drawn.
    This ends with probability 1; the answer is the smallest such k.

    *Assumed.* The words are uniform and independent; mpmath's ncdf with b bits is within 2**(16 - b); ndtri
    keeps its bounds, which are empirical (errors below 1e-15 were seen) and tested against mpmath. The time
    taken is not constant: about one value in 60,000 takes the slow path.

    Examples
    --------
    >>> rounded_normal([0.25, 0.75], 2.0**30, NO_NOISE)
    array([0, 1])
    """
    offsets = np.asarray(offset, dtype=np.float64)
    scales, flat = np.asarray(scale, dtype=np.float64), offsets.reshape(-1)
    if flat.size and not (flat.min() >= 0 and flat.max() < 1 and scales.min() >= 1 and scales.max() < 2.0**40):
        raise ParameterError("every offset must lie in [0, 1) and every scale in [1, 2**40).")
    if source is NO_NOISE:
        return (offsets >= 0.5).astype(np.int64)
    if scales.ndim:
        scales = np.broadcast_to(scales, offsets.shape).reshape(-1)
    result = np.empty(flat.size, dtype=np.int64)
    for start in range(0, flat.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        result[part] = _rounded_chunk(flat[part], scales[part] if scales.ndim else scales, source)
    return result.reshape(offsets.shape)


def add_rounded_normal(x: ArrayLike, sd: float, source: Entropy) -> tuple[NDArray[Any], int]:
    """Add real Gaussian noise to integers and round to the grid of that noise, exactly.

    Parameters
    ----------
    x : array of int
        Python integers of any size and sign, or int64 below 2**62 in size, which is faster.
    sd : float
        From 2**30 to 2**82.
    source : Entropy

    Returns
    -------
    q, m : array like x, int
        ``q * 2**m`` is ``x + sd * Z`` rounded to the nearest multiple of ``2**m``; m is the `grid_exponent`.

    Examples
    --------
    >>> add_rounded_normal([2**100 + 17, -17], 2.0**35, NO_NOISE)[0] - [2**95, 0]
    array([1, -1], dtype=object)
    """
    m = grid_exponent(sd)
    return add_normal_on_grid(x, sd, m, source), m


def add_normal_on_grid(x: ArrayLike, sd: float, m: int, source: Entropy) -> NDArray[Any]:
    """Return the integers q of `add_rounded_normal`, where the `grid_exponent` m of the sd is known."""
    exact = np.asarray(x)
    wide = exact.dtype != np.int64
    flat = exact.astype(object).reshape(-1) if wide else exact.reshape(-1)
    offset = (flat & (2**m - 1)).astype(np.float64) * 2.0**-m
    noise = rounded_normal(offset, math.ldexp(sd, -m), source)
    q: NDArray[Any] = (flat >> m) + (noise.astype(object) if wide else noise)
    return q.reshape(exact.shape)


def normals(size: int, source: Entropy) -> FloatArray:
    """Draw real standard normals, rounded to multiples of 2^-39; zeros without noise.

    Examples
    --------
    >>> from discreet.gate.entropy import SeededEntropy
    >>> normals(3, SeededEntropy(0)).shape
    (3,)
    """
    drawn = rounded_normal(np.zeros(size), 2.0**NORMAL_BITS, source)
    return np.asarray(np.ldexp(drawn.astype(float), -NORMAL_BITS), dtype=np.float64)


def add_normal(values: ArrayLike, sd: float, source: Entropy) -> FloatArray:
    """Return values + sd Z, for real standard normals Z, rounded to a grid between 2^-30 and 2^-29 of the sd.

    Examples
    --------
    >>> bool(abs(add_normal([0.3], 1.0, NO_NOISE)[0] - 0.3) < 1e-8)
    True
    >>> add_normal([-1e-30], 1.0, NO_NOISE)
    array([0.])
    """
    grid = math.ldexp(1.0, math.frexp(sd)[1] - 31)
    scaled = np.asarray(values, dtype=float) / grid
    whole = np.floor(scaled)
    whole = np.where(scaled - whole < 1, whole, whole + 1)  # a tiny value below 0 is 0: the difference is rounded to 1
    noisy = (whole + rounded_normal(np.maximum(scaled - whole, 0.0), sd / grid, source)) * grid
    return np.asarray(noisy, dtype=np.float64)


def spherical_laplace(p: int, source: Entropy) -> tuple[FloatArray, float]:
    """Draw a vector of p coordinates with density proportional to exp(-norm), with a bound on its error in norm.

    Its norm is Gamma distributed with shape p: a sum of p exponentials -log U, whose uniforms have 53 digits behind
    their leading zeros however small they are. Its direction is that of p normals, each rounded to a multiple of 2^-39;
    all else is within a few units in the last place.

    Examples
    --------
    >>> from discreet.gate.entropy import SeededEntropy
    >>> spherical_laplace(3, SeededEntropy(0))[0].shape
    (3,)
    """
    direction = normals(p, source)
    norm = float(sum(_exponential(source) for _ in range(p)))
    length = float(np.linalg.norm(direction))
    if length == 0:
        return spherical_laplace(p, source)
    return direction * (norm / length), norm * (2.0**-44 + 2.0**-38 * math.sqrt(p) / length)


def _rounded_chunk(offset: FloatArray, scale: FloatArray, source: Entropy) -> IntArray:
    words = source.words(offset.size)
    nearest, unsettled = _bracket(words, offset, scale)
    for i in np.flatnonzero(unsettled):
        value = _LazyNormal(int(words[i]), float(offset[i]), float(scale[i] if scale.ndim else scale), source)
        nearest[i] = _settle(value, int(nearest[i]))
    return nearest


def _bracket(words: Words, offset: FloatArray, scale: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the nearest integers by float64, and where the error bound leaves them in doubt."""
    u = (words & np.uint64(_MAGNITUDE)).astype(np.float64)
    np.maximum(u, 1.0, out=u)
    value = ndtri(u * 2.0**-64)
    error = np.abs(value)
    error *= _SLOPE
    error += _FLOOR
    error += np.divide(_UNRESOLVED, u, out=u)
    error *= scale
    # Z is negative where the top bit of the word is set: the sign bit of the word read as a double.
    np.copysign(value, words.view(np.float64), out=value)
    value *= scale
    value += offset
    nearest = np.rint(value)
    value -= nearest
    error += np.abs(value, out=value)
    return nearest.astype(np.int64), error >= 0.5


class _LazyNormal:
    """The real value offset + scale * Z, with as many digits of P as were needed so far."""

    def __init__(self, word: int, offset: float, scale: float, source: Entropy) -> None:
        self.offset, self.scale = offset, scale
        self.negative = word > _MAGNITUDE
        self.uniform = Uniform(word & _MAGNITUDE, source)

    def below(self, k: int) -> bool:
        """Whether the value is below k + 1/2."""
        return self.uniform.below(lambda bits: self._boundary(k, bits)) == self.negative

    def _boundary(self, k: int, bits: int) -> int:
        """Return the P at which the value is k + 1/2, times 2**(bits + GUARD)."""
        context = precise(bits + 2 * GUARD)
        c = (context.mpf(2 * k + 1) / 2 - self.offset) / self.scale
        return int(context.ldexp(context.ncdf(c if self.negative else -c), bits + GUARD))


def _settle(value: _LazyNormal, guess: int) -> int:
    """Return the smallest k with the value below k + 1/2, by doubling steps away from a guess and then bisection."""
    low, high, step = guess - 1, guess, 1
    while not value.below(high):
        low, high, step = high, high + step, 2 * step
    while value.below(low):
        low, high, step = low - step, low, 2 * step
    return low + 1 + bisect_left(range(low + 1, high), True, key=value.below)


def _exponential(source: Entropy) -> float:
    """-log U for a uniform U in (0, 1): leading zeros are drawn 64 at a time, then the digits behind them."""
    zeros, word = 0, int(source.words(1)[0])
    while word == 0:
        zeros, word = zeros + 64, int(source.words(1)[0])
    shift = 64 - word.bit_length()
    digits = (word << 64 | int(source.words(1)[0])) << shift & (2**128 - 1)
    return (zeros + shift) * math.log(2) - math.log(math.ldexp(float(digits), -128))
