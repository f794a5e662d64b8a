"""What is attacked: an estimator as people fit it, and a small domain for every method of the registry."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.moments import Moments
from discreet.domain import Domain
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.models.base import PrivateEstimator
from discreet.papers.registry import find
from discreet.privacy.certificate import Certificate
from discreet.released.grids import GridValues

PUBLIC_ROWS = 64
"""The public number of rows, for methods that need one; made-up tables have fewer."""

_NUMBERS: dict[str, Any] = {"x": (-1, 1), "y": (-1, 1)}
_CLASSES: dict[str, Any] = {"x": (-1, 1), "y": [0, 1]}
_COUNTS: dict[str, Any] = {"x": (-1, 1), "y": (0, 4)}
_OUTCOMES: dict[str, dict[str, Any]] = {
    "DPLogisticRegression": _CLASSES,
    "DPLinearSVC": _CLASSES,
    "DPPoissonRegression": _COUNTS,
}

_WITH_INTERCEPT = {
    "DPLinearRegression", "DPRidge", "DPLasso", "DPElasticNet", "AdaSSP", "ConstSSP", "ReuseCov", "SSP",
    "DPLogisticRegression", "DPLinearSVC", "DPPoissonRegression",
}  # fmt: skip
"""Methods that are attacked as they are by default. Of the others coefficients alone are seen, and one of them is told
best."""


@dataclass(frozen=True)
class Seen:
    """What a fit shows of a table; nothing but a refusal where it is refused."""

    certificate: Certificate | None = None
    values: Sequence[Sequence[GridValues]] = ()
    coefficients: Floats | None = None
    intercepts: Floats = field(default_factory=lambda: np.zeros(0))
    refusal: str = ""


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator, and the columns that it is fitted to.

    Parameters
    ----------
    estimator : PrivateEstimator
        With its promise and its `domain`.
    target : str or tuple of str
        The outcome, or the outcomes.
    features : tuple of str
        The features.
    """

    estimator: PrivateEstimator
    target: str | tuple[str, ...]
    features: tuple[str, ...]

    @property
    def domain(self) -> Domain:
        """The public facts."""
        if not isinstance(self.estimator.domain, Domain):
            raise ParameterError("The estimator must have domain=, the public bounds and levels of its columns.")
        return self.estimator.domain

    @property
    def columns(self) -> list[str]:
        """All columns that are read, the features first."""
        outcomes = [self.target] if isinstance(self.target, str) else [*self.target]
        made = self.domain.select([*self.features, *outcomes])
        return list(made.inputs)

    @property
    def name(self) -> str:
        """The method, and which paper's constants it has."""
        published = getattr(self.estimator, "published", None)
        return type(self.estimator).__name__ + (f" as published in {published}" if published else "")

    @property
    def status(self) -> str:
        """Whether the promise is ours, or that of a paper's printed constants."""
        return "verified" if getattr(self.estimator, "published", None) is None else "claimed"

    def fitted(self, source: Any, random_state: Any) -> PrivateEstimator:
        """A copy of the estimator, fitted by its public way; with seeds, so that nobody's budget is charged."""
        model = copy.copy(self.estimator).set_params(random_state=random_state)
        target = self.target if isinstance(self.target, str) else list(self.target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            fitted: PrivateEstimator = model.fit_source(source, target, list(self.features))
        return fitted

    def seen(self, source: Any, random_state: Any) -> Seen:
        """What one fit shows."""
        try:
            model = self.fitted(source, random_state)
        except DiscreetError as error:
            return Seen(refusal=type(error).__name__)
        intercepts = np.ravel(model.intercept_).astype(float)
        numbers = np.concatenate([np.ravel(model.coef_), intercepts]).astype(float)
        return Seen(model.certificate_, getattr(model.release_, "values", ()), numbers, intercepts)

    def step(self, source: Any) -> float | None:
        """The step of gradient descent, from a fit without noise, whose first iterate is the step times X'y."""
        from discreet.gate.entropy import NO_NOISE

        if type(self.estimator).__name__ != "NoisyGradientDescent":
            return None
        domain = self.domain.select(self.columns)
        moments = Moments.from_source(source, domain.with_intercept(self.estimator.fit_intercept), n_jobs=1)
        (event,) = self.fitted(source, NO_NOISE).certificate_.events
        design, first = event.design, np.array(event.iterates[len(event.design) : 2 * len(event.design)])
        v = moments.floats(moments.domain.indices([*design, event.target]))[:-1, -1]
        k = int(np.argmax(np.abs(v)))
        return float(first[k] / v[k]) if v[k] != 0 and len(first) else None


def subject_of(method: str, epsilon: float, delta: float | None, **options: Any) -> Subject:
    """A method of the registry, on one feature and one outcome in [-1, 1], a class or a count.

    Parameters
    ----------
    method : str
        Its name.
    epsilon, delta : float
        The promise.
    **options
        Other parameters of the estimator.

    Examples
    --------
    >>> subject_of("ssp", 1.0, 1e-6).name
    'SSP'
    """
    found = find(method)
    given: dict[str, Any] = {
        "domain": Domain(_OUTCOMES.get(found.name, _NUMBERS)),
        "fit_intercept": found.name in _WITH_INTERCEPT,
        "rows": PUBLIC_ROWS,
        "n_jobs": 1,
    }
    return Subject(found.estimator(epsilon=epsilon, delta=delta, **(given | options)), "y", ("x",))
