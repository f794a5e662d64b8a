"""DPLinearRegression: the default, noise-aware linear regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.moments import Histogram, Moments, counted, summed
from discreet.data.reading import Unread
from discreet.domain import Domain, Numeric
from discreet.errors import DiscreetWarning, DomainError, ParameterError
from discreet.gate.moments import Counts, Want, release_counted
from discreet.models.base import Asked
from discreet.models.moments import MomentsRegressor
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee
from discreet.released.equations import NormalEquations
from discreet.released.solve import outcome
from discreet.released.solve.noise_aware import noise_aware
from discreet.results.private_moments import PrivateMoments

SHARES = {"counts": 0.06, "gram": 0.40, "cross": 0.50, "squares": 0.04}
"""How mu^2 is split."""

LOOSE = 0.01
"""Bounds are far too wide where the outcome's mean square is below this share of the largest possible."""


@dataclass(kw_only=True, eq=False, repr=False)
class DPLinearRegression(MomentsRegressor):
    """Private linear regression that knows its own noise: the default, and the most accurate.

    Noisy counts of the outcome, for 6 % of the budget, tell how far its bounds can be narrowed before clipping costs
    more than the noise that it saves. Then X'X, X'y and y'y are released once, and the coefficients are the posterior
    mean under a prior whose scale the release itself gives (`released.solve.noise_aware`). With much data nothing is
    clipped, nothing is shrunk, and the result is that of ordinary least squares.

    Several outcomes, as columns of y or as a list of names in `fit_source`, are fitted as by `discreet.ReuseCov`, from
    one release and with bounds as declared; ``coef_`` then has a row and ``intercept_`` an entry for each.

    Parameters
    ----------
    {parameters}
    narrow : bool
        Whether the outcome's bounds may be narrowed. Then all rows are read twice: once before any noise is drawn,
        which finds bad data, and once with the narrower bounds. `fit_moments`, which cannot read rows, uses the
        bounds as declared.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (5000, 2))
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.certificate_.guarantee.status, bool(np.abs(model.coef_ - 1).max() < 0.5)
    ('verified', True)
    """

    narrow: bool = True

    levels: ClassVar[bool] = True
    many_outcomes: ClassVar[bool] = True

    def _check(self) -> Guarantee:
        checks.choice("narrow", self.narrow, (True, False))
        return super()._check()

    def _fit_rows(self, table: Unread, asked: Asked) -> Self:
        if asked.several:
            return self._fit_outcomes(summed(table, asked.targets), asked)
        target, domain = asked.target, table.domain
        column = domain.columns.get(target)
        own = isinstance(column, Numeric) and not column.factors and target not in domain.norm_columns
        if not (self.narrow and own):
            return super()._fit_rows(table, asked)
        domain.design_names(asked.features)
        if table.reader.once:
            raise ParameterError(
                "A stream can be read only once, and this method reads all rows again where bounds are narrowed. "
                "Give a table or a file, or choose narrow=False."
            )
        histogram, exact = counted(table, target)

        def moments(bounds: Domain) -> Moments:
            return exact if bounds == domain else summed(replace(table, domain=bounds))

        return self._fit_counted(histogram, moments, asked)

    def _fit_counted(self, histogram: Histogram, moments: Callable[[Domain], Moments], asked: Asked) -> Self:
        """Fit to the counts of an outcome, and to moments for the bounds that these call for."""
        domain, target, promise, loose = histogram.domain, histogram.column, asked.promise, False
        exact = moments(domain)  # before any noise is drawn, to find bad data

        def narrowed(counts: Counts) -> Moments:
            nonlocal loose
            bounds, loose = self._narrowed(domain, target, asked.features, promise, counts)
            return moments(bounds)

        wants = self._wanted(domain, asked)
        given = histogram, exact, wants, SHARES["counts"], narrowed
        self._fit_released(release_counted(*given, self._session(promise)), asked)
        if loose:  # said only now: it follows from the counts, so it is covered by the certificate that lists them
            warnings.warn(
                f"The bounds of {target!r} are at least four times as wide as they need be. Noise was fitted to "
                "narrower ones, found privately; tighter bounds from public knowledge would serve better.",
                DiscreetWarning,
                stacklevel=4,
            )
        return self

    def _narrowed(
        self, domain: Domain, target: str, features: list[str], promise: Guarantee, counts: Counts
    ) -> tuple[Domain, bool]:
        """The domain with the outcome's bounds as narrow as they are worth, and whether they were far too wide."""
        found = counts.floats()
        n = float(self.rows) if self.rows is not None else max(float(found.sum()), 1.0)
        mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta)
        clipped = outcome.clipped_share(len(domain.design(features)), n, mu)
        trusted = outcome.trusted(counts.event.blocks[0].sd, n)
        symmetric = not (domain.intercept and trusted)
        low, high = outcome.narrow(outcome.shares(found, n), clipped, symmetric=symmetric)
        narrowed = with_bounds(domain, target, low, high)
        return narrowed, trusted and narrowed != domain and high - low <= 0.5

    def _wants(self, design: tuple[str, ...], target: str) -> list[Want]:
        return [
            Want("gram", design, (), SHARES["gram"]),
            Want("cross", design, (target,), SHARES["cross"]),
            Want("squares", (), (target,), SHARES["squares"]),
        ]

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Floats:
        if e.yy is not None and e.s_yy is not None and e.yy + 2 * e.s_yy < LOOSE * e.n:
            warnings.warn(
                f"The released y'y says that {e.target!r} fills less than a tenth of its bounds: most of the noise is "
                "for room that is not needed. Give tighter bounds, or let them be narrowed (narrow=True).",
                DiscreetWarning,
                stacklevel=5,
            )
        return noise_aware(e)[:, 0]


def with_bounds(domain: Domain, column: str, low: float, high: float) -> Domain:
    """The domain with one number's bounds moved inwards to (low, high), in its mapped units.

    It stays as it is where noise put (low, high) outside the bounds, or where they are too close for floating point.
    """
    spec = domain.columns[column]
    if not isinstance(spec, Numeric):
        raise TypeError("only numbers have bounds")
    c, h = domain.map(column)
    least = spec.low if low == -1 else max(spec.low, c + h * low)
    most = spec.high if high == 1 else min(spec.high, c + h * high)
    try:
        return domain.with_column(column, replace(spec, low=least, high=most))
    except DomainError:
        return domain
