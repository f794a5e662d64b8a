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
from discreet.domain.directions import Directions
from discreet.domain.shrinkage import Shrinkage
from discreet.domain.sketch import SketchCoordinates
from discreet.privacy.values import ReleasedStage
from discreet.recipes.rules import NEWEST, RULES, Rules
from discreet.solve.axes import Axes, capped, whitened
from discreet.solve.joint import Joint, joint
from discreet.solve.location import Location
from discreet.solve.outcome import shares
from discreet.statistics.row_norms import RowNormCounts

FEWEST, FEWEST_EACH, NARROW = 10.0, 0.5, 64
"""Below these values of n mu and n mu/d, release only the mean. In tables of more than this many columns a third stage
is not worth its time."""

SPHERE = 0.25
"""Smallest clipping radius of a stage, in units of the typical row norm: nearly all rows are scaled to it."""

_REACH, _SCOUT_REACH = 0.1, 8.0
"""Radius of the last of two stages, in units of the typical row norm: sqrt(_REACH n mu/q^1.5). That of the stages
before the last is at most _SCOUT_REACH: hardly a row is longer, and noise grows with the radius."""

_MOST_BEYOND = 0.5
"""Never more than this share of the rows exceeds the last radius."""

_WIDTHS, _STEP, _WIDEST = 10, 1.45, 12.0
"""Number of candidate half widths for clipping residuals, the ratio of successive ones, and the largest in units of the
outcome's spread."""

_MOST_WIDTHS = 32
"""Maximum number of candidate half widths in the last of three or more stages."""

_CLIPPED, _MOST_CLIPPED, _FEW = 3.0, 0.3, 7
"""A share 3 q/(n mu) of the residuals may be clipped, but for the last of three or more stages, and never more than
0.3; a number of axes q below 7 counts as 7."""

_SCORES, _LEAST_SCORE = 3.0, 2.0**-8
"""Bound on the norm of a person's scores, in units of the typical norm; and its minimum, as a share of the largest
possible norm."""

_CLOSE = 1e-6
"""Relative tolerance for recomputed coordinates: processors round differently."""


