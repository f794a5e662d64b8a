"""What all linear estimators share: parameters, what is fitted, and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.citations import mark_of
from discreet.core.jobs import Progress
from discreet.data.inputs import (
    as_features,
    as_outcome,
    column_names,
    declared_for,
    described,
    described_by,
    feature_names,
    is_table,
    refuse_weights,
    with_intercept,
)
from discreet.data.sources import outcome_name
from discreet.data.summing import threads
from discreet.domain import Domain
from discreet.errors import DomainError, ParameterError
from discreet.gate.session import Session, promised
from discreet.models.asked import Asked
from discreet.models.contract import Regressor
from discreet.privacy.guarantee import Guarantee

Floats = NDArray[np.float64]

PARAMETERS = """epsilon, delta : float
        The promise. `epsilon` is required; `delta` is required, or 1/rows^2 when `rows` is given.
    domain : Domain, optional
        Public bounds and levels of the columns, for frames; or give
    bounds_X, bounds_y : (low, high), optional
        public bounds of arrays, each a number or one number a column, and
    data_norm : float, optional
        a public bound on the Euclidean norm of a row of X.
    fit_intercept : bool
        Whether the model has an intercept.
    rows : int, optional
        The public, rounded number of rows, declared by you.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads; all cores by default.
    random_state : None
        For simulation only: a release made with a seed promises nothing."""


@dataclass(kw_only=True, eq=False, repr=False)
class TableRegressor(Regressor, ABC):
    """A linear model of a table's columns.

    Parameters
    ----------
    {parameters}
    """

    paper_neighbors: ClassVar[Neighbors] = "add-remove"
    """The relation that the method's papers are about."""

    epsilon: float | None = None
    delta: float | None = None
    domain: Domain | None = None
    bounds_X: Any = None
    bounds_y: Any = None
    data_norm: float | None = None
    fit_intercept: bool = True
    rows: int | None = None
    neighbors: Neighbors = "add-remove"
    n_jobs: int | None = None
    random_state: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = (cls.__doc__ or "").replace("{parameters}", PARAMETERS)

    # ---------------------------------------------------------------- scikit-learn's interface

    def fit(self, X: Any, y: Any, sample_weight: None = None) -> Self:
        """Fit the model to (X, y), privately.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        y : array or pandas series
            The outcome.
        sample_weight : None
            Not supported: a weight would let one person count for more than the noise hides.
        """
        refuse_weights(sample_weight)
        promise = self._check()
        name = outcome_name(y)
        X, y = as_features(X), as_outcome(y)
        domain, features, target = self._describe(X, name or outcome_name(y))
        return self._fit_rows((X, y), domain, Asked(target, features, promise, is_table(X)))

    def fit_source(
        self, source: Any, target: str, features: Sequence[str] | None = None, *, progress: bool | Progress = False
    ) -> Self:
        """Read rows from a file, a frame or a table, release, and fit the model.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation
            The private rows; `domain` must be given.
        target : str
            The outcome.
        features : sequence of str, optional
            The features; all other declared columns by default.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        promise = self._check()
        declared = declared_for(source, self.domain, "fit_source")
        names = feature_names(declared, target, features)
        outcome = declared.entries[declared.target(target)].column
        domain = with_intercept(declared.select([*names, outcome]), self.fit_intercept)
        return self._fit_rows(source, domain, Asked(target, names, promise), progress)

    def fit_formula(self, formula: str, source: Any, *, progress: bool | Progress = False) -> Self:
        """Read rows from a file, a frame or a table, release, and fit the model that a formula describes.

        Parameters
        ----------
        formula : str
            For example ``"income ~ age + C(region) + age:hours"``; see `discreet.formula`.
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation
            The private rows; `domain` must be given.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        promise = self._check()
        domain, target, features = described_by(formula, source, self.domain, self.fit_intercept)
        return self._fit_rows(source, domain, Asked(target, features, promise), progress)

    def predict(self, X: Any) -> Floats:
        """Predict the outcome; X is not clipped to the bounds."""
        check_is_fitted(self)
        return self._predictors(X, self.coef_, self.intercept_)

    # ---------------------------------------------------------------- wiring

    def _promise(self) -> Guarantee:
        return promised(self.epsilon, self.delta, self.rows, self.neighbors)

    def _check(self) -> Guarantee:
        promise = self._promise()
        checks.choice("fit_intercept", self.fit_intercept, (True, False))
        threads(self.n_jobs)
        self._check_paper()
        if self._paper is not None and promise.neighbors != self.paper_neighbors:
            raise ParameterError(f"published= follows papers that are about {self.paper_neighbors} neighbours.")
        return promise

    def _session(self, promise: Guarantee, reason: str | None = None) -> Session:
        """A release under way; with a reason why a paper's constants are only claimed to be private."""
        method = type(self).__name__
        if reason is not None:
            promise = replace(promise, status="claimed", reason=reason)
            method += f" as published in {mark_of(str(self._paper))}"
        return Session(promise, method, self.rows, self.random_state)

    def _describe(self, X: Any, target: str | None) -> tuple[Domain, list[str], str]:
        if self.domain is None:
            names = column_names(X)
            target = target or "y"
            options = {"bounds_X": self.bounds_X, "bounds_y": self.bounds_y, "data_norm": self.data_norm}
            return Domain.from_bounds(names, [target], intercept=self.fit_intercept, **options), names, target
        if not isinstance(self.domain, Domain):
            raise DomainError("domain must be a Domain, for example Domain({'age': (18, 90), 'income': (0, 200_000)}).")
        if not (self.bounds_X is None and self.bounds_y is None and self.data_norm is None):
            raise DomainError("Give either domain= or bounds_X=, bounds_y= and data_norm=, not both.")
        names, target = described(self.domain, X, target)
        return with_intercept(self.domain.select([*names, target]), self.fit_intercept), names, target

    @abstractmethod
    def _fit_rows(self, source: Any, domain: Domain, asked: Asked, progress: bool | Progress = False) -> Self:
        """Fit the model to the rows of a source."""
