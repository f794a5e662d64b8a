"""The posterior of coefficients given all stages: ``docs/mathematics``, section 12.3.

theta = P t, with P the axes of the first stage. Stage k has axes P T_k, a model theta_k = P t_k, and released
S = U'U + N1 and c = U'e + N2 with u = w z/r and e = clip(w res, -b, b)/b. With beta = T_k^-1 (t - t_k), what the stage
adds to its model,

    c = (r/b) A beta + error,     A: S with its eigenvalues denoised, and a floor f under them
    error variance = (s_xy^2 + v (r/b)^2 E|beta|^2) I + sigma^2 A           noise of c, left over in A, sampling
                     + E/q A^2                    in all stages but the last, whose weights are the model's
                     + (n p)^2 A_11/n/10          of the constant, where a share p of residuals is clipped

so each stage updates the law N(mean, covariance) of t as in a Kalman filter. It begins with t_j ~ N(0, tau), and the
constant at where the counts of the outcome say it is; the estimate is averaged over grids of tau and f, and over what
these counts allow, with the likelihood of all stages as weight. v, the mean square of an entry of A - U'U, is what
denoising left: |S|^2 - E|N1|^2 - |A|^2 over q^2, as if A were the posterior mean of U'U, and a little more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.core.threads import one_thread
from discreet.domain import CONSTANT
from discreet.privacy.values import ReleasedStage
from discreet.solve.location import Hypothesis, Location
from discreet.solve.noise_aware import HIDDEN, denoise, hidden_floors
from discreet.solve.outcome import shares

_VARIANCES = np.geomspace(0.003, 1e4, 14)
"""The grid of tau, in units of the outcome's squared spread over the number of coefficients."""

_NOISE_OF_S = 0.25
"""The largest v, in units of s_xx^2."""

_UNSEEN = 3.0
"""v is at least this many q-ths of s_xx^2."""

_NEGLIGIBLE = 30.0
"""Laws whose likelihood is e^-30 of the best one's are dropped."""

_LEAST_ENERGY = 0.02
_CLIPPED = 0.1


class Normal(NamedTuple):
    """A mean and a covariance."""

    mean: Floats
    covariance: Floats

    def through(self, M: Floats) -> Normal:
        """Return the mean and covariance of M times the vector."""
        return Normal(M @ self.mean, M @ self.covariance @ M.T)

    def plus(self, covariance: Floats) -> Normal:
        """Return the law with an independent error added."""
        return Normal(self.mean, self.covariance + covariance)


@dataclass(frozen=True, eq=False)
class Joint:
    """The posterior of the coefficients of the mapped columns, and X'X.

    `law`, `prior`: the law of theta given all stages, and before them, averaged over the grids.
    `gram`: X'X as the last stage weighs rows, denoised, scaled to the number of rows.
    `doubt`: R, such that X'X - gram is about R N R', the entries of N having variance 1.
    """

    law: Normal
    prior: Normal
    gram: Floats
    doubt: Floats

    @property
    def mean(self) -> Floats:
        """The posterior mean of theta."""
        return self.law.mean

    @property
    def expected_error(self) -> float:
        """E (theta - mean)' X'X (theta - mean), the squared prediction error of the mean, summed over the rows."""
        return float(np.sum(self.gram * self.law.covariance))

    def excess_error(self, theta: Floats) -> Floats:
        """Return (theta - mean)' X'X (theta - mean), for one vector of coefficients or for each row of a matrix."""
        gap = theta - self.mean
        error: Floats = np.einsum("...i,ij,...j->...", gap, self.gram, gap)
        return error

    def lifted(self, K: Floats, B: Floats) -> Joint:
        """Return the posterior for regressors x, where this one is for z = K x, and B K = I."""
        return Joint(self.law.through(K.T), self.prior.through(K.T), B @ self.gram @ B.T, B @ self.doubt)

    def of_some(self, at: Sequence[int]) -> Joint:
        """Return the posterior for some regressors: the projection M theta, with the uncertainty of X'X.

        With rho = theta less the projected model, M theta is off by G^-1 (X'X - gram)_at rho, G being gram of them.
        """
        inverse = np.linalg.pinv(self.gram[np.ix_(at, at)], hermitian=True)
        M, left = inverse @ self.gram[at], np.eye(len(self.gram))
        left[at] -= M
        rho, D = self.law.through(self.doubt.T @ left), inverse @ self.doubt[at]
        error = (float(rho.mean @ rho.mean) + float(np.trace(rho.covariance))) * (D @ D.T)
        laws = self.law.through(M).plus(error), self.prior.through(M).plus(error)
        return Joint(*laws, self.gram[np.ix_(at, at)], self.doubt[at])


