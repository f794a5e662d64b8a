"""The error that noise adds, from public figures only: the budget split, and the choice of mechanism.

With mu the whole budget, a share g of mu^2 for X'X and 1 - g for X'Y, one outcome's normal equations are off by

    covariance     E |N1 w|^2 = (d + 1)/2 |w|^2 change_xx^2/(mu^2 g)
    association    E |N2|^2   = d change_xy^2/(mu^2 (1 - g))                     by the Gaussian mechanism
                              <= 2 n R T sqrt(d)/l change_xy/(mu sqrt(1 - g))    after the projection

(``docs/mathematics``, 9.5). A penalty lambda that may be chosen freely turns them into an excess squared error of at
most 2 |w| sqrt(covariance + association)/n a row, which is neel2023's bound (7) with its constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.optimize import minimize_scalar

from discreet.core.checks import Neighbors

EXPLAINED = 1 / 16
"""The assumed share of the largest possible y'y that a model explains; it determines |w|, and so the split."""

_SQUARES = 0.05
"""The share of mu^2 for y'y, which standard errors need."""


@dataclass(frozen=True)
class Sizes:
    """Public figures of a problem with many outcomes.

    Parameters
    ----------
    d, outcomes : int
        Regressors, the constant included, and outcomes.
    R, T : float
        Bounds on the norms of a row's regressors and of its outcomes.
    neighbors : {"add-remove", "replace-one"}
        The relation.
    rows : float, optional
        The number of rows; only the projection's error depends on it.
    w : float, optional
        The size of an outcome's coefficients; by default such that the model explains 1/16 of the largest possible y'y.

    Examples
    --------
    >>> round(Sizes(d=16, outcomes=1, R=4.0, T=1.0).gram_share(), 2)
    0.42
    """

    d: int
    outcomes: int
    R: float
    T: float
    neighbors: Neighbors = "add-remove"
    rows: float | None = None
    w: float | None = None

    @property
    def coefficient_norm(self) -> float:
        """The norm |w|: with X'X spread evenly, R^2 |w|^2/d is an outcome's explained mean square, at most T^2/l."""
        return self.w or math.sqrt(EXPLAINED * self.d / self.outcomes) * self.T / self.R

    def covariance(self, mu: float, share: float) -> float:
        """The error E |N1 w|^2 for one outcome."""
        change = self.R**2 * (math.sqrt(2) if self.neighbors == "replace-one" else 1)
        return (self.d + 1) / 2 * (self.coefficient_norm * change / mu) ** 2 / share

    def association(self, mu: float, share: float) -> float:
        """The error E |N2|^2 for one outcome, by the Gaussian mechanism."""
        return self.d * (self._change / mu) ** 2 / share

    def projected(self, mu: float, share: float) -> float:
        """A bound on E |N2|^2 after the projection, with public outcomes; never more than without it."""
        if self.rows is None:
            return self.association(mu, share)
        bound = 2 * self.rows * self.R * self.T * math.sqrt(self.d) / self.outcomes * self._change / mu
        return min(self.association(mu, share), bound / math.sqrt(share))

    @property
    def _change(self) -> float:
        return self.R * self.T * (2 if self.neighbors == "replace-one" else 1)

    def gram_share(self) -> float:
        """The share g of X'X that minimises covariance/g + association/(1 - g)."""
        odds = math.sqrt(self.covariance(1.0, 1.0) / self.association(1.0, 1.0))
        return odds / (1 + odds)

    def projected_share(self, mu: float) -> float:
        """The share of X'X that minimises the sum of covariance and projected errors."""
        best = minimize_scalar(
            lambda t: math.log(self.total(mu, "projection", 1 / (1 + math.exp(-t)))), bounds=(-9, 9), method="bounded"
        )
        return 1 / (1 + math.exp(-float(best.x)))

    def total(self, mu: float, mechanism: str, share: float) -> float:
        """The sum of the covariance and association errors."""
        association = self.projected if mechanism == "projection" else self.association
        return self.covariance(mu, share) + association(mu, 1 - share)


def shares_of(sizes: Sizes) -> dict[str, float]:
    """The shares of mu^2 for X'X, X'Y and y'y where outcomes are private."""
    g = sizes.gram_share()
    return {"gram": (1 - _SQUARES) * g, "cross": (1 - _SQUARES) * (1 - g), "squares": _SQUARES}
