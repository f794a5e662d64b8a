"""DPRidge: private ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.models.penalised import PenalisedRegressor


@dataclass(kw_only=True, eq=False, repr=False)
class DPRidge(PenalisedRegressor):
    """Private ridge regression: 1/(2n) |y - X theta|^2 + alpha/2 |theta|^2 on released moments.

    `DPLinearRegression` shrinks each direction by its own noise and is the better default; ridge is for those who want
    one stated penalty.

    Parameters
    ----------
    {parameters}
    {penalised}

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = DPRidge(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.certificate_.guarantee.status, model.penalty_ > 0
    ('verified', True)
    """

    model: ClassVar[str] = "ridge"
