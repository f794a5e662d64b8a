"""Ridge, lasso and elastic net on moments, whole paths at a time.

    minimise  1/(2n) |y - X theta|^2 + alpha r |theta|_1 + alpha (1 - r)/2 |theta|^2          (r: l1_ratio)

as scikit-learn's ElasticNet writes it; r = 1 is the lasso, r = 0 ridge (scikit-learn's Ridge calls n alpha its alpha).
The penalty acts on the coefficients of the mapped columns, which all have the same range, and never on the intercept.

Noise makes [[X'X, X'y], [y'X, y'y]] indefinite, and then penalised least squares may have no minimum at all: if the
quadratic form is negative, or zero where v is not, the objective falls without end. Clipping S alone does not help,
for v still points into its null space. So the *joint* matrix is first moved to the nearest positive semidefinite one,
in the metric of the noise; it is then the exact Gram matrix of a few made-up rows. See ``docs/mathematics``, 5.1.

For stages, the objective is its expectation over the posterior of `joint`: |y - X theta|^2 becomes
(theta - m)' X'X (theta - m) and a constant, which is that of other made-up rows.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from discreet.core.arrays import Floats
from discreet.solve.equations import NormalEquations
from discreet.solve.joint import Joint

_TINY = 1e-200

_TOLERANCE = 1e-12
"""The duality gap at which coordinate descent stops, as a share of y'y."""

_SWEEPS, _MOST_SWEEPS, _WORK = 1_000, 100_000, 10**8
"""Bounds on the maximum number of sweeps for one penalty, and the work that sets it between them. Only penalties far
below the noise need more, and those whose duality gap rounding errors keep above the tolerance."""

STEPS = 100
_DECADES = 4

_WORTHWHILE = 0.3
"""A path ends at this share of the noise of v: below, the lasso only fits noise."""


def solve_path(X: Floats, y: Floats, n: float, penalties: Floats, l1_ratio: float, *, intercept: bool) -> Floats:
    """Return the coefficients for each penalty, one row each.

    `X`, `y`: rows that have the moments in question: any number of them, for example those of `made_up_rows`.
    `n`: the number of rows by which the objective is scaled, not that of X.
    `penalties`: alpha, in falling order, which lets each solution start from the last.
    `intercept`: whether the first column of X is the constant, which is not penalised.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import enet_path  # slow to import

    if intercept:
        Z, t = _without_constant(X, y)
        slopes = solve_path(Z, t, n, penalties, l1_ratio, intercept=False)
        c = X[:, 0]
        constants = (c @ y - slopes @ (X[:, 1:].T @ c)) / max(float(c @ c), np.finfo(float).tiny)
        return np.column_stack([constants, slopes])
    if X.shape[1] == 0:
        return np.empty((len(penalties), 0))
    if l1_ratio == 0:
        eigenvalues, U = np.linalg.eigh(X.T @ X)
        ridges: Floats = (U.T @ (X.T @ y)) / (np.maximum(eigenvalues, 0.0) + n * penalties[:, None]) @ U.T
        return ridges
    scale = np.sqrt(len(X) / n)
    X, y = np.asfortranarray(scale * X), scale * y
    sweeps = min(max(_SWEEPS, _WORK // X.shape[1] ** 2), _MOST_SWEEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"precompute": X.T @ X, "Xy": X.T @ y, "tol": _TOLERANCE, "max_iter": sweeps}
        coefs: Floats = enet_path(X, y, l1_ratio=l1_ratio, alphas=penalties, **options)[1].T
    return coefs


def _without_constant(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the other columns and the outcome, less their projections on the first column."""
    c = X[:, 0]
    share = c / max(float(c @ c), np.finfo(float).tiny)
    return X[:, 1:] - np.outer(c, share @ X[:, 1:]), y - c * (share @ y)


def penalty_grid(X: Floats, y: Floats, n: float, l1_ratio: float, s_xy: float, *, intercept: bool) -> Floats:
    """Return penalties from one at which no coefficient is left (hardly any, for ridge) down to almost none."""
    if intercept:
        X, y = _without_constant(X, y)
    if l1_ratio == 0:
        return np.geomspace(100.0, 1e-10, STEPS) * max(float(np.sum(X**2)) / n, _TINY)
    largest = max(float(np.abs(X.T @ y).max(initial=0.0)), _TINY)
    smallest = np.clip(_WORTHWHILE * s_xy, 10.0**-_DECADES * largest, largest / 10)
    return np.geomspace(largest, smallest, STEPS) / (n * l1_ratio)


def nearest_factor(M: Floats) -> Floats:
    """Return F with F'F the positive semidefinite matrix nearest to M (Frobenius): negative eigenvalues become zero."""
    eigenvalues, U = np.linalg.eigh((M + M.T) / 2)
    factor: Floats = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * U.T
    return factor


def made_up_rows(e: NormalEquations) -> tuple[Floats, Floats]:
    """Return d + 1 rows X and outcomes y whose moments are the possible ones nearest to those released.

    The outcome is first scaled by w = s_xx/(sqrt(2) s_xy), so that X'y has the noise of an off-diagonal entry of X'X
    and the nearest matrix is the most likely one; the rows are scaled back. Where y'y was not released its public
    bound n stands for it. Moments that are possible already are kept as they are.
    """
    C, e = e.rotation, e.rotated()
    w = e.s_xx / (math.sqrt(2) * e.s_xy)
    yy = max(e.n, 0.0) if e.yy is None else e.yy
    F = nearest_factor(np.block([[e.S, w * e.v[:, None]], [w * e.v[None, :], np.full((1, 1), w**2 * yy)]]))
    return np.asarray(np.linalg.solve(C.T, F[:, :-1].T).T, dtype=np.float64), F[:, -1] / w


def expected_rows(known: Joint) -> tuple[Floats, Floats]:
    """Return d rows X and outcomes y with the released X'X, whose least squares is the posterior mean."""
    X = nearest_factor(known.gram)
    return X, X @ known.mean
