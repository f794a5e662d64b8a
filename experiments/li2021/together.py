"""Algorithm 1 for many targets at once, on one table: what `iterate` finds, in a tenth of its time.

The fits share their augmented rows: standard normal rows are drawn once an iteration, and each fit scales them by its
own weights. So each has the law that it has alone, methods are compared on the same draws, and matrix products serve
all of them. Newton's steps take the Hessian of augmented rows from its expectation, which needs integrals over one
normal variable only; that decides how fast a solution is found, not which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.families import Logistic, Loss, Poisson
from discreet.mechanisms.napp.algorithm import LossSum, NAPPPlan, NAPPRun, SquaredLosses
from discreet.mechanisms.napp.augmented import PLACES, Place, bartlett
from experiments.uci import Floats

Fits = NDArray[np.intp]
"""Numbers of fits."""

_TOLERANCE, _STEPS, _BLOCK, _LEAST, _RISE = 1e-6, 1000, 512, 1e-3, 0.1
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(24)
_MASSES = _MASSES / _MASSES.sum()


class Part(Protocol):
    """A sum of losses for each fit: rows of `theta` are the coefficients of the fits `at`."""

    def gradient(self, theta: Floats, at: Fits) -> Floats:
        """One row a fit."""

    def hessian(self, theta: Floats, at: Fits) -> Floats:
        """One matrix a fit; it may be an approximation."""


def means(loss: Loss, eta: Floats) -> Floats:
    """The means of outcomes, l' + y, written over eta: all that gradients need of `loss.parts`."""
    if isinstance(loss, Poisson):
        return np.exp(np.minimum(eta, math.log(loss.limit), out=eta), out=eta)
    if not isinstance(loss, Logistic):
        raise TypeError(f"No means for {loss.name}.")
    with np.errstate(over="ignore"):
        np.exp(np.negative(eta, out=eta), out=eta)
    return np.reciprocal(np.add(eta, 1.0, out=eta), out=eta)


def curvatures(loss: Loss, mean: Floats) -> Floats:
    """The second derivatives l'' where the means of outcomes are these."""
    return np.where(mean < (1 - 1e-12) * loss.limit, mean, 0.0) if isinstance(loss, Poisson) else mean * (1 - mean)


@dataclass(frozen=True)
class Quadratics:
    """theta'G theta/2 + b'theta, with a G and a b for each fit."""

    G: Floats
    b: Floats

    def gradient(self, theta: Floats, at: Fits) -> Floats:
        """G theta + b."""
        return np.einsum("kij,kj->ki", self.G[at], theta) + self.b[at]

    def hessian(self, theta: Floats, at: Fits) -> Floats:
        """G."""
        return self.G[at]


@dataclass(frozen=True)
class Table:
    """The losses of the rows of one table."""

    X: Floats
    y: Floats
    loss: Loss

    @cached_property
    def products(self) -> Floats:
        """The lower triangle of x x' of every row."""
        i, j = np.tril_indices(self.X.shape[1])
        return self.X[:, i] * self.X[:, j]

    def gradient(self, theta: Floats, at: Fits) -> Floats:
        """X'l'."""
        return means(self.loss, theta @ self.X.T) @ self.X - self.y @ self.X

    def hessian(self, theta: Floats, at: Fits) -> Floats:
        """The sum of l'' x x'."""
        H, (i, j) = np.empty((*theta.shape, theta.shape[1])), np.tril_indices(theta.shape[1])
        H[:, i, j] = H[:, j, i] = curvatures(self.loss, means(self.loss, theta @ self.X.T)) @ self.products
        return H


