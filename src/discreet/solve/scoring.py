"""The posterior of a generalised linear model given noisy scores: ``docs/mathematics``, section 13.3.

In whitened coordinates z, with eta = gamma'z/r, a step at gamma_t releases c_t, the sum of u e at that model plus noise
of sd s_t. At the model gamma that rows call for the sum is 0, so that

    c_t = F(gamma) - F(gamma_t) + error,    F(gamma) = n min(1, r^2/tr V)/(r b) E[z h(eta)]

F is known if z is normal with second moments V, which earlier releases tell: E[z h(eta)] is then an integral over eta
alone. Rows are not normal, so the error of c_t is that of its noise and a share of |F(gamma) - F(gamma_t)|^2, which
vanishes for steps near the model. gamma has the prior N(gamma_0, tau I), and its constant one of its own. The estimate
is the mode, found by Gauss-Newton steps, averaged over a grid of tau with the evidence of all steps as weight. Where
noise is small the derivative of F is released, too, and replaces that of normal z.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.threads import one_thread
from discreet.solve.noise_aware import denoise

Mean = Callable[[Floats], tuple[Floats, Floats]]
"""The means h of linear predictors, a column each, and their derivatives by each predictor."""

_NODES, _POINTS = 21, 8
"""Nodes of the integral over one predictor; and the logarithm of the number of points for several."""

_SIZES = 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0
"""The grid of tau: the variance of a row's predictor."""

_MISFIT = 0.1
"""The squared relative error of F."""

_LONGEST, _ITERATIONS = 3.0, 3
"""The longest Gauss-Newton step, in units of the predictor; and the number of them after each release."""

_UNSURE = 0.1
"""The relative error of the derivative of F, beside which that of a released one counts."""

_ROUNDED = 1e-14
"""Added to the curvature, relative to its trace: rounding errors are less, so that it stays positive."""

_NEGLIGIBLE = 12.0
"""Points of the grid whose evidence is e^-12 of the best one's are dropped."""


@cache
def _integral(m: int) -> tuple[Floats, Floats]:
    """Return points and weights of an expectation over m independent normal variables."""
    if m == 1:
        x, w = np.polynomial.hermite_e.hermegauss(_NODES)
        return x[:, None], w / w.sum()
    from scipy.stats import norm, qmc  # only models of several classes need it

    half = norm.ppf(qmc.Sobol(m, scramble=False).random_base2(_POINTS)[1:])
    x = np.vstack([half, -half])
    x = x @ np.linalg.inv(np.linalg.cholesky(x.T @ x / len(x))).T
    return x, np.full(len(x), 1 / len(x))


@dataclass(frozen=True, eq=False)
class ScoreField:
    """F, the expected sum of u h(eta) over rows with normal z, and its derivative.

    Parameters
    ----------
    mean : callable
        h and its derivative.
    V : array (q, q)
        Second moments of z; with a constant, the first coordinate is 1 and the others are centred.
    rows, radius, width : float
        n, r and b.
    constant : bool
        Whether the first coordinate is the constant.
    """

    mean: Mean
    V: Floats
    rows: float
    radius: float
    width: float
    constant: bool

    @cached_property
    def _factor(self) -> float:
        r = self.radius
        return self.rows * min(1.0, r**2 / float(np.trace(self.V))) / (r * self.width)

    def at(self, gamma: Floats) -> tuple[Floats, Floats]:
        """Return F at gamma (q, m), and its derivative (q m, q m), both in the order of gamma's entries."""
        V, r, (q, m) = self.V, self.radius, gamma.shape
        x, w = _integral(m)
        slopes, at_mean = gamma / r, np.zeros(m)
        if self.constant:
            at_mean, slopes = slopes[0], np.vstack([np.zeros(m), slopes[1:]])
        T = V @ slopes
        l, Q = np.linalg.eigh(slopes.T @ T)  # noqa: E741
        root = np.sqrt(np.maximum(l, 0.0))
        T = T @ Q @ np.diag(np.where(root > 1e-9, 1 / np.maximum(root, 1e-9), 0.0))  # the covariance of z and x
        h, slope = self.mean(at_mean + (x * root) @ Q.T)
        F = T @ (x * w[:, None]).T @ h
        mean, first = np.einsum("g,gkl->kl", w, slope), np.einsum("g,gi,gkl->ikl", w, x, slope)
        second = np.einsum("g,gi,gj,gkl->ijkl", w, x, x, slope) - np.eye(m)[:, :, None, None] * mean
        H = np.einsum("ij,kl->ikjl", V, mean) + np.einsum("ia,abkl,jb->ikjl", T, second, T)
        if self.constant:
            F[0] += w @ h
            along = np.einsum("ia,akl->ikl", T, first)
            H[0] += along.transpose(1, 0, 2)
            H[:, :, 0] += along
        return self._factor * F.ravel(), self._factor / r * H.reshape(q * m, q * m)


