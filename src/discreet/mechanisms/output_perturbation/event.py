r"""Gaussian noise on ridge coefficients, in three shapes (wang2017 section 4): ``docs/mathematics``, 8.6 and 8.7.

theta_hat + N(0, A^-1/gamma) with a **public** matrix A is mu-GDP, mu = sqrt(gamma) Delta, where Delta is the largest
change of theta_hat in the norm of A. Let h be a lower bound on the eigenvalues of H = X'X + lambda I and R one on
abs(y - x'theta_hat), for the data and its neighbours. Adding a row moves theta_hat by H1^-1 x r, and

    norm(H1^-1 x) <= g = B/(h + B^2) if h >= B^2, else 1/(2 sqrt h).

isotropic   A = I                                       Delta = R g
fisher      A = S, a public matrix near H               Delta = R sqrt(B^2/(h + B^2) + 2 tau g^2)
democratic  A = S^2                                     Delta = R (B + 2 tau g)

S is a release of H plus tau I, where tau bounds the spectral norm of the release's noise (`spectral_bound`), except
with a declared probability, and is at least B^2/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.field_kinds import choice, many, maybe
from discreet.core.rounding import FEW, ROOM, up
from discreet.errors import ParameterError
from discreet.mechanisms.posterior_sampling.adaptive_event import STAGED, StagedEvent, quantile, size
from discreet.mechanisms.posterior_sampling.event import relative, trace_bound
from discreet.privacy.events.coefficients import FROM_ZERO, POSITIVE, SIGNED, described
from discreet.privacy.ops import coefficient_bound

Shape = Literal["isotropic", "fisher", "democratic"]

POWERS: dict[Shape, int] = {"isotropic": 0, "fisher": 1, "democratic": 2}
"""A is this power of S."""

SHAPES: tuple[Shape, ...] = tuple(POWERS)

_ROOT = 1e-6
"""The relative error of a released root, of its symmetry and of its listed norm."""

_GRID = np.geomspace(1e-2, 1e7, 361)


@described(
    "output_perturbation",
    "Ridge coefficients with noise.",
    **STAGED,
    shape=choice(Shape),
    gram_sd=maybe(POSITIVE),
    tau=FROM_ZERO,
    root=many(SIGNED),
)
@dataclass(frozen=True, kw_only=True)
class OutputEvent(StagedEvent):
    """Ridge coefficients with noise of covariance A^-1/gamma, A = I, S or S^2, S a release of H plus tau I.

    `root` holds the released C, C'C = A, row by row; it is empty for A = I.
    """

    mechanism: ClassVar[str] = "output perturbation"
    name: ClassVar[str] = "least eigenvalue of X'X, log norm of the coefficients, X'X, coefficients"

    shape: Shape
    gram_sd: float | None
    tau: float
    stretch: float
    root: tuple[float, ...] = ()

    def _own_costs(self) -> list[float]:
        gram = 0.0 if self.gram_sd is None else self.norm**2 / self.gram_sd
        return [gram, math.sqrt(self.gamma) * output_change(self)]

    def keeps(self) -> bool:
        """Whether the cost follows from the noise; tau must cover the noise on X'X."""
        if self.log_norm is None:
            return False
        if self.shape == "isotropic":
            plain = self.gram_sd is None and not self.root and self.tau == 0 == self.failures[2]
            return plain and 1 <= self.stretch <= 1 + _ROOT and super().keeps()
        if self.gram_sd is None or not self.failures[2] or len(self.root) != len(self.design) ** 2:
            return False
        needed = spectral_bound(len(self.design), self.gram_sd, self.failures[2])
        return up(self.tau) >= needed and super().keeps()

    @property
    def _least_shape(self) -> float:
        if self.shape == "isotropic" or len(self.root) != len(self.design) ** 2:
            return 1.0
        C = np.reshape(self.root, (len(self.design), -1))
        return max(float(np.linalg.eigvalsh(C.T @ C)[0]), 1e-300)

    def impossible(self) -> str | None:
        """The reason why listed values are impossible, if any; C is symmetric and positive, with the listed norm."""
        d = len(self.design)
        if self.shape != "isotropic" and len(self.root) == d * d:
            C = np.reshape(self.root, (d, d))
            values = np.linalg.eigvalsh(C)
            asymmetric = np.abs(C - C.T).max() > _ROOT * np.abs(C).max()
            if asymmetric or values[0] <= 0 or not math.isclose(values[-1], self.stretch, rel_tol=_ROOT):
                return "the shape of the noise is no root of a matrix with the listed norm"
        return super().impossible()


