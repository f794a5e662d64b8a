"""Debiased coefficients and their covariance, sampling error and privacy noise apart: ``docs/mathematics``, 6.

S = A + N1 with A = X'X, and v = A theta + X'e + N2. Inverting S would amplify its noise: S^-1 is too large on average.
G, the positive definite solution of

    G^-1 = S + E[N1 G N1],                       (E[N B N])_ij = [i=j] sum_k W_ik B_kk + [i!=j] W_ij B_ij

with W the variances of the entries of N1, takes that back: E[G] is A^-1 up to terms of third order, so theta = G v is
unbiased. Its covariance has four parts, with K = E[N1 G N1]:

    sampling   G M G                             from X'e, with released score products M = sum (x e)(x e)' (`shrunk`)
               sigma^2 (G + G K G)               from X'e, without them, for errors of equal variance
    privacy    s_xy^2 G G                        from N2
               G E[N1 theta theta' N1] G         from N1
    tails      t G                               from what far rows and far residuals would add (6.7)

and sigma^2 = (y'y - v'G v + s_xy^2 tr G)/(n - d) is unbiased too. Without noise all of this is least squares.

The part from N1 depends on the unknown theta. Where the noise makes theta too small, it also makes that part too small,
so intervals of +-2 standard errors miss on one side. A value c of a'theta is therefore tested with the variance that it
would have if c were true, with theta moved to theta + (c - a'theta) m, m = C a/(a'C a), C the covariance:

    variance(c) = a'C a + 2 delta tilt + delta^2 curve,    delta = c - a'theta
    tilt = b'E[N1 theta m' N1]b,  curve = b'E[N1 m m' N1]b,  b = G a

as in Fieller's theorem for a ratio. The noise of a contrast a, noise^2 = b'K b/a'b, is the size of N1 relative to A
along b. It is computed from S, and some draws of N1 make it small; so where intervals are given only if it is small,
the test must allow for that luck. It needs the covariance of a'theta with 1/noise: luck = -b'H theta, if c is true
luck + delta luck_slope with luck_slope = -b'H m, H = E[N1 (dS of 1/noise at N1)].

Directions that are lost in noise are left out of theta and of G, to which they would only add noise. Contrasts that
need them are recognised by their noise, which is that along all directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from discreet.core.arrays import Floats
from discreet.solve.equations import NormalEquations
from discreet.solve.outcome import shares

_STEPS = 60
"""Iterations for G; each at least halves the error where the noise is not too large."""

_LOST = 0.5
"""A direction is lost if the noise of X'X is more than this share of its variation."""

_ROUNDS = 2
"""Rounds of `restricted`: theta_0 and C_0 depend on each other; a third round changes nothing that matters."""


@dataclass(frozen=True, eq=False)
class Debiased:
    """Debiased coefficients of the mapped columns.

    `theta`: the coefficients.
    `G`, `G_all`: the inverse of X'X, debiased, on the directions that are not lost in noise, and on all.
    `W`: the variances of the noise of X'X; of the noise M, with L.
    `sampling`: their covariance from sampling error; None where neither score products nor y'y were released.
    `privacy`: their covariance from the noise of the release.
    `score_noise`: the sd of the noise on the diagonal of the score products; 0 where they were not released.
    `sigma2`: the variance of an outcome around the line; None where y'y was not released.
    `sigma2_error`: the variance that the noise of the release gives sigma2.
    `L`: the noise of X'X is L'M L, M that of the release.
    """

    theta: Floats
    G: Floats
    G_all: Floats
    W: Floats
    sampling: Floats | None
    privacy: Floats
    score_noise: float
    sigma2: float | None
    sigma2_error: float
    L: Floats | None = None


class ContrastMoments(NamedTuple):
    """Quantities that tests of combinations a'theta need, an entry for each.

    `noise` is the noise of X'X relative to the variation along the combination; `spread` is the sd of 1/noise, the unit
    of luck.
    """

    variance: Floats
    tilt: Floats
    curve: Floats
    noise: Floats
    luck: Floats
    luck_slope: Floats
    spread: Floats


