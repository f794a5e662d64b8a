"""Models fitted by objective perturbation: from a table to perturbed minimisers to coefficients, or classes.

The penalty, the noise, and the two stages of the adaptive method follow from public facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.data.reading import Table, as_progress
from discreet.data.rows import Rows
from discreet.data.sources.base import check_lengths
from discreet.data.tables import InputTable, Outcomes, as_outcomes, as_weights, check_pair
from discreet.domain import CONSTANT, Categorical, Domain, Numeric
from discreet.domain.kinds.base import Column
from discreet.domain.levels import every_level, lift
from discreet.errors import ParameterError
from discreet.families import Family, Label, Loss, places
from discreet.families.base import Outcome, category
from discreet.gate.session import promised
from discreet.mechanisms.objective_perturbation.event import Calibration, Noise, ObjectiveEvent
from discreet.mechanisms.objective_perturbation.release import Stages, Task, release_minimisers
from discreet.models.base import Classifier, PrivateEstimator, PrivateRegressor, ReleasesModel
from discreet.models.outcome import codes, declared_classes
from discreet.models.spec import FitSpec
from discreet.privacy import sensitivity
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate
from discreet.released.units import in_user_units
from discreet.results.released_model import ReleasedModel
from discreet.solve.newton import WeightedPenalty

SECOND = (0.7, 0.5)
"""Shares of epsilon and of delta that the second stage of the adaptive method is held to, declared beforehand."""

LARGEST_WEIGHT = 1e3

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
    device : {None, "auto", "cpu", "cuda"}, optional
        Where exact sums are computed: by numpy (None), or by PyTorch on the processor or a GPU; "auto" is a GPU where
        there is one. The release is the same to the last bit. See ``docs/howto/gpu.md``.
    random_state : None
        For simulation only: a release made with a seed promises nothing."""
_CLASSES = """classes : sequence, optional
        The classes of a y that comes with arrays, for example [0, 1]: a public fact. ``"public"`` declares that the
        set of labels in y is public knowledge, and takes it from y. With a domain its levels count."""


# ---------------------------------------------------------------- from public facts to perturbed objectives


@dataclass(frozen=True)
class Penalty:
    """The penalty that the user asks for, in units of the mapped columns; without alpha by a public rule."""

    kind: str
    alpha: float | None
    l1_ratio: float

    @property
    def ratio(self) -> float:
        """The share of the l1 norm."""
        return {"l2": 0.0, "l1": 1.0}.get(self.kind, self.l1_ratio)

    def modulus(self, calibration: Calibration, count: int) -> float:
        """Return lambda: the quadratic part of the penalty, raised where privacy needs more."""
        if self.alpha is None:
            return public_modulus(calibration, count)
        return max(self.alpha * (1 - self.ratio), calibration.least_modulus(count) / 2)

    def penalty(self, calibration: Calibration, modulus: float, scale: float) -> WeightedPenalty:
        """Return the penalty with this modulus; the constant has no l1 norm."""
        strength = scale if self.alpha is None else self.alpha
        slopes = np.array([name != CONSTANT for name in calibration.design], dtype=float)
        return WeightedPenalty(np.full(len(slopes), modulus), strength * self.ratio * slopes)


def public_modulus(calibration: Calibration, count: int = 1) -> float:
    """Return the default penalty, from the promise, the bounds and the number of coefficients only.

    It is the least that hardly costs privacy, or more where the noise is large: noise of norm sigma sqrt(d) alone then
    moves theta by at most ten.
    """
    least = calibration.least_modulus(count)
    scale = calibration.calibrate(least, count).scale
    return max(least, 0.1 * scale * math.sqrt(len(calibration.design)))


def one_stage(
    calibration: Calibration, penalty_spec: Penalty, labels: Sequence[Label], radius: float | None
) -> list[Task]:
    """Return one perturbed objective for each linear predictor."""
    modulus = penalty_spec.modulus(calibration, len(labels))
    event = calibration.calibrate(modulus, len(labels))
    penalty = penalty_spec.penalty(calibration, modulus, event.scale)
    return [Task(label, penalty, event, radius) for label in labels]


