"""DPElasticNet: private elastic net."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.models.penalised import PenalisedRegressor
from discreet.results.models import check_options


@dataclass(kw_only=True, eq=False, repr=False)
class DPElasticNet(PenalisedRegressor):
    """Private elastic net: 1/(2n) |y - X theta|^2 + alpha r |theta|_1 + alpha (1 - r)/2 |theta|^2 on released moments.

    Parameters
    ----------
    {parameters}
    {penalised}
    l1_ratio : float
        r, from 0 (ridge) to 1 (lasso).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> net = DPElasticNet(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), l1_ratio=0.9).fit(X, X.sum(axis=1))
    >>> net.results_.l1_ratio, net.results_.chosen
    (0.9, True)
    """

    model: ClassVar[str] = "elastic-net"

    l1_ratio: float = 0.5

    def _options(self) -> tuple[float | None, float]:
        return check_options(self.model, {"penalty": self.penalty, "l1_ratio": self.l1_ratio})
