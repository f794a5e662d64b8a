"""DPLogisticRegression: classes by private logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.domain import Domain
from discreet.models.classifier import PerturbedClassifier
from discreet.models.outcome import Outcome
from discreet.privacy.losses import Logistic, Loss
from discreet.results.glm_results import Link

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class DPLogisticRegression(PerturbedClassifier):
    """Logistic regression by objective perturbation, with a proven guarantee.

    theta minimises sum_i log(1 + e^(x_i'theta)) - y_i x_i'theta + penalty + b'theta, b being noise. With three
    classes or more there is one such problem for each class against the others, and one promise for all of them.

    Parameters
    ----------
    {common}
    {penalties}
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

    link: ClassVar[Link] = "logit"

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class; of more than two, each against the others, made to add up to 1."""
        p = expit(self.decision_function(X))
        if p.ndim == 1:
            return np.column_stack([1 - p, p])
        at_least = np.maximum(p, 1e-300)
        shares: Floats = at_least / at_least.sum(axis=1, keepdims=True)
        return shares

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
