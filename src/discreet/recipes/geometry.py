"""Coordinates, radii and half widths of the stages of a linear model, as functions of what was released before.

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

FEWEST, FEWEST_EACH, MANY, NARROW = 10.0, 0.5, 30.0, 64
"""Of n mu, and of n mu/d: below, only the mean can be told. Of n mu/d^1.5: from there on three stages are better than
two, for tables of at most so many columns; for wider ones a third reading takes more time than it is worth."""

SPHERE = 0.25
"""The radius of the first stages, in units of the typical length of a row: nearly all rows have the same weight."""

_REACH, _FAR_REACH = 0.1, 1.0
"""The last of two radii is the root of this share of n mu/q^1.5 times the typical length; that of more, at most."""

EDGES = tuple(2.0 ** (k / 4) for k in range(17))
"""Between which lengths rows are counted before the last of three or more stages, in units of the typical one."""

_BEYOND, _MOST_BEYOND = 20.0, 0.5
"""The last radius leaves out a share of at most 20 q/(n mu) of the rows, and never more than a half."""

_WIDTHS, _STEP, _WIDEST = 10, 1.45, 12.0
"""How many half widths are tried, their ratio, and the largest in units of the outcome's spread."""

_MOST_WIDTHS, _NARROWEST = 32, 0.4
"""In the last of three or more stages: how many at most, and the least in units of that spread."""

_CLIPPED, _MOST_CLIPPED, _FEW = 3.0, 0.3, 7
"""Residuals may be clipped in a share of 3 d/(n mu), at most 0.3; a small d counts as 7."""

_ROOT_CLIPPED, _ROOT_BEYOND = 0.15, 0.3
"""In the end no smaller shares are looked for than these over sqrt(n): what is missing then is little beside the
sampling error."""

_NOISE = 2.0
"""No share is looked for that is less than so many sds of the noise of its counts."""

_SCORES, _LEAST_SCORE = 3.0, 2.0**-8
"""How long scores of a person may be, in units of the typical one; and at least, of the largest there can be."""

_CLOSE = 1e-6
"""Coordinates that are computed again may differ by this share, for processors round differently."""


def number_of_stages(n_mu: float, size: int, *, constant: bool) -> int:
    """How many stages are best for so many rows times mu: 0 where only the mean can be told, or asked for.

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
    """The coordinates of each stage, given where outcomes and columns lie.

    Parameters
    ----------
    design, targets : tuple of str
        Coordinates of the regressors and of the outcomes.
    locations : tuple of Location
        Where each outcome lies.
    axes : Axes
        Those of the first stage.
    most : int
        How many rows one person counts for at most.
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
        """The coordinates of the next stage.

        Parameters
        ----------
        done : sequence of ReleasedStage
            The stages so far.
        mu : float
            What the next one costs.
        count : int
            How many there are in all. Of three or more, the one before the last counts rows by their lengths.
        """
        axes, left = self._axes(done), count - len(done)
        typical = math.sqrt(max(axes.known + self.constant, 1.0))
        reach = self._reach(done, mu, axes.P.shape[1]) if left == 1 else SPHERE
        weight, final = min(1.0, reach), left == 1 and count >= 3
        widths = [_final_widths(own, weight) if final else _widths(own, weight) for own in self.locations]
        lengths = [typical * edge for edge in EDGES] if left == 2 and count >= 3 else []
        theta = self.theta(done)
        sizes = reach * typical, widths, lengths
        return Coordinates.rounded(self.design, self.targets, axes.P, theta, *sizes, self.most)

    def _reach(self, done: Sequence[ReleasedStage], mu: float, q: int) -> float:
        """The last radius in units of the typical length, with what the stage before it says of lengths."""
        n_mu = self.rows * mu / self.most
        if len(done) < 2:
            return max(SPHERE, math.sqrt(_REACH * n_mu / q**1.5))
        return far_reach(done[-1], self.rows, mu / self.most)

    def theta(self, done: Sequence[ReleasedStage]) -> Floats:
        """The model so far, a column for each outcome."""
        if done:
            return np.column_stack([self.posterior(done, name).mean for name in self.targets])
        theta = np.zeros((len(self.design), len(self.targets)))
        if self.constant:
            theta[0] = [location.centre for location in self.locations]
        return theta

    def posterior(self, done: Sequence[ReleasedStage], target: str) -> Joint:
        """What all stages say of one outcome."""
        location = self.locations[self.targets.index(target)]
        return joint(done, target, location, max(self.axes.known, 1.0), constant=self.constant)

    def chosen(
        self, counts: Mapping[str, Floats], sd: float, *, coordinates: Coordinates, mu: float, final: bool
    ) -> list[int]:
        """The places of the half widths that noisy counts of residuals call for.

        Parameters
        ----------
        counts, sd : mapping, float
            The noisy counts of each outcome, and the sd of their noise.
        coordinates, mu : Coordinates, float
            The coordinates and the cost of the stage.
        final : bool
            Whether it is the last of three or more.
        """
        size = max(len(coordinates.axes), _FEW)
        least = _ROOT_CLIPPED / math.sqrt(self.rows) if final else 0.0
        most = min(_MOST_CLIPPED, max(_CLIPPED * size * self.most / (self.rows * mu), least))
        return [
            quiet_place(counts[name], most, sd) if final else clipped_place(counts[name], most) for name in self.targets
        ]

    def radii(self, gram: Floats, squares: Floats) -> tuple[float, ...]:
        """For each outcome the length that scores of persons are shortened to, from noisy U'U and e'e of the stage.

        Three times that of a person whose rows all have the typical score, and the same sign.
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
    """A radius in units of the typical length that few rows exceed, by the lengths that a stage counted.

    Parameters
    ----------
    before : ReleasedStage
        The stage.
    rows, mu : float
        The number of rows, and what the radius is for costs.
    """
    own, q = before.event.coordinates, len(before.event.coordinates.axes)
    most = max(_BEYOND * q / (rows * mu), _ROOT_BEYOND / math.sqrt(rows))
    place = quiet_place(before.lengths, min(_MOST_BEYOND, most), before.sd("lengths"))
    edge = own.lengths[place] * SPHERE / own.radius
    return max(SPHERE, min(math.sqrt(_FAR_REACH * rows * mu / q**1.5), edge))


def _widths(location: Location, weight: float) -> list[float]:
    """Half widths that are tried: up to all there can be, or to far beyond the outcome's spread."""
    most = 1 + abs(location.centre)
    widest = min(most, _WIDEST * location.spread) if location.spread else most
    return [weight * widest * _STEP**-k for k in reversed(range(_WIDTHS))]


