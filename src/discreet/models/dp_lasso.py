"""DPLasso: private lasso."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.models.penalised import PenalisedRegressor


@dataclass(kw_only=True, eq=False, repr=False)
class DPLasso(PenalisedRegressor):
    """Private lasso: 1/(2n) |y - X theta|^2 + alpha |theta|_1 on released moments; some coefficients are exactly zero.

    Zeros of a lasso do not say how sure they are: ``release_.select(...)`` does.

    Parameters
    ----------
    {parameters}
    {penalised}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 3))
    >>> lasso = DPLasso(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1), penalty=0.5).fit(X, X[:, 0])
    >>> lasso.coef_.tolist(), lasso.results_.path().coef.shape
    ([0.0, 0.0, 0.0], (100, 3))
    """

    model: ClassVar[str] = "lasso"
