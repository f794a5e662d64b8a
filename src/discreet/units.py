"""From coefficients of mapped columns to the user's units, and the names of those units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.derived import unit_of
from discreet.domain import CONSTANT, Domain
from discreet.released import PrivateMoments
from discreet.solve.equations import NormalEquations

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UserUnits:
    """The line (intercept, coef) = T theta + t, for y = intercept + x'coef in the user's units.

    With y = c_y + h_y z_y and z_j = (x_j - c_j)/h_j: coef_j = h_y theta_j/h_j, and the centres go to the intercept.
    Where the outcome's bounds were narrowed, the line of y on the clipped outcome may come on top.
    """

    T: Floats
    t: Floats

    def params(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept."""
        params = self.T @ theta + self.t
        return params[1:], float(params[0])

    def covariance(self, C: Floats) -> Floats:
        """The covariance of (intercept, coef) from that of theta."""
        transformed: Floats = self.T @ C @ self.T.T
        return transformed


def user_units(released: PrivateMoments, e: NormalEquations, *, unclip: bool = True) -> UserUnits:
    """How to express the solution of released normal equations in the user's units.

    Parameters
    ----------
    released : PrivateMoments
        The release.
    e : NormalEquations
        Its equations.
    unclip : bool
        Whether to predict the outcome itself where its bounds were narrowed, rather than the clipped outcome.
    """
    domain = released.domain
    columns = [domain.entries[i].column for i in domain.indices(e.names)]
    c, h = np.array([domain.map(column) for column in columns]).T
    c_y, h_y = domain.map(column_of(domain, e.target))
    slopes = np.diag(h_y / h)
    constant = e.names[0] == CONSTANT
    T = np.vstack([-(c @ slopes), slopes[1:] if constant else slopes])
    T[0, 0] += h_y if constant else 0.0
    t = np.concatenate([[c_y], np.zeros(len(T) - 1)])
    declared, line = released.certificate.declared, released.unclip(e.target) if unclip else None
    if declared is not None and line is not None:
        T *= line.factor
        if declared.intercept:
            centre, half = declared.map(e.target)
            t[0] = centre + half * line.mean_y + line.factor * (t[0] - centre - half * line.mean_g)
    return UserUnits(T, t)


def column_of(domain: Domain, name: str) -> str:
    """The column of a coordinate: ``"sex"`` for ``"sex[M]"``."""
    return domain.entries[domain.indices([name])[0]].column


def coefficient_unit(domain: Domain, target: str, name: str) -> str:
    """The unit of a coefficient, as far as the schema gives units."""
    outcome = _unit(domain, target) or "1"
    below = _unit(domain, name)
    below = f"({below})" if below and "*" in below else below
    text = f"{outcome}/{below}" if below else outcome
    return "" if text == "1" else text


def _unit(domain: Domain, name: str) -> str | None:
    return None if name == CONSTANT else unit_of(domain.columns[column_of(domain, name)])
