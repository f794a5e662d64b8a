"""Fitted models: coefficients in the user's units, with the guarantee they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import checks
from discreet.derived import VERSIONS, format_version, unit_of
from discreet.domain import CONSTANT, Domain
from discreet.errors import DataError, FileFormatError, GuaranteeError, ParameterError
from discreet.files import read_document, write_document
from discreet.privacy.certificate import Certificate
from discreet.released import PrivateMoments
from discreet.solve.equations import NormalEquations
from discreet.solve.noise_aware import noise_aware
from discreet.solve.ridge import ridge

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """A fitted linear model. Holds released values only, so it can be saved and published.

    Parameters
    ----------
    target : str
        The outcome.
    names : tuple of str
        The regressors, without the intercept.
    coef : array
        Their coefficients, in units of the outcome per unit of the regressor (per level against the first).
    intercept : float
        Predicted outcome where all regressors are zero and categories at their first level.
    model : str
        How the equations were solved.
    certificate : Certificate
        The guarantee of the release behind it.
    """

    target: str
    names: tuple[str, ...]
    coef: Floats
    intercept: float
    model: str
    certificate: Certificate

    @property
    def params(self) -> dict[str, float]:
        """All coefficients by name, the intercept first."""
        head = {CONSTANT: self.intercept} if self.certificate.domain.intercept else {}
        return head | dict(zip(self.names, self.coef.tolist(), strict=True))

    def predict(self, X: Floats) -> Floats:
        """Predict from a matrix with one column for each of `names`."""
        try:
            matrix = np.asarray(X, dtype=float)
        except (TypeError, ValueError):
            raise DataError("X cannot be read as a matrix of numbers.") from None
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names):
            raise DataError(f"X must be a matrix with {len(self.names)} columns: {', '.join(self.names)}.")
        predicted: Floats = matrix @ self.coef + self.intercept
        return predicted

    def unit(self, name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units."""
        domain = self.certificate.domain
        outcome = _unit(domain, self.target) or "1"
        below = _unit(domain, name)
        below = f"({below})" if below and "*" in below else below
        text = f"{outcome}/{below}" if below else outcome
        return "" if text == "1" else text

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "target": self.target,
            "model": self.model,
            "params": self.params,
            "guarantee": self.certificate.guarantee.to_dict(),
        }

    def save(self, path: str | Path) -> None:
        """Save the model and its certificate as JSON with a SHA-256 digest, which finds damage, not forgery."""
        if self.certificate.simulation:
            raise GuaranteeError("This model comes from a simulation, which promises no privacy: it is not saved.")
        version = format_version(self.certificate.domain)
        body = {"kind": "results", "format_version": version, "certificate": self.certificate.to_dict()}
        facts = {"target": self.target, "model": self.model, "names": list(self.names)}
        write_document(path, body | facts | {"coef": self.coef.tolist(), "intercept": self.intercept})

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Load what `save` wrote, by this version or an older one."""
        body = read_document(path, "results", VERSIONS)
        certificate = Certificate.from_dict(body.get("certificate", {}))
        try:
            names, coef = tuple(map(str, body["names"])), np.array(body["coef"], dtype=float)
            if coef.shape != (len(names),):
                raise ValueError("coefficients do not fit their names")
            return cls(str(body["target"]), names, coef, float(body["intercept"]), str(body["model"]), certificate)
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(f"{Path(path).name} is damaged: its parts do not fit together.") from None

    def summary(self) -> str:
        """A table of the coefficients, with the guarantee on top."""
        g = self.certificate.guarantee
        width = max(len(name) for name in [*self.params, "coefficient"])
        lines = [
            f"{self.target} ~ {' + '.join(self.names) or '1'}",
            f"{self.model}; epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}",
            "",
            f"{'':<{width}}  {'coef':>14}  unit",
        ]
        lines += [f"{name:<{width}}  {value:>14.6g}  {self.unit(name)}".rstrip() for name, value in self.params.items()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def _unit(domain: Domain, name: str) -> str | None:
    place = domain.indices([name])[0]
    return unit_of(domain.columns[domain.entries[place].column]) if place else None


def in_user_units(domain: Domain, names: tuple[str, ...], target: str, theta: Floats) -> tuple[Floats, float]:
    """Coefficients and intercept for y = intercept + x'coef, from those of the mapped columns.

    With y = c_y + h_y z_y and z_j = (x_j - c_j)/h_j: coef_j = h_y theta_j/h_j, and the centres go to the intercept.
    """
    columns = [domain.entries[i].column for i in domain.indices(names)]
    maps = np.array([domain.map(column) for column in columns]).reshape(-1, 2)
    c_y, h_y = domain.map(domain.entries[domain.indices([target])[0]].column)
    coef = h_y * theta / maps[:, 1]
    constant = float(coef[0]) if names[0] == CONSTANT else 0.0
    slopes = coef[1:] if names[0] == CONSTANT else coef
    centres = maps[1:, 0] if names[0] == CONSTANT else maps[:, 0]
    return slopes, float(c_y + constant - centres @ slopes)


def results(released: PrivateMoments, equations: NormalEquations, theta: Floats, model: str) -> Results:
    """Package a solution in the user's units."""
    coef, intercept = in_user_units(released.domain, equations.names, equations.target, theta)
    declared, line = released.certificate.declared, released.unclip(equations.target)
    if declared is not None and line is not None:
        c, h = declared.map(equations.target)
        coef = line.factor * coef
        if declared.intercept:
            intercept = c + h * line.mean_y + line.factor * (intercept - c - h * line.mean_g)
    names = tuple(name for name in equations.names if name != CONSTANT)
    return Results(equations.target, names, coef, intercept, model, released.certificate)


def fit_equations(released: PrivateMoments, e: NormalEquations, model: str, options: Mapping[str, Any]) -> Results:
    """Solve normal equations by a named model."""
    from discreet.penalised import L1_RATIOS, check_options, fit_penalised

    checks.choice("model", model, ("noise-aware", *L1_RATIOS, "ols"))
    if model in L1_RATIOS:
        return fit_penalised(released, e, model, *check_options(model, options))
    if options:
        raise ParameterError(f"model={model!r} has no option {min(options)!r}.")
    return results(released, e, noise_aware(e) if model == "noise-aware" else ridge(e.S, e.v, 0.0), model)
