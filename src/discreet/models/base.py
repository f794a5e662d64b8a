"""What sufficient-statistics estimators share: from data to moments to one release to coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.jobs import Progress
from discreet.data.inputs import design_names, feature_names
from discreet.data.moments import Moments
from discreet.domain import Domain, derived
from discreet.domain.domain import every_level
from discreet.errors import ParameterError
from discreet.gate.moments import Want, release_blocks, release_wants
from discreet.models.asked import Asked
from discreet.models.table import TableRegressor
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.released.equations import NormalEquations
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results, results

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class MomentsEstimator(TableRegressor):
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
        names = feature_names(moments.domain, target, features)
        return self._fit(moments, Asked(target, names, promise))

    def _fit_rows(self, source: Any, domain: Domain, asked: Asked, progress: bool | Progress = False) -> Self:
        moments = Moments.from_source(source, domain, n_jobs=self.n_jobs, progress=progress)
        return self._fit(moments, asked)

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
            design = design_names(domain, asked.features)
            outcome = domain.entries[domain.target(asked.target)].name
            R2 = domain.norm_squared(domain.indices(design))
            blocks, reason = self._published(design, outcome, R2, promise)
            released = release_blocks(moments, blocks, self._session(promise, reason))
        return self._fit_released(released, asked)

    def _wanted(self, domain: Domain, asked: Asked) -> list[Want]:
        """What is released for a model."""
        design = design_names(domain, asked.features)
        rows = every_level(domain, asked.features, design) if self.levels else design
        return self._wants(rows, domain.entries[domain.target(asked.target)].name)

    def _fit_released(self, released: PrivateMoments, asked: Asked) -> Self:
        """Fit the model to released values."""
        e = released.equations(asked.target, asked.features)
        fitted = self._results(released, e, asked.promise.delta)
        self._set(released, fitted, asked.features, asked.named)
        return self

    def _results(self, released: PrivateMoments, e: NormalEquations, delta: float) -> Results:
        """The fitted model, from released values only."""
        return results(released, e, self._solve(released, e, delta), released.certificate.method)

    def _set(self, released: PrivateMoments, fitted: Any, features: list[str], named: bool) -> None:
        columns = {name: released.domain.columns[name] for name in features}
        self._set_columns(list(derived.inputs(columns)), named=named)
        self._features = tuple(features)
        self.release_ = released
        self.certificate_ = released.certificate
        self.results_: Results = fitted
        self.coef_ = fitted.coef
        self.intercept_ = fitted.intercept

    def _coefficient_names(self) -> Sequence[str]:
        return self.results_.names