def _final_widths(location: Location, weight: float) -> list[float]:
    """Half widths that are tried in the end: powers of sqrt(2), whatever the noise, up to all there can be."""
    top = math.floor(2 * math.log2(weight)) + 2
    least = math.floor(2 * math.log2(_NARROWEST * weight * (location.spread or 1.0)))
    return [2.0 ** (k / 2) for k in range(max(least, top - _MOST_WIDTHS + 1), top + 1)]


def clipped_place(counts: Floats, most: float) -> int:
    """The place of the least half width that leaves out at most a share `most` of the residuals, or edge of the rows.

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
    """The same where a share that is less than two sds of its noise counts as none.

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
    """The columns themselves as axes, for rows in a ball: they are about as long as each other already."""
    return Axes(np.eye(len(design)), 1.0)


def mean_alone(design: Sequence[str]) -> Axes:
    """The constant as the only axis, for tables that can tell no more than the mean."""
    return Axes(np.eye(len(design))[:, :1], 0.0)


def is_close(own: Coordinates, expected: Coordinates) -> bool:
    """Whether coordinates are the same but for rounding errors; axes may point either way."""
    shapes = [(c.design, c.outcomes, c.axes, [len(v) for v in (c.lengths, *c.widths)]) for c in (own, expected)]
    if shapes[0] != shapes[1]:
        return False
    (A, t), (B, s) = ((c.P.floats, c.theta.floats) for c in (own, expected))
    G, H = A @ A.T, B @ B.T  # |z|^2 = x'PP'x: turning axes within a plane changes nothing
    sizes = zip(*([c.radius, *c.lengths, *itertools.chain(*c.widths)] for c in (own, expected)), strict=True)
    scale = np.sqrt(np.outer(np.diag(H), np.diag(H)))
    return (
        bool(np.all(np.abs(G - H) <= _CLOSE * np.maximum(scale, np.finfo(float).tiny)))
        and bool(np.all(np.abs(t - s) <= _CLOSE * max(1.0, float(np.abs(s).max(initial=0.0)))))
        and all(math.isclose(a, b, rel_tol=_CLOSE) for a, b in sizes)
    )
