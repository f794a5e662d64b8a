"""Base classes of the estimators: scikit-learn's contract, parameters, three ways to fit, checks and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks, citations
from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.old_keywords import WithOldKeywords
from discreet.core.threads import threads_for
from discreet.data.device.device import as_device
from discreet.data.moments import outcome_names
from discreet.data.reading import Progress, Table, threads
from discreet.data.sources.base import check_lengths
from discreet.data.tables import (
    InputTable,
    Outcomes,
    as_features,
    as_numbers,
    as_outcomes,
    as_weights,
    declared_table,
    described,
    described_by,
    design_matrix,
    feature_names,
)
from discreet.domain import Domain
from discreet.domain.derived import inputs_of
from discreet.errors import DataError, DomainError, ParameterError, printable
from discreet.gate.session import Session, promised
from discreet.ledger import blocks
from discreet.models.counting import counted, refuse_unit
from discreet.models.outcome import named_outcomes
from discreet.models.pipelines import warn_of_learning_steps
from discreet.models.spec import FitSpec
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.methods import method_of
from discreet.released.certificate import Certificate
from discreet.results.private_moments import PrivateMoments
from discreet.results.released_model import ReleasedModel
from discreet.results.results import Results

_GOOD_SCORE = 100.0
"""The epsilon from which every method has R^2 > 0.5 on scikit-learn's 200 rows of 10 features, in tight bounds."""


