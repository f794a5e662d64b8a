"""The posterior of coefficients given all stages: ``docs/mathematics.md``, section 12.3.

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

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.released.grids import ReleasedStage
from discreet.released.solve.location import Hypothesis, Location
from discreet.released.solve.noise_aware import HIDDEN, LARGEST_HIDDEN, denoise
from discreet.released.solve.outcome import shares

_VARIANCES = np.geomspace(0.003, 1e4, 14)
"""The grid of tau, in units of the outcome's squared spread over the number of coefficients."""

_NOISE_OF_S = 0.25
"""The largest v, in units of s_xx^2."""

_UNSEEN = 3.0
"""v is at least this many q-ths of s_xx^2."""

_LEAST_ENERGY = 0.02
_CLIPPED = 0.1


@dataclass(frozen=True, eq=False)
class Joint:
    """The posterior mean and covariance of the coefficients of the mapped columns, and X'X.

    Parameters
    ----------
    mean, covariance : array
        Of theta.
    gram : array
        X'X as the last stage weighs rows, denoised, scaled to the number of rows.
    """

    mean: Floats
    covariance: Floats
    gram: Floats

    def excess_error(self, theta: Floats) -> Floats:
        """(theta - mean)' X'X (theta - mean), for one vector of coefficients or for each row of a matrix."""
        gap = theta - self.mean
        error: Floats = np.einsum("...i,ij,...j->...", gap, self.gram, gap)
        return error


@dataclass(frozen=True, eq=False)
class _Stage:
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
    def of(cls, stage: ReleasedStage, outcome: str, base: Floats, n: float) -> _Stage:
        own = stage.event.coordinates
        j = own.outcomes.index(outcome)
        b = stage.event.widths[j]
        T = base @ own.P.floats
        grams = _denoised(stage.gram, stage.sd("gram"))
        p = shares(stage.counts(outcome), max(float(stage.counts(outcome).sum()), 1.0))
        return cls(
            T=T,
            back=np.asarray(np.linalg.pinv(T), dtype=np.float64),
            t=base @ own.theta.floats[:, j],
            grams=grams,
            c=stage.cross[:, j],
            scale=own.radius / b,
            energy=min(max(float(stage.squares[j]) / n, _LEAST_ENERGY), 1.0),
            left_over=_left_over(stage.gram, grams[0], stage.sd("gram")),
            noise=stage.sd("cross"),
            clipped=float(p[stage.event.chosen[j] + 1 :].sum()),
        )


def joint(stages: Sequence[ReleasedStage], outcome: str, location: Location, size: float, *, constant: bool) -> Joint:
    """The posterior of one outcome's coefficients.

    Parameters
    ----------
    stages : sequence of ReleasedStage
        Those so far.
    outcome : str
        Its coordinate.
    location : Location
        What its counts said.
    size : float
        About the mean of |z|^2 in the first stage, the constant apart.
    constant : bool
        Whether the design begins with the constant.
    """
    P, n = stages[0].event.coordinates.P.floats, location.rows
    base = np.asarray(np.linalg.pinv(P), dtype=np.float64)
    facts = [_Stage.of(stage, outcome, base, n) for stage in stages]
    spread = location.spread or math.sqrt(facts[0].energy * size) / facts[0].scale
    grid = _VARIANCES * spread**2 / size if P.shape[1] > constant else np.ones(1)
    hypotheses = location.hypotheses if constant else (Hypothesis(1.0, 0.0, 1.0),)
    floors = range(len(HIDDEN))
    found = [_filtered(facts, h, tau, f, n, constant=constant) for tau in grid for h in hypotheses for f in floors]
    log = np.array([likelihood for likelihood, _, _ in found])
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    mean = np.einsum("g,gi->i", weights, [own for _, own, _ in found])
    covariance = np.einsum("g,gij->ij", weights, [own for _, _, own in found])
    return Joint(P @ mean, P @ covariance @ P.T, _gram(stages[-1], facts[-1].grams[0], n))


def _filtered(
    stages: Sequence[_Stage], start: Hypothesis, tau: float, floor: int, n: float, *, constant: bool
) -> tuple[float, Floats, Floats]:
    """The log likelihood of the stages, and mean and covariance of t after them, for one tau and one floor."""
    q = len(stages[0].T)
    mean, variances = np.zeros(q), np.full(q, tau)
    if constant:
        mean[0], variances[0] = start.mean, start.variance
    covariance, log = np.diag(variances), math.log(start.probability)
    for stage in stages:
        k, A = stage.scale, stage.grams[floor]
        gap, C = stage.back @ (mean - stage.t), stage.back @ covariance @ stage.back.T
        B = C + np.outer(gap, gap)
        sigma2 = max(stage.energy - k**2 * float(np.sum(A * B)) / n, 0.05 * stage.energy)
        W = (stage.noise**2 + stage.left_over * k**2 * float(np.trace(B))) * np.eye(len(A)) + sigma2 * A
        if stage is not stages[-1]:
            W += stage.energy / len(A) * (A @ A)
        if constant:
            W[0, 0] += _CLIPPED * n * stage.clipped**2 * max(float(A[0, 0]), 0.0)
        V = k**2 * (A @ C @ A) + W
        V = (V + V.T) / 2
        factor = cho_factor(V + 1e-12 * np.trace(V) / len(V) * np.eye(len(V)))
        error, gain = stage.c - k * (A @ gap), k * (C @ A)
        solved = cho_solve(factor, np.column_stack([error, gain.T]))
        log += -0.5 * float(error @ solved[:, 0]) - float(np.log(np.diag(factor[0])).sum())
        mean = mean + stage.T @ (gain @ solved[:, 0])
        covariance = covariance - stage.T @ (gain @ solved[:, 1:]) @ stage.T.T
        covariance = (covariance + covariance.T) / 2
    return log, mean, covariance


def _denoised(S: Floats, sd: float) -> tuple[Floats, ...]:
    """S with its eigenvalues denoised, and with each of the floors under them, as in `noise_aware`."""
    l, Q = np.linalg.eigh(S)  # noqa: E741
    a = np.maximum(denoise(l, sd), 0.0)
    floors = np.minimum(HIDDEN * sd * math.sqrt(len(a) / 2), LARGEST_HIDDEN * a.sum())
    return tuple((Q * np.maximum(a, floor)) @ Q.T for floor in floors)


def _left_over(S: Floats, A: Floats, sd: float) -> float:
    """The mean square of an entry of A - U'U, as far as the release tells."""
    q = len(S)
    found = (float(np.sum(S**2)) - q * (q + 1) / 2 * sd**2 - float(np.sum(A**2))) / q**2
    return min(max(found, 0.0) + _UNSEEN * sd**2 / q, _NOISE_OF_S * sd**2)


def _gram(stage: ReleasedStage, A: Floats, n: float) -> Floats:
    """X'X of the mapped columns, from denoised U'U, as if all rows had the mean weight."""
    own = stage.event.coordinates
    back = own.radius * np.linalg.pinv(own.P.floats)
    X: Floats = back.T @ A @ back
    weight = float(X[0, 0]) if own.design[0] == CONSTANT else n
    return X * (n / max(weight, np.finfo(float).tiny))