@dataclass(frozen=True)
class Pairs:
    """Augmented rows e = +-e~ + e*, e~ = D z: the rows z of Z are shared by all fits, D and e* are their own."""

    loss: Loss
    place: Place
    Z: Floats
    D: Floats
    shift: Floats

    @cached_property
    def gram(self) -> Floats:
        """The mean G of z z'."""
        return self.Z.T @ self.Z / len(self.Z)

    def gradient(self, theta: Floats, at: Fits) -> Floats:
        """The sum of l' e."""
        D, s = self.D[at], self.shift[at]
        centre = self.place.offset + np.einsum("ki,ki->k", theta, s)[:, None]
        v, spread, total = theta * D, np.zeros_like(theta), np.full(len(theta), -2.0 * len(self.Z) * self.place.outcome)
        for Z in np.array_split(self.Z, max(1, len(self.Z) // _BLOCK)):
            eta = v @ Z.T
            up, down = means(self.loss, centre + eta), means(self.loss, np.subtract(centre, eta, out=eta))
            total += up.sum(axis=1) + down.sum(axis=1)
            spread += np.subtract(up, down, out=up) @ Z
        return D * spread + s * total[:, None]

    def hessian(self, theta: Floats, at: Fits) -> Floats:
        """The expected sum of l'' e e', with the mean G of z z' that was drawn.

        Along v = D theta, z is a normal variable u, and across it independent of eta = offset + theta'e* + |v| u: with
        m_k = E l''(eta) u^k, the mean of l'' z z' is m_0 across and m_2 along v, that of l'' z is m_1 v/|v|. Bounds on
        m_0, m_2 and m_1^2 <= m_0 m_2 keep it positive definite where no node has curvature, and with G for I.
        """
        D, s = self.D[at], self.shift[at]
        v = theta * D
        sigma = np.linalg.norm(v, axis=1)
        unit = v / np.where(sigma > 0, sigma, 1.0)[:, None]
        eta = self.place.offset + np.einsum("ki,ki->k", theta, s)[:, None] + sigma[:, None] * _NODES
        curvature = curvatures(self.loss, means(self.loss, eta)) * _MASSES
        m0, m2 = (np.maximum(curvature @ _NODES**k, _LEAST * self.place.curvature) for k in (0, 2))
        most = np.sqrt(m0 * m2 * np.linalg.eigvalsh(self.gram)[0])
        m1 = np.clip(curvature @ _NODES, -most, most)
        across, along = (np.sqrt(m)[:, None, None] for m in (m0, m2))
        S = across * np.eye(theta.shape[1]) + (along - across) * np.einsum("ki,kj->kij", unit, unit)
        mixed = np.einsum("k,ki,kj->kij", m1, D * unit, s)
        ends = np.einsum("k,ki,kj->kij", m0, s, s)
        H: Floats = D[:, :, None] * (S @ self.gram @ S) * D[:, None, :] + mixed + mixed.transpose(0, 2, 1) + ends
        return 2 * len(self.Z) * H


def together(
    data: SquaredLosses | LossSum, plans: Sequence[NAPPPlan], B: Floats, rng: np.random.Generator
) -> list[NAPPRun]:
    """Algorithm 1 for plans of one loss, number of rows and iterations, with a row of noise in B for each."""
    d, every = B.shape[1], np.arange(len(plans))
    own: Part = (
        Quadratics(np.broadcast_to(data.S, (len(B), d, d)), np.broadcast_to(-data.v, B.shape))
        if isinstance(data, SquaredLosses)
        else Table(data.X, data.y, data.loss)
    )
    theta, runs = np.zeros_like(B), [NAPPRun() for _ in plans]
    scale = np.linalg.norm(own.gradient(theta, every), axis=1) + np.linalg.norm(B, axis=1) + 1.0
    for t in range(plans[0].T):
        last = list(theta) if t else [None] * len(plans)
        W = np.array([plan.weights(one) for plan, one in zip(plans, last, strict=True)])
        b = np.array([plan.signs(one) for plan, one in zip(plans, last, strict=True)]) * B
        start = np.array([run.thetas[-2] if plan.selection and t > 1 else one  # signs that alternate come back
                          for plan, run, one in zip(plans, runs, theta, strict=True)])  # fmt: skip
        theta = solve([own, augmented(plans[0], data, W, b, rng)], start, W, _TOLERANCE * scale)
        for run, one, w in zip(runs, theta, W, strict=True):
            run.thetas.append(one)
            run.weights = w
    return runs


def augmented(plan: NAPPPlan, data: SquaredLosses | LossSum, W: Floats, b: Floats, rng: np.random.Generator) -> Part:
    """The augmented rows of one iteration: their limit, their moments for linear regression, or the rows."""
    d, n_e, place = W.shape[1], plan.n_e, PLACES[plan.loss]
    if n_e is None:
        return Quadratics(2 * W[:, :, None] * np.eye(d), b)
    D = place.spread(W, n_e)
    if isinstance(data, LossSum):
        return Pairs(data.loss, place, rng.standard_normal((n_e // 2, d)), D, place.shift(b, n_e))
    A = D[:, :, None] * bartlett(d, n_e // 2, rng)
    return Quadratics(2 * A @ A.transpose(0, 2, 1) + np.einsum("ki,kj->kij", b, b) / n_e, b)


def solve(parts: Sequence[Part], theta: Floats, W: Floats, tolerance: Floats) -> Floats:
    """The minimisers of the sums of parts, by Newton's method.

    Steps are halved until the sum rises no more where they end, or a tenth as steeply as it falls where they begin.
    Gradients are measured by |g| = sqrt(sum_j g_j^2/(2 w_j)), in which the curvature of the weights is 1. Where
    |g| <= tolerance/sqrt(2 min_j w_j), the distance from the minimiser is at most that of a plain gradient of norm
    `tolerance` with a modulus of 2 min_j w_j.
    """
    theta, at = theta.copy(), np.arange(len(theta))

    def gradient(theta: Floats, at: Fits) -> Floats:
        return np.add(*(part.gradient(theta, at) for part in parts))

    g = gradient(theta, at)
    for _ in range(_STEPS):
        size = np.sqrt(np.sum(g[at] ** 2 / (2 * W[at]), axis=1))
        at = at[size > tolerance[at] / np.sqrt(2 * W[at].min(axis=1))]
        if not len(at):
            return theta
        H = np.add(*(part.hessian(theta[at], at) for part in parts))
        direction = -np.linalg.solve(H, g[at, :, None])[:, :, 0]
        slope = np.einsum("ki,ki->k", g[at], direction)
        step, left = 1.0, np.arange(len(at))
        while len(left) and step > 2.0**-40:
            on, along = at[left], direction[left]
            tried = theta[on] + step * along
            g_tried = gradient(tried, on)
            good = np.einsum("ki,ki->k", g_tried, along) <= -_RISE * slope[left]
            theta[on[good]], g[on[good]] = tried[good], g_tried[good]
            left, step = left[~good], step / 2
    raise DiscreetError("The solver did not reach its tolerance.")
