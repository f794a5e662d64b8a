r"""Leave-one-out quantities of ridge regression, for every row in one pass after the moments.

With H = X'X + lambda I and theta = H^-1 X'y of all rows, a row (x, y) of the table has

    m' = x'H^-1 x    s' = x'H^-2 x    r' = y - x'theta                  as fitted, the row included,
    m = m'/(1 - m')  s = s'/(1 - m')^2  r = r'/(1 - m')                 without it,
    theta - theta_-i = H^-1 x r,      |theta_-i|^2 = |theta|^2 - 2 r x'H^-1 theta + r^2 s'.

A row outside has m, s, r of the fit, and m' = m/(1 + m), and so on. Everything is in units of the mapped columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.old_keywords import renamed
from discreet.data.moments import Moments
from discreet.data.reading import Progress, as_progress
from discreet.errors import ParameterError
from discreet.per_instance.stream import EncodedRows, each_row


@dataclass(frozen=True, repr=False)
class LeaveOneOut:
    """Leverages and residuals of every row, **without** it; confidential."""

    leverage: Floats  # m
    residual: Floats  # r
    second: Floats  # s = x'H_-^-2 x of the fit without the row
    norm2: Floats  # |x|^2
    shift: Floats  # |theta_with - theta_without|_A, for the A that was asked for; I by default
    coef_norm_without: Floats  # |theta| of both fits
    coef_norm_with: Floats

    def __repr__(self) -> str:
        return "LeaveOneOut(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Leave-one-out quantities are confidential and are not pickled.")


class LeverageRidge:
    """The exact ridge fit of one outcome, from S = X'X, v = X'y and the penalty lambda; **confidential**."""

    def __init__(self, S: Floats, v: Floats, penalty: float) -> None:
        self.values, self.vectors = np.linalg.eigh(S)
        self.penalty = penalty
        if self.values[0] + penalty <= 0:
            raise ParameterError("X'X + penalty I is singular: leverages need a penalty above 0 here.")
        self.H = S + penalty * np.eye(len(S))
        self.inverse = (self.vectors / (self.values + penalty)) @ self.vectors.T
        self.theta = self.inverse @ v

    def without(self, X: Floats, y: Floats, A: Floats | None = None) -> LeaveOneOut:
        """Compute leverages and residuals of rows of the table, each left out of the fit."""
        U, m, s, r = self._parts(X, y)
        left = 1 - m
        if np.any(left <= 0):
            raise ParameterError("Without one of the rows X'X + penalty I is singular: leverages need a penalty.")
        r = r / left
        shift, whole, without = self._moved(U, s, -r, A)
        return LeaveOneOut(m / left, r, s / left**2, np.einsum("ij,ij->i", X, X), shift, without, whole)

    def adding(self, X: Floats, y: Floats, A: Floats | None = None) -> LeaveOneOut:
        """Compute leverages and residuals of rows outside the table, each added to it."""
        U, m, s, r = self._parts(X, y)
        shift, whole, with_row = self._moved(U, s, r / (1 + m), A)
        return LeaveOneOut(m, r, s, np.einsum("ij,ij->i", X, X), shift, whole, with_row)

    def _parts(self, X: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        U = X @ self.inverse
        return U, np.einsum("ij,ij->i", U, X), np.einsum("ij,ij->i", U, U), y - X @ self.theta

    def _moved(self, U: Floats, s: Floats, step: Floats, A: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return |step U|_A, and |theta| and |theta + step U|, for every row of U, of squared norm s."""
        inner = float(self.theta @ self.theta)
        after = np.sqrt(np.maximum(inner + 2 * step * (U @ self.theta) + step**2 * s, 0.0))
        norm2 = s if A is None else np.maximum(np.einsum("ij,ij->i", U, U @ A), 0.0)
        return np.abs(step) * np.sqrt(norm2), np.full(len(U), np.sqrt(inner)), after

    def __repr__(self) -> str:
        return "LeverageRidge(confidential)"


@renamed(penalty="alpha")
def leave_one_out(
    source: Any,
    moments: Moments,
    target: str,
    features: Sequence[str] | None = None,
    *,
    alpha: float = 0.0,
    A: Floats | None = None,
    targets: Any = None,
    n_jobs: int | None = None,
    progress: bool | Progress = False,
) -> LeaveOneOut:
    """Leverages and residuals of every row without it, in one more pass over the table; **confidential**.

    Parameters
    ----------
    source, moments
        The rows and their moments.
    target, features
        The outcome, and the regressors; all other columns by default.
    alpha : float
        The strength of a ridge penalty, lambda, in units of the mapped columns.
    A : array, optional
        The norm of `LeaveOneOut.shift`.
    targets : like `source`, optional
        Rows outside the table, to be added to it, instead of those of the table.
    n_jobs, progress
        As for `losses`.

    Examples
    --------
    >>> from discreet import Domain
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> rows = leave_one_out((X, X[:, 0]), Moments.from_source((X, X), domain), "y")
    >>> rows, bool(np.abs(rows.residual).max() < 1e-5)
    (LeaveOneOut(confidential), True)
    """
    if alpha != 0:
        checks.positive("alpha", alpha)
    domain = moments.domain
    y = domain.target(target)
    own = {domain.entries[y].column}
    names = domain.features_for(own) if features is None else list(features)
    domain.refuse_outcomes(own, names)
    X = domain.design(names)
    gram = moments.floats([*X, y])
    fit = LeverageRidge(gram[:-1, :-1], gram[:-1, -1], alpha)
    ask = fit.without if targets is None else fit.adding

    def work(rows: EncodedRows) -> Floats:
        found = ask(rows.Z[:, X], rows.Z[:, y], A)
        return np.stack([getattr(found, name) for name in LeaveOneOut.__dataclass_fields__])

    with as_progress(progress) as report:
        columns = each_row(source if targets is None else targets, domain, work, n_jobs=n_jobs, progress=report)
    return LeaveOneOut(*columns)