@dataclass(frozen=True)
class TwoStages:
    """A private pilot, and a second objective whose weights come from it; held to a promise declared beforehand.

    With Lambda the least modulus of the second stage, w_j = Lambda max(1, 1/|pilot_j|): regressors that the pilot
    finds small are penalised more, the constant as little as any of them. The least of the w_j is public once the
    pilot is, so where all exceed Lambda the second stage needs less noise for what it declared: what Lambda would
    have cost is recycled.
    """

    second: Calibration
    penalty_spec: Penalty
    labels: Sequence[Label]
    reserved: list[ObjectiveEvent]
    pilot: list[Task]

    @classmethod
    def plan(cls, calibration: Calibration, penalty_spec: Penalty, labels: Sequence[Label]) -> TwoStages:
        """Declare the second stage, and give the pilot what it leaves."""
        count = len(labels)
        epsilon, delta = calibration.epsilon * SECOND[0] / count, calibration.delta * SECOND[1] / count
        second = replace(calibration, epsilon=epsilon, delta=delta)
        least = penalty_spec.modulus(second, 1) / (2 if penalty_spec.alpha is None else 1)
        reserved = [second.stage(least)] * count
        modulus = public_modulus(replace(calibration, epsilon=calibration.epsilon * (1 - SECOND[0])), count)
        event = calibration.calibrate(modulus, count, reserved)
        ridge = Penalty("l2", None, 0.0).penalty(calibration, modulus, event.scale)
        return cls(second, penalty_spec, labels, reserved, [Task(label, ridge, event) for label in labels])

    @staticmethod
    def weights(pilot: Floats) -> Floats:
        """Return max(1, 1/|pilot_j|), at most 1,000.

        Examples
        --------
        >>> TwoStages.weights(np.array([4.0, 0.5, 0.0]))
        array([   1.,    2., 1000.])
        """
        return np.clip(1 / np.maximum(np.abs(pilot), 1 / LARGEST_WEIGHT), 1.0, LARGEST_WEIGHT)

    def stages(self) -> Stages:
        """Return the pilot, and the second stage given the pilot."""

        def tasks(pilots: list[Floats]) -> list[Task]:
            return [self._task(label, pilot) for label, pilot in zip(self.labels, pilots, strict=True)]

        return Stages(self.pilot, self.reserved, tasks)

    def _task(self, label: Label, pilot: Floats) -> Task:
        weights, least = self.weights(pilot), self.reserved[0].modulus
        slopes = np.array(self.second.design) != CONSTANT
        weights = np.where(slopes, weights, weights[slopes].min(initial=LARGEST_WEIGHT) if slopes.any() else 1.0)
        event = self.second.stage(least * float(weights.min()))
        plain = self.penalty_spec.penalty(self.second, least, event.scale)
        return Task(label, WeightedPenalty(plain.quadratic * weights, plain.l1 * weights), event)


# ---------------------------------------------------------------- models


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedModel(ReleasesModel, PrivateEstimator):
    """A generalised linear model fitted by objective perturbation."""

    words: ClassVar[dict[str, str]] = {"common": _COMMON, "penalties": _PENALTY}
    family: ClassVar[Family]

    penalty: str = "l2"
    alpha: float | None = None
    l1_ratio: float = 0.5
    noise: Noise = "gaussian"
    adaptive: bool = False

    # ---------------------------------------------------------------- what differs between models

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        """Check and return the outcome."""
        return self.family.outcome(domain, target, type(self).__name__)

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        """Return the loss."""
        return self.family.loss(self.family.most(domain, outcome.column))

    def _tasks(self, calibration: Calibration, domain: Domain, outcome: Outcome) -> list[Task]:
        """Return the perturbed objectives, calibrated, where there is one stage."""
        return one_stage(calibration, self._penalty_spec(), self.family.labels(domain, outcome), None)

    def _units(self, domain: Domain, outcome: Outcome) -> tuple[float, float]:
        """Return centre and half-width of the linear predictor's own unit."""
        return domain.map(outcome.column) if self.family.linear else (0.0, 1.0)

    # ---------------------------------------------------------------- wiring

    def _promise(self) -> Guarantee:
        checks.choice("noise", self.noise, ("gaussian", "laplace"))
        pure = self.noise == "laplace" and self.delta is None
        return promised(self.epsilon, self.delta, self.rows, self.neighbors, pure=pure)

    def _check(self) -> Guarantee:
        promise = super()._check()
        checks.choice("adaptive", self.adaptive, (True, False))
        if self.penalty is None:
            raise ParameterError(
                "penalty=None is not possible: the proof of privacy needs a quadratic penalty. The least that it needs "
                "is that of penalty='l2' with a small alpha=."
            )
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

    def _penalty_spec(self) -> Penalty:
        return Penalty(self.penalty, self.alpha, self.l1_ratio)

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        domain, target = table.domain, spec.target
        outcome = self._outcome(domain, target) if spec.classes is None else Outcome(target, target, spec.classes)
        shown = domain.design_names(spec.features)
        design = every_level(domain, spec.features, shown) if self.penalty == "l2" else shown
        with as_progress(table.progress) as report:

            def read() -> Rows:
                return Rows(table, design, outcome.column, progress=report)

            certificate, thetas = self._minimisers(read, domain, design, outcome, spec.promise)
            report(1.0)
        released = self._fitted(certificate, thetas, design, shown, outcome)
        self._set(released, released.results(), spec)
        return self

    def _minimisers(
        self, read: Callable[[], Rows], domain: Domain, design: tuple[str, ...], outcome: Outcome, promise: Guarantee
    ) -> tuple[Certificate, list[Floats]]:
        """Plan the objectives, read the rows, and release the minimisers."""
        norm = sensitivity.norm(design, domain)
        loss = self._loss(domain, outcome, norm)
        asked = (promise.epsilon, promise.delta, promise.neighbors, self.noise, self.rows)
        calibration = Calibration(loss, design, norm, *asked)
        labels = self.family.labels(domain, outcome)
        plan = TwoStages.plan(calibration, self._penalty_spec(), labels) if self.adaptive else None
        stages = plan.stages() if plan else Stages(self._tasks(calibration, domain, outcome))
        return release_minimisers(read(), stages, self._session(promise))

    def _fitted(
        self,
        certificate: Certificate,
        thetas: list[Floats],
        full: tuple[str, ...],
        design: tuple[str, ...],
        outcome: Outcome,
        **told: Any,
    ) -> ReleasedModel:
        """Return the model in the user's units, without the first levels of categories."""
        domain = certificate.domain
        count, L = len(self.family.labels(domain, outcome)), lift(domain, full, design)
        mapped = [L.T @ theta for theta in thetas[-count:]]
        final = [in_user_units(domain, design, theta, self._units(domain, outcome)) for theta in mapped]
        coef: Any = np.array([c for c, _ in final])
        intercept: Any = np.array([c for _, c in final])
        names, weights = design[int(design[0] == CONSTANT) :], None
        if self.adaptive:
            places = [full.index(name) for name in names]
            weights = np.array([TwoStages.weights(theta)[places] for theta in thetas[:count]])
        told = {"link": self.family.link, "classes": outcome.classes, "weights": weights} | told
        if outcome.classes is None:
            coef, intercept = coef[0], float(intercept[0])
        return ReleasedModel(certificate, outcome.name, names, coef, intercept, **told)

    def _set(self, release: Any, fitted: Any, spec: FitSpec) -> None:
        super()._set(release, fitted, spec)
        moduli = [event.modulus for event in fitted.certificate.events if hasattr(event, "modulus")]
        self.modulus_ = moduli[-1] if moduli else None


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedRegressor(PrivateRegressor, PerturbedModel):
    """A regressor whose linear predictor minimises a perturbed objective."""

    def _ask(self, X: InputTable, y: Outcomes, promise: Guarantee) -> tuple[InputTable, Domain, FitSpec]:
        table, domain, asked = super()._ask(X, y, promise)
        self._outcome(domain, asked.target)
        check_pair(X, y)
        return table, domain, asked


