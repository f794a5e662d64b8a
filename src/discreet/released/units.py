"""From coefficients of mapped columns to the user's units, and the names of those units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT, Domain
from discreet.errors import FileFormatError
from discreet.released.moments import ReleasedMoments
from discreet.solve.equations import NormalEquations


@dataclass(frozen=True, eq=False)
class UserUnits:
    """The line (intercept, coef) = T theta + t, for y = intercept + x'coef in the user's units.

    With y = c_y + h_y z_y and z_j = (x_j - c_j)/h_j: coef_j = h_y theta_j/h_j, and the centres go to the intercept.
    Where the outcome's bounds were narrowed, the line of y on the clipped outcome may come on top.
    """

    T: Floats
    t: Floats
    half: float
    """h_y of the released outcome."""

    def params(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients and intercept."""
        params = self.T @ theta + self.t
        return params[1:], float(params[0])

    def after(self, C: Floats) -> UserUnits:
        """Return the line for coefficients c with theta = C c."""
        return replace(self, T=self.T @ C)

    def covariance(self, C: Floats) -> Floats:
        """Return the covariance of (intercept, coef) from that of theta."""
        transformed: Floats = self.T @ C @ self.T.T
        return transformed


def user_units(released: ReleasedMoments, e: NormalEquations, *, unclip: bool = True) -> UserUnits:
    """Return the line from the solution of released normal equations to the user's units.

    `unclip`: whether to predict the outcome itself where its bounds were narrowed, rather than the clipped outcome.
    """
    (target,), domain = e.targets, released.domain
    units = design_units(domain, e.names, domain.map(column_of(domain, target)))
    return unclipped(released, target, units) if unclip else units


def unclipped(released: ReleasedMoments, target: str, units: UserUnits) -> UserUnits:
    """Return the units of the outcome itself, from those of the clipped one; the same if bounds were not narrowed."""
    declared, line = released.certificate.declared, released.unclip(target)
    if declared is None or line is None:
        return units
    T, t = line.factor * units.T, units.t.copy()
    if declared.intercept:
        centre, half = declared.map(target)
        t[0] = centre + half * line.mean_y + line.factor * (t[0] - centre - half * line.mean_g)
    return replace(units, T=T, t=t)


def many_units(released: ReleasedMoments, e: NormalEquations) -> tuple[Floats, Floats, Floats]:
    """Return (intercept, coef) = h T theta + t for each of several outcomes, as clipped: T, and h and t by outcome."""
    maps = np.array([released.domain.map(column_of(released.domain, name)) for name in e.targets])
    T = user_units(released, e.one(0), unclip=False).T / maps[0, 1]
    t = np.zeros((len(e.targets), len(T)))
    t[:, 0] = maps[:, 0]
    return T, maps[:, 1], t


def design_units(domain: Domain, design: Sequence[str], outcome: tuple[float, float] = (0.0, 1.0)) -> UserUnits:
    """Return the line from coefficients of mapped columns to the user's units, for an outcome c_y + h_y eta."""
    places, (c_y, h_y), constant = domain.indices(design), outcome, design[0] == CONSTANT
    c, h = domain.centre[places], domain.half[places]
    slopes = np.diag(h_y / h)
    T = np.vstack([-(c @ slopes), slopes[1:] if constant else slopes])
    T[0, 0] += h_y if constant else 0.0
    return UserUnits(T, np.concatenate([[c_y], np.zeros(len(T) - 1)]), h_y)


def in_user_units(
    domain: Domain, design: Sequence[str], theta: Floats, outcome: tuple[float, float] = (0.0, 1.0)
) -> tuple[Floats, float]:
    """Return coefficients and intercept from those of the mapped columns, for an outcome c_y + h_y eta."""
    return design_units(domain, design, outcome).params(theta)


def column_of(domain: Domain, name: str) -> str:
    """Return the column of a coordinate: ``"sex"`` for ``"sex[M]"``."""
    return name if name in domain.columns else domain.column_of[name]


def regressors(domain: Domain, names: tuple[str, ...], targets: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a file's regressors; they and the outcomes must be coordinates, each named once."""
    for target in targets:
        column_of(domain, target)
    domain.indices(names)
    if CONSTANT in (*names, *targets) or len(set(names)) < len(names) or len(set(targets)) < len(targets):
        raise FileFormatError("it is damaged: its regressors or outcomes are not those of a model.")
    return names


def coefficient_unit(domain: Domain, target: str, name: str) -> str:
    """Return the unit of a coefficient, as far as the schema gives units."""
    return unit_per(domain, _unit(domain, target) or "1", name)


def unit_per(domain: Domain, outcome: str, name: str) -> str:
    """Return a unit for one unit of a regressor; "" for a number by a number."""
    return unit_over(outcome, _unit(domain, name))


def unit_over(outcome: str, below: str | None) -> str:
    """Return a unit for one unit of another; "" for a number by a number."""
    below = f"({below})" if below and ("*" in below or "/" in below) else below
    text = f"{outcome}/{below}" if below else outcome
    return "" if text == "1" else text


def _unit(domain: Domain, name: str) -> str | None:
    return None if name == CONSTANT else domain.columns[column_of(domain, name)].coordinate_unit
