"""The trivial baseline: predict the middle of the outcome's bounds, and release nothing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet import __version__
from discreet.domain import Domain
from discreet.linear.inputs import column_names
from discreet.privacy.certificate import Certificate
from discreet.privacy.guarantee import Guarantee


class TrivialRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the centre of the public bounds of y; costs no privacy, since no data are used.

    Parameters
    ----------
    bounds_y : (low, high)
        Public bounds of the outcome.

    Examples
    --------
    >>> TrivialRegressor(bounds_y=(0, 10)).fit([[1.0]], [3.0]).predict([[5.0], [6.0]])
    array([5., 5.])
    """

    def __init__(self, *, bounds_y: Any = None) -> None:
        self.bounds_y = bounds_y

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the centre of the bounds; X gives the number of features, and its values are not read."""
        domain = Domain.from_bounds((), ["y"], bounds_y=self.bounds_y)
        self.n_features_in_ = len(column_names(X))
        self.coef_ = np.zeros(self.n_features_in_)
        self.intercept_ = domain.map("y")[0]
        promise = Guarantee(0.0, 0.0, "add-remove", "verified")
        self.certificate_ = Certificate(promise, "TrivialRegressor", domain, software=f"discreet {__version__}")
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The centre of the bounds, for every row."""
        check_is_fitted(self)
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), self.intercept_)
