r"""The law of what a release shows, given the table: its likelihood, and what its noise was.

Given what was released before, every event here has a density that the certificate and the table determine. So the
logarithm of the likelihood ratio of two tables is known, and no statistic tells them apart better (Neyman and Pearson);
and with the table that was fitted, the noise can be computed back, in units of its listed sd.

    Gaussian sums        v ~ N(m, sd^2), m the exact sums of the table in the listed coordinates
    a posterior sample   theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I; eigenvalue and norm before it likewise
    output perturbation  C theta ~ N(C theta_hat, I/gamma)
    a sample in a ball   the same between -radius and radius, of one coefficient
    gradient descent     (theta_t - theta_t+1)/step ~ N(X'X theta_t - X'y, sd_t^2)
    sampled batches      the same around the clipped gradients of the rows drawn: a mixture over how many of each are
    objectives           -(gradient at theta) ~ the law of the noise, times det of the Hessian: see `minimisers`
    sampled sums, blocks of a table to which no row adds anything: the noise alone, whichever rows are drawn

What hides rounding errors, a far smaller noise on top, is left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import binom

from discreet.audit.densities import Density, normal, spherical, truncated
from discreet.audit.minimisers import Model, Objective
from discreet.core.arrays import Floats
from discreet.data.counts import light
from discreet.data.moments import Moments
from discreet.data.reading import Unread
from discreet.data.rows import Rows
from discreet.data.stages import meat, staged
from discreet.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS
from discreet.gate.batches import GRADIENT_BITS, clipped_gradients
from discreet.gate.statistics import exact_blocks, exact_counts
from discreet.papers.noisy_gradient_descent import RADIUS
from discreet.privacy.events.coefficients import PrintedEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.iterates import AggregateEvent, BatchesEvent, DescentEvent, GradientEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.napp import NappEvent
from discreet.privacy.events.objective import Noise as NoiseLaw
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.output import OutputEvent
from discreet.privacy.events.posterior import BallEvent, PosteriorEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.privacy.events.staged import AdaptiveEvent, StagedEvent
from discreet.privacy.values import GridValues
from discreet.released.certificate import Certificate
from discreet.released.moments import ReleasedMoments

SumsEvent = GaussianEvent | PublicOutcomesEvent | StageEvent
"""Events whose values are released sums."""

_MOST_SUMS = 4000
"""Of different sums that a batch may have."""

_EDGE = 1e-3
"""Iterates that come so near to the ball that they are kept in may have been moved to it."""

_NEVER = 1e-9
"""The chance that iterates of noise alone leave the ball within the steps whose noise is looked at."""


@dataclass(frozen=True)
class Unlisted:
    """What a certificate does not list, as no promise depends on it, and a fit without noise tells.

    Parameters
    ----------
    step : float, optional
        How far gradient descent goes for a gradient of 1.
    lasso : float, optional
        The weight of an l1 norm in an objective.
    """

    step: float | None = None
    lasso: float | None = None


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

    def sampled(self, event: SampledEvent, values: Sequence[Sequence[GridValues]], certificate: Certificate) -> Density:
        """Of noisy sums over a secret sample: the noise of those to which no row adds anything."""
        noise = []
        for block, own, (diagonal, _) in zip(event.blocks, values, self._parts(event, certificate), strict=True):
            empty = np.ravel(diagonal) == 0
            i, j = np.triu_indices(len(empty), 1)
            for released, zero, sd in zip(own, (empty, empty[i] | empty[j]), block.sds, strict=True):
                noise.append(released.floats()[zero] / sd)
        return Density(noise=np.concatenate(noise), known=False)

    def coefficients(self, event: Event, model: Model, released: ReleasedMoments, unlisted: Unlisted) -> Density | None:
        """Of released coefficients, in units of the mapped columns; None where it is not known."""
        domain, step, theta = released.domain, unlisted.step, model.theta
        if isinstance(event, GradientEvent):
            return None if step is None else self._descent(event, theta, domain, step)
        if isinstance(event, BatchesEvent):
            return None if step is None else self._batches(event, theta, domain, step)
        if isinstance(event, AggregateEvent):
            return self._blocks(event, theta, domain)
        if isinstance(event, PosteriorEvent | AdaptiveEvent | PrintedEvent):
            return self._sample(event, theta, domain)
        if isinstance(event, BallEvent):
            return self._in_ball(event, theta, domain)
        if isinstance(event, OutputEvent):
            fit, d = self._ridge(event, domain), len(event.design)
            C = np.reshape(event.root, (d, d)) if event.root else np.eye(d)
            return self._before(event, fit) + normal(math.sqrt(event.gamma) * C @ (theta - fit.theta))
        if isinstance(event, NappEvent):
            return self._napp(event, theta, domain)
        return self._objective(event, model, released, unlisted) if isinstance(event, ObjectiveEvent) else None

    def unlisted(self, event: Event, model: Model, released: ReleasedMoments) -> Unlisted:
        """What a release of this table without noise tells beside its certificate."""
        if isinstance(event, DescentEvent):
            _, v = self._products(event.design, event.target, released.domain)
            if isinstance(event, BatchesEvent):
                kinds = self._kinds(event, released.domain)
                v = -kinds.counts @ _gradients(kinds, event, np.zeros((1, len(v))))[0]
            first = np.vstack([np.reshape(event.iterates, (-1, len(v))), model.theta])[1]
            k = int(np.argmax(np.abs(v)))
            return Unlisted(step=float(first[k] / v[k]) if v[k] != 0 else None)
        if isinstance(event, ObjectiveEvent) and event.coordinates is None:
            own = Objective.of(self._table, event, model, released)
            return Unlisted(lasso=None if own is None else own.lasso)
        return Unlisted()

    # ---------------------------------------------------------------- sums

    def _parts(self, event: SumsEvent | SampledEvent, certificate: Certificate) -> list[list[Any]]:
        """The exact sums of each block; those that do not depend on the release are summed up once."""
        if isinstance(event, StageEvent):
            return self._staged(event, certificate.domain)
        key = event.blocks, certificate.domain, certificate.declared
        if key not in self._known:
            self._known[key] = [self._plain(block, certificate) for block in event.blocks]
        found: list[list[Any]] = self._known[key]
        return found

    def _plain(self, block: Block, certificate: Certificate) -> list[Any]:
        if block.kind.column(block) is not None:
            domain = certificate.declared or certificate.domain
            (histogram,), _ = light(Unread.of(self._table, domain, 1), block.columns)
            return exact_counts(histogram, block)
        (found,) = exact_blocks(Moments.from_source(self._table, certificate.domain, n_jobs=1), [block])
        return found

    def _staged(self, event: StageEvent, domain: Domain) -> list[list[Any]]:
        table = Unread.of(self._table, domain, 1)
        sums = staged(table, event.coordinates)
        scored = any(block.kind.second_reading for block in event.blocks)
        scores = meat(table, event.coordinates, event.chosen, event.radii) if scored else None
        own = {block: scores.integers(block) for block in event.blocks if scores and block.kind.second_reading}
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

    def _ridge(self, event: PosteriorEvent | StagedEvent | PrintedEvent, domain: Domain) -> Ridge:
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

    def _batches(self, event: BatchesEvent, last: Floats, domain: Domain, step: float) -> Density | None:
        """Of moves of the iterates: around the sums of clipped gradients of so many of each kind of row."""
        kinds = self._kinds(event, domain)
        if math.prod(int(n) + 1 for n in kinds.counts) > _MOST_SUMS:
            return None
        theta, d = np.reshape(event.iterates, (-1, len(event.design))), len(event.design)
        points = np.vstack([theta, last])
        moves = (points[:-1] - points[1:]) / step
        drawn, chances = kinds.samples(event.rate)
        z = (moves[:, None] - drawn @ _gradients(kinds, event, theta)) / event.sd
        logarithm = float(np.sum(logsumexp(chances - np.sum(z * z, axis=2) / 2, axis=1)))
        radius = RADIUS * event.outcome / event.norm * math.sqrt(d)
        inside = bool((np.linalg.norm(points, axis=1) < radius - _EDGE).all())
        free = int((radius / (step * event.sd)) ** 2 / (2 * d * math.log(4 * d / _NEVER)))
        still = not kinds.X.any() and free > 0
        return Density(logarithm, np.ravel(moves[:free] / event.sd) if still else None, inside)

    def _kinds(self, event: BatchesEvent, domain: Domain) -> Kinds:
        key = "kinds", event.design, event.target, domain
        if key not in self._known:
            rows = Rows(Unread.of(self._table, domain, 1), event.design, domain.column_of[event.target])
            every = np.vstack(rows.each(lambda X, y: np.column_stack([X, y])))
            own, counts = np.unique(every, axis=0, return_counts=True)
            self._known[key] = Kinds(own[:, :-1], own[:, -1], counts)
        found: Kinds = self._known[key]
        return found

    def _sample(
        self, event: PosteriorEvent | AdaptiveEvent | PrintedEvent, theta: Floats, domain: Domain
    ) -> Density | None:
        """Of a posterior sample; a paper's code draws several coefficients with another covariance than it says."""
        if isinstance(event, PrintedEvent) and len(theta) > 1:
            return None
        fit = self._ridge(event, domain)
        R = np.linalg.cholesky(event.gamma * fit.hessian)
        found = normal(R.T @ (theta - fit.theta), float(np.log(np.diag(R)).sum()))
        if isinstance(event, AdaptiveEvent):
            return self._before(event, fit) + found
        before = isinstance(event, PrintedEvent) and event.eigenvalue_sd is not None  # it was not listed
        return replace(found, known=not before)

    def _in_ball(self, event: BallEvent, theta: Floats, domain: Domain) -> Density | None:
        """Of one coefficient that is kept between -radius and radius."""
        if len(theta) > 1:
            return None
        (((G,),), (v,)) = self._products(event.design, event.target, domain)
        precision = event.gamma * (G + event.penalty)
        mean, sd = (event.gamma * v / precision, precision**-0.5) if precision > 0 else (0.0, math.inf)
        return truncated(float(theta[0]), float(mean), float(sd), event.radius)

    def _napp(self, event: NappEvent, theta: Floats, domain: Domain) -> Density | None:
        """Of NAPP-ERM whose weights are those of ridge regression, with as many augmented rows as one likes."""
        plain = (event.loss, event.regularizer, event.selection) == ("linear", "ridge", "none")
        if not plain or event.augmented is not None or event.rounds:
            return None
        G, v = self._products(event.design, event.target, domain)
        slopes = np.array([name != CONSTANT for name in event.design])
        quadratic = np.diag(np.maximum(event.modulus, np.where(slopes, 2 * event.strength, 0.0)))
        b = (v - (G + quadratic) @ theta) / event.scale
        return spherical(b, float(np.linalg.slogdet(G + quadratic)[1]), cast(NoiseLaw, event.noise))

    def _objective(
        self, event: ObjectiveEvent, model: Model, released: ReleasedMoments, unlisted: Unlisted
    ) -> Density | None:
        """Of a minimiser: with the penalty of a stage, one that is quadratic alone, or one that a fit has told."""
        quadratic = event.coordinates is not None or event.target is not None
        lasso = 0.0 if quadratic else unlisted.lasso
        if lasso and model.weights is not None:  # those of a pilot weigh it as well
            return None
        own = None if lasso is None else Objective.of(self._table, event, model, released)
        return None if own is None or lasso is None else own.density(lasso)


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different rows of a table, and how many there are of each."""

    X: Floats
    y: Floats
    counts: NDArray[np.int64]

    def samples(self, rate: float) -> tuple[Floats, Floats]:
        """How many of each may be drawn, a line for each possibility, and the logarithms of their chances."""
        drawn = np.array(list(itertools.product(*(range(n + 1) for n in self.counts))), dtype=float)
        chances: Floats = np.asarray(binom.logpmf(drawn, self.counts, rate), dtype=np.float64)
        return drawn, chances.sum(axis=1)


def _gradients(kinds: Kinds, event: BatchesEvent, theta: Floats) -> Floats:
    """The clipped gradients of each kind of row at each of some points."""
    clip = event.clip - math.sqrt(len(event.design)) * 2.0 ** -(GRADIENT_BITS + 1)
    found = [clipped_gradients(kinds.X, kinds.y, at, clip).astype(float) for at in theta]
    return np.asarray(np.ldexp(found, -GRADIENT_BITS), dtype=np.float64)


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