def noise_along(b: Floats, R: Floats, K: Floats) -> Floats:
    """Return the noise of the contrasts in the rows of R, for b = R G and K = E[N1 G N1]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.einsum("pi,pi->p", b @ K, b) / np.einsum("pi,pi->p", R, b)
    noise: Floats = np.sqrt(np.maximum(np.nan_to_num(squares, nan=0.0), 0.0))
    return noise


def contrasts(
    R: Floats, theta: Floats, C: Floats, G: Floats, W: Floats, L: Floats | None, G_all: Floats | None = None
) -> ContrastMoments:
    """Return how the tests of a'theta = c depend on c, for each row a of R."""
    G_all = G if G_all is None else G_all
    K, b, whole = through_noise(W, G_all, L), R @ G, R @ G_all
    noise, CR = noise_along(whole, R, K), R @ C
    variance = np.einsum("pi,pi->p", R, CR)
    m = CR / np.where(variance > 0, variance, 1.0)[:, None]
    own = np.broadcast_to(theta, m.shape)
    luck, luck_slope, spread = np.zeros((3, len(R)))
    length, inner = np.einsum("pi,pi->p", R, whole), G_all if L is None else L @ G_all @ L.T
    B, K_b, t, M = (x if L is None else x @ L.T for x in (whole, whole @ K @ G_all, theta, m))
    for i in np.flatnonzero(noise > 0):
        H, spread[i] = _luck(B[i], K_b[i], float(length[i]), noise[i], inner, W)
        along = (b[i] if L is None else L @ b[i]) @ H
        luck[i], luck_slope[i] = -(along @ t), -(along @ M[i])
    tilt, curve = along_noise(W, b, own, m, L), along_noise(W, b, m, m, L)
    return ContrastMoments(variance, tilt, curve, noise, luck, luck_slope, spread)


def _luck(b: Floats, k: Floats, length: float, noise: float, G: Floats, W: Floats) -> tuple[Floats, float]:
    """H = E[N1 D], D the change of 1/noise by N1 to first order, divided by the sd of D; and this sd.

    noise^2 = b'K b/a'b changes by -(2 b'N G K b + b'E[N' G N G N']b - noise^2 b'N b)/a'b, with `length` = a'b and
    k = G K b. All of them are in the coordinates of the release, whose noise is M.
    """
    slope = np.outer(k, b) + np.outer(b, k) + G @ through_noise(W, np.outer(b, b)) @ G - noise**2 * np.outer(b, b)
    slope /= 2 * noise**3 * length
    H = W * slope * (2 - np.eye(len(W)))
    sd = float(np.sum(H * slope)) ** 0.5
    return H / sd, sd


def debiased(e: NormalEquations, *, alike: bool = True) -> Debiased:
    """Return debiased coefficients of one outcome with their covariances, from `rotated` equations: L'L = I.

    With weights or persons, rows do not count `alike`, and score products are not shrunk towards equal variances; in a
    model of classes or counts, which has no y'y, towards those in proportion to X'X.
    """
    A = inverse(e)
    W, L = A.W, A.L
    Theta, sigma2s = coefficients(e, A)
    told = told_directions(A)
    G, theta = told @ A.G, told @ Theta[:, 0]
    of_theta = through_noise(W, np.outer(theta, theta), L)
    privacy = e.s_xy**2 * (G @ G) + G @ of_theta @ G
    sigma2, error, sampling, score_noise = None, 0.0, None, 0.0
    if sigma2s is not None and e.s_yy is not None:
        of_rest = e.s_yy**2 + 4 * e.s_xy**2 * float(theta @ theta) + float(theta @ of_theta @ theta)
        sigma2, error = sigma2s.item(), of_rest / max(e.n - e.d, 1.0) ** 2
        sampling = sigma2 * told @ A.unit_sampling @ told
    if e.score_products is not None and e.s_score_products is not None:
        M, score_noise = e.score_products[0], float(e.s_score_products.item())
        if alike:
            size = _size(M, e) if sigma2 is None else sigma2
            M, score_noise = shrunk(M, size * A.unit_score_products, score_noise)
        sampling = G @ positive(M, score_noise) @ G
    return Debiased(theta, G, A.G, W, sampling, privacy, score_noise, sigma2, error, L)


def _size(M: Floats, e: NormalEquations) -> float:
    """Return the mean of score products over that of X'X: without y'y, it stands for the variance of an outcome."""
    return max(float(np.trace(M)), 0.0) / max(float(np.trace(e.S)), e.s_xx * math.sqrt(len(M)), 1e-300)


