"""The nearest moments that real rows could have: repair of a noisy Gram matrix.

Noise makes [[X'X, X'y], [y'X, y'y]] indefinite, and then penalised least squares may have no minimum at all: if the
quadratic form is negative, or zero where v is not, the objective falls without end. Clipping S alone does not help,
for v still points into its null space. So the *joint* matrix is moved to the nearest positive semidefinite one, in the
metric of the noise; it is then the exact Gram matrix of a few made-up rows. See ``docs/mathematics.md``, 5.1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.released.solve.equations import NormalEquations

Floats = NDArray[np.float64]


def nearest_factor(M: Floats) -> Floats:
    """F with F'F the positive semidefinite matrix nearest to M (Frobenius): negative eigenvalues become zero.

    Examples
    --------
    >>> F = nearest_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> (F.T @ F).round(6)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    eigenvalues, U = np.linalg.eigh((M + M.T) / 2)
    factor: Floats = np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * U.T
    return factor


def made_up_rows(e: NormalEquations) -> tuple[Floats, Floats]:
    """Rows X and outcomes y, d + 1 of them, whose moments are the possible ones nearest to those released.

    The outcome is first scaled by w = s_xx/(sqrt(2) s_xy), so that X'y has the noise of an off-diagonal entry of X'X
    and the nearest matrix is the most likely one; the rows are scaled back. Where y'y was not released its public
    bound n stands for it. Moments that are possible already are kept as they are.

    Examples
    --------
    >>> S, v = np.array([[2.0, 3.0], [3.0, 2.0]]), np.array([1.0, -1.0])
    >>> X, y = made_up_rows(NormalEquations(("a", "b"), "y", S, v, 5.0, 1.0, 0.5**0.5, 1.0, n=9.0))
    >>> (X.T @ X).round(6), (X.T @ y).round(6)
    (array([[2.626889, 2.373111],
           [2.373111, 2.626889]]), array([ 0.801511, -0.801511]))
    """
    C, e = e.turn, e.turned()
    w = e.s_xx / (math.sqrt(2) * e.s_xy)
    yy = max(e.n, 0.0) if e.yy is None else e.yy
    F = nearest_factor(np.block([[e.S, w * e.v[:, None]], [w * e.v[None, :], np.full((1, 1), w**2 * yy)]]))
    return np.asarray(np.linalg.solve(C.T, F[:, :-1].T).T, dtype=np.float64), F[:, -1] / w
