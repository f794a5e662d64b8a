"""What sufficient-statistics estimators share: from a table to moments to one release to coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.core.arrays import Floats
from discreet.data.moments import Moments, outcome_names, summed
from discreet.data.reading import Unread
from discreet.data.tables import feature_names
from discreet.domain import Domain
from discreet.domain.domain import every_level
from discreet.errors import ParameterError
from discreet.gate.moments import Want, release_blocks, release_wants
from discreet.gate.outcomes import OutcomesWant, release_outcomes
from discreet.gate.session import Session
from discreet.models.base import Asked, PrivateRegressor
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.split import Sizes, shares_of
from discreet.released.equations import NormalEquations, normal_equations
from discreet.results.models import Solve, many_results, solve_many
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results, results


@dataclass(kw_only=True, eq=False, repr=False)
class MomentsEstimator(PrivateRegressor):
    """A linear model that needs the exact moments of a table only."""

    def fit_moments(self, moments: Moments, target: str, features: Sequence[str] | None = None) -> Self:
        """Release from exact moments that were summed up before, and fit the model.

        Parameters
        ----------
        moments : Moments
            Exact moments of the private table. Their domain is used, its intercept too; `domain`, `bounds_X`,
            `bounds_y`, `data_norm` and `fit_intercept` of this estimator are not.
        target : str
            The outcome.
        features : sequence of str, optional
            The features; all other columns by default.
        """
        promise = self._check()
        if not isinstance(moments, Moments):
            raise ParameterError("moments must be Moments: sum up the table first, with Moments.from_source(...).")
        names = feature_names(moments.domain, self._outcome_columns(moments.domain, (target,)), features)
        return self._fit(moments, Asked((target,), names, promise))

    def _fit_rows(self, table: Unread, asked: Asked) -> Self:
        return self._fit(summed(table), asked)

    @abstractmethod
    def _fit(self, moments: Moments, asked: Asked) -> Self:
        """Release what the method needs of the moments, and fit the model."""


@dataclass(kw_only=True, eq=False, repr=False)
class MomentsRegressor(MomentsEstimator):
    """A linear model fitted to one release of noisy moments.

    Parameters
    ----------
    {parameters}
    """

    levels: ClassVar[bool] = False
    """Whether products with the first levels of categories are released too: the same noise, and more to learn from."""

    # ---------------------------------------------------------------- the method's own mathematics

    def _wants(self, design: tuple[str, ...], target: str) -> list[Want]:
        """What the verified method releases, with shares of mu^2."""
        raise NotImplementedError

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Floats:
        """Coefficients of the mapped columns, from released values only."""
        raise NotImplementedError

    def _published(
        self, design: tuple[str, ...], target: str, R2: float, promise: Guarantee
    ) -> tuple[list[Block], str]:
        """The noise as printed, and why we do not vouch for it."""
        raise NotImplementedError

    # ---------------------------------------------------------------- wiring

    def _fit(self, moments: Moments, asked: Asked) -> Self:
        domain, promise = moments.domain, asked.promise
        if self._paper is None:
            released = release_wants(moments, self._wanted(domain, asked), self._session(promise))
        else:
            design = domain.design_names(asked.features)
            outcome = domain.entries[domain.target(asked.target)].name
            R2 = domain.norm_squared(domain.indices(design))
            blocks, reason = self._published(design, outcome, R2, promise)
            released = release_blocks(moments, blocks, self._session(promise, reason))
        return self._fit_released(released, asked)

    def _wanted(self, domain: Domain, asked: Asked) -> list[Want]:
        """What is released for a model."""
        design = domain.design_names(asked.features)
        rows = every_level(domain, asked.features, design) if self.levels else design
        return self._wants(rows, domain.entries[domain.target(asked.target)].name)

    def _fit_released(self, released: PrivateMoments, asked: Asked) -> Self:
        """Fit the model to released values."""
        e = released.equations(asked.target, asked.features)
        self._set(released, self._results(released, e, asked.promise.delta), asked)
        return self

    def _results(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Results:
        """The fitted model, from released values only."""
        return results(released, e, self._solve(released, e, delta), released.certificate.method)

    # ---------------------------------------------------------------- several outcomes

    def _fit_outcomes(self, moments: Moments, asked: Asked) -> Self:
        """Fit one outcome or several to one release of X'X, X'Y and y'y, each with all levels of categories."""
        domain, promise = moments.domain, asked.promise
        outcomes = outcome_names(domain, asked.targets)
        rows = every_level(domain, asked.features, domain.design_names(asked.features))
        norms = sensitivity.norm(rows, domain), sensitivity.norm(outcomes, domain)
        shares = shares_of(Sizes(len(rows), len(outcomes), *norms, promise.neighbors))
        released = release_outcomes(moments, OutcomesWant(rows, outcomes, shares), self._outcomes_session(promise))
        e = normal_equations(released, asked.targets, asked.features)
        return self._fit_equations(released, e, e, asked)

    def _outcomes_session(self, promise: Guarantee) -> Session:
        """A release of several outcomes under way, by the name of the method that is for nothing else."""
        return Session(promise, "ReuseCov", self.rows, self.random_state)

    def _fit_equations(
        self,
        released: PrivateMoments,
        e: NormalEquations,
        raw: NormalEquations,
        asked: Asked,
        solve: Solve = "noise-aware",
        penalty: float | None = None,
    ) -> Self:
        """Solve equations for one outcome or several; `raw` are those of the release, before anything was mended."""
        theta, method = solve_many(e, solve, penalty), released.certificate.method
        fitted: Any = (
            many_results(released, e, theta, method, raw)
            if asked.several
            else results(released, raw.one(0), theta[:, 0], method)
        )
        self._set(released, fitted, asked)
        return self
