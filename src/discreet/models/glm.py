"""DPLogisticRegression, DPLinearSVC and DPPoissonRegression: classes and counts by noisy scoring steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.reading import Table
from discreet.data.tables import InputTable, Outcomes, counted_by
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.families import FAMILIES, HINGE, LOGISTIC, MULTINOMIAL, POISSON, Family, Link, Loss, Outcome, SmoothHinge
from discreet.families.coordinates import check_exposure
from discreet.models.perturbed import PerturbedClassifier, PerturbedRegressor
from discreet.models.private_coordinates import PrivateCoordinatesModel
from discreet.models.spec import FitSpec
from discreet.privacy.guarantee import Guarantee


@dataclass(kw_only=True, eq=False, repr=False)
class DPLogisticRegression(PrivateCoordinatesModel, PerturbedClassifier):
    """Logistic regression by noisy Fisher scoring, with a proven guarantee.

    The log odds of the second class are linear, x'theta. With three classes or more the model is multinomial: the
    probability of a class is in proportion to e^(x'theta) of that class, and one release is for all of them; `results_`
    reports log odds against the first class, and `Results.against_class` against another. Eight steps release the score
    sum_i x_i (y_i - p_i) at the model so far, with Gaussian noise, in private coordinates; the estimate takes all of
    them together.

    A choice of `penalty`, `alpha`, `adaptive` or `noise`, or ``stages=1``, takes objective perturbation in one stage:
    theta minimises sum_i log(1 + e^(x_i'theta)) - y_i x_i'theta + penalty + b'theta, b being noise, for each of three
    or more classes against the others.

    Parameters
    ----------
    {common}
    {penalties}
    {stages}
    {classes}

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-4 * X[:, 0]))
    >>> model = DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=[False, True]).fit(X, y)
    >>> bool(model.score(X, y) > 0.75), model.certificate_.guarantee.status
    (True, 'verified')
    """

    family: ClassVar[Family] = LOGISTIC
    several: ClassVar[Link | None] = MULTINOMIAL.link

    def predict_proba(self, X: Any, *, clip: bool = True) -> Floats:
        """Return the probability of each class; they add up to 1.

        In one stage, those of more than two classes are of each against the others, scaled.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features.
        clip : bool
            Whether columns are clipped to their declared bounds, as they were in `fit`.
        """
        eta = self._predictor(X, clip=clip)
        found = FAMILIES[self.results_.link].probabilities(eta)
        assert found is not None
        return found

    def predict_log_proba(self, X: Any, *, clip: bool = True) -> Floats:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, clip=clip))


@dataclass(kw_only=True, eq=False, repr=False)
class DPLinearSVC(PrivateCoordinatesModel, PerturbedClassifier):
    """Linear support-vector machine by noisy gradient steps, with a proven guarantee.

    The hinge max(0, 1 - t eta), t = -1 or 1, has its corner rounded: w log(1 + e^((1 - t eta)/w)), at most w log 2
    above it. Eight steps release the sum of its gradients at the model so far, with Gaussian noise, in private
    coordinates; the estimate takes all of them together. Three classes or more have a predictor each, against the
    others, from one release.

    A choice of `penalty`, `alpha`, `adaptive` or `noise`, or ``stages=1``, takes objective perturbation in one stage.

    Parameters
    ----------
    {common}
    {penalties}
    {stages}
    {classes}
    width : float
        w. The smaller, the nearer to the hinge. In one stage, the penalty that privacy needs grows in proportion to
        1/w.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> model = DPLinearSVC(epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=[0, 1]).fit(X, (X[:, 0] > 0).astype(int))
    >>> bool(model.score(X, X[:, 0] > 0) > 0.8)
    True
    """

    family: ClassVar[Family] = HINGE

    width: float = 0.5

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        try:
            return SmoothHinge(self.width)
        except TypeError:
            raise ParameterError("width must be a number above 0.") from None


@dataclass(kw_only=True, eq=False, repr=False)
class DPPoissonRegression(PrivateCoordinatesModel, PerturbedRegressor):
    """Poisson regression by noisy Fisher scoring, with a proven guarantee.

    The logarithm of the expected count is linear, x'theta. Noisy counts of the outcome tell its size first, so that a
    wide upper bound costs little; rates above a bound that few counts exceed are not modelled. Eight steps release the
    score sum_i x_i (y_i - e^(x_i'theta)) at the model so far, residuals clipped, with Gaussian noise, in private
    coordinates; the estimate takes all of them together.

    A choice of `penalty`, `alpha`, `adaptive` or `noise`, or ``stages=1``, takes objective perturbation in one stage:
    theta minimises sum_i e^(x_i'theta) - y_i x_i'theta + penalty + b'theta, b being noise. That noise is in proportion
    to the upper bound Y of the outcome: choose it no larger than needed.

    Parameters
    ----------
    {common}
    {penalties}
    {stages}
    exposure : str, optional
        A column of the table, declared as a number above 0, that is no feature: how long, or how much, a row was there
        for; a formula says ``+ offset(log(x))``. Its logarithm is added to the predictor, so that e^coefficients are
        ratios of rates per unit of exposure, and predictions are for one unit of it. It takes 2 % of mu^2, and stages.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20000, 1))
    >>> y = np.minimum(rng.poisson(np.exp(X[:, 0])), 10)
    >>> model = DPPoissonRegression(epsilon=1, delta=1e-6, bounds_X=(-1, 1), bounds_y=(0, 10)).fit(X, y)
    >>> bool(model.predict([[1.0]]) > model.predict([[-1.0]]))
    True
    """

    family: ClassVar[Family] = POISSON

    exposure: str | None = None

    def _outcome_columns(self, domain: Domain, targets: Sequence[str], *, several: bool = False) -> list[str]:
        found = super()._outcome_columns(domain, targets, several=several)
        check_exposure(self.exposure, domain)
        return found if self.exposure is None else [*found, self.exposure]

    def _ask(self, X: InputTable, y: Outcomes, promise: Guarantee) -> tuple[InputTable, Domain, FitSpec]:
        table, domain, asked = super()._ask(X, y, promise)
        if self.exposure is None:
            return table, domain, asked
        check_exposure(self.exposure, domain)
        return table, domain, replace(asked, features=[name for name in asked.features if name != self.exposure])

    def _described(self, formula: str, declared: Domain, promise: Guarantee) -> tuple[Domain, FitSpec]:
        domain, target, features, exposure = counted_by(formula, declared)
        if None not in (exposure, self.exposure) and exposure != self.exposure:
            raise ParameterError(
                f"{formula}: its offset is that of {exposure!r}, and exposure= names {self.exposure!r}. Leave one out."
            )
        if self.exposure is not None:
            check_exposure(self.exposure, declared)
            domain = domain.with_columns({**domain.columns, self.exposure: declared.columns[self.exposure]})
            exposure = self.exposure
        if exposure in features:
            raise ParameterError(f"{formula}: {exposure!r} is the exposure, and no feature, too. Leave one out.")
        check_exposure(exposure, domain)
        return domain, FitSpec((target,), features, promise, exposure=exposure)

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        if self.exposure is not None and self.exposure not in table.domain.columns:
            raise ParameterError(f"The exposure {self.exposure!r} is not among the columns: give it in fit_source.")
        return super()._fit_rows(table, replace(spec, exposure=spec.exposure or self.exposure))

    def _is_staged(self, table: Table, spec: FitSpec, design: tuple[str, ...], outcome: Outcome) -> bool:
        staged = super()._is_staged(table, spec, design, outcome)
        if spec.exposure is not None and not staged:
            raise ParameterError(
                "exposure= needs stages, and these need a table that can be read again, a feature, a penalty that is "
                "chosen for you, Gaussian noise, and rows= for replace-one neighbours. Leave out what forbids them."
            )
        return staged

    def predict(self, X: Any, *, clip: bool = True) -> Floats:
        """Return the expected count, within the declared bounds of the outcome.

        Parameters
        ----------
        X : array, pandas or polars frame, or Arrow table
            The features, clipped to their declared bounds, as they were in `fit`.
        clip : bool
            False gives the plain curve e^(x'theta), however far it leads: also above the upper bound of the outcome,
            up to which rates are modelled.
        """
        return super().predict(X, clip=clip)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
