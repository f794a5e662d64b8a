"""Events of coefficients whose noise follows from two earlier releases: ``docs/mathematics.md``, 8.5 to 8.7.

First the least eigenvalue l of X'X, then log(Y + B norm(theta)), with Gaussian noise each; then the coefficients:
a posterior sample (AdaOPS), or the ridge coefficients with Gaussian noise (output perturbation).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from scipy.special import ndtri

from discreet.privacy import gdp, output_perturbation
from discreet.privacy.events.coefficients import ROUND_UP, CoefficientEvent, grouped
from discreet.privacy.laws import Alone, Failure, Law
from discreet.privacy.ops_calibration import coefficient_bound
from discreet.privacy.ops_limits import GOLDEN, gaussian_excess
from discreet.privacy.rounding import relative, tolerance, trace_bound


@dataclass(frozen=True, kw_only=True)
class StagedEvent(CoefficientEvent):
    """The two releases, what follows from them, and the probabilities that it is wrong.

    Parameters
    ----------
    rows : float, optional
        The declared bound on the number of rows.
    eigenvalue, eigenvalue_sd, eigenvalue_change : float
        The released least eigenvalue of X'X, its noise, and how far one row moves it.
    log_norm, norm_sd : float, optional
        The released log(Y + B norm(theta)), and its noise; missing where a public bound stands for it.
    penalty, residual, gamma : float
        lambda; R, a bound on every residual; and the precision of the draw or of the noise.
    failures : tuple of float
        Probabilities that the eigenvalue is overestimated, that R is too small, and of the third kind of the method.
    """

    signed: ClassVar[tuple[str, ...]] = ("eigenvalue", "log_norm", "root")
    from_zero: ClassVar[tuple[str, ...]] = ("failures", "tau")
    optional: ClassVar[tuple[str, ...]] = ("rows", "log_norm", "norm_sd", "gram_sd")

    rows: float | None
    eigenvalue: float
    eigenvalue_sd: float
    eigenvalue_change: float
    log_norm: float | None
    norm_sd: float | None
    penalty: float
    residual: float
    gamma: float
    failures: tuple[float, ...]

    @property
    def mu(self) -> float:
        """Of all Gaussian parts."""
        return 0.0 if self.neighbors == "replace-one" else self._mu

    @property
    def law(self) -> Law:
        """The failures; under replace-one everything, through the table without the row."""
        failure = math.fsum(self.failures) * ROUND_UP
        if self.neighbors == "add-remove":
            return Failure(failure)
        return Alone(grouped(lambda epsilon: gdp.delta(self._mu, epsilon) + failure))

    @property
    def _mu(self) -> float:
        norm = 0.0 if self.norm_sd is None else log_norm_change(self) / self.norm_sd
        costs = [self.eigenvalue_change / self.eigenvalue_sd, norm, *self._own_costs()]
        return gdp.compose(costs) * ROUND_UP

    def _own_costs(self) -> list[float]:
        raise NotImplementedError

    @property
    def least(self) -> float:
        """lt: a lower bound on the least eigenvalue of the table and of every neighbour."""
        failure = self.failures[0]
        return max(0.0, self.eigenvalue - self.eigenvalue_sd * quantile(failure) - self.eigenvalue_change)

    @property
    def h(self) -> float:
        """A lower bound on the eigenvalues of H."""
        return self.penalty + self.least

    def keeps(self) -> bool:
        """Whether R and the eigenvalue's change are what they must be, and each release is listed with its noise."""
        if (self.log_norm is None) != (self.norm_sd is None) or len(self.failures) != 3:
            return False
        public = self.outcome + self.norm * public_norm(self)
        released = math.inf
        if self.log_norm is not None and self.norm_sd is not None:
            widening = self.norm_sd * quantile(self.failures[1]) + log_norm_change(self)
            released = math.exp(min(700.0, self.log_norm + widening))
        bounded = self.residual * ROUND_UP >= min(public, released)
        return bounded and self.eigenvalue_change * ROUND_UP >= eigenvalue_change(len(self.design), self.norm)


