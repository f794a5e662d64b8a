"""SSP: release X'X and X'y, solve the normal equations (wang2018 section 3.2, piazza2021 algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.models.linear import MomentsRegressor
from discreet.privacy.events.gaussian import Block
from discreet.privacy.guarantee import Guarantee
from discreet.results.private_moments import PrivateMoments
from discreet.solve.equations import NormalEquations
from discreet.solve.ridge import ridge


@dataclass(kw_only=True, eq=False, repr=False)
class SSP(MomentsRegressor):
    """Sufficient-statistics perturbation: theta = (X'X + N1 + ridge I)^-1 (X'y + N2).

    Half of mu^2 goes to each of X'X and X'y. Unstable when the noise on X'X rivals its least eigenvalue: a
    baseline, not a recommendation.

    Parameters
    ----------
    {parameters}
    ridge : float, optional
        Added to the diagonal, in units of the mapped columns; 0 by default, 1 for ``published="piazza2021"``.
    published : {None, "wang2018", "piazza2021"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (5000, 2))
    >>> model = SSP(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.certificate_.guarantee.status
    ((2,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("wang2018", "piazza2021")

    ridge: float | None = None
    published: str | None = None

    def _check(self) -> Guarantee:
        if self.ridge is not None and self.ridge != 0:
            checks.positive("ridge", self.ridge)
        return super()._check()

    def _published(
        self, design: tuple[str, ...], target: str, R2: float, promise: Guarantee
    ) -> tuple[list[Block], str]:
        epsilon, delta = promise.epsilon, promise.delta
        if self._paper == "piazza2021":
            return printed_noise(sd_piazza2021(epsilon / 2, delta / 2), design, target, R2), E15
        return printed_noise(2 * math.sqrt(math.log(4 / delta)) / epsilon, design, target, R2), E4

    def _solve(self, released: PrivateMoments, e: NormalEquations, delta: float) -> NDArray[np.float64]:
        default = 1.0 if self._paper == "piazza2021" else 0.0
        return ridge(e.S, e.v, default if self.ridge is None else self.ridge)


def printed_noise(s: float, design: tuple[str, ...], target: str, R2: float) -> list[Block]:
    """X'X and X'y with the papers' noise: sd s R^2 in the whole of X'X, s R in X'y."""
    return [Block("gram", design, (), s * R2, "uniform"), Block("cross", design, (target,), s * math.sqrt(R2))]


def sd_piazza2021(epsilon: float, delta: float) -> float:
    """Lemma 7's sqrt(2 log(2/delta))/epsilon, for sensitivity 1."""
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


E4 = "erratum E4: the noise is 2 sqrt(log(4/delta))/epsilon on each of two releases, a constant that no theorem gives."
E15 = (
    "erratum E15: Lemma 7's noise sqrt(2 log(2/delta))/epsilon does not suffice for large epsilon (above 9.7 at "
    "delta = 1e-6)."
)
