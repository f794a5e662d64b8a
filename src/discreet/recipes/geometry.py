"""Coordinates, radii and half widths of the stages of a linear model, as functions of earlier releases.

Every matrix, radius and half width of a stage is a function of earlier noisy values and of public facts.
``docs/mathematics``, section 12.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.privacy.values import ReleasedStage
from discreet.solve.axes import Axes, whitened
from discreet.solve.joint import Joint, joint
from discreet.solve.location import Location
from discreet.solve.outcome import shares
from discreet.statistics.row_norms import RowNormCounts

FEWEST, FEWEST_EACH, MANY, NARROW = 10.0, 0.5, 30.0, 64
"""Below these values of n mu and n mu/d, release only the mean. From this value of n mu/d^1.5 on, three stages are
better than two, in tables of at most this many columns; in wider ones a third pass is not worth its time."""

SPHERE = 0.25
"""Clipping radius of the stages before the last, in units of the typical row norm. It is small, so that nearly all rows
are scaled to the same norm."""

_REACH, _FAR_REACH = 0.1, 1.0
"""Radius of the last stage, in units of the typical row norm: sqrt(_REACH n mu/q^1.5) with two stages; at most
sqrt(_FAR_REACH n mu/q^1.5) with more."""

EDGES = tuple(2.0 ** (k / 4) for k in range(17))
"""Edges of the bins in which row norms are counted before the last of three or more stages, in units of the typical row
norm."""

_BEYOND, _MOST_BEYOND = 20.0, 0.5
"""The last radius is chosen so that at most a share 20 q/(n mu) of the rows exceeds it, and never more than half."""

_WIDTHS, _STEP, _WIDEST = 10, 1.45, 12.0
"""Number of candidate half widths for clipping residuals, the ratio of successive ones, and the largest in units of the
outcome's spread."""

_MOST_WIDTHS, _NARROWEST = 32, 0.4
"""In the last of three or more stages: maximum number of candidate half widths, and the smallest in units of the
outcome's spread."""

_CLIPPED, _MOST_CLIPPED, _FEW = 3.0, 0.3, 7
"""At most a share 3 d/(n mu) of the residuals is clipped, and never more than 0.3; a d below 7 counts as 7."""

_ROOT_CLIPPED, _ROOT_BEYOND = 0.15, 0.3
"""In the last of three or more stages it is always allowed to clip a share 0.15/sqrt(n) of the residuals and to shorten
a share 0.3/sqrt(n) of the rows: the error is small beside the sampling error."""

_NOISE = 2.0
"""A share below this many sds of the noise of its counts is taken as zero."""

_SCORES, _LEAST_SCORE = 3.0, 2.0**-8
"""Bound on the norm of a person's scores, in units of the typical norm; and its minimum, as a share of the largest
possible norm."""

_CLOSE = 1e-6
"""Relative tolerance for recomputed coordinates: processors round differently."""


def number_of_stages(n_mu: float, size: int, *, constant: bool) -> int:
    """Return the best number of stages; 0 if only the mean is asked for, or can be estimated.

    Parameters
    ----------
    n_mu : float
        The number of rows times mu.
    size : int
        The number of coefficients, without the levels that the others of their category imply.
    constant : bool
        Whether the intercept is among them.

    Examples
    --------
    >>> [number_of_stages(n_mu, 8, constant=True) for n_mu in (5.0, 300.0, 3000.0)]
    [0, 2, 3]
    >>> number_of_stages(20.0, 34, constant=True), number_of_stages(15.0, 34, constant=True)
    (2, 0)
    """
    few = constant and (n_mu < max(FEWEST, FEWEST_EACH * size) or size == 1)
    many = n_mu >= MANY * size**1.5 and size <= NARROW
    return 0 if few else 3 if many else 2


