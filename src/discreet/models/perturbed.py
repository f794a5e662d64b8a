"""Models fitted by objective perturbation: from a table to one perturbed minimiser to coefficients, or classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.jobs import as_progress
from discreet.data.reading import Unread
from discreet.data.rows import Rows
from discreet.data.sources.base import check_lengths
from discreet.data.tables import Outcomes, Table, as_outcomes, as_weights, check_pair
from discreet.domain import CONSTANT, Categorical, Domain, Numeric
from discreet.domain.domain import every_level, lift
from discreet.errors import ParameterError
from discreet.gate.objective import Stages, Task, release_minimisers
from discreet.gate.session import promised
from discreet.models.base import Asked, Classifier, PrivateEstimator, PrivateRegressor
from discreet.models.outcome import Outcome, category, codes, declared_classes
from discreet.models.stages import TwoStages, Wish, one_stage
from discreet.privacy import sensitivity
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.objective import Calibration, Noise
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.losses import Loss
from discreet.released.units import in_user_units
from discreet.results.glm_results import GLMResults, Link

_COMMON = """epsilon, delta : float
        The promise. `epsilon` is required; `delta` is required, or 1/rows^2 when `rows` is given, or 0 with
        ``noise="laplace"``.
    domain : Domain, optional
        Public bounds and levels of the columns, for frames; or give
    {facts} : optional
        public facts about arrays, and
    data_norm : float, optional
        a public bound on the Euclidean norm of a row of X.
    fit_intercept : bool
        Whether the model has an intercept. It is penalised as the other coefficients are, for the proof needs it.
    rows : int, optional
        The public, rounded number of rows, declared by you. Tables of more than twice as many, or of more than 2^20
        where it is not given, are refused."""
_PENALTY = """penalty : {"l2", "l1", "elasticnet"}
        alpha |theta|^2/2; alpha |theta|_1; or alpha (l1_ratio |theta|_1 + (1 - l1_ratio) |theta|^2/2); beside the *sum*
        of the rows' losses, for columns mapped to [-1, 1]. The quadratic part that privacy needs and the penalty does
        not have is added to it; `modulus_` says how much there is in all.
    alpha : float, optional
        By default a rule chooses it from epsilon, delta, the bounds and the number of coefficients only.
    l1_ratio : float
        Of the elastic net.
    noise : {"gaussian", "laplace"}
        Spherical Laplace noise needs no delta; it is much larger unless there are few coefficients.
    adaptive : bool
        Whether a private pilot, which takes part of the budget, decides which coefficients are penalised more.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads; all cores by default.
    random_state : None
        For simulation only: a release made with a seed promises nothing."""
_CLASSES = """classes : sequence, optional
        The classes of a y that comes with arrays, for example [0, 1]: a public fact. ``"public"`` declares that the
        set of labels in y is public knowledge, and takes it from y. With a domain its levels count."""


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedModel(PrivateEstimator):
    """A generalised linear model fitted by objective perturbation."""

    words: ClassVar[dict[str, str]] = {"common": _COMMON, "penalties": _PENALTY}
    link: ClassVar[Link]

    penalty: str = "l2"
    alpha: float | None = None
    l1_ratio: float = 0.5
    noise: Noise = "gaussian"
    adaptive: bool = False

    # ---------------------------------------------------------------- what differs between models

    @abstractmethod
    def _outcome(self, domain: Domain, target: str) -> Outcome:
        """The outcome, checked."""

    @abstractmethod
    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        """The loss."""

    def _tasks(self, calibration: Calibration, domain: Domain, outcome: Outcome) -> list[Task]:
        """The perturbed objectives, calibrated, where there is one stage."""
        return one_stage(calibration, self._wish(), outcome.labels(domain), None)

    def _units(self, domain: Domain, outcome: Outcome) -> tuple[float, float]:
        """Centre and half-width of the linear predictor's own unit."""
        return 0.0, 1.0

    # ---------------------------------------------------------------- wiring

    def _promise(self) -> Guarantee:
        checks.choice("noise", self.noise, ("gaussian", "laplace"))
        pure = self.noise == "laplace" and self.delta is None
        return promised(self.epsilon, self.delta, self.rows, self.neighbors, pure=pure)

    def _check(self) -> Guarantee:
        promise = super()._check()
        checks.choice("adaptive", self.adaptive, (True, False))
        checks.choice("penalty", self.penalty, ("l2", "l1", "elasticnet"))
        if self.alpha is not None:
            checks.positive("alpha", self.alpha)
        if not checks.is_real(self.l1_ratio) or not 0 <= self.l1_ratio <= 1:
            raise ParameterError(f"l1_ratio must lie between 0 (ridge) and 1 (lasso), got {self.l1_ratio!r}.")
        return promise

    def _outcome_columns(self, domain: Domain, targets: Sequence[str], *, several: bool = False) -> list[str]:
        if several:
            return super()._outcome_columns(domain, targets, several=True)
        return [self._outcome(domain, targets[0]).column]

    def _wish(self) -> Wish:
        return Wish(self.penalty, self.alpha, self.l1_ratio)

    def _fit_rows(self, table: Unread, asked: Asked) -> Self:
        domain, target = table.domain, asked.target
        outcome = self._outcome(domain, target) if asked.classes is None else Outcome(target, target, asked.classes)
        shown = domain.design_names(asked.features)
        design = every_level(domain, asked.features, shown) if self.penalty == "l2" else shown
        with as_progress(table.progress) as report:

            def read() -> Rows:
                return Rows(table, design, outcome.column, progress=report)

            certificate, thetas = self._minimisers(read, domain, design, outcome, asked.promise)
            report(1.0)
        fitted = self._fitted(certificate, thetas, design, shown, outcome)
        self._set(fitted, fitted, asked)
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

    def _fitted(
        self,
        certificate: Certificate,
        thetas: list[Floats],
        full: tuple[str, ...],
        design: tuple[str, ...],
        outcome: Outcome,
    ) -> GLMResults:
        """The model in the user's units, without the first levels of categories."""
        domain = certificate.domain
        count, L = len(outcome.labels(domain)), lift(domain, full, design)
        mapped = [L.T @ theta for theta in thetas[-count:]]
        final = [in_user_units(domain, design, theta, self._units(domain, outcome)) for theta in mapped]
        coef, intercept = np.array([c for c, _ in final]), np.array([c for _, c in final])
        names, weights = design[int(design[0] == CONSTANT) :], None
        if self.adaptive:
            places = [full.index(name) for name in names]
            weights = np.array([TwoStages.weights(theta)[places] for theta in thetas[:count]])
        facts = (certificate.method, certificate, self.link, outcome.classes, weights)
        return GLMResults(outcome.name, names, coef, intercept, *facts)

    def _set(self, release: Any, fitted: Any, asked: Asked) -> None:
        super()._set(release, fitted, asked)
        self.modulus_ = fitted.certificate.events[-1].modulus

    def _predictor(self, X: Any) -> Floats:
        """The linear predictors of the rows of X, which is not clipped to the bounds."""
        check_is_fitted(self)
        return self._predictors(X, self.results_.coef, self.results_.intercept)


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedRegressor(PrivateRegressor, PerturbedModel):
    """A regressor whose linear predictor minimises a perturbed objective."""

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        column = domain.entries[domain.target(target)].column
        if not isinstance(domain.columns[column], Numeric):
            raise ParameterError(
                f"Column {column!r} is a category; {type(self).__name__} needs a number as the outcome."
            )
        return Outcome(target, column)

    def _ask(self, X: Table, y: Outcomes, promise: Guarantee) -> tuple[Table, Domain, Asked]:
        table, domain, asked = super()._ask(X, y, promise)
        self._outcome(domain, asked.target)
        check_pair(X, y)
        return table, domain, asked

    def _set(self, release: Any, fitted: Any, asked: Asked) -> None:
        super()._set(release, fitted, asked)
        self.coef_, self.intercept_ = fitted.coef[0], float(fitted.intercept[0])


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedClassifier(Classifier, PerturbedModel):
    """A classifier whose linear predictors minimise perturbed objectives; more than two classes have one each."""

    facts: ClassVar[tuple[str, ...]] = ("bounds_X", "classes")
    words: ClassVar[dict[str, str]] = {"classes": _CLASSES}

    classes: Sequence[Any] | str | None = None

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        return category(domain, target)

    def _ask(self, X: Table, y: Outcomes, promise: Guarantee) -> tuple[Table, Domain, Asked]:
        """As for numbers where y is a declared category; else y becomes the places of its labels among the classes."""
        (labels,) = y.columns()
        if self.domain is None:
            classes = declared_classes(self.classes, labels)
            domain, features, targets = self._describe(X, y, (0, len(classes) - 1))
        else:
            domain, features, targets = self._describe(X, y, None)
            classes = category(domain, targets[0]).classes or ()
            if X.named:
                return X.beside(y, targets), domain, Asked(tuple(targets), features, promise)
        column = domain.columns[targets[0]]
        if isinstance(column, Categorical):
            facts = domain.to_dict()
            facts["columns"][targets[0]] = {"low": 0, "high": len(classes) - 1}
            domain = Domain.from_dict(facts)
        check_pair(X, Outcomes([np.zeros(len(labels))], y.names))
        y = replace(y, values=[codes(labels, classes)])
        return X.beside(y, targets), domain, Asked(tuple(targets), features, promise, X.named, classes=tuple(classes))

    def _set(self, release: Any, fitted: Any, asked: Asked) -> None:
        super()._set(release, fitted, asked)
        self.classes_ = np.array(fitted.classes)

    def decision_function(self, X: Any) -> Floats:
        """The linear predictor; above 0 for the second of two classes, largest for the class of several."""
        eta = self._predictor(X)
        return eta[:, 0] if len(self.classes_) == 2 else eta

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; X is not clipped to the bounds."""
        eta = self.decision_function(X)
        places = (eta > 0).astype(int) if eta.ndim == 1 else eta.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted rightly.

        It is computed from the rows that are given, without noise: on private rows it is **confidential**.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        y : array or series
            The class of each row, one of the declared ones.
        sample_weight : array, optional
            Weights of the rows.
        """
        classes = self.classes_.tolist() if hasattr(self, "classes_") else ()
        predicted, true = codes(self.predict(X), classes), codes(as_outcomes(y).columns()[0], classes)
        check_lengths([len(predicted), len(true)])
        return float(np.average(predicted == true, weights=as_weights(sample_weight, len(true))))
