r"""How output perturbation divides a promise among its releases, and chooses lambda: ``docs/mathematics.md``, 8.6.

The stages are those of `ada_ops`, with Gaussian noise on the coefficients in place of a posterior sample and, but for
the isotropic shape, a release of X'X that decides the noise's shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.rounding import ROOM, down, up
from discreet.privacy import gdp
from discreet.privacy.events.staged import quantile
from discreet.privacy.ops_calibration import coefficient_bound
from discreet.privacy.output_perturbation import Shape, sensitivity, spectral_bound

EIGENVALUE_SHARE, NORM_SHARE, GRAM_SHARE = 0.05, 0.15, 0.2
"""Shares of mu^2; the noise on the coefficients has the rest."""

FAILURE = 0.05
"""Share of delta for each of the bounds on the eigenvalue, on the norm and on the noise of X'X."""

_GRID = np.geomspace(1e-2, 1e7, 361)


@dataclass(frozen=True, kw_only=True)
class OutputPlan:
    """Everything that is fixed before the data are touched."""

    shape: Shape
    B: float
    Y: float
    d: int
    rows: float
    change: float
    mu1: float
    mu2: float
    mu_gram: float
    mu_o: float
    failure: float

    @property
    def s1(self) -> float:
        """The noise on the least eigenvalue."""
        return self.change / self.mu1

    @property
    def gram_sd(self) -> float | None:
        """The noise on the diagonal of X'X."""
        return up(self.B**2 / self.mu_gram) if self.mu_gram else None

    @property
    def tau(self) -> float:
        """A bound on the spectral norm of the noise on X'X."""
        if self.gram_sd is None:
            return 0.0
        return max(up(spectral_bound(self.d, self.gram_sd, self.failure)), self.B**2 / 2)

    def least(self, eigenvalue: float) -> float:
        """lt: a lower bound on the least eigenvalue, from the released one."""
        return max(0.0, eigenvalue - self.s1 * quantile(self.failure) - self.change)

    def penalty(self, lt: float) -> float:
        """Of a public grid, the lambda with the least bound on the error of predictions: noise and bias.

        With v = rows B^2/d and Delta the sensitivity, the noise adds tr(X'X A^-1) Delta^2/mu^2, the trace being at
        most rows B^2, d v/(v + lambda) or d v/(v + lambda)^2; the bias is about lambda (Y/B)^2 v/(v + lambda).
        """
        best, found = math.inf, 0.0
        v = self.rows * self.B**2 / self.d
        for lambda_ in (self.B**2 * _GRID).tolist():
            h = lambda_ + lt
            cap = self.Y + self.B * coefficient_bound(lambda_, self.rows, self.B, self.Y, lt)
            widening = math.log1p(self.B**2 / h) * (quantile(self.failure) / self.mu2 + 1)
            R = min(cap, 2 * self.Y * math.exp(min(widening, 50.0)))
            delta = sensitivity(self.shape, h=h, B=self.B, residual=R, tau=self.tau)
            power = {"isotropic": 0, "fisher": 1, "democratic": 2}[self.shape]
            noise = self.d * v / (v + lambda_) ** power * (delta / self.mu_o) ** 2
            bound = noise + lambda_ * (self.Y / self.B) ** 2 * v / (v + lambda_)
            if bound < best:
                best, found = bound, lambda_
        return found


def plan(
    shape: Shape, epsilon: float, delta: float, *, B: float, Y: float, d: int, rows: float, change: float
) -> OutputPlan:
    """Divide an add-remove promise, from public facts.

    Parameters
    ----------
    shape : {"isotropic", "fisher", "democratic"}
        Of the noise.
    epsilon, delta : float
        The promise.
    B, Y, d, rows : float
        Bounds on norm(x) and abs(y), the number of columns, the largest number of rows.
    change : float
        How far one row moves the computed least eigenvalue.

    Examples
    --------
    >>> p = plan("isotropic", 1.0, 1e-6, B=1.0, Y=1.0, d=5, rows=1000, change=1.0)
    >>> p.gram_sd is None, round(p.mu_o, 3)
    (True, 0.211)
    """
    gram = 0.0 if shape == "isotropic" else GRAM_SHARE
    failure = FAILURE * delta
    failures = failure * (2 if shape == "isotropic" else 3)
    mu = down(gdp.mu(epsilon, down(delta - failures, ROOM)), ROOM)
    left = 1 - EIGENVALUE_SHARE - NORM_SHARE - gram
    shares = {"mu1": EIGENVALUE_SHARE, "mu2": NORM_SHARE, "mu_gram": gram, "mu_o": left}
    mus = {name: mu * math.sqrt(share) for name, share in shares.items()}
    return OutputPlan(shape=shape, B=B, Y=Y, d=d, rows=rows, change=change, failure=failure, **mus)