@dataclass(frozen=True, eq=False)
class StageGeometry:
    """The coordinates of each stage, given the location of outcomes and columns.

    Parameters
    ----------
    design, targets : tuple of str
        Coordinates of the regressors and of the outcomes.
    locations : tuple of Location
        The location of each outcome.
    axes : Axes
        The axes of the first stage.
    most : int
        The maximum number of rows that count for one person.
    """

    design: tuple[str, ...]
    targets: tuple[str, ...]
    locations: tuple[Location, ...]
    axes: Axes
    most: int = 1

    @property
    def rows(self) -> float:
        """The number of rows."""
        return self.locations[0].rows

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def coordinates(self, done: Sequence[ReleasedStage], mu: float, count: int) -> Coordinates:
        """Return the coordinates of the next stage.

        Parameters
        ----------
        done : sequence of ReleasedStage
            The stages so far.
        mu : float
            The cost of the next stage.
        count : int
            The total number of stages. With three or more, the one before the last counts row norms.
        """
        axes, left = self._axes(done), count - len(done)
        typical = math.sqrt(max(axes.known + self.constant, 1.0))
        reach = self._reach(done, mu, axes.P.shape[1]) if left == 1 else SPHERE
        weight, final = min(1.0, reach), left == 1 and count >= 3
        widths = [_final_widths(own, weight) if final else _widths(own, weight) for own in self.locations]
        row_norms = [typical * edge for edge in EDGES] if left == 2 and count >= 3 else []
        theta = self.theta(done)
        sizes = reach * typical, widths, row_norms
        return Coordinates.rounded(self.design, self.targets, axes.P, theta, *sizes, self.most)

    def _reach(self, done: Sequence[ReleasedStage], mu: float, q: int) -> float:
        """Return the last radius in units of the typical row norm, by the row norms counted before, if any."""
        n_mu = self.rows * mu / self.most
        if len(done) < 2:
            return max(SPHERE, math.sqrt(_REACH * n_mu / q**1.5))
        return far_reach(done[-1], self.rows, mu / self.most)

    def theta(self, done: Sequence[ReleasedStage]) -> Floats:
        """Return the coefficients estimated so far, a column for each outcome."""
        if done:
            return np.column_stack([self.posterior(done, name).mean for name in self.targets])
        theta = np.zeros((len(self.design), len(self.targets)))
        if self.constant:
            theta[0] = [location.centre for location in self.locations]
        return theta

    def posterior(self, done: Sequence[ReleasedStage], target: str) -> Joint:
        """Return the posterior of one outcome's coefficients given all stages so far."""
        location = self.locations[self.targets.index(target)]
        return joint(done, target, location, max(self.axes.known, 1.0), constant=self.constant)

    def chosen(
        self, counts: Mapping[str, Floats], sd: float, *, coordinates: Coordinates, mu: float, final: bool
    ) -> list[int]:
        """Return the index of each outcome's half width, chosen from noisy counts of residuals.

        Parameters
        ----------
        counts, sd : mapping, float
            The noisy counts of each outcome, and the sd of their noise.
        coordinates, mu : Coordinates, float
            The coordinates and the cost of the stage.
        final : bool
            Whether it is the last of three or more stages.
        """
        size = max(len(coordinates.axes), _FEW)
        least = _ROOT_CLIPPED / math.sqrt(self.rows) if final else 0.0
        most = min(_MOST_CLIPPED, max(_CLIPPED * size * self.most / (self.rows * mu), least))
        return [
            quiet_place(counts[name], most, sd) if final else clipped_place(counts[name], most) for name in self.targets
        ]

    def radii(self, gram: Floats, squares: Floats) -> tuple[float, ...]:
        """Return for each outcome the bound on the norm of persons' scores, from noisy U'U and e'e of the stage.

        It is three times the norm for a person whose rows all have the typical score, with the same sign.
        """
        u, e = float(np.trace(gram)) / self.rows, squares / self.rows
        typical = np.sqrt(np.maximum(u, 0.0) * np.maximum(e, 0.0))
        return tuple((self.most * np.clip(_SCORES * typical, _LEAST_SCORE, 1.0)).tolist())

    def _axes(self, done: Sequence[ReleasedStage]) -> Axes:
        if not done:
            return self.axes
        stage = done[-1]
        P, gram, sd = stage.event.coordinates.P.floats, stage.gram, stage.sd("gram")
        return whitened(P, gram, sd, constant=self.constant)