@dataclass(frozen=True, eq=False)
class _FilterStage:
    """One stage as the filter sees it, for one outcome."""

    T: Floats
    back: Floats
    t: Floats
    grams: tuple[Floats, ...]
    c: Floats
    scale: float
    energy: float
    left_over: float
    noise: float
    clipped: float

    @classmethod
    def of(cls, stage: ReleasedStage, outcome: str, base: Floats, n: float) -> _FilterStage:
        own = stage.event.coordinates
        j = own.outcomes.index(outcome)
        b = stage.event.widths[j]
        T = base @ own.P.floats
        grams = _denoised(stage.gram, stage.sd("gram"))
        return cls(
            T=T,
            back=_inverse(T),
            t=base @ own.theta.floats[:, j],
            grams=grams,
            c=stage.cross[:, j],
            scale=own.radius / b,
            energy=min(max(float(stage.squares[j]) / n, _LEAST_ENERGY), 1.0),
            left_over=_left_over(stage.gram, grams[0], stage.sd("gram")),
            noise=stage.sd("cross"),
            clipped=_clipped(stage, outcome, stage.event.chosen[j]),
        )


def _clipped(stage: ReleasedStage, outcome: str, place: int) -> float:
    """Return the share of residuals that are clipped, where they were counted."""
    if not stage.holds("counts"):
        return 0.0
    counts = stage.counts(outcome)
    return float(shares(counts, max(float(counts.sum()), 1.0))[place + 1 :].sum())


def joint(
    stages: Sequence[ReleasedStage],
    outcome: str,
    location: Location,
    size: float,
    *,
    constant: bool,
    doubt: float = 1.0,
) -> Joint:
    """Return the posterior of one outcome's coefficients.

    `size`: about the mean of |z|^2 in the first stage, the constant apart.
    `constant`: whether the design begins with the constant.
    `doubt`: factor on the covariances before the last of three or more stages: short radii and narrow clipping bias
    all earlier stages alike.
    """
    P, n = stages[0].event.coordinates.P.floats, location.rows
    hypotheses = location.hypotheses if constant else (Hypothesis(1.0, 0.0, 1.0),)
    with one_thread():  # many products of small matrices
        base = _inverse(P)
        facts = [_FilterStage.of(stage, outcome, base, n) for stage in stages]
        spread = location.spread or math.sqrt(facts[0].energy * size) / facts[0].scale
        grid = _VARIANCES * spread**2 / size if P.shape[1] > constant else np.ones(1)
        laws = begun = _begun(P.shape[1], hypotheses, grid, constant=constant)
        for k, stage in enumerate(facts, start=1):
            if k == len(facts) >= 3:
                laws = laws._replace(covariance=doubt * laws.covariance)
            laws = _updated(laws, stage, n, last=k == len(facts), constant=constant)
        weights = np.exp(laws.log - laws.log.max())
        weights /= weights.sum()
        law = _averaged(weights, laws.mean, laws.covariance)
        prior = _averaged(weights, begun.mean[laws.start], begun.covariance[laws.start])
        A, v = facts[-1].grams[0], facts[-1].left_over
        R = _back(stages[-1], A, n)
        return Joint(law.through(P), prior.through(P), R @ A @ R.T, v**0.25 * R)


class _StageLaws(NamedTuple):
    """The laws of t for each tau, hypothesis and floor, and the log likelihood of the stages so far."""

    log: Floats
    mean: Floats
    covariance: Floats
    floor: Ints
    start: Ints
    """Index of the first law that each comes from."""


def _averaged(weights: Floats, means: Floats, covariances: Floats) -> Normal:
    """Return the mean and the covariance of a mixture."""
    mean = weights @ means
    gaps = means - mean
    return Normal(mean, np.einsum("g,gij->ij", weights, covariances) + (gaps.T * weights) @ gaps)