def output_change(event: OutputEvent) -> float:
    """The sensitivity of C theta, C'C = A, rounding errors included; `stretch` is the norm of C."""
    facts = {"h": event.h, "B": event.norm, "residual": event.residual, "tau": event.tau}
    change, error = sensitivity(event.shape, **facts), 0.0
    if event.shape != "isotropic":  # the relative error of norms in A from the computed C: docs/mathematics, 8.7
        largest = event.stretch**2 if event.shape == "fisher" else event.stretch
        error = 8 * len(event.design) * 2.0**-52 * largest / event.h
    return up(change, max(ROOM, error)) + output_rounding(event)


def output_rounding(event: OutputEvent) -> float:
    """A bound on the rounding errors of C theta, in the table and in its neighbour."""
    d = len(event.design)
    error = relative(d, trace_bound(d, event.norm, event.penalty, event.rows), event.h) * size(event)
    return 2 * event.stretch * (error + 2.0**-50 * d * size(event))


@dataclass(frozen=True, kw_only=True)
class OutputPlan:
    """Everything that is fixed before the data are read, and the rule that chooses lambda."""

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
        """The noise sd of the least eigenvalue."""
        return self.change / self.mu1

    @property
    def gram_sd(self) -> float | None:
        """The noise sd of the diagonal of X'X."""
        return up(self.B**2 / self.mu_gram) if self.mu_gram else None

    @property
    def tau(self) -> float:
        """A bound on the spectral norm of the noise on X'X."""
        if self.gram_sd is None:
            return 0.0
        return max(up(spectral_bound(self.d, self.gram_sd, self.failure)), self.B**2 / 2)

    def penalty(self, lt: float) -> float:
        """Choose from a public grid the lambda with the least bound on the prediction error: noise plus bias.

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
            noise = self.d * v / (v + lambda_) ** POWERS[self.shape] * (delta / self.mu_o) ** 2
            bound = noise + lambda_ * (self.Y / self.B) ** 2 * v / (v + lambda_)
            if bound < best:
                best, found = bound, lambda_
        return found


def shift_bound(h: float, B: float) -> float:
    """The bound g on the norm of H1^-1 x over rows and H1 = H0 + x x' with eigenvalues of H0 at least h."""
    h, B = checks.positive("h", h), checks.positive("B", B)
    return B / (h + B**2) if h >= B**2 else 1 / (2 * math.sqrt(h))


def sensitivity(shape: Shape, *, h: float, B: float, residual: float, tau: float = 0.0) -> float:
    """The sensitivity Delta of the coefficients in the norm of A, add-remove; twice that for replace-one.

    h bounds the eigenvalues of H for the smaller of the two tables, `residual` R = abs(y - x'theta_hat) of a row
    outside it; other shapes than isotropic need tau >= B^2/2.
    """
    checks.choice("shape", shape, SHAPES)
    R, g = checks.positive("residual", residual), shift_bound(h, B)
    if shape != "isotropic" and not (checks.is_real(tau) and B**2 / 2 <= tau < math.inf):
        raise ParameterError(f"tau must be a finite number of at least B^2/2 for shape={shape!r}, got {tau!r}.")
    if shape == "isotropic":
        change = g
    elif shape == "fisher":
        change = math.sqrt(B**2 / (h + B**2) + 2 * tau * g**2)
    else:
        change = B + 2 * tau * g
    return up(R * change, FEW)


def spectral_bound(d: int, sd: float, failure: float) -> float:
    """The bound tau on the spectral norm of a symmetric noise matrix; exceeded with probability `failure` at most.

    The noise has standard deviation sd on the diagonal and sd/sqrt 2 off it.
    """
    sd, failure = checks.positive("sd", sd), checks.fraction("failure", failure)
    rounding = 1 + d * 2.0**-28  # rounding of the noise to its grid
    return sd * (math.sqrt(2 * d) + math.sqrt(2 * math.log(2 / failure))) * rounding


def root(shape: Shape, S: Floats | None, d: int) -> Floats:
    """The matrix C with C'C = A: the identity, the square root of S, or S."""
    if shape == "isotropic" or S is None:
        return np.eye(d)
    values, vectors = np.linalg.eigh(S)
    if values[0] <= 0:
        raise ParameterError("S must be positive definite.")
    drawn: Floats = (vectors * values ** (POWERS[shape] / 2)) @ vectors.T
    return drawn
