"""What all models fitted by objective perturbation share: from data to one perturbed minimiser to coefficients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.jobs import Progress, as_progress
from discreet.data.inputs import (
    as_features,
    as_outcome,
    column_names,
    declared_for,
    described,
    described_by,
    design_names,
    feature_names,
    is_table,
    refuse_weights,
    with_intercept,
)
from discreet.data.rows import Rows
from discreet.data.sources import outcome_name
from discreet.data.summing import threads
from discreet.domain import CONSTANT, Domain, derived
from discreet.domain.domain import every_level, lift
from discreet.errors import DomainError, ParameterError
from discreet.gate.objective import Stages, Task, release_minimisers
from discreet.gate.session import Session, promised
from discreet.models.contract import Estimator
from discreet.models.outcome import Outcome
from discreet.models.parameters import COMMON, PENALTY
from discreet.models.stages import TwoStages, Wish, one_stage
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.objective import Calibration, Noise
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.losses import Loss
from discreet.released.units import in_user_units
from discreet.results.glm_results import GLMResults, Link

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedModel(Estimator, ABC):
    """A generalised linear model fitted by objective perturbation."""

    facts: ClassVar[str] = "bounds_X, bounds_y"
    link: ClassVar[Link]

    epsilon: float | None = None
    delta: float | None = None
    domain: Domain | None = None
    bounds_X: Any = None
    data_norm: float | None = None
    fit_intercept: bool = True
    rows: int | None = None
    penalty: str = "l2"
    alpha: float | None = None
    l1_ratio: float = 0.5
    noise: Noise = "gaussian"
    adaptive: bool = False
    neighbors: Neighbors = "add-remove"
    n_jobs: int | None = None
    random_state: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        words = (cls.__doc__ or "").replace("{common}", COMMON.replace("{bounds}", cls.facts))
        cls.__doc__ = words.replace("{penalties}", PENALTY)

    # ---------------------------------------------------------------- what differs between models

    @abstractmethod
    def _outcome(self, domain: Domain, target: str) -> Outcome:
        """The outcome, checked."""

    @abstractmethod
    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        """The loss."""

    @abstractmethod
    def _prepared(self, X: Any, y: Any, name: str | None) -> tuple[Any, Domain, Outcome]:
        """A source of rows made of X and y, its domain, and the outcome."""

    def _tasks(self, calibration: Calibration, domain: Domain, outcome: Outcome) -> list[Task]:
        """The perturbed objectives, calibrated, where there is one stage."""
        return one_stage(calibration, self._wish(), outcome.labels(domain), None)

    @property
    def _method(self) -> str:
        return type(self).__name__

    def _units(self, domain: Domain, outcome: Outcome) -> tuple[float, float]:
        """Centre and half-width of the linear predictor's own unit."""
        return 0.0, 1.0

    # ---------------------------------------------------------------- scikit-learn's interface

    def fit(self, X: Any, y: Any, sample_weight: None = None) -> Self:
        """Minimise a perturbed objective of (X, y) and release the minimiser.

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
        source, domain, outcome = self._prepared(X, y, name or outcome_name(y))
        names = [column for column in domain.columns if column != outcome.column]
        return self._fit(source, domain, names, outcome, promise, named=is_table(X))

    def fit_source(
        self, source: Any, target: str, features: Sequence[str] | None = None, *, progress: bool | Progress = False
    ) -> Self:
        """Read rows from a file, a frame or a table, as often as the solver needs, and release the minimiser.

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
        outcome = self._outcome(declared, target)
        names = feature_names(declared, declared.entries[declared.positions[outcome.column][-1]].name, features)
        domain = with_intercept(declared.select([*names, outcome.column]), self.fit_intercept)
        with as_progress(progress) as report:
            self._fit(source, domain, names, outcome, promise, named=True, progress=report)
            report(1.0)
        return self

    def fit_formula(self, formula: str, source: Any, *, progress: bool | Progress = False) -> Self:
        """Read rows from a file, a frame or a table, and fit the model that a formula describes.

        Parameters
        ----------
        formula : str
            For example ``"bought ~ age + C(region) + age:hours"``; see `discreet.formula`.
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation
            The private rows; `domain` must be given.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        promise = self._check()
        domain, target, features = described_by(formula, source, self.domain, self.fit_intercept)
        with as_progress(progress) as report:
            outcome = self._outcome(domain, target)
            self._fit(source, domain, features, outcome, promise, named=True, progress=report)
            report(1.0)
        return self

    # ---------------------------------------------------------------- wiring

    def _check(self) -> Guarantee:
        checks.choice("noise", self.noise, ("gaussian", "laplace"))
        pure = self.noise == "laplace" and self.delta is None
        promise = promised(self.epsilon, self.delta, self.rows, self.neighbors, pure=pure)
        for name in ("fit_intercept", "adaptive"):
            checks.choice(name, getattr(self, name), (True, False))
        checks.choice("penalty", self.penalty, ("l2", "l1", "elasticnet"))
        if self.alpha is not None:
            checks.positive("alpha", self.alpha)
        if not checks.is_real(self.l1_ratio) or not 0 <= self.l1_ratio <= 1:
            raise ParameterError(f"l1_ratio must lie between 0 (ridge) and 1 (lasso), got {self.l1_ratio!r}.")
        threads(self.n_jobs)
        return promise

    def _session(self, promise: Guarantee) -> Session:
        return Session(promise, self._method, self.rows, self.random_state)

    def _wish(self) -> Wish:
        return Wish(self.penalty, self.alpha, self.l1_ratio)

    def _declared(self, X: Any, target: str | None, bounds: dict[str, Any]) -> tuple[Domain, str]:
        """The domain of X and y, and the name of the outcome, as far as they are declared."""
        if self.domain is None:
            names = column_names(X)
            target = target or "y"
            options = {"bounds_X": self.bounds_X, "data_norm": self.data_norm, "intercept": self.fit_intercept}
            return Domain.from_bounds(names, [target], **options, **bounds), target
        if not isinstance(self.domain, Domain):
            raise DomainError("domain must be a Domain, for example Domain({'age': (18, 90), 'bought': bool}).")
        if not (self.bounds_X is None and self.data_norm is None and not self._has_own_bounds()):
            raise DomainError(f"Give either domain= or {self.facts} and data_norm=, not both.")
        names, target = described(self.domain, X, target)
        return with_intercept(self.domain.select([*names, target]), self.fit_intercept), target

    def _has_own_bounds(self) -> bool:
        return getattr(self, "bounds_y", None) is not None or getattr(self, "classes", None) is not None

    def _fit(
        self,
        source: Any,
        domain: Domain,
        features: list[str],
        outcome: Outcome,
        promise: Guarantee,
        *,
        named: bool,
        progress: Progress | None = None,
    ) -> Self:
        shown = design_names(domain, features)
        design = every_level(domain, features, shown) if self.penalty == "l2" else shown
        read = partial(Rows, source, domain, design, outcome.column, n_jobs=self.n_jobs, progress=progress)
        certificate, thetas = self._minimisers(read, domain, design, outcome, promise)
        self._set(certificate, thetas, domain, (design, shown), outcome, features, named=named)
        return self

    def _minimisers(
        self, read: Callable[[], Rows], domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[Certificate, list[Floats]]:
        """Plan the objectives, read the rows, and release the minimisers."""
        norm = sensitivity.norm(design, domain)
        loss = self._loss(domain, outcome, norm)
        asked = (promise.epsilon, promise.delta, promise.neighbors, self.noise, self.rows)
        calibration = Calibration(loss, design, norm, *asked)
        plan = TwoStages.plan(calibration, self._wish(), outcome.labels(domain)) if self.adaptive else None
        stages = plan.stages() if plan else Stages(self._tasks(calibration, domain, outcome))
        return release_minimisers(read(), stages, self._session(promise))

    def _set(
        self,
        certificate: Certificate,
        thetas: list[Floats],
        domain: Domain,
        designs: tuple[tuple[str, ...], tuple[str, ...]],
        outcome: Outcome,
        features: list[str],
        *,
        named: bool,
    ) -> None:
        count, (full, design) = len(outcome.labels(domain)), designs
        L = lift(domain, full, design)
        mapped = [L.T @ theta for theta in thetas[-count:]]
        final = [in_user_units(domain, design, theta, self._units(domain, outcome)) for theta in mapped]
        coef, intercept = np.array([c for c, _ in final]), np.array([c for _, c in final])
        names, weights = design[int(design[0] == CONSTANT) :], None
        if self.adaptive:
            places = [full.index(name) for name in names]
            weights = np.array([TwoStages.weights(theta)[places] for theta in thetas[:count]])
        facts = (certificate.method, certificate, self.link, outcome.classes, weights)
        self.results_ = GLMResults(outcome.name, names, coef, intercept, *facts)
        self._set_columns(list(derived.inputs({name: domain.columns[name] for name in features})), named=named)
        self._features = tuple(features)
        self.release_, self.certificate_ = self.results_, certificate
        self.modulus_ = certificate.events[-1].modulus  # type: ignore[union-attr]

    def _predictor(self, X: Any) -> Floats:
        """The linear predictors of the rows of X, which is not clipped to the bounds."""
        check_is_fitted(self)
        return self._predictors(X, self.results_.coef, self.results_.intercept)

    def _coefficient_names(self) -> Sequence[str]:
        return self.results_.names