class Estimator(WithOldKeywords, BaseEstimator):  # type: ignore[misc]
    """Tags, names of coefficients, the paper that is followed, and the check of rows to predict for."""

    release_: PrivateMoments | ReleasedModel
    """The release: noisy moments, or coefficients that were released themselves."""

    results_: Results
    """The fitted model: coefficients with their standard errors, tables, predictions."""

    certificate_: Certificate
    """The guarantee, and all that was released."""

    coef_: Floats
    """Coefficients in the user's units; of several outcomes or classes a row for each linear predictor."""

    intercept_: Any
    """The intercept, a number; of several outcomes or classes an array."""

    n_features_in_: int
    """The number of columns of X."""

    papers: ClassVar[tuple[str, ...]] = ()
    """The papers whose printed constants `published` can name."""

    @property
    def _paper(self) -> str | None:
        """The key of the paper that `published` names, by author and year, or by its old mark."""
        key: str | None = citations.key_of(getattr(self, "published", None))
        return key

    def _check_paper(self) -> str | None:
        """Return the paper; refuse one that is not the method's, and warn of an old key."""
        paper = self._paper
        checks.choice("published", paper, (None, *self.papers))
        citations.tell_old_key("published", getattr(self, "published", None))
        return paper

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parameters = self.get_params(deep=False)
        tags.non_deterministic = "random_state" in parameters and parameters["random_state"] is None
        return tags

    def _poor_score(self) -> bool:
        epsilon = self.get_params(deep=False).get("epsilon")
        return not (checks.is_real(epsilon) and epsilon >= _GOOD_SCORE)

    def _html_repr(self) -> str:
        """Scikit-learn's page, which lists the names of the coefficients as they are."""
        return "\n".join(map(printable, super()._html_repr().split("\n")))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[np.object_]:
        """Names of the coefficients, in the order of `coef_`; a category has one for each level but the first.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the columns of X, as a pipeline gives them: the same as in `fit`, where those had names.
        """
        check_is_fitted(self)
        own = np.array(self._coefficient_names(), dtype=object)
        if input_features is None:
            return own
        names = [str(name) for name in input_features]
        fitted = getattr(self, "feature_names_in_", None)
        if (fitted is None and len(names) != self.n_features_in_) or (fitted is not None and names != list(fitted)):
            raise ParameterError("input_features must name the columns of X in fit: as many, and in the same order.")
        return np.array(names, dtype=object) if fitted is None and len(names) == len(own) else own

    def _set_columns(self, features: Sequence[str], *, named: bool) -> None:
        """Record the number of columns of X, and their names if they have any."""
        self._features = tuple(features)
        self.n_features_in_ = len(features)
        if named:
            self.feature_names_in_ = np.array(features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _coefficient_names(self) -> Sequence[str]:
        raise NotImplementedError

    def _to_predict(self, X: Any) -> InputTable:
        """Return X as features; refuse another number of columns than in fit, without stating it."""
        check_is_fitted(self)
        features = as_features(X)
        if not features.named and len(features.names) != self.n_features_in_:
            raise DataError(
                f"X has another number of features than in fit: {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input, and one row a person."
            )
        return features

    def _predictors(self, X: Any, coef: Floats, intercept: Any, *, clip: bool) -> Floats:
        """Return linear predictors of the rows of X, clipped to the declared bounds or not."""
        features, clip = self._to_predict(X), checks.flag("clip", clip)
        design = np.zeros((features.rows or 0, 0))
        if self._features:
            columns = self.certificate_.domain.select(self._features).of_rows()
            design = design_matrix(features, columns.with_missing("error"), clip=clip)
        predicted: Floats = design @ coef.T + intercept
        return predicted


class ReleasesMoments(Estimator):
    """For type checkers: an estimator that releases noisy moments."""

    release_: PrivateMoments


class ReleasesModel(Estimator):
    """For type checkers: an estimator whose coefficients are released themselves."""

    release_: ReleasedModel


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """An estimator of a number."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions, which are clipped as in `predict`; of several outcomes, the mean of theirs.

        It is computed from the rows that are given, without noise: on private rows it is **confidential**.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        y : array, series or table
            The outcome, or the outcomes in the order of the predictions' columns.
        sample_weight : array, optional
            Weights of the rows.
        """
        from sklearn.metrics import r2_score  # slow to import

        predicted, true = self.predict(X), as_numbers(y)
        predicted = predicted[:, None] if predicted.ndim == 1 else predicted
        check_lengths([len(predicted), len(true)])
        if true.shape != predicted.shape:
            raise DataError(f"y must have as many columns as there are predicted outcomes: {predicted.shape[1]}.")
        return float(r2_score(true, predicted, sample_weight=as_weights(sample_weight, len(true))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = getattr(self, "many_outcomes", False)
        tags.regressor_tags.poor_score = self._poor_score()
        return tags


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """An estimator of a class."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score()
        return tags


# ---------------------------------------------------------------- private estimators


_PARAMETERS = """epsilon, delta : float
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
    rows_per_person : int, optional
        How many rows a person counts for at most, where `fit` is told whose rows are; a domain may say so too.
    largest_weight : float, optional
        A public bound on `sample_weight`; a domain may say so too.
    n_jobs : int, optional
        Threads; all cores by default.
    device : {None, "auto", "cpu", "cuda"}, optional
        Where exact sums are computed: by numpy (None), or by PyTorch on the processor or a GPU; "auto" is a GPU where
        there is one. The release is the same to the last bit. See ``docs/howto/gpu.md``.
    random_state : None
        For simulation only: a release made with a seed promises nothing."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(Estimator, ABC):
    """An estimator that reads the rows of a table, and keeps a promise."""

    paper_neighbors: ClassVar[Neighbors] = "add-remove"
    """The relation that the method's papers are about."""

    many_outcomes: ClassVar[bool] = False
    """Whether y may have several columns."""

    one_row_each: ClassVar[str] = "its promise is proven for rows that count alike, one a person"
    """Why the method refuses persons with many rows, and weights; empty if it accepts them."""

    facts: ClassVar[tuple[str, ...]] = ("bounds_X", "bounds_y")
    """Parameters that describe arrays, in place of a domain."""

    words: ClassVar[dict[str, str]] = {"parameters": _PARAMETERS}
    """Texts that replace words in braces in the docstrings of this class and its subclasses."""

    epsilon: float | None = None
    delta: float | None = None
    domain: Domain | None = None
    bounds_X: Any = None
    data_norm: float | None = None
    fit_intercept: bool = True
    rows: int | None = None
    neighbors: Neighbors = "add-remove"
    rows_per_person: int | None = None
    largest_weight: float | None = None
    n_jobs: int | None = None
    device: str | None = None
    random_state: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        words = [pair for base in cls.__mro__ for pair in vars(base).get("words", {}).items()]
        for name, text in [*words, ("facts", ", ".join(cls.facts))]:
            cls.__doc__ = (cls.__doc__ or "").replace(f"{{{name}}}", text)

    # ---------------------------------------------------------------- scikit-learn's interface

    def fit(self, X: Any, y: Any, sample_weight: Any = None, person: Any = None) -> Self:
        """Fit the model to (X, y), privately.

        Parameters
        ----------
        X : array, tensor, pandas or polars frame, or Arrow table
            The features.
        y : array, tensor, series, or frame or table of one column
            The outcome; several columns, for estimators of several outcomes, are as many models from one release.
        sample_weight : array, optional
            Weights of the rows, for which `largest_weight` or the domain declares a public bound; noise hides a row of
            the largest weight. By default they are 1.
        person : array, optional
            The person of each row, if one may have several; `rows_per_person` or the domain declares how many count.
        """
        promise = self._check()
        warn_of_learning_steps(self)
        table, domain, asked = self._ask(as_features(X), as_outcomes(y, several=self.many_outcomes), promise)
        table, domain = counted(self, table, domain, sample_weight, person)
        return self._fit_table(self._opened(table, domain), asked)

    def fit_source(
        self,
        source: Any,
        target: str | Sequence[str],
        features: Sequence[str] | None = None,
        *,
        progress: bool | Progress = False,
    ) -> Self:
        """Read rows from a file, a frame or a table, release, and fit the model.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation, `Postgres`
            The private rows; `domain` must be given.
        target : str
            The outcome; or a list of several, as in `fit`.
        features : sequence of str, optional
            The features; all other declared columns by default.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        promise = self._check()
        table, declared = declared_table(source, self.domain, "fit_source")
        targets = named_outcomes(target)
        columns = self._outcome_columns(declared, targets, several=not isinstance(target, str))
        names = feature_names(declared, columns, features)
        domain = declared.select([*names, *columns]).with_intercept(self.fit_intercept)
        spec = FitSpec(targets, names, promise, several=not isinstance(target, str))
        return self._fit_table(self._opened(table, domain, progress), spec)

    def fit_formula(self, formula: str, source: Any, *, progress: bool | Progress = False) -> Self:
        """Read rows from a file, a frame or a table, release, and fit the model that a formula describes.

        Parameters
        ----------
        formula : str
            For example ``"income ~ age + C(region) + age:hours"``; see `discreet.formula`.
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation, `Postgres`
            The private rows; `domain` must be given.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        promise = self._check()
        table, declared = declared_table(source, self.domain, "fit_formula")
        domain, spec = self._described(formula, declared.with_intercept(self.fit_intercept), promise)
        self._outcome_columns(domain, spec.targets)
        with blocks.asked(formula):
            return self._fit_table(self._opened(table, domain, progress), spec)

    def _described(self, formula: str, declared: Domain, promise: Guarantee) -> tuple[Domain, FitSpec]:
        """Return the columns and the fit that a formula describes."""
        domain, target, features = described_by(formula, declared)
        return domain, FitSpec((target,), features, promise)

    def _fit_table(self, table: Table, spec: FitSpec) -> Self:
        with threads_for(len(table.domain.entries)):
            return self._fit_rows(table, spec)

    # ---------------------------------------------------------------- persons and weights

    def _opened(self, table: InputTable, domain: Domain, progress: bool | Progress = False) -> Table:
        """Return the table with its rows still unread, if the method can use them."""
        self._refuse_unit(domain)
        return Table.of(table, domain, self.n_jobs, progress, as_device(self.device))

    @property
    def _one_row_each(self) -> str:
        """Why it refuses persons and weights with its parameters."""
        return self.one_row_each

    def _refuse_unit(self, domain: Domain) -> None:
        """Refuse persons and weights of a domain if the method is not proven for them."""
        refuse_unit(self, domain)

    # ---------------------------------------------------------------- what differs

    @abstractmethod
    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        """Fit the model to the rows of a table."""

    def _promise(self) -> Guarantee:
        return promised(self.epsilon, self.delta, self.rows, self.neighbors)

    def _check(self) -> Guarantee:
        promise = self._promise()
        checks.choice("fit_intercept", self.fit_intercept, (True, False))
        threads(self.n_jobs)
        as_device(self.device)
        if self._check_paper() is not None and promise.neighbors != self.paper_neighbors:
            raise ParameterError(f"published= follows papers that are about {self.paper_neighbors} neighbours.")
        return promise

    @property
    def _method(self) -> str:
        """The name of the method in certificates."""
        return method_of(type(self))

    def _ask(self, X: InputTable, y: Outcomes, promise: Guarantee) -> tuple[InputTable, Domain, FitSpec]:
        """Return the table of X and y, its domain, and the request for a fit."""
        domain, features, targets = self._describe(X, y, getattr(self, "bounds_y", None))
        return X.beside(y, targets), domain, FitSpec(tuple(targets), features, promise, X.named, len(y) > 1)

    def _outcome_columns(self, domain: Domain, targets: Sequence[str], *, several: bool = False) -> list[str]:
        """Return the columns of the outcomes."""
        if several and not self.many_outcomes:
            raise ParameterError(
                f"{type(self).__name__} has one outcome: name it, without a list. For several outcomes use "
                "DPLinearRegression or ReuseCov."
            )
        return list(dict.fromkeys(domain.entries[i].column for i in domain.indices(outcome_names(domain, targets))))

    # ---------------------------------------------------------------- wiring

    def _session(self, promise: Guarantee, reason: str | None = None) -> Session:
        """Return a session for a release; with a reason why a paper's constants are only claimed to be private."""
        method = self._method
        if reason is not None:
            promise = replace(promise, status="claimed", reason=reason)
            method = citations.as_published(method, self._paper)
        return Session(promise, method, self.rows, self.random_state)

    def _describe(self, X: InputTable, y: Outcomes, bounds_y: Any) -> tuple[Domain, list[str], list[str]]:
        """Return the domain of X and y, features and outcomes, as far as they are declared."""
        if self.domain is None:
            plain = ["y"] if len(y) == 1 else [f"y{j}" for j in range(len(y))]
            targets = [name or other for name, other in zip(y.names, plain, strict=True)]
            for name in targets:
                if name in X.names:
                    raise DataError(
                        f"Column {name!r} is among the features and among the outcomes. Rename one of them."
                    )
            bounds = {"bounds_X": self.bounds_X, "bounds_y": bounds_y, "data_norm": self.data_norm}
            domain = Domain.from_bounds(X.names, targets, intercept=self.fit_intercept, **bounds)
            return domain, X.names, targets
        if not isinstance(self.domain, Domain):
            raise DomainError("domain must be a Domain, for example Domain({'age': (18, 90), 'income': (0, 200_000)}).")
        for name, own in (("rows_per_person", self.domain.unit.person), ("largest_weight", self.domain.unit.weights)):
            if own is not None and getattr(self, name) is not None:
                raise DomainError(f"The domain declares {name} already. Leave {name}= out.")
        if any(getattr(self, name) is not None for name in (*self.facts, "data_norm")):
            given = ", ".join(f"{name}=" for name in self.facts)
            raise DomainError(f"Give either domain= or {given} and data_norm=, not both.")
        names, targets = described(self.domain, X, y.names)
        return self.domain.select([*names, *targets]).with_intercept(self.fit_intercept), names, targets

    def _set(self, release: PrivateMoments | ReleasedModel, fitted: Results, spec: FitSpec) -> None:
        """Set the fitted attributes."""
        columns = {name: fitted.certificate.domain.columns[name] for name in spec.features}
        self._set_columns(list(inputs_of(columns)), named=spec.named)
        self._features = tuple(spec.features)
        self.release_, self.results_, self.certificate_ = release, fitted, fitted.certificate
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept

    def _coefficient_names(self) -> Sequence[str]:
        return self.results_.names


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegressor(Regressor, PrivateEstimator):
    """A private estimator of numbers, linear in the features."""

    bounds_y: Any = None

    def predict(self, X: Any, *, clip: bool = True) -> Floats:
        """Predict the outcome; of several outcomes a column for each.

        Columns are clipped to their declared bounds, as they were in `fit`, and predictions to the range that was
        declared for the outcome. Rows in the ball of a `data_norm` are not shortened.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        clip : bool
            False gives the plain line, however far it leads.
        """
        check_is_fitted(self)
        return self.results_.outcomes(self._predictors(X, self.coef_, self.intercept_, clip=clip), clip=clip)
