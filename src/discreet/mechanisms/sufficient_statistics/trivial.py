"""The trivial baseline: predict the middle of the outcome's bounds, and release nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet import __version__
from discreet.core import checks
from discreet.data.tables import as_features, as_outcomes, check_finite, check_pair
from discreet.domain import Domain
from discreet.models.base import Regressor
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate


class TrivialRegressor(Regressor):
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

    def fit(self, X: Any, y: Any) -> Self:
        """Take the centre of the bounds; X and y are checked like those of the other methods and then not used."""
        domain = Domain.from_bounds((), ["y"], bounds_y=self.bounds_y)
        features = as_features(X)
        check_pair(features, as_outcomes(y))
        self._set_columns(features.names, named=features.named)
        self.coef_ = np.zeros(self.n_features_in_)
        self.intercept_ = domain.map("y")[0]
        promise = Guarantee(0.0, 0.0, "add-remove", "verified")
        self.certificate_ = Certificate(promise, "TrivialRegressor", domain, software=f"discreet {__version__}")
        return self

    def predict(self, X: Any, *, clip: bool = True) -> NDArray[np.float64]:
        """The centre of the bounds, for every row; nothing is left to clip."""
        checks.flag("clip", clip)
        features = self._to_predict(X)
        if not features.named:
            check_finite("X", features.matrix)
        return np.full(features.rows or 0, self.intercept_)

    def _coefficient_names(self) -> Sequence[str]:
        return self._features
