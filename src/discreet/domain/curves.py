"""Functions in formulas: each is a curve over the range of its argument, with the exact range of its values.

A curve depends on public facts alone, the bounds of its argument and the options that stand in the formula, never on
data: ``center`` takes the middle of the bounds, ``poly`` is orthogonal over them, splines have declared knots. It is
computed element by element from operations that are defined to the last bit, so a row alone decides its value.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leg2poly
from numpy.typing import ArrayLike

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import FEW, down, up
from discreet.domain import elementary
from discreet.errors import DomainError

Bounds = tuple[float, float]
Options = tuple[tuple[str, Any], ...]

MOST_PARTS = 30
"""Maximum number of columns that one function makes."""

_STEP = 2.0**-40  # the ranges of polynomials are rounded to it, outwards but for a hundredth


@dataclass(frozen=True)
class Monotone:
    """An increasing curve; `slack` bounds how far its computed values may fall below that."""

    values: Callable[[Floats], Floats]
    slack: float = 0.0
    polynomials: ClassVar[int] = 1

    def over(self, low: float, high: float) -> Bounds:
        """Return the values at both ends."""
        with np.errstate(**SILENT):
            ends = self.values(np.array([low, high])).tolist()
        return down(ends[0], self.slack), up(ends[1], self.slack)


class Pieces:
    """A curve of polynomials between breaks.

    Between m breaks, in order, are m + 1 polynomials of t = (x - origin)/width, a line of coefficients each, the
    highest power of t first.

    Examples
    --------
    >>> hat = Pieces([1.0], [0.0, 1.0], [1.0, 1.0], np.array([[1.0, 0.0], [-1.0, 1.0]]))
    >>> hat.values(np.array([0.5, 1.5])).tolist(), hat.over(0, 2)
    ([0.5, 0.5], (0.0, 1.0))
    """

    def __init__(self, breaks: ArrayLike, origins: ArrayLike, widths: ArrayLike, coefficients: Floats) -> None:
        self.breaks = np.array(breaks, dtype=float)
        self.origins, self.widths = np.array(origins, dtype=float), np.array(widths, dtype=float)
        self.coefficients = np.asarray(coefficients, dtype=float)

    def values(self, x: Floats) -> Floats:
        """Evaluate the polynomial of each value's piece by Horner's rule."""
        piece = np.searchsorted(self.breaks, x, side="right")
        t = (x - self.origins[piece]) / self.widths[piece]
        result = self.coefficients[piece, 0]
        for coefficient in self.coefficients.T[1:]:
            result = result * t + coefficient[piece]
        return np.asarray(result, dtype=float)

    def over(self, low: float, high: float) -> Bounds:
        """Return the least and the largest value at ends, breaks and turning points; infinite if one is not finite."""
        turns = self._turns
        with np.errstate(**SILENT):
            found = self.values(np.array([low, high, *turns[(low <= turns) & (turns <= high)]])) / _STEP
        if not np.isfinite(found).all():
            return -math.inf, math.inf
        return math.floor(found.min() + 0.01) * _STEP, math.ceil(found.max() - 0.01) * _STEP

    @property
    def polynomials(self) -> int:
        """The number of polynomials that are not constant."""
        return int(np.count_nonzero(self.coefficients[:, :-1].any(axis=1)))

    @cached_property
    def _turns(self) -> Floats:
        """Return the breaks and the points of slope 0; a NaN among them makes `over` infinite."""
        points = [*self.breaks]
        try:
            with np.errstate(**SILENT):
                for origin, width, row in zip(self.origins, self.widths, self.coefficients, strict=True):
                    if not row[:-1].any():
                        continue
                    roots = Polynomial(row[::-1]).deriv().trim(1e-12 * np.abs(row).max()).roots()
                    points += [origin + width * root.real for root in roots if abs(root.imag) < 1e-6]
        except np.linalg.LinAlgError:  # of coefficients that are too large
            self.coefficients = np.full_like(self.coefficients, np.nan)
        return np.array(points)


Curve = Monotone | Pieces

# -------------------------------------------------------------------- the functions


def _log(bounds: Bounds) -> list[Curve]:
    if not bounds[0] > 0:
        raise DomainError(
            "there is no finite logarithm of 0 or less. Declare a lower bound above 0, known without the data, or "
            "write log1p(...), the logarithm of 1 + x"
        )
    return [Monotone(elementary.log, FEW)]


def _log1p(bounds: Bounds) -> list[Curve]:
    if not bounds[0] > -1:
        raise DomainError("there is no finite logarithm of 1 + x for x of -1 or less. Declare a lower bound above -1")
    return [Monotone(elementary.log1p, FEW)]


def _sqrt(bounds: Bounds) -> list[Curve]:
    if not bounds[0] >= 0:
        raise DomainError("there is no root of a number below 0. Declare a lower bound of 0 or more")
    return [Monotone(_root)]


def _root(x: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        root: Floats = np.sqrt(x)
    return root


def _exp(bounds: Bounds) -> list[Curve]:
    if not bounds[1] < 600:
        raise DomainError("its exponential is too large for floating point. Scale it first, as in exp(x / 100)")
    return [Monotone(elementary.exp, FEW)]


def _center(bounds: Bounds, at: float | None = None) -> list[Curve]:
    """Subtract the middle of the bounds, or a constant."""
    return _scale(bounds, at, 1.0)


def _scale(bounds: Bounds, at: float | None = None, by: float | None = None) -> list[Curve]:
    """Return (x - c)/h with the middle c and the half-width h of the bounds, or with constants."""
    c = _number("at", bounds[0] / 2 + bounds[1] / 2 if at is None else at)
    h = _number("by", bounds[1] / 2 - bounds[0] / 2 if by is None else by)
    if not h > 0:
        raise DomainError("a scale is a number above 0")
    return [Monotone(lambda x: (x - c) / h)]


def _poly(bounds: Bounds, degree: float) -> list[Curve]:
    """Return Legendre polynomials over the bounds: orthogonal there, 1 at the upper bound."""
    k = _whole("degree", degree, 9)
    _check_width(bounds)
    middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2
    powers = [leg2poly([0.0] * j + [1.0])[::-1] for j in range(1, k + 1)]
    return [Pieces([], [middle], [half], np.array([row])) for row in powers]


def _bs(bounds: Bounds, knots: Any = None, degree: float = 3, df: float | None = None) -> list[Curve]:
    """Return the B-splines of inner knots without the first one: all of them add up to 1, as the constant does."""
    from scipy.interpolate import PPoly

    k = _whole("degree", degree, 5)
    inner = _inner(bounds, knots, df, k)
    t = np.array([bounds[0]] * (k + 1) + inner + [bounds[1]] * (k + 1))
    breaks, ends = t[k : len(t) - k], [0, *range(len(inner) + 1), len(inner)]
    found: list[Curve] = []
    for basis in np.eye(len(inner) + k + 1)[1:]:
        spline = PPoly.from_spline((t, basis, k))
        found.append(_joined(breaks, breaks[ends], spline.c[:, k:][:, ends].T))
    return found


def _cr(bounds: Bounds, knots: Any = None, df: float | None = None) -> list[Curve]:
    """Return natural cubic splines: each is 1 at one knot and 0 at the others; the lower bound has none."""
    from scipy.interpolate import CubicSpline

    breaks = np.array([bounds[0], *_inner(bounds, knots, df, 1), bounds[1]])
    spline = CubicSpline(breaks, np.eye(len(breaks)), bc_type="natural")
    if not np.isfinite(spline.c).all():
        raise DomainError(_CLOSE)
    curves: list[Curve] = []
    for j in range(1, len(breaks)):
        pieces = spline.c[:, :, j].T
        slopes = [(0.0, 0.0, float(spline(end, 1)[j]), float(end == breaks[j])) for end in breaks[[0, -1]]]
        c = np.array([slopes[0], *pieces, slopes[1]])  # straight beyond the bounds
        curves.append(_joined(breaks, [breaks[0], *breaks], c))
    return curves


def _cut(bounds: Bounds, edges: Any) -> list[Curve]:
    """Return the indicators of intervals (a, b]: between these edges, or so many of one width over the bounds."""
    if not isinstance(edges, tuple):
        count = _whole("the number of intervals", edges, MOST_PARTS)
        parts = [i / count for i in range(count + 1)]
        edges = tuple(bounds[0] * (1 - part) + bounds[1] * part for part in parts)
    edges = [_number("each of the edges", edge) for edge in edges]
    if not 3 <= len(edges) <= MOST_PARTS + 1:
        raise DomainError(f"cut needs from 2 to {MOST_PARTS} intervals: the edges of all of them, the outer ones too")
    inner = edges[1:-1]
    if any(a >= b for a, b in itertools.pairwise(edges)) or not bounds[0] <= inner[0] <= inner[-1] < bounds[1]:
        raise DomainError("the edges of cut must be in ascending order, and those inside must lie within the bounds")
    breaks = [math.nextafter(edge, math.inf) for edge in inner]
    flat = np.ones(len(inner) + 1)
    return [Pieces(breaks, 0 * flat, flat, row[:, None]) for row in np.eye(len(inner) + 1)]


def _joined(breaks: Floats, origins: Any, coefficients: Floats) -> Curve:
    """Pieces whose polynomials of x - origin become polynomials of (x - origin)/width."""
    width = float(breaks[-1] - breaks[0])
    powers = width ** np.arange(coefficients.shape[1] - 1, -1, -1)
    if not np.isfinite(coefficients * powers).all():
        raise DomainError(_CLOSE)
    return Pieces(breaks, origins, [width] * len(coefficients), coefficients * powers)


FUNCTIONS: dict[str, Callable[..., list[Curve]]] = {
    "log": _log, "log1p": _log1p, "sqrt": _sqrt, "exp": _exp, "center": _center, "scale": _scale,
    "poly": _poly, "bs": _bs, "cr": _cr, "cut": _cut,
}  # fmt: skip
"""Each function of a formula: its curves, from the bounds of its argument and its options."""

ALIASES = {"standardize": "scale"} | {f"np.{name}": name for name in ("log", "log1p", "sqrt", "exp")}
SEVERAL = ("poly", "bs", "cr", "cut")
"""Functions that make several columns."""

LEAVES_OUT_FIRST = ("cut",)
"""Functions whose columns add up to 1, so that the first is left out unless it is named."""

_BY_PLACE = ("center", "scale", "poly", "cut")


@lru_cache(maxsize=1024)
def curves(name: str, bounds: Bounds, options: Options) -> list[Curve]:
    """Return the curves of a function over the bounds of its argument."""
    try:
        with np.errstate(**SILENT):
            return FUNCTIONS[name](bounds, **dict(options))
    except DomainError:
        raise
    except ValueError:  # of scipy, and of linear algebra
        raise DomainError(_CLOSE) from None


def options(name: str, places: Sequence[Any], named: Mapping[str, Any]) -> Options:
    """Return the options of a call, without defaults."""
    signature = inspect.signature(FUNCTIONS[name])
    try:
        bound = signature.bind((0.0, 1.0), *places, **named)
    except TypeError:
        known = ", ".join(list(signature.parameters)[1:]) or "none"
        raise DomainError(
            f"{name}(...) was given options that it does not know, or lacks some. Options: {known}"
        ) from None
    given = list(bound.arguments.items())[1:]
    return tuple((key, value) for key, value in given if value != signature.parameters[key].default)


def written(name: str, options: Options) -> str:
    """Return the options as a formula writes them, after the argument."""
    names = list(inspect.signature(FUNCTIONS[name]).parameters)[1:]
    by_place = name in _BY_PLACE and [key for key, _ in options] == names[: len(options)]
    return "".join(f", {_shown(value)}" if by_place else f", {key}={_shown(value)}" for key, value in options)


def _shown(value: Any) -> str:
    return f"[{', '.join(map(constant, value))}]" if isinstance(value, tuple) else constant(value)


def constant(value: float) -> str:
    """Write a number with as few characters as possible.

    Examples
    --------
    >>> constant(41.0), constant(0.1), constant(1e30)
    ('41', '0.1', '1e+30')
    """
    return repr(value).removesuffix(".0")


# -------------------------------------------------------------------- options


def _number(name: str, value: Any) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise DomainError(f"{name} must be a number")
    return value


def _check_width(bounds: Bounds) -> None:
    """Refuse bounds between which a polynomial has no coefficients in floating point."""
    if not 2.0**-180 <= bounds[1] - bounds[0] <= 2.0**180:
        raise DomainError("these are too close together, or too far apart, for a polynomial. Scale the column first")


_CLOSE = "its knots are too close together for floating point. Choose others"


def _whole(name: str, value: Any, most: int) -> int:
    if not isinstance(value, (int, float)) or not 1 <= value <= most or value != int(value):
        raise DomainError(f"{name} must be a whole number from 1 to {most}")
    return int(value)


def _inner(bounds: Bounds, knots: Any, df: Any, least: int) -> list[float]:
    """Return the inner knots: the given ones, or as many as df asks for, evenly spaced over the bounds."""
    _check_width(bounds)
    if (knots is None) == (df is None):
        raise DomainError(
            "a spline needs knots=[...], or df=, the number of columns, for evenly spaced knots: give one of them"
        )
    if df is not None:
        count = _whole("df", df, MOST_PARTS) - least
        if count < 0:
            raise DomainError(f"df must be at least {least}")
        parts = [(i + 1) / (count + 1) for i in range(count)]
        return [bounds[0] * (1 - part) + bounds[1] * part for part in parts]
    found = [_number("each of the knots", knot) for knot in (knots if isinstance(knots, tuple) else [knots])]
    if len(found) + least > MOST_PARTS:
        raise DomainError(f"a spline has at most {MOST_PARTS} columns")
    inside = [bounds[0], *found, bounds[1]]
    if any(a >= b for a, b in itertools.pairwise(inside)):
        raise DomainError("knots must be in ascending order and lie inside the bounds")
    return found