def told_directions(A: Inverse) -> Floats:
    """Return the projection on the directions that are not lost in noise; in the others theta stays at the offset."""
    g, Q = np.linalg.eigh(A.G)
    kept = Q[:, np.sqrt(g * np.einsum("ij,ij->j", Q, through_noise(A.W, A.G, A.L) @ Q)) <= _LOST]
    projection: Floats = kept @ kept.T
    return projection


def shrunk(M: Floats, plain: Floats, sd: float) -> tuple[Floats, float]:
    """Shrink score products M towards those of equal variances, as far as the difference may be noise; with the new sd.

    The noise of the p = q(q + 1)/2 numbers of the difference D adds p sd^2 to |D|^2, give or take sqrt(2p) sd^2. Of D
    the share k = 1 - p sd^2/(|D|^2 + sqrt(2p) sd^2) is kept, and if D itself has a normal law, sqrt(k) sd is left of
    its noise (James and Stein 1961).

    Examples
    --------
    >>> M, sd = shrunk(np.diag([9.0, 1.0]), 5 * np.eye(2), 1.0)
    >>> M.round(2).tolist(), round(sd, 2)
    ([[8.65, 0.0], [0.0, 1.35]], 0.96)
    """
    D, p = M - plain, len(M) * (len(M) + 1) / 2
    chance = math.sqrt(2 * p)
    kept = 1 - p * sd**2 / max(float(np.sum(D**2)) + chance * sd**2, (p + chance) * sd**2)
    return plain + kept * D, math.sqrt(kept) * sd


def positive(M: Floats, sd: float) -> Floats:
    """Return a matrix near M without negative eigenvalues, whose trace is M's, or two sds of its noise if more."""
    l, Q = np.linalg.eigh(M)  # noqa: E741
    total = max(float(l.sum()), 2 * sd * len(M) ** 0.5)
    nearest: Floats = (Q * (total * shares(l, total))) @ Q.T if total > 0 else np.zeros_like(M)
    return nearest


class Inverse(NamedTuple):
    """The debiased inverse of X'X, shared by all outcomes of the same equations; see `Debiased`."""

    G: Floats
    W: Floats
    L: Floats | None
    unit_sampling: Floats

    @property
    def unit_score_products(self) -> Floats:
        """Score products of errors of variance 1."""
        found: Floats = np.linalg.inv(self.G) + through_noise(self.W, self.G, self.L)
        return found

    def noise_variances(self, K: Floats, Theta: Floats) -> Floats:
        """Return the diagonal of K E[N1 theta theta' N1] K' for each column theta of Theta.

        With W_ij = w off the diagonal except for known entries (with z = L x, K L' stands for K and L theta for theta):

            w (K theta)^2 + sum_i K_i^2 ((W theta^2)_i - w theta_i^2) - sum over known i, j
        """
        W = self.W
        if self.L is not None:
            K, Theta = K @ self.L.T, self.L @ Theta
        off = W[~np.eye(len(W), dtype=bool)]
        w = float(off.max()) if off.size else 0.0
        squares = Theta**2
        found = w * (K @ Theta) ** 2 + K**2 @ (W @ squares - w * squares)
        i, j = np.nonzero(np.triu(w != W, k=1))
        if len(i):
            found -= 2 * (K[:, i] * K[:, j] * (w - W[i, j])) @ (Theta[i] * Theta[j])
        return np.maximum(found, 0.0)


def inverse(e: NormalEquations) -> Inverse:
    """Return the debiased inverse of X'X, from `rotated` equations: L'L = I."""
    W, L = e.noise_variances, e.L
    G = resolvent(e.S, W, L)
    unit_sampling = G + G @ through_noise(W, G, L) @ G
    return Inverse(G, W, L, unit_sampling)


def coefficients(e: NormalEquations, A: Inverse) -> tuple[Floats, Floats | None]:
    """Return theta, a column for each outcome, and sigma^2 of each; None where y'y was not released."""
    Theta: Floats = A.G @ e.V
    if e.squares is None or e.s_yy is None:
        return Theta, None
    rest = e.squares - np.sum(e.V * Theta, axis=0) + e.s_V**2 * np.trace(A.G)
    return Theta, np.maximum(rest / max(e.n - e.d, 1.0), e.s_yy / max(e.n, 1.0))


