"""Privacy losses that are not Gaussian: bounds on their laws, and their composition.

Write l = log(dP/dQ) for the privacy loss of one release, P being the law of the output under the actual table. A
`Tail` bounds P(l > m) for every pair of neighbours; integration by parts gives

    delta(epsilon) = E (1 - e^(epsilon - l))+ <= integral over x > 0 of e^-x tail(epsilon + x).

A `Point` is a stage that keeps one declared (epsilon, delta) whatever happened before it; randomised response with
those two numbers is the worst such stage. Losses of several stages add up, and given the past each is dominated by
its law, so the law of the sum is dominated by the convolution (``docs/mathematics``, 7.5). Everything is rounded
up: losses to the next grid point, sums of probabilities by a relative 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtr

from discreet.core.arrays import Floats
from discreet.core.rounding import CURVE, up
from discreet.privacy import gdp

_CELLS = 8192
_BEYOND = 1e-18
"""Losses of a smaller probability than this count as infinite."""

_NOTHING_HIDDEN = 2.0**20
"""Beyond this mu the Gaussian part gives no protection in composition, and its losses are too large for a grid."""


@dataclass(frozen=True)
class Tail:
    """A release whose privacy loss exceeds m >= 0 with probability at most ``probability(m)``, which never rises.

    Examples
    --------
    >>> Tail(lambda m: ndtr(0.5 - m)).delta(1.0) > 0.1269
    True
    """

    probability: Callable[[Floats], Floats]

    def delta(self, epsilon: float) -> float:
        """The upper sum of the integral, over cells that grow with the distance from epsilon."""
        if epsilon < 0:
            return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * self.delta(0.0))
        x = 60 * np.linspace(0, 1, 40_001) ** 3
        p = self.probability(epsilon + x)
        weights = -np.exp(-x[:-1]) * np.expm1(x[:-1] - x[1:])
        return min(1.0, up(float(p[:-1] @ weights + p[-1] * math.exp(-x[-1])), CURVE))

    def span(self) -> float:
        """A loss that is exceeded with a probability below `_BEYOND`."""
        high = 1.0
        while float(self.probability(np.array([high]))[0]) > _BEYOND:
            high *= 2
        grid = np.asarray(np.arange(1, 513) * (high / 512), dtype=float)
        return float(grid[np.argmax(self.probability(grid) <= _BEYOND)])

    def cells(self, step: float) -> _Cells:
        """Losses rounded up to multiples of a step; those below 0 count as 0."""
        p = self.probability(np.arange(math.ceil(self.span() / step) + 1, dtype=float) * step)
        return _Cells(0, np.concatenate([[max(0.0, 1 - p[0])], np.maximum(p[:-1] - p[1:], 0.0)]), float(p[-1]))


@dataclass(frozen=True)
class Point:
    """A stage that is (epsilon, delta)-private, as declared before any of its output was known.

    Examples
    --------
    >>> Point(1.0, 1e-6).delta(1.0)
    1e-06
    """

    epsilon: float
    failure: float = 0.0

    def delta(self, epsilon: float) -> float:
        """The curve of randomised response with these numbers, the worst such stage."""
        if epsilon >= self.epsilon:
            return self.failure
        p = 1 / (1 + math.exp(-self.epsilon))
        above = p * -math.expm1(epsilon - self.epsilon) + (1 - p) * max(0.0, -math.expm1(epsilon + self.epsilon))
        return min(1.0, up(self.failure + (1 - self.failure) * above, CURVE))

    def span(self) -> float:
        """The largest loss that is not a failure."""
        return self.epsilon

    def cells(self, step: float) -> _Cells:
        """Two losses, +-epsilon, rounded up to the grid."""
        p = 1 / (1 + math.exp(-self.epsilon))
        high, low = math.ceil(self.epsilon / step), math.ceil(-self.epsilon / step)
        masses = np.zeros(high - low + 1)
        masses[-1] += (1 - self.failure) * p
        masses[0] += (1 - self.failure) * (1 - p)
        return _Cells(low, masses, self.failure)


@dataclass(frozen=True)
class Profile:
    """A release whose curve delta(epsilon) is known at every epsilon, negative ones included: one curve per direction.

    The direction says which of two neighbours is the actual table; all releases about the two share it, so each
    direction is composed by itself and the worse one counts.

    Examples
    --------
    >>> Profile((lambda epsilon: gaussian_curve(1.0, epsilon),)).delta(1.0) > 0.1269
    True
    """

    ways: tuple[Callable[[Floats], Floats], ...]

    def delta(self, epsilon: float) -> float:
        """The larger delta of the two directions."""
        return min(1.0, up(max(float(way(np.array([epsilon]))[0]) for way in self.ways), CURVE))

    def way(self, i: int) -> Callable[[Floats], Floats]:
        """The curve of a direction; a single curve stands for both."""
        return self.ways[i % len(self.ways)]


@dataclass(frozen=True)
class Alone:
    """A release of which only the curve delta(epsilon) is known; it cannot be composed with others.

    Examples
    --------
    >>> Alone(lambda epsilon: 1e-6).delta(1.0)
    1e-06
    """

    curve: Callable[[float], float]

    def delta(self, epsilon: float) -> float:
        """The curve."""
        return min(1.0, self.curve(epsilon))


@dataclass(frozen=True)
class Failure:
    """An event on the output, of at most this probability under either table, that counts as a complete failure.

    Its probability is added to delta once: P(S) <= P(failure) + P(S without it).

    Examples
    --------
    >>> Failure(1e-7).probability
    1e-07
    """

    probability: float


Law = Tail | Point | Profile | Alone | Failure


@dataclass(frozen=True)
class _Cells:
    """Probabilities of the losses (start + i) step, and of an infinite loss."""

    start: int
    masses: Floats
    infinite: float

    def __add__(self, other: _Cells) -> _Cells:
        masses = np.convolve(self.masses, other.masses)
        return _Cells(self.start + other.start, masses, self.infinite + other.infinite)

    def delta(self, epsilon: float, step: float) -> float:
        losses = step * (self.start + np.arange(len(self.masses)))
        above = -np.expm1(np.minimum(epsilon - losses, 0.0))
        return min(1.0, up(float(self.masses @ above) + self.infinite, CURVE))


def together(laws: Sequence[Law], mu: float) -> Callable[[float], float]:
    """The curve delta(epsilon) of the composition of several releases and a mu-GDP part."""
    failure = math.fsum(law.probability for law in laws if isinstance(law, Failure))
    laws = [law for law in laws if not isinstance(law, Failure)]
    if failure:
        rest = together(laws, mu)
        return lambda epsilon: min(1.0, up(failure + rest(epsilon)))
    if not laws:
        return lambda epsilon: gdp.delta(mu, epsilon)
    if len(laws) == 1 and mu == 0:
        return laws[0].delta  # type: ignore[union-attr]
    if mu > _NOTHING_HIDDEN or any(isinstance(law, Alone) for law in laws):
        return lambda epsilon: 1.0
    profiles = [law for law in laws if isinstance(law, Profile)]
    others = [law for law in laws if isinstance(law, (Tail, Point))]
    if profiles:
        ways = [_with_profiles([law.way(i) for law in profiles], others, mu) for i in range(2)]
        return lambda epsilon: max(way(epsilon) for way in ways)
    step = (sum(law.span() for law in others) + 9 * mu) / _CELLS
    total = _gaussian(mu, step) if mu else _Cells(0, np.ones(1), 0.0)
    for law in others:
        total = total + law.cells(step)
    return lambda epsilon: total.delta(epsilon, step)


def _with_profiles(
    ways: Sequence[Callable[[Floats], Floats]], rest: Sequence[Tail | Point], mu: float
) -> Callable[[float], float]:
    """The curve of one direction for the composition of releases with known curves and of others.

    The hockey-stick divergence of a product is the mean of one over the loss of the others (docs 9.4): the first
    curve is evaluated directly, the others on a grid.
    """
    first, *others = ways
    spans = [law.span() for law in rest] + [_reach(way) for way in others] + ([mu * mu / 2 + 9 * mu] if mu else [])
    step = sum(spans) / (_CELLS // 4)
    total = _Cells(0, np.ones(1), 0.0)
    if mu:
        total = total + _connected(lambda epsilon: gaussian_curve(mu, epsilon), mu * mu / 2 + 9 * mu, step)
    for law in rest:
        total = total + law.cells(step)
    for way in others:
        total = total + _connected(way, _reach(way), step)
    losses: Floats = np.asarray(step * (total.start + np.arange(len(total.masses))), dtype=np.float64)

    def curve(epsilon: float) -> float:
        return min(1.0, up(float(np.dot(total.masses, first(epsilon - losses))) + total.infinite, CURVE))

    return curve


def _reach(way: Callable[[Floats], Floats]) -> float:
    """A loss that is exceeded with a probability below `_BEYOND`."""
    high = 1.0
    while float(way(np.array([high]))[0]) > _BEYOND:
        high *= 2
    return high


def _connected(way: Callable[[Floats], Floats], reach: float, step: float) -> _Cells:
    """Losses on a grid whose curve, as a function of e^epsilon, interpolates a convex one linearly: never below it.

    With a_i = e^(epsilon_i), the masses q_i under the other law are the changes of slope there, and p_i = a_i q_i.
    """
    top = math.ceil(reach / step)
    epsilon: Floats = np.asarray(step * np.arange(-top, top + 1), dtype=np.float64)
    a, delta = np.exp(epsilon), np.concatenate([[1.0], way(epsilon)])
    slope = np.concatenate([(delta[:-1] - delta[1:]) / np.diff(a, prepend=0.0), [0.0]])
    return _Cells(-top, np.maximum(slope[:-1] - slope[1:], 0.0) * a, float(delta[-1]))


def gaussian_curve(mu: float, epsilon: Floats) -> Floats:
    """delta(epsilon) of a mu-GDP release in float64, to a relative 1e-10 or so; any epsilon.

    With a, b = epsilon/mu -+ mu/2 it is phi(a) (M(a) - M(b)), M the Mills ratio; below 0 by the symmetry of the curve.

    Examples
    --------
    >>> gaussian_curve(1.0, np.array([1.0, -1.0])).round(4)
    array([0.1269, 0.6788])
    """
    size = np.abs(epsilon)
    a, b = size / mu - mu / 2, size / mu + mu / 2
    far = np.maximum(a, 0.0)
    tail = np.exp(-(far**2) / 2) / 2 * (erfcx(far / math.sqrt(2)) - erfcx(b / math.sqrt(2)))
    with np.errstate(over="ignore"):
        near = ndtr(-a) - np.exp(np.minimum(size, 700.0)) * ndtr(-b)
    delta = np.where(a > 0, tail, near)
    shrink = np.exp(np.minimum(epsilon, 0.0))
    curve: Floats = np.where(epsilon < 0, 1 - shrink + shrink * delta, delta)
    return curve


def _gaussian(mu: float, step: float) -> _Cells:
    """The loss of a mu-GDP release, N(mu^2/2, mu^2), rounded up to the grid."""
    low, high = math.floor((mu * mu / 2 - 9 * mu) / step), math.ceil((mu * mu / 2 + 9 * mu) / step)
    edges = (step * np.arange(low, high + 1) - mu * mu / 2) / mu
    masses = np.concatenate([[ndtr(edges[0])], ndtr(-edges[:-1]) - ndtr(-edges[1:])])
    return _Cells(low, np.maximum(masses, 0.0), float(ndtr(-edges[-1])))