def _coded(count: int) -> Column:
    """Return the column that holds the places of so many classes: a number, or levels where there are three or more."""
    return Numeric(0.0, count - 1.0) if count == 2 else Categorical(tuple(range(count)))


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedClassifier(Classifier, PerturbedModel):
    """A classifier whose linear predictors minimise perturbed objectives; more than two classes have one each."""

    facts: ClassVar[tuple[str, ...]] = ("bounds_X", "classes")
    words: ClassVar[dict[str, str]] = {"classes": _CLASSES}

    classes: Sequence[Any] | str | None = None

    def _ask(self, X: InputTable, y: Outcomes, promise: Guarantee) -> tuple[InputTable, Domain, FitSpec]:
        """Return the request as for numbers if y is a declared category; else with y as indices of its labels."""
        (labels,) = y.columns()
        if self.domain is None:
            classes = declared_classes(self.classes, labels)
            domain, features, targets = self._describe(X, y, (0, len(classes) - 1))
        else:
            domain, features, targets = self._describe(X, y, None)
            classes = category(domain, targets[0]).classes or ()
            if X.named:
                return X.beside(y, targets), domain, FitSpec(tuple(targets), features, promise)
        domain = domain.with_column(targets[0], _coded(len(classes)))
        check_pair(X, Outcomes([np.zeros(len(labels))], y.names))
        y = replace(y, values=[codes(labels, classes)])
        return X.beside(y, targets), domain, FitSpec(tuple(targets), features, promise, X.named, classes=tuple(classes))

    def _set(self, release: Any, fitted: Any, spec: FitSpec) -> None:
        super()._set(release, fitted, spec)
        self.classes_ = np.array(fitted.classes)

    def _predictor(self, X: Any, *, clip: bool) -> Floats:
        """Return the linear predictors of the rows of X, clipped to the declared bounds or not."""
        check_is_fitted(self)
        return self._predictors(X, self.coef_, self.intercept_, clip=clip)

    def decision_function(self, X: Any, *, clip: bool = True) -> Floats:
        """Return the linear predictor; above 0 for the second of two classes, largest for the class of several.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        clip : bool
            Whether columns are clipped to their declared bounds, as they were in `fit`.
        """
        eta = self._predictor(X, clip=clip)
        return eta[:, 0] if len(self.classes_) == 2 else eta

    def predict(self, X: Any, *, clip: bool = True) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        clip : bool
            Whether columns are clipped to their declared bounds, as they were in `fit`.
        """
        found = places(self._predictor(X, clip=clip))
        labels: NDArray[Any] = self.classes_[found]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted correctly.

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