def through_noise(W: Floats, B: Floats, L: Floats | None = None) -> Floats:
    """Return E[N B N] for N = L'M L, M a symmetric matrix of independent noise with variances W, and a symmetric B."""
    B = B if L is None else L @ B @ L.T
    spread: Floats = W * B
    np.fill_diagonal(spread, W @ np.diag(B))
    return spread if L is None else L.T @ spread @ L


def along_noise(W: Floats, b: Floats, x: Floats, y: Floats, L: Floats | None = None) -> Floats:
    """Return b'E[N x y' N]b for each row of b, x and y: `through_noise` without its matrices."""
    if L is not None:
        b, x, y = b @ L.T, x @ L.T, y @ L.T
    apart = W - np.diag(np.diag(W))
    found: Floats = np.einsum("pi,pi->p", b**2 @ W, x * y) + np.einsum("pi,pi->p", (b * x) @ apart, b * y)
    return found


def resolvent(S: Floats, W: Floats, L: Floats | None = None) -> Floats:
    """Return the positive definite G with G^-1 = S + E[N G N], for noise N as in `through_noise`.

    It starts from the solution for noise of sd s on the diagonal and s/sqrt(2) off it, s^2 the largest of W, which is
    a function of S: its eigenvalues g solve h g^2 + (l + h T) g = 1 with T their sum and h = s^2/2. Where most entries
    of S are noise and some are known, the iteration may not converge; then the start is kept, which is conservative.
    """
    start = G = _as_if_invariant(S, float(W.max()) / 2)
    before = np.inf
    for _ in range(_STEPS):
        M = S + through_noise(W, G, L)
        step = np.linalg.inv(M) - G
        size = float(np.abs(step).max() / np.abs(G).max())
        if size <= 1e-11:
            break
        if size > before or np.linalg.eigvalsh(M)[0] <= 0:
            return start
        G, before = G + step / 2, size
    return G


def _as_if_invariant(S: Floats, h: float) -> Floats:
    l, U = np.linalg.eigh(S)  # noqa: E741

    def g(T: float) -> Floats:
        b = l + h * T
        root = np.sqrt(b**2 + 4 * h)
        solution: Floats = np.where(b > 0, 2 / np.where(b > 0, b + root, 1.0), (root - b) / (2 * h))
        return solution

    high = float(np.sum(g(0.0)))
    T = brentq(lambda T: float(np.sum(g(T))) - T, 0.0, high, xtol=1e-14 * high)
    inverse: Floats = (U * g(T)) @ U.T
    return inverse


def restricted(
    theta: Floats, C: Floats, G: Floats, W: Floats, R: Floats, b: Floats, L: Floats | None = None
) -> tuple[Floats, float]:
    """Return the covariance of b, and the relative variance of its size, if b estimates combinations R theta = 0.

    theta_0 = theta - C_0 R'(R C_0 R')^-1 b is the most likely theta for which they are, and C_0 the covariance there.
    The size of R C_0 R' errs as theta_0'M theta_0/k does, M = E[N1 B'(R C_0 R')^-1 B N1], B = R G, and theta_0 has
    covariance V = C_0 - C_0 R'(R C_0 R')^-1 R C_0: the relative variance of that size is 4 theta_0'M V M theta_0/k^2.

    Examples
    --------
    >>> one, R = np.eye(2), np.array([[0.0, 1.0]])
    >>> S, spread = restricted(np.array([0.1, 3.0]), 30 * one, one, np.ones((2, 2)), R, np.array([3.0]))
    >>> S.round(2), round(spread, 3)  # 30 holds 3^2 of noise, for the estimate 3
    (array([[21.01]]), 0.004)
    """
    C_0 = C
    for _ in range(_ROUNDS):
        theta_0 = theta - C_0 @ R.T @ np.linalg.solve(R @ C_0 @ R.T, b)
        C_0 = C + G @ through_noise(W, np.outer(theta_0, theta_0) - np.outer(theta, theta), L) @ G
    S, B, k = R @ C_0 @ R.T, R @ G, len(b)
    V = C_0 - C_0 @ R.T @ np.linalg.solve(S, R @ C_0)
    slope = through_noise(W, B.T @ np.linalg.solve(S, B), L) @ theta_0 / k
    return S, float(4 * slope @ V @ slope)