@dataclass(frozen=True, kw_only=True)
class AdaptiveEvent(StagedEvent):
    """A posterior sample that was declared to be `draw`-GDP up to the third failure, before anything was released."""

    mechanism: ClassVar[str] = "adaptive posterior sampling"
    name: ClassVar[str] = "least eigenvalue of X'X, log norm of the coefficients, posterior sample"

    draw: float
    tolerance: float
    output: float

    def _own_costs(self) -> list[float]:
        return [self.draw, 2 * self.tolerance / self.output]

    def keeps(self) -> bool:
        """Whether the draw keeps what was declared for it, too."""
        m, d = self.norm**2 / self.h, len(self.design)
        if m > GOLDEN:
            return False
        rho = math.sqrt(self.gamma) * self.residual
        error = tolerance(d, trace_bound(d, self.norm, self.penalty, self.rows), self.h, size(self), self.gamma)
        declared = gaussian_excess(self.draw, self.failures[2], m, rho) <= 0
        return declared and error <= self.tolerance * ROUND_UP and super().keeps()


@dataclass(frozen=True, kw_only=True)
class OutputEvent(StagedEvent):
    """Ridge coefficients with noise of covariance A^-1/gamma, A = I, S or S^2, S a release of H plus tau I.

    `root` holds C, C'C = A, line by line, which was released; it is empty for A = I.
    """

    mechanism: ClassVar[str] = "output perturbation"
    name: ClassVar[str] = "least eigenvalue of X'X, log norm of the coefficients, X'X, coefficients"
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"shape": output_perturbation.SHAPES}

    shape: output_perturbation.Shape
    gram_sd: float | None
    tau: float
    stretch: float
    root: tuple[float, ...] = ()

    def _own_costs(self) -> list[float]:
        gram = 0.0 if self.gram_sd is None else self.norm**2 / self.gram_sd
        return [gram, math.sqrt(self.gamma) * output_change(self)]

    def keeps(self) -> bool:
        """Whether tau covers the noise on X'X, too."""
        if self.log_norm is None:
            return False
        if self.shape == "isotropic":
            return self.stretch >= 1 and self.gram_sd is None and not self.root and super().keeps()
        if self.gram_sd is None or not self.failures[2] or len(self.root) != len(self.design) ** 2:
            return False
        needed = output_perturbation.spectral_bound(len(self.design), self.gram_sd, self.failures[2])
        return self.tau * ROUND_UP >= needed and super().keeps()


def output_change(event: OutputEvent) -> float:
    """The largest change of C theta, C'C = A, with its rounding errors; `stretch` is the norm of C."""
    facts = {"h": event.h, "B": event.norm, "residual": event.residual, "tau": event.tau}
    return output_perturbation.sensitivity(event.shape, **facts) * (1 + 2.0**-30) + output_rounding(event)


def output_rounding(event: OutputEvent) -> float:
    """How far rounding errors move C theta, at most, in the table and in its neighbour."""
    d = len(event.design)
    error = relative(d, trace_bound(d, event.norm, event.penalty, event.rows), event.h) * size(event)
    return 2 * event.stretch * (error + 2.0**-50 * d * size(event))


def log_norm_change(event: StagedEvent) -> float:
    """s: how far one row moves log(Y + B norm(theta)), with its rounding errors."""
    d = len(event.design)
    return norm_change(d, event.norm, event.penalty, event.h, event.rows)


def norm_change(d: int, B: float, penalty: float, h: float, rows: float | None) -> float:
    """The same, from its parts.

    Examples
    --------
    >>> round(norm_change(d=3, B=1.0, penalty=50.0, h=100.0, rows=1000), 6)
    0.00995
    """
    return math.log1p(B**2 / h) * ROUND_UP + 4 * relative(d, trace_bound(d, B, penalty, rows), h) + 2.0**-40


def eigenvalue_change(d: int, B: float) -> float:
    """How far one row moves the computed least eigenvalue: B^2, and twice its rounding error (section 2.5).

    Examples
    --------
    >>> round(eigenvalue_change(d=10, B=1.0), 4)
    1.0001
    """
    from discreet.privacy.sensitivity import eigenvalue_error

    return B**2 * (1 + 2 * eigenvalue_error(d)) * ROUND_UP


def public_norm(event: StagedEvent) -> float:
    """A bound on the norm of the coefficients by public facts and the released eigenvalue; infinite without rows."""
    rows = math.inf if event.rows is None else event.rows
    return coefficient_bound(event.penalty, rows, event.norm, event.outcome, event.least)


def size(event: StagedEvent) -> float:
    """A bound on the norm of the coefficients: R is one on Y + B norm."""
    return event.residual / event.norm


def quantile(p: float) -> float:
    """Q with P(Z > q) = p, rounded up; infinite for 0."""
    return math.inf if p <= 0 else -float(ndtri(p)) * (1 + 2.0**-40)