def number_of_stages(n_mu: float, size: int, *, constant: bool, rules: Rules) -> int:
    """Return the best number of stages; 0 if only the mean is asked for, or can be estimated.

    Parameters
    ----------
    n_mu : float
        The number of rows times mu.
    size : int
        The number of coefficients, without the levels that the others of their category imply.
    constant : bool
        Whether the intercept is among them.
    rules : Rules
        The rules of the release.

    Examples
    --------
    >>> from discreet.recipes.rules import RULES
    >>> [number_of_stages(n_mu, 8, constant=True, rules=RULES[1]) for n_mu in (5.0, 300.0, 3000.0)]
    [0, 2, 3]
    >>> [number_of_stages(n_mu, 34, constant=True, rules=RULES[1]) for n_mu in (20.0, 15.0)]
    [2, 0]
    """
    few = constant and (n_mu < max(FEWEST, FEWEST_EACH * size) or size == 1)
    several = n_mu >= rules.several * size**1.5 and size <= NARROW
    return 0 if few else 3 if several else 2


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
    rules : Rules
        The rules of the release.
    gaps : array, optional
        How far rows of rare groups lie from the mean, along the columns; see `rare_gaps`.
    many : bool
        Whether the last of three or more stages is near least squares; see `Rules.many`.
    """

    design: tuple[str, ...]
    targets: tuple[str, ...]
    locations: tuple[Location, ...]
    axes: Axes
    most: int = 1
    rules: Rules = RULES[NEWEST]
    gaps: Floats | None = None
    many: bool = True

    @property
    def rows(self) -> float:
        """The number of rows."""
        return self.locations[0].rows

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def coordinates(
        self, done: Sequence[ReleasedStage], mu: float, count: int, norms: ReleasedStage | None = None
    ) -> Coordinates:
        """Return the coordinates of the next stage.

        Parameters
        ----------
        done : sequence of ReleasedStage
            The stages so far.
        mu : float
            The cost of the next stage.
        count : int
            The total number of stages.
        norms : ReleasedStage, optional
            The counts of row norms that the last of three or more stages has its radius from.
        """
        axes, left = self._axes(done), count - len(done)
        typical, final = self._typical(axes), left == 1 and count >= 3 and self.many
        reach = self._reach(norms, mu, axes.P.shape[1], left, count)
        weight, least = min(1.0, reach), self.rules.narrowest
        widths = [_final_widths(own, weight, least) if final else _widths(own, weight) for own in self.locations]
        counted = left == 2 and count >= 3 and not self.rules.norms
        row_norms = [typical * edge for edge in self.rules.edges] if counted else []
        theta = self.theta(done)
        sizes = reach * typical, widths, row_norms
        return Coordinates.rounded(self.design, self.targets, axes.P, theta, *sizes, self.most)

    def norm_coordinates(self, done: Sequence[ReleasedStage]) -> Coordinates:
        """Return the coordinates of the last stage, with edges between which row norms are counted and no outcome."""
        axes = self._axes(done)
        edges = [self._typical(axes) * edge for edge in self.rules.edges]
        none = np.zeros((len(self.design), 0))
        return Coordinates.rounded(self.design, (), axes.P, none, edges[0], [], edges, self.most)

    def _typical(self, axes: Axes) -> float:
        """Return the typical row norm along some axes."""
        return math.sqrt(max(axes.known + self.constant, 1.0))

    def _reach(self, norms: ReleasedStage | None, mu: float, q: int, left: int, count: int) -> float:
        """Return the radius in units of the typical row norm; that of the last stage by counts of row norms, if any."""
        n_mu = self.rows * mu / self.most
        if norms is not None:
            return far_reach(norms, self.rows, mu / self.most, self.rules)
        if left == 1:
            return max(SPHERE, math.sqrt(_REACH * n_mu / q**1.5))
        factor, power = self.rules.scout if count > 2 else self.rules.scout_of_two
        return min(max(SPHERE, factor * math.pow(n_mu / q**1.5, power)), _SCOUT_REACH)

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
        size, doubt = max(self.axes.known, 1.0), self.rules.doubt if self.many else 1.0
        return joint(done, target, location, size, constant=self.constant, doubt=doubt)

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
        least = self.rules.root_clipped / math.sqrt(self.rows) if final else 0.0
        clipped, limit = (self.rules.clipped, self.rules.most_clipped) if final else (_CLIPPED, _MOST_CLIPPED)
        most = min(limit, max(clipped * size * self.most / (self.rows * mu), least))
        return [
            quiet_place(counts[name], most, sd, self.rules.noise) if final else clipped_place(counts[name], most)
            for name in self.targets
        ]

    def radii(self, found: Mapping[str, Floats]) -> tuple[float, ...]:
        """Return for each outcome the bound on the norm of persons' scores, from noisy U'U and e'e of the stage."""
        return score_radii(float(np.trace(found["gram"])) / self.rows, found["squares"] / self.rows, self.most)

    def _axes(self, done: Sequence[ReleasedStage]) -> Axes:
        if not done:
            return self._capped(self.axes)
        stage = done[-1]
        P, gram, sd = stage.event.coordinates.P.floats, stage.gram, stage.sd("gram")
        return self._capped(whitened(P, gram, sd, constant=self.constant))

    def _capped(self, axes: Axes) -> Axes:
        """Return the axes with rows of rare groups not much further out than others."""
        return axes if self.gaps is None else capped(axes, self.gaps, self._typical(axes))


def score_radii(u: float, e: Floats, most: int) -> tuple[float, ...]:
    """Return for each outcome the bound on the norm of the scores of persons, who count for at most so many rows.

    It is three times the norm for a person whose rows all have the typical score, with the same sign; `u` and `e` are
    the means of |u|^2 and of e^2 of each outcome.

    Examples
    --------
    >>> score_radii(0.25, np.array([0.04, 4.0]), 2)
    (0.6000000000000001, 2.0)
    """
    typical = np.sqrt(np.maximum(u, 0.0) * np.maximum(e, 0.0))
    return tuple((most * np.clip(_SCORES * typical, _LEAST_SCORE, 1.0)).tolist())


def far_reach(norms: ReleasedStage, rows: float, mu: float, rules: Rules) -> float:
    """Return a radius in units of the typical row norm that few rows exceed, from the row norms counted in a stage.

    Parameters
    ----------
    norms : ReleasedStage
        The stage.
    rows, mu : float
        The number of rows, and the cost of the release that uses the radius.
    rules : Rules
        The rules of the release.
    """
    own, q = norms.event.coordinates, len(norms.event.coordinates.axes)
    most = max(rules.beyond * q / (rows * mu), rules.root_beyond / math.sqrt(rows))
    place = quiet_place(norms.row_norms, min(_MOST_BEYOND, most), norms.sd(RowNormCounts.name), rules.noise)
    edge = own.row_norms[place] / own.row_norms[0] * rules.edges[0]
    return max(SPHERE, min(math.sqrt(rules.reach * rows * mu / q**1.5), edge))


