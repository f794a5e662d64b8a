r"""The law of what a release shows, given the table: its likelihood, and what its noise was.

Given what was released before, every event here has a density that the certificate and the table determine. So the
logarithm of the likelihood ratio of two tables is known, and no statistic tells them apart better (Neyman and Pearson);
and with the table that was fitted, the noise can be computed back, in units of its listed sd.

    Gaussian sums        v ~ N(m, sd^2), m the exact sums of the table in the listed coordinates
    a posterior sample   theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I; eigenvalue and norm before it likewise
    output perturbation  C theta ~ N(C theta_hat, I/gamma)
    gradient descent     (theta_t - theta_t+1)/step ~ N(X'X theta_t - X'y, sd_t^2)
    objectives           -(gradient at theta) ~ the law of the noise, times det of the Hessian

What hides rounding errors, a far smaller noise on top, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import gammainc, gammaincinv

from discreet.core.arrays import Floats
from discreet.data.counts import light
from discreet.data.moments import Moments
from discreet.data.reading import Unread
from discreet.data.rows import Rows
from discreet.data.stages import meat, staged
from discreet.data.turned import TurnedRows
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS
from discreet.gate.moments import exact_blocks, exact_counts
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.iterates import AggregateEvent, GradientEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.output import OutputEvent
from discreet.privacy.events.posterior import PosteriorEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent
from discreet.privacy.events.staged import AdaptiveEvent, StagedEvent
from discreet.privacy.losses import Poisson, Squared
from discreet.released.grids import GridValues
from discreet.released.moments import ReleasedMoments
from discreet.released.prior import prior_of
from discreet.released.scouting import scouting_of

SumsEvent = GaussianEvent | PublicOutcomesEvent | StageEvent
"""Events whose values are released sums."""

_SECOND = ("inner", "meat")


@dataclass(frozen=True)
class Density:
    """The logarithm of a density, up to what all tables share, and the noise in units of its listed sd."""

    logarithm: float = 0.0
    noise: Floats | None = None
    known: bool = True
    """Whether the density is known for all tables."""

    def __add__(self, other: Density) -> Density:
        parts = [own.noise for own in (self, other) if own.noise is not None]
        noise = np.concatenate(parts) if parts else None
        return Density(self.logarithm + other.logarithm, noise, self.known and other.known)


def normal(noise: Any, logarithm: float = 0.0) -> Density:
    """Of standard normal noise, times a factor that depends on the table."""
    own = np.ravel(np.asarray(noise, dtype=float))
    return Density(logarithm - float(own @ own) / 2, own)


def normal_scores(b: Floats) -> Floats:
    """Standard normals in the place of spherical Laplace noise: in the same direction, of a length as likely.

    Examples
    --------
    >>> lengths = np.random.default_rng(0).gamma(3, size=4000)
    >>> scores = np.array([normal_scores(np.array([0.0, length, 0.0])) for length in lengths])
    >>> bool(abs((scores**2).sum(axis=1).mean() - 3) < 0.15)
    True
    """
    length, d = float(np.linalg.norm(b)), len(b)
    if length == 0:
        return b
    return b / length * math.sqrt(2 * float(gammaincinv(d / 2, float(gammainc(float(d), length)))))


class Law:
    """Densities of releases, given one made-up table.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._known: dict[Any, Any] = {}

    def sums(self, event: SumsEvent, values: Sequence[Sequence[GridValues]], certificate: Certificate) -> Density:
        """Of noisy sums."""
        bits = 2 * LATTICE_BITS + (0 if certificate.domain.unit.plain else WEIGHT_BITS)
        noise = [
            (released.floats() - np.ldexp(np.ravel(part).astype(float), -bits)) / sd
            for block, own, parts in zip(event.blocks, values, self._parts(event, certificate), strict=True)
            for released, part, sd in zip(own, parts, block.sds * len(own), strict=False)
        ]
        return normal(np.concatenate(noise))

    def coefficients(
        self, event: Event, theta: Floats, released: ReleasedMoments, step: float | None
    ) -> Density | None:
        """Of released coefficients, in units of the mapped columns; None where it is not known."""
        domain = released.domain
        if isinstance(event, GradientEvent):
            return None if step is None else self._descent(event, theta, domain, step)
        if isinstance(event, AggregateEvent):
            return self._blocks(event, theta, domain)
        if isinstance(event, PosteriorEvent | AdaptiveEvent):
            fit = self._ridge(event, domain)
            R = np.linalg.cholesky(event.gamma * fit.hessian)
            before = self._before(event, fit) if isinstance(event, AdaptiveEvent) else Density()
            return before + normal(R.T @ (theta - fit.theta), float(np.log(np.diag(R)).sum()))
        if isinstance(event, OutputEvent):
            fit, d = self._ridge(event, domain), len(event.design)
            C = np.reshape(event.root, (d, d)) if event.root else np.eye(d)
            return self._before(event, fit) + normal(math.sqrt(event.gamma) * C @ (theta - fit.theta))
        return self._objective(event, theta, released) if isinstance(event, ObjectiveEvent) else None

    # ---------------------------------------------------------------- sums

    def _parts(self, event: SumsEvent, certificate: Certificate) -> list[list[Any]]:
        """The exact sums of each block; those that do not depend on the release are summed up once."""
        if isinstance(event, StageEvent):
            return self._staged(event, certificate.domain)
        key = event.blocks, certificate.domain, certificate.declared
        if key not in self._known:
            self._known[key] = [self._plain(block, certificate) for block in event.blocks]
        found: list[list[Any]] = self._known[key]
        return found

    def _plain(self, block: Block, certificate: Certificate) -> list[Any]:
        if block.statistic == "counts":
            domain = certificate.declared or certificate.domain
            (histogram,), _ = light(Unread.of(self._table, domain, 1), block.columns)
            return exact_counts(histogram, block)
        (found,) = exact_blocks(Moments.from_source(self._table, certificate.domain, n_jobs=1), [block])
        return found

    def _staged(self, event: StageEvent, domain: Domain) -> list[list[Any]]:
        table = Unread.of(self._table, domain, 1)
        sums = staged(table, event.coordinates)
        scored = any(block.statistic in _SECOND for block in event.blocks)
        scores = meat(table, event.coordinates, event.chosen, event.radii) if scored else None
        own = {block: scores.integers(block, sums) for block in event.blocks if scores and block.statistic in _SECOND}
        return [own[block] if block in own else sums.integers(block, event.chosen) for block in event.blocks]

    # ---------------------------------------------------------------- coefficients

    def _products(self, design: tuple[str, ...], target: str, domain: Domain) -> tuple[Floats, Floats]:
        """X'X and X'y."""
        key = design, target, domain
        if key not in self._known:
            gram = Moments.from_source(self._table, domain, n_jobs=1).floats(domain.indices([*design, target]))
            self._known[key] = gram[:-1, :-1], gram[:-1, -1]
        found: tuple[Floats, Floats] = self._known[key]
        return found

    def _ridge(self, event: PosteriorEvent | StagedEvent, domain: Domain) -> Ridge:
        return Ridge(*self._products(event.design, event.target, domain), event.penalty)

    def _before(self, event: StagedEvent, fit: Ridge) -> Density:
        """Of the least eigenvalue and the norm, which are released before the coefficients."""
        found = normal((event.eigenvalue - fit.least) / event.eigenvalue_sd)
        if event.log_norm is None or event.norm_sd is None:
            return found
        norm = math.log(event.outcome + event.norm * float(np.linalg.norm(fit.theta)))
        return found + normal((event.log_norm - norm) / event.norm_sd)

    def _descent(self, event: GradientEvent, last: Floats, domain: Domain, step: float) -> Density:
        G, v = self._products(event.design, event.target, domain)
        theta = np.reshape(event.iterates, (-1, len(event.design)))
        moved = (theta - np.vstack([theta[1:], last])) / step
        return normal((moved - (theta @ G - v)) / np.array(event.sds)[:, None])

    def _blocks(self, event: AggregateEvent, theta: Floats, domain: Domain) -> Density | None:
        """Of the mean over blocks of a table of zeros: it is 0, whichever rows they have, so noise is all there is."""
        if any(part.any() for part in self._products(event.design, event.target, domain)):
            return None
        return Density(noise=theta * event.blocks / event.sd, known=False)

    def _objective(self, event: ObjectiveEvent, theta: Floats, released: ReleasedMoments) -> Density | None:
        """Of a minimiser whose penalty is quadratic: of squares, or of classes in the coordinates of a stage."""
        turned, domain, centre = event.coordinates, released.domain, np.zeros(len(theta))
        if turned is None and (event.target is None or not isinstance(event.loss, Squared)):
            return None
        if turned is None:
            column = domain.column_of[event.target or ""]
            rows = Rows(Unread.of(self._table, domain, 1), event.design, column)
            quadratic = np.full(len(theta), event.modulus)
            sums = rows.sums(event.loss, theta, lambda y: y)
        else:
            (column,) = (name for name in domain.columns if name not in {domain.column_of[own] for own in event.design})
            course = scouting_of(released)
            if isinstance(event.loss, Poisson) or course is None:
                return None
            theta = np.asarray(turned.radius * np.linalg.solve(turned.P.floats, theta), dtype=np.float64)
            expected = prior_of(released)
            centre, quadratic = expected.centre, expected.penalties(event, course.rows)
            turned_rows = TurnedRows(Unread.of(self._table, domain, 1), turned, column)
            sums = turned_rows.sums(event.loss, theta, lambda y: (y == 1).astype(float))
        b = -(sums.gradient + quadratic * (theta - centre)) / event.scale
        determinant = float(np.linalg.slogdet(sums.hessian + np.diag(quadratic))[1])
        if event.noise == "gaussian":
            return normal(b, determinant)
        return Density(determinant - float(np.linalg.norm(b)), normal_scores(b))


@dataclass(frozen=True, eq=False)
class Ridge:
    """The exact ridge fit of a table."""

    G: Floats
    v: Floats
    penalty: float

    @cached_property
    def hessian(self) -> Floats:
        """X'X + penalty I."""
        return self.G + self.penalty * np.eye(len(self.v))

    @cached_property
    def theta(self) -> Floats:
        """The coefficients."""
        return np.asarray(np.linalg.solve(self.hessian, self.v), dtype=np.float64)

    @cached_property
    def least(self) -> float:
        """The least eigenvalue of X'X."""
        return float(np.linalg.eigvalsh(self.G)[0])
