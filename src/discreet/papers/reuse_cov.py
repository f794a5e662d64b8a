"""ReuseCov: many outcomes, one noisy X'X for all of them (paper 004, PRIMO)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.progress import Progress
from discreet.data.inputs import design_names, feature_names
from discreet.data.moments import Moments, outcome_names, summed
from discreet.data.public_outcomes import PublicOutcomes
from discreet.data.reading import Unread
from discreet.domain.contrasts import every_level
from discreet.errors import ParameterError
from discreet.gate.outcomes import OutcomesWant, Sampled, release_events, release_outcomes
from discreet.models.base import Asked
from discreet.models.moments import MomentsRegressor
from discreet.papers.reuse_cov_published import printed_events
from discreet.papers.reuse_cov_wiring import projected, split_budget, with_squares
from discreet.privacy import sensitivity
from discreet.privacy.guarantee import Guarantee
from discreet.released.equations import normal_equations
from discreet.results.models import Solve


@dataclass(kw_only=True, eq=False, repr=False)
class ReuseCov(MomentsRegressor):
    """Linear models of many outcomes on the same features, from one release.

    X'X is released once, whatever the number l of outcomes, and X'Y with noise for the norm of all outcomes of a row
    together; so the noise grows with sqrt(l) at most, and that of X'X, which often matters most, not at all. One
    factorisation serves all outcomes. ``fit(X, Y)`` takes Y of any number of columns; ``coef_`` has a row for each.

    Parameters
    ----------
    {parameters}
    association : {"gaussian", "projection"}
        How X'Y is released. The projection is for outcomes that are **public**, and needs ``neighbors="replace-one"``:
        only the features of a person are then protected, not the outcomes. It drops noise that no features could cause,
        which helps when there are many outcomes for the number of rows.
    subsample : float, optional
        The share of the rows from which X'X is computed; all of them by default. It saves time where there are very
        many features, and costs accuracy. The sample is secret, and its effect on privacy is counted exactly.
    solve : {"noise-aware", "ridge", "cg"}
        The solve of `DPLinearRegression`; or the paper's ridge regression, directly or by conjugate gradients.
    penalty : float, optional
        Of ridge regression, for the mapped columns; the paper's lambda by default.
    gram_share : float, optional
        The share of the budget (of mu^2) for X'X; by default it follows from the numbers of features and outcomes and
        from the bounds, all public.
    published : {None, "004"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (20_000, 2))
    >>> Y = X @ rng.uniform(0, 1, (2, 30))
    >>> model = ReuseCov(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, Y)
    >>> model.coef_.shape, model.intercept_.shape, model.certificate_.guarantee.status
    ((30, 2), (30,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("004",)
    paper_neighbors: ClassVar[Neighbors] = "replace-one"
    many_outcomes: ClassVar[bool] = True

    association: Literal["gaussian", "projection"] = "gaussian"
    subsample: float | None = None
    solve: Solve = "noise-aware"
    penalty: float | None = None
    gram_share: float | None = None
    published: str | None = None

    # ---------------------------------------------------------------- scikit-learn's interface

    def fit_source(
        self,
        source: Any,
        targets: Sequence[str] | str,
        features: Sequence[str] | None = None,
        *,
        progress: bool | Progress = False,
    ) -> Self:
        """Read rows from a file, a frame or a table, release, and fit a model to every outcome.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation
            The private rows; `domain` must be given.
        targets : sequence of str
            The outcomes.
        features : sequence of str, optional
            The features; all other declared columns by default.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        return super().fit_source(source, targets, features, progress=progress)

    def fit_moments(
        self, moments: Moments, targets: Sequence[str] | str | None = None, features: Sequence[str] | None = None
    ) -> Self:
        """Release from exact moments that were summed up before, and fit a model to every outcome.

        Parameters
        ----------
        moments : Moments
            Exact moments of the private table, best with `targets` named. Their domain is used, its intercept too;
            `domain`, `bounds_X`, `bounds_y`, `data_norm` and `fit_intercept` of this estimator are not.
        targets : sequence of str, optional
            The outcomes; those of the moments by default.
        features : sequence of str, optional
            The features; all other columns by default.
        """
        promise = self._check()
        if self.association == "projection" or self.subsample is not None:
            raise ParameterError("The projection and subsample need the rows, not moments: use fit or fit_source.")
        if isinstance(targets, str):
            return super().fit_moments(moments, targets, features)
        if not isinstance(moments, Moments):
            raise ParameterError("moments must be Moments: sum up the table first, with Moments.from_source(...).")
        targets = moments.targets if targets is None else targets
        names = feature_names(moments.domain, self._outcome_columns(moments.domain, targets), features)
        return self._fit_public(moments, Asked(tuple(targets), names, promise, several=True), None)

    # ---------------------------------------------------------------- what is released

    def _check(self) -> Guarantee:
        checks.choice("association", self.association, ("gaussian", "projection"))
        checks.choice("solve", self.solve, ("noise-aware", "ridge", "cg"))
        for name in ("subsample", "gram_share"):
            if getattr(self, name) is not None:
                checks.fraction(name, getattr(self, name))
        if self.penalty is not None:
            checks.positive("penalty", self.penalty)
            if self.solve == "noise-aware":
                raise ParameterError('penalty= is for solve="ridge" or "cg": the noise-aware solve has none.')
        if self.association == "projection" and self.neighbors != "replace-one":
            raise ParameterError(
                'association="projection" takes the outcomes as public and protects the features, by replace-one: set '
                'neighbors="replace-one" if that is meant. Outcomes are protected by association="gaussian".'
            )
        if self.published is not None and self.gram_share is not None:
            raise ParameterError("published= has a fixed split: leave out gram_share.")
        return super()._check()

    # ---------------------------------------------------------------- wiring

    def _fit_rows(self, table: Unread, asked: Asked) -> Self:
        outcomes = outcome_names(table.domain, asked.targets)
        design_names(table.domain, asked.features)
        public = PublicOutcomes.of(table, outcomes) if self.association == "projection" else None
        moments: Moments | Sampled
        if self.subsample is None:
            moments = summed(table, asked.targets)
        else:
            moments = Sampled(table, asked.targets, self.subsample)
        return self._fit_public(moments, asked, public)

    def _fit(self, moments: Moments, asked: Asked) -> Self:
        return self._fit_public(moments, asked, None)

    def _fit_public(self, moments: Moments | Sampled, asked: Asked, public: PublicOutcomes | None) -> Self:
        """Release and fit, with what public outcomes tell besides."""
        domain, features, promise = moments.domain, asked.features, asked.promise
        design, outcomes = design_names(domain, features), outcome_names(domain, asked.targets)
        norm, n = (None, None) if public is None else (public.norm, float(public.n))
        if self.published is None:
            rows = design if public is not None else every_level(domain, features, design)
            split = split_budget(domain, rows, outcomes, promise, n, self.gram_share)
            released = release_outcomes(moments, OutcomesWant(rows, outcomes, split, norm), self._session(promise))
        else:
            events, reason = printed_events(domain, design, outcomes, promise, self.subsample, norm)
            released = release_events(moments, events, self._session(promise, reason))
        raw = normal_equations(released, asked.targets, features)
        raw = raw if public is None else with_squares(raw, public)
        e = raw if public is None else projected(raw, public, sensitivity.norm(design, domain))
        return self._fit_equations(released, e, raw, asked, self.solve, self.penalty)
