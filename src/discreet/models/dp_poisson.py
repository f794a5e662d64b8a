"""DPPoissonRegression: counts by private Poisson regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.domain import Domain, Numeric
from discreet.errors import ParameterError
from discreet.models.outcome import Label, Outcome
from discreet.models.regressor import PerturbedRegressor
from discreet.privacy.losses import Loss, Poisson
from discreet.results.glm_results import Link

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Count(Outcome):
    """A count: in its own unit, as the loss needs it."""

    def labels(self, domain: Domain) -> list[Label]:
        """The counts, clipped to their bounds."""
        (c, h), column = domain.map(self.column), domain.columns[self.column]
        assert isinstance(column, Numeric)
        low, high = column.low, column.high
        return [lambda y: np.clip(c + h * y, low, high)]


@dataclass(kw_only=True, eq=False, repr=False)
class DPPoissonRegression(PerturbedRegressor):
    """Poisson regression by objective perturbation, with a proven guarantee.

    theta minimises sum_i e^(x_i'theta) - y_i x_i'theta + penalty + b'theta, b being noise. Counts are bounded by the
    upper bound Y of the outcome, so rates above Y are not modelled: the loss goes on linearly there. The noise is in
    proportion to Y: choose it no larger than needed.

    Parameters
    ----------
    {common}
    {penalties}

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20000, 1))
    >>> y = np.minimum(rng.poisson(np.exp(X[:, 0])), 10)
    >>> model = DPPoissonRegression(epsilon=1, delta=1e-6, bounds_X=(-1, 1), bounds_y=(0, 10)).fit(X, y)
    >>> bool(model.predict([[1.0]]) > model.predict([[-1.0]]))
    True
    """

    link: ClassVar[Link] = "log"

    def _outcome(self, domain: Domain, target: str) -> Outcome:
        plain = super()._outcome(domain, target)
        column = domain.columns[plain.column]
        if not isinstance(column, Numeric) or column.low < 0:
            raise ParameterError(f"Counts are at least 0: declare bounds from 0 on for {plain.column!r}.")
        return Count(plain.name, plain.column)

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        column = domain.columns[outcome.column]
        assert isinstance(column, Numeric)
        return Poisson(column.high)

    def predict(self, X: Any) -> Floats:
        """The expected count, at most the upper bound of the outcome; X is not clipped to the bounds."""
        eta = self._predictor(X)[:, 0]
        column = self.certificate_.domain.columns[self.results_.target]
        return np.exp(np.minimum(eta, np.log(column.high))) if isinstance(column, Numeric) else np.exp(eta)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
