"""AdaSSP: ridge whose penalty adapts to a private eigenvalue (wang2018 algorithm 2, piazza2021 algorithms 2 and 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.errors import ParameterError
from discreet.mechanisms.sufficient_statistics.ssp import E15, printed_noise, sd_piazza2021
from discreet.models.linear import MomentsRegressor
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.noise import StatisticRequest
from discreet.results.private_moments import PrivateMoments
from discreet.solve.equations import NormalEquations
from discreet.solve.ridge import noise_norm, ridge


@dataclass(kw_only=True, eq=False, repr=False)
class AdaSSP(MomentsRegressor):
    """Sufficient statistics with a penalty that adapts to the least eigenvalue of X'X.

    Releases lambda_min, X'X and X'y, with shares g, (1 - g)/2 and (1 - g)/2 of mu^2, and solves

        l      = max(lambda_min + N0 - s_0 sqrt(log(6/delta)), 0)
        lambda = max(0, sqrt(d log(2 d^2/rho)) s_xx - l)
        theta  = (X'X + N1 + lambda I)^-1 (X'y + N2)

    Parameters
    ----------
    {parameters}
    eigenvalue_share : float
        g, the eigenvalue's share of the budget (piazza2021's adaSSPbudget; 1/3 is AdaSSP).
    rho : float
        Failure probability in the penalty; it matters for accuracy, not for privacy.
    published : {None, "wang2018", "piazza2021"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (5000, 2))
    >>> model = AdaSSP(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> [block.name for block in model.release_.blocks]
    ["least eigenvalue of X'X", "X'X", "X'y"]
    """

    papers: ClassVar[tuple[str, ...]] = ("wang2018", "piazza2021")

    eigenvalue_share: float = 1 / 3
    rho: float = 0.05
    published: str | None = None

    def _check(self) -> Guarantee:
        checks.fraction("rho", self.rho)
        checks.fraction("eigenvalue_share", self.eigenvalue_share)
        if self._paper == "wang2018" and self.eigenvalue_share != 1 / 3:
            raise ParameterError(
                'published="wang2018" has a fixed eigenvalue_share of 1/3; piazza2021 has other shares.'
            )
        return super()._check()

    def _requests(self, design: tuple[str, ...], target: str) -> list[StatisticRequest]:
        g = self.eigenvalue_share
        return [
            StatisticRequest("eigenvalue", design, (), g),
            StatisticRequest("gram", design, (), (1 - g) / 2),
            StatisticRequest("cross", design, (target,), (1 - g) / 2),
        ]

    def _published(
        self, design: tuple[str, ...], target: str, R2: float, promise: Guarantee
    ) -> tuple[list[Block], str]:
        epsilon, delta, g = promise.epsilon, promise.delta, self.eigenvalue_share
        if self._paper == "wang2018":
            s_0 = s = math.sqrt(math.log(6 / delta)) / (epsilon / 3)
        else:
            s_0, s = sd_piazza2021(g * epsilon, g * delta), sd_piazza2021((1 - g) / 2 * epsilon, (1 - g) / 2 * delta)
        blocks = [Block("eigenvalue", design, (), s_0 * R2), *printed_noise(s, design, target, R2)]
        return blocks, E3 if self._paper == "wang2018" else E15

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> NDArray[np.float64]:
        plus, margin = 0.0, math.sqrt(math.log(6 / delta))  # sds of N0, so that the eigenvalue is rarely too large
        if self._paper == "piazza2021":
            plus, margin = 1.0, math.sqrt(2 * math.log(2 / (self.eigenvalue_share * delta)))
        least = max(float(released.value("eigenvalue")) + plus - released.blocks[0].sd * margin, 0.0)
        penalty = max(0.0, noise_norm(e.d, e.s_xx, self.rho) - least)
        return ridge(e.S, e.v, penalty + plus)


E3 = (
    "erratum E3: above epsilon = 0.415 a single release with sd sqrt(log(6/delta)) D/(epsilon/3) is not "
    "(epsilon/3, delta/3)-private as the proof needs; the whole is private by slack."
)