class NoisyScore(NamedTuple):
    """One step: its model gamma, the released sum of u e there, and the sd of its noise."""

    gamma: Floats
    score: Floats
    sd: float


@dataclass(frozen=True, eq=False)
class Derivative:
    """The noisy derivative of F that a step released.

    Parameters
    ----------
    array : array (q m, q m)
        The derivative.
    sd : float
        The sd of the noise on its diagonal.
    """

    array: Floats
    sd: float

    @cached_property
    def denoised(self) -> Floats:
        """The derivative with its eigenvalues denoised."""
        l, Q = np.linalg.eigh(self.array)  # noqa: E741
        denoised: Floats = (Q * np.maximum(denoise(l, self.sd), 0.0)) @ Q.T
        return denoised

    def trust(self, H: Floats) -> float:
        """Return how much better it is known than that of normal z, from 0 to 1."""
        return 1 / (1 + (self.sd * len(H) / (_UNSURE * float(np.trace(H)))) ** 2)


class _GridPoint(NamedTuple):
    """A point of the grid: tau, the mode, and the logarithm of its evidence."""

    size: float
    mode: Floats
    log: float


@dataclass(frozen=True, eq=False)
class Scoring:
    """The posterior of gamma after some steps.

    Parameters
    ----------
    field : ScoreField
        F.
    start : array (q, m)
        gamma_0, the constant model.
    doubt : float
        The prior variance of the predictor of a row at the mean.
    steps : tuple of NoisyScore
        The steps so far.
    points : tuple
        The points of the grid that the steps leave.
    """

    field: ScoreField
    start: Floats
    doubt: float
    steps: tuple[NoisyScore, ...] = ()
    points: tuple[_GridPoint, ...] = ()

    @property
    def mean(self) -> Floats:
        """The estimate of gamma (q, m)."""
        if not self.points:
            return self.start
        weights = np.exp([point.log for point in self.points])
        modes = np.array([point.mode for point in self.points])
        mean: Floats = (weights @ modes / weights.sum()).reshape(self.start.shape)
        return mean

    def after(self, step: NoisyScore, told: Derivative | None = None) -> Scoring:
        """Return the posterior given one more step, and the derivative of F that was released at its model, if any.

        With H the derivative of F there and M = told H^-1, M F takes the place of F, as far as `told` is known better.
        """
        steps = (*self.steps, step)
        with one_thread():  # many products of small matrices
            known = [self.field.at(own.gamma)[0] for own in steps]
            M = _factor(steps, known)
            if told is not None:
                H = self.field.at(step.gamma)[1]
                M += told.trust(H) * (np.linalg.solve(H, told.denoised).T - M)
            points = [self._moved(point, steps, known, M) for point in self._grid]
        return replace(self, steps=steps, points=_likely(points))

    @property
    def _grid(self) -> Sequence[_GridPoint]:
        """The points that are left, or all of them before the first step."""
        return self.points or [_GridPoint(size, self.start.ravel(), 0.0) for size in _SIZES]

    def score(self, H: Floats, misfit: float = _MISFIT) -> tuple[Floats, float]:
        """Return the score at the model of the last step and the sd of its noise, from all steps.

        A step at gamma_t tells the score at gamma up to H (gamma - gamma_t), with a share of it as an error.

        Parameters
        ----------
        H : array (q m, q m)
            The derivative of F.
        misfit : float
            The squared relative error of H (gamma - gamma_t).
        """
        at, total, sure = self.steps[-1].gamma, np.zeros(len(H)), 0.0
        for step in self.steps:
            moved = H @ (at - step.gamma).ravel()
            variance = step_variance(step.sd, moved, misfit)
            total += (step.score.ravel() - moved) / variance
            sure += 1 / variance
        return total / sure, math.sqrt(1 / sure)

    def _variances(self, size: float) -> Floats:
        """Return the prior variances of gamma."""
        (q, m), constant = self.start.shape, self.field.constant
        D = np.full((q, m), size / max(q - constant, 1))
        if constant:
            D[0] = self.doubt
        return self.field.radius**2 * D.ravel()

    def _shortened(self, move: Floats) -> Floats:
        return move * min(1.0, _LONGEST * self.field.radius / max(float(np.linalg.norm(move)), 1e-300))

    def _moved(self, point: _GridPoint, steps: Sequence[NoisyScore], known: Sequence[Floats], M: Floats) -> _GridPoint:
        """Return the mode for one tau, and its evidence."""
        D, gamma, log = self._variances(point.size), point.mode, 0.0
        for _ in range(_ITERATIONS):
            F, H = self.field.at(gamma.reshape(self.start.shape))
            off, H = gamma - self.start.ravel(), M @ H
            toward, sure = -off / D, 0.0
            log = -float(np.sum(np.log(D)) + off @ (off / D)) / 2
            for step, own in zip(steps, known, strict=True):
                moved = M @ (F - own)
                error, variance = step.score.ravel() - moved, step_variance(step.sd, moved)
                toward = toward + H.T @ error / variance
                sure += 1 / variance
                log -= (float(error @ error) / variance + len(error) * math.log(variance)) / 2
            A = sure * (H.T @ H) + np.diag(1 / D)
            A += _ROUNDED * float(np.trace(A)) * np.eye(len(A))
            log -= float(np.log(np.diagonal(np.linalg.cholesky(A))).sum())
            gamma = gamma + self._shortened(np.asarray(np.linalg.solve(A, toward), dtype=np.float64))
        return point._replace(mode=gamma, log=log)


def _factor(steps: Sequence[NoisyScore], known: Sequence[Floats]) -> Floats:
    """Return M, such that the scores of successive steps differ by M times the difference of F, as far as noise allows.

    The entries of M are I beforehand, with the variance that the misfit of F has.
    """
    M = np.eye(known[0].size)
    for (one, at), (other, to) in itertools.pairwise(zip(steps, known, strict=True)):
        moved, seen = to - at, (one.score - other.score).ravel()
        share = _MISFIT / len(moved)
        size = float(moved @ moved)
        M += np.outer(seen - M @ moved, moved) * (share / (share * size + one.sd**2 + other.sd**2))
    return M


def _likely(points: Sequence[_GridPoint]) -> tuple[_GridPoint, ...]:
    """Return the points that are not negligible, with their evidence relative to the best one's."""
    best = max(point.log for point in points)
    return tuple(point._replace(log=point.log - best) for point in points if point.log > best - _NEGLIGIBLE)


def step_variance(sd: float, moved: Floats, misfit: float = _MISFIT) -> float:
    """Return the variance of a score's error: that of its noise, and a share of what F differs by from the model's."""
    return sd**2 + misfit * float(moved @ moved) / len(moved)