def _begun(q: int, hypotheses: Sequence[Hypothesis], grid: Floats, *, constant: bool) -> _StageLaws:
    points = [(tau, h, f) for tau in grid for h in hypotheses for f in range(len(HIDDEN))]
    mean, covariance = np.zeros((len(points), q)), np.array([tau * np.eye(q) for tau, _, _ in points])
    if constant:
        mean[:, 0], covariance[:, 0, 0] = np.array([(h.mean, h.variance) for _, h, _ in points]).T
    log = np.log([h.probability for _, h, _ in points])
    return _StageLaws(log, mean, covariance, np.array([f for _, _, f in points]), np.arange(len(points)))


def _updated(laws: _StageLaws, stage: _FilterStage, n: float, *, last: bool, constant: bool) -> _StageLaws:
    """Return the laws after one more stage, without those that have become unlikely."""
    k, T, back, grams = stage.scale, stage.T, stage.back, np.array(stage.grams)
    A, q = grams[laws.floor], grams.shape[1]
    gap, C = (laws.mean - stage.t) @ back.T, back @ laws.covariance @ back.T
    moved = np.einsum("gij,gj->gi", A, gap)
    explained = np.einsum("gij,gij->g", A, C) + np.einsum("gi,gi->g", gap, moved)
    size = np.trace(C, axis1=1, axis2=2) + np.einsum("gi,gi->g", gap, gap)
    sigma2 = np.maximum(stage.energy - k**2 * explained / n, 0.05 * stage.energy)
    gain = k * (C @ A)
    V = k * (A @ gain) + sigma2[:, None, None] * A
    if not last:
        V += (stage.energy / q * (grams @ grams))[laws.floor]
    if constant:
        V[:, 0, 0] += _CLIPPED * n * stage.clipped**2 * np.maximum(A[:, 0, 0], 0.0)
    V = (V + V.transpose(0, 2, 1)) / 2
    diagonal = np.einsum("gii->gi", V)
    diagonal += (stage.noise**2 + stage.left_over * k**2 * size)[:, None]
    diagonal += 1e-12 * diagonal.mean(axis=1)[:, None]
    error = stage.c - k * moved
    solved = np.linalg.solve(V, error[:, :, None])[:, :, 0]
    halves = np.log(np.diagonal(np.linalg.cholesky(V), axis1=1, axis2=2)).sum(axis=1)
    log = laws.log - np.einsum("gi,gi->g", error, solved) / 2 - halves
    mean = laws.mean + np.einsum("gij,gj->gi", gain, solved) @ T.T
    kept = log > log.max() - _NEGLIGIBLE
    C_A = gain[kept]
    covariance = laws.covariance[kept] - T @ (C_A @ np.linalg.solve(V[kept], C_A.transpose(0, 2, 1))) @ T.T
    return _StageLaws(
        log[kept], mean[kept], (covariance + covariance.transpose(0, 2, 1)) / 2, laws.floor[kept], laws.start[kept]
    )


def _denoised(S: Floats, sd: float) -> tuple[Floats, ...]:
    """Return S with its eigenvalues denoised, and with each of the floors under them, as in `noise_aware`."""
    l, Q = np.linalg.eigh(S)  # noqa: E741
    a = np.maximum(denoise(l, sd), 0.0)
    return tuple((Q * np.maximum(a, floor)) @ Q.T for floor in hidden_floors(a, sd))


def _inverse(P: Floats) -> Floats:
    return np.asarray(np.linalg.inv(P) if P.shape[0] == P.shape[1] else np.linalg.pinv(P), dtype=np.float64)


def _left_over(S: Floats, A: Floats, sd: float) -> float:
    """Estimate the mean square of an entry of A - U'U."""
    q = len(S)
    found = (float(np.sum(S**2)) - q * (q + 1) / 2 * sd**2 - float(np.sum(A**2))) / q**2
    return min(max(found, 0.0) + _UNSEEN * sd**2 / q, _NOISE_OF_S * sd**2)


def _back(stage: ReleasedStage, A: Floats, n: float) -> Floats:
    """Return R with X'X = R U'U R' for the mapped columns, as if all n rows had the mean weight; A is denoised U'U."""
    own = stage.event.coordinates
    R: Floats = own.radius * _inverse(own.P.floats).T
    weight = float(R[0] @ A @ R[0]) if own.design[0] == CONSTANT else n
    return R * math.sqrt(n / max(weight, 1.0))
