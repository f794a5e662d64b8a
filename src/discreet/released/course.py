"""The course of a release in private coordinates: what each stage looks like, from what was released before it.

The gate follows it while it releases, and whoever holds the release can follow it again: every matrix, radius and half
width of a stage is a function of earlier noisy values and of public facts. ``docs/mathematics``, section 12.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.errors import NotReleasedError
from discreet.privacy.values import ReleasedStage
from discreet.solve.axes import Axes, standardised, whitened
from discreet.solve.joint import Joint, joint
from discreet.solve.location import WHOLE, Counts, Location, locate, rows_of
from discreet.solve.outcome import shares

if TYPE_CHECKING:
    from discreet.privacy.events.gaussian import Block
    from discreet.released.moments import ReleasedMoments

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
class Course:
    """Where stages start from, and where they go.

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
        self, counts: Mapping[str, Floats], coordinates: Coordinates, mu: float, sd: float, *, final: bool
    ) -> list[int]:
        """The places of the half widths that noisy counts of residuals call for.

        Parameters
        ----------
        counts : mapping
            Of each outcome.
        coordinates : Coordinates
            Those of the stage.
        mu, sd : float
            What the stage costs, and the noise of its counts.
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

    def strays(self, stages: Sequence[ReleasedStage]) -> str | None:
        """How listed stages differ from this course, if they do."""
        for k, stage in enumerate(stages):
            event = stage.event
            own, expected = event.coordinates, self.coordinates(stages[:k], event.mu, len(stages))
            if not is_close(own, expected):
                return f"the coordinates of stage {k + 1} do not follow from what was released before it"
            counts = {name: stage.counts(name) for name in self.targets}
            final = k + 1 == len(stages) >= 3
            if list(event.chosen) != self.chosen(counts, own, event.mu, stage.sd("counts"), final=final):
                return f"the half widths of stage {k + 1} do not follow from its counts"
            if event.radii and not np.allclose(event.radii, self.radii(stage.gram, stage.squares), rtol=_CLOSE, atol=0):
                return f"the lengths of scores in stage {k + 1} do not follow from its sums"
        return None


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


def course_of(released: ReleasedMoments) -> Course:
    """The course that a release in private coordinates took, from its values alone."""
    if not released.stages:
        raise NotReleasedError("This release has no stages.")
    own = released.stages[0].event.coordinates
    constant = own.design[0] == CONSTANT
    locations = tuple(_location(released, name, centred=constant) for name in own.outcomes)
    names = tuple(name for name in own.design if name != CONSTANT)
    held = {block.statistic: (block, array) for block, array in released.arrays.items() if block.rows == names}
    if "diagonal" in held and "sums" in held:
        (sums, x), (squares, xx) = held["sums"], held["diagonal"]
        axes = standardised(x, xx, (sums.sd, squares.sd), locations[0].rows, constant=constant)
    else:
        axes = mean_alone(own.design) if len(own.axes) < len(own.design) else as_declared(own.design)
    return Course(own.design, own.outcomes, locations, axes, own.most)


def _location(released: ReleasedMoments, target: str, *, centred: bool) -> Location:
    counts = [
        Counts(array, block.span or WHOLE, block.sd)
        for block, array in released.arrays.items()
        if block.statistic == "counts" and block.columns == (target,)
    ]
    rows = _rows(released)
    if not counts and (centred or rows is None):
        raise NotReleasedError(f"This release holds no counts of {target!r}.")
    return locate(counts, rows or rows_of(counts[0]), centred=centred)


def _rows(released: ReleasedMoments) -> tuple[float, float] | None:
    """The number of rows and the sd of its noise, where it was declared or released."""
    if (declared := released.certificate.counted_rows) is not None:
        return float(declared), 0.0
    alone: list[tuple[Block, Floats]] = [
        (block, array)
        for block, array in released.arrays.items()
        if block.statistic == "sums" and block.rows == (CONSTANT,)
    ]
    return (float(alone[0][1][0]), alone[0][0].sd) if alone else None


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