def far_reach(before: ReleasedStage, rows: float, mu: float) -> float:
    """Return a radius in units of the typical row norm that few rows exceed, from the row norms counted in a stage.

    Parameters
    ----------
    before : ReleasedStage
        The stage.
    rows, mu : float
        The number of rows, and the cost of the release that uses the radius.
    """
    own, q = before.event.coordinates, len(before.event.coordinates.axes)
    most = max(_BEYOND * q / (rows * mu), _ROOT_BEYOND / math.sqrt(rows))
    place = quiet_place(before.row_norms, min(_MOST_BEYOND, most), before.sd(RowNormCounts.name))
    edge = own.row_norms[place] * SPHERE / own.radius
    return max(SPHERE, min(math.sqrt(_FAR_REACH * rows * mu / q**1.5), edge))


def _widths(location: Location, weight: float) -> list[float]:
    """Return candidate half widths, up to the largest possible residual or far beyond the outcome's spread."""
    most = 1 + abs(location.centre)
    widest = min(most, _WIDEST * location.spread) if location.spread else most
    return [weight * widest * _STEP**-k for k in reversed(range(_WIDTHS))]


def _final_widths(location: Location, weight: float) -> list[float]:
    """Return candidate half widths of the last stage: powers of sqrt(2), whatever the noise, up to the largest."""
    top = math.floor(2 * math.log2(weight)) + 2
    least = math.floor(2 * math.log2(_NARROWEST * weight * (location.spread or 1.0)))
    return [2.0 ** (k / 2) for k in range(max(least, top - _MOST_WIDTHS + 1), top + 1)]


def clipped_place(counts: Floats, most: float) -> int:
    """Return the index of the smallest half width, or edge of row norms, that at most a share `most` exceeds.

    Examples
    --------
    >>> clipped_place(np.array([900.0, 90.0, 9.0, 1.0]), 0.02)
    1
    """
    p = shares(counts, max(float(counts.sum()), 1.0))
    outside = 1 - np.cumsum(p)[:-1]
    enough = np.flatnonzero(outside <= most + 1e-12)
    return int(enough[0]) if len(enough) else len(outside) - 1


def quiet_place(counts: Floats, most: float, sd: float) -> int:
    """Return the index as `clipped_place` does, but take shares below two sds of their noise as zero.

    Examples
    --------
    >>> quiet_place(np.array([900.0, 80.0, 12.0, 5.0]), 0.001, 10.0)
    1
    """
    total, beyond = max(float(counts.sum()), 1.0), np.cumsum(counts[::-1])[::-1][1:]
    noise = _NOISE * sd * np.sqrt(np.arange(len(beyond), 0, -1))
    enough = np.flatnonzero(beyond <= np.maximum(most * total, noise))
    return int(enough[0]) if len(enough) else len(beyond) - 1


def as_declared(design: Sequence[str]) -> Axes:
    """Return the columns themselves as axes, for rows in a ball, whose norms are similar already."""
    return Axes(np.eye(len(design)), 1.0)


def mean_alone(design: Sequence[str]) -> Axes:
    """Return the constant as the only axis, for tables too small to estimate more than the mean."""
    return Axes(np.eye(len(design))[:, :1], 0.0)


def is_close(own: Coordinates, expected: Coordinates) -> bool:
    """Whether coordinates agree up to rounding errors and rotation of the axes."""
    shapes = [(c.design, c.outcomes, c.axes, [len(v) for v in (c.row_norms, *c.widths)]) for c in (own, expected)]
    models = [(type(c), getattr(c, "link", None), getattr(c, "exposure", None)) for c in (own, expected)]
    if shapes[0] != shapes[1] or models[0] != models[1]:
        return False
    (A, t), (B, s) = ((c.P.floats, c.theta.floats) for c in (own, expected))
    G, H = A @ A.T, B @ B.T  # |z|^2 = x'PP'x: rotating axes changes nothing
    lists = ([c.radius, getattr(c, "largest", 0.0), *c.row_norms, *itertools.chain(*c.widths)] for c in (own, expected))
    sizes = zip(*lists, strict=True)
    scale = np.sqrt(np.outer(np.diag(H), np.diag(H)))
    return (
        bool(np.all(np.abs(G - H) <= _CLOSE * np.maximum(scale, np.finfo(float).tiny)))
        and bool(np.all(np.abs(t - s) <= _CLOSE * max(1.0, float(np.abs(s).max(initial=0.0)))))
        and all(math.isclose(a, b, rel_tol=_CLOSE) for a, b in sizes)
    )
