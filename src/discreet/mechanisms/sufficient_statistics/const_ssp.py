"""ConstSSP: ridge regression with a penalty that depends on public facts only (piazza2021, algorithm 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.mechanisms.sufficient_statistics.ssp import E15, printed_noise, sd_piazza2021
from discreet.models.linear import MomentsRegressor
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.results.private_moments import PrivateMoments
from discreet.solve.equations import NormalEquations
from discreet.solve.ridge import noise_norm, ridge


@dataclass(kw_only=True, eq=False, repr=False)
class ConstSSP(MomentsRegressor):
    """Sufficient statistics with the constant penalty lambda = sqrt(d log(2 d^2/rho)) s_xx.

    theta = (X'X + N1 + lambda I)^-1 (X'y + N2), half of mu^2 for each release; the paper adds 1 to lambda.

    Parameters
    ----------
    {parameters}
    rho : float
        Failure probability in the penalty; it matters for accuracy, not for privacy.
    published : {None, "piazza2021"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

    Examples
    --------
    >>> X = np.linspace(0, 1, 2000)[:, None]
    >>> ConstSSP(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, X[:, 0]).coef_.shape
    (1,)
    """

    papers: ClassVar[tuple[str, ...]] = ("piazza2021",)

    rho: float = 0.05
    published: str | None = None

    def _check(self) -> Guarantee:
        checks.fraction("rho", self.rho)
        return super()._check()

    def _published(
        self, design: tuple[str, ...], target: str, R2: float, promise: Guarantee
    ) -> tuple[list[Block], str]:
        s = sd_piazza2021(promise.epsilon / 2, promise.delta / 2)
        return printed_noise(s, design, target, R2), E15

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> NDArray[np.float64]:
        penalty = noise_norm(e.d, e.s_xx, self.rho)
        return ridge(e.S, e.v, penalty + (1.0 if self._paper else 0.0))