def _widths(location: Location, weight: float) -> list[float]:
    """Return candidate half widths, up to the largest possible residual or far beyond the outcome's spread."""
    most = 1 + abs(location.centre)
    widest = min(most, _WIDEST * location.spread) if location.spread else most
    return [weight * widest * _STEP**-k for k in reversed(range(_WIDTHS))]


def _final_widths(location: Location, weight: float, narrowest: float) -> list[float]:
    """Return candidate half widths of the last stage: powers of sqrt(2), whatever the noise, up to the largest."""
    top = math.floor(2 * math.log2(weight)) + 2
    least = math.floor(2 * math.log2(narrowest * weight * (location.spread or 1.0)))
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


def quiet_place(counts: Floats, most: float, sd: float, times: float) -> int:
    """Return the index as `clipped_place` does, but take shares below so many times the sd of their noise as zero.

    Examples
    --------
    >>> quiet_place(np.array([900.0, 80.0, 12.0, 5.0]), 0.001, 10.0, 2.0)
    1
    """
    total, beyond = max(float(counts.sum()), 1.0), np.cumsum(counts[::-1])[::-1][1:]
    noise = times * sd * np.sqrt(np.arange(len(beyond), 0, -1))
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
    models = [(type(c), *(getattr(c, name, None) for name in ("link", "exposure", "width"))) for c in (own, expected)]
    if shapes[0] != shapes[1] or models[0] != models[1]:
        return False
    lists = ([c.radius, getattr(c, "largest", 0.0), *c.row_norms, *itertools.chain(*c.widths)] for c in (own, expected))
    sizes = zip(*lists, strict=True)
    t, s = own.theta.floats, expected.theta.floats
    return (
        _are_close_axes(own.P, expected.P)
        and _is_close_shrinkage(own.shrinkage, expected.shrinkage)
        and _is_close_sketch(own, expected)
        and bool(np.all(np.abs(t - s) <= _CLOSE * max(1.0, float(np.abs(s).max(initial=0.0)))))
        and all(math.isclose(a, b, rel_tol=_CLOSE) for a, b in sizes)
    )


def _are_close_axes(own: Directions, expected: Directions) -> bool:
    """Whether axes agree up to rounding errors and rotation: |z|^2 = x'PP'x."""
    if own == expected:
        return True
    if own.along or expected.along:
        alike = own.along == expected.along
        return alike and bool(np.allclose(own.scaled, expected.scaled, rtol=_CLOSE, atol=_CLOSE))
    A, B = own.floats, expected.floats
    G, H = A @ A.T, B @ B.T
    scale = np.sqrt(np.outer(np.diag(H), np.diag(H)))
    return bool(np.all(np.abs(G - H) <= _CLOSE * np.maximum(scale, np.finfo(float).tiny)))


def _is_close_shrinkage(own: Shrinkage | None, expected: Shrinkage | None) -> bool:
    """Whether directions that are shrunk, by how much, and the radius agree."""
    if own is None or expected is None or own == expected:
        return own is expected or own == expected
    sizes = np.array([*own.shares, own.radius]), np.array([*expected.shares, expected.radius])
    alike = len(sizes[0]) == len(sizes[1]) and bool(np.allclose(*sizes, rtol=_CLOSE, atol=_CLOSE))
    return alike and _are_close_directions(own.directions, expected.directions)


def _is_close_sketch(own: Coordinates, expected: Coordinates) -> bool:
    """Whether two sketches agree, if they are sketches."""
    if not isinstance(own, SketchCoordinates) or not isinstance(expected, SketchCoordinates):
        return type(own) is type(expected)
    assert own.directions is not None
    assert expected.directions is not None
    close = math.isclose(own.reach, expected.reach, rel_tol=_CLOSE)
    return close and _are_close_directions(own.directions, expected.directions)


def _are_close_directions(own: Directions, expected: Directions) -> bool:
    """Whether orthonormal directions agree, up to rounding errors and their signs."""
    if own.length != expected.length or len(own.exponents) != len(expected.exponents):
        return False
    signs = np.sign(np.sum(own.scaled * expected.scaled, axis=0))
    return bool(np.all(np.abs(own.scaled * signs - expected.scaled) <= _CLOSE))
