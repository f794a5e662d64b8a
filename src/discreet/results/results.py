"""Fitted models: coefficients in the user's units, how sure they are, and the guarantee they carry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import load_document, number, numbers, text, texts, write_document
from discreet.core.placeholders import Later, Unavailable
from discreet.domain import CONSTANT
from discreet.domain.formula import Model
from discreet.domain.references import recoding
from discreet.errors import GuaranteeError, ParameterError
from discreet.privacy.certificate import VERSIONS, Certificate
from discreet.released.equations import NormalEquations
from discreet.released.moments import ReleasedMoments
from discreet.released.units import coefficient_unit, regressors, unclipped, user_units
from discreet.results.design import design_matrix
from discreet.results.fitted import Fitted
from discreet.results.inference import (
    ESTIMANDS,
    LARGEST_NOISE,
    OLD_FILE,
    Estimand,
    Inference,
    infer,
    loaded_inference,
    shown_rows,
)
from discreet.results.numbers import json_ready
from discreet.results.pile_up import remarks
from discreet.results.series import like

_UNKNOWN = Later.of("")


@dataclass(frozen=True, eq=False, repr=False)
class Results(Fitted):
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
    inference : Inference or Unavailable
        How sure the release is of the coefficients, or why that is not known.
    rows : float
        The number of rows: declared, or a released noisy one.
    release_later : Later
        `release`, which takes a while to find and is seldom asked for.
    remarks : tuple of str
        What the release tells of the data that a reader should know.
    """

    target: str
    names: tuple[str, ...]
    coef: Floats
    intercept: float
    model: str
    certificate: Certificate
    inference: Inference | Unavailable = OLD_FILE
    rows: float | None = None
    release_later: Later[str] = _UNKNOWN
    remarks: tuple[str, ...] = ()

    @property
    def release(self) -> str:  # type: ignore[override]
        """The digest of the release behind it, by which it can be cited."""
        return self.release_later()

    # ---------------------------------------------------------------- numbers by name

    @property
    def coefficients(self) -> dict[str, float]:
        """The coefficients that predict, by name, the intercept first."""
        return self._named(np.concatenate([[self.intercept], self.coef]))

    @property
    def lines(self) -> list[tuple[str, Floats]]:
        """The one line: (intercept, coefficients)."""
        return [("", np.concatenate([[self.intercept], self.coef]))]

    def unit(self, name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units."""
        return coefficient_unit(self.certificate.domain, self.target, name)

    def about(self, estimand: Estimand) -> Self:
        """The same model with intervals about another fit to the population.

        Parameters
        ----------
        estimand : {"bounded", "declared"}
            The fit in which far rows and far residuals count less, as the release states; or least squares under the
            declared bounds: what they would add is charged to the intervals, as far as released counts tell.
        """
        checks.choice("estimand", estimand, ESTIMANDS)
        found = self.inference
        return self if isinstance(found, Unavailable) else replace(self, inference=replace(found, estimand=estimand))

    # ---------------------------------------------------------------- predictions

    def predict(self, X: Any) -> Any:
        """Predict the outcome; X is not clipped to the bounds.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            The features by name; or a matrix with one column for each of `names`.

        Returns
        -------
        array, or Series
            Of a pandas frame a Series with the frame's index.
        """
        return like(X, self._design(X) @ self.coef + self.intercept, self.target)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, of: str = "outcome"
    ) -> tuple[Floats, Floats] | Unavailable:
        """Intervals (low, high) around the debiased line.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predict`.
        level : float
            The share of outcomes, or of samples and noises, for which the interval holds.
        of : {"outcome", "mean"}
            Where a new outcome lies, with a variance that may change along the line, and tails that are normal, or as
            heavy as released counts of residuals say; or where the line itself lies, NaN where the features tell too
            little of it.
        """
        checks.choice("of", of, ("outcome", "mean"))
        level = checks.fraction("level", level)
        Z = np.column_stack([np.ones(len(D := self._design(X))), D])
        found = self.inference
        if isinstance(found, Unavailable):
            return found
        C, df, spread, centre = found.covariance, found.degrees(Z), found.spread, Z @ found.estimate
        if isinstance(C, Unavailable) or isinstance(df, Unavailable):
            return C if isinstance(C, Unavailable) else df  # type: ignore[return-value]
        variance = np.einsum("ij,jk,ik->i", Z, C, Z)
        if of == "outcome":
            if isinstance(spread, Unavailable):
                return spread
            half = spread.reach(level) * np.sqrt(variance + spread.variance(centre))
        else:
            variance = np.where(found.noise_of(Z) > LARGEST_NOISE, np.nan, variance)
            half = found.quantile(level, df) * np.sqrt(variance)
        return centre - half, centre + half

    def _design(self, X: Any) -> Floats:
        return design_matrix(X, self.certificate.domain, self.names)

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; a number that is missing for one coefficient is None."""
        numbers = {
            "params": self.coefficients,
            "debiased": self.known("estimate"),
            "std_err": self.known("std_err"),
            "privacy_noise": self.known("privacy_noise"),
            "pvalues": self.known("p_values"),
            "conf_int": self.intervals(0.95),
            "rsquared": self.rsquared,
            "residual_sd": self.residual_sd,
            "df_resid": self.df_resid,
        }
        return {
            "target": self.target,
            "model": self.model,
            **{key: json_ready(value) for key, value in numbers.items()},
            "units": {name: self.unit(name) for name in self.coefficients},
            "rows": self.rows,
            "guarantee": self.certificate.guarantee.to_dict(),
            "release": self.release,
        }

    def save(self, path: str | Path) -> None:
        """Save the model and its certificate as JSON with a SHA-256 digest, which finds damage, not forgery."""
        if self.certificate.simulation:
            raise GuaranteeError("This model comes from a simulation, which promises no privacy: it is not saved.")
        write_document(path, self._document())

    def _document(self) -> dict[str, Any]:
        version = self.certificate.format_version
        body = {"kind": "results", "format_version": version, "certificate": self.certificate.to_dict()}
        facts = {"target": self.target, "model": self.model, "names": list(self.names)}
        numbers = {"coef": self.coef.tolist(), "intercept": self.intercept, "rows": self.rows, "release": self.release}
        told = {"remarks": list(self.remarks)} if self.remarks else {}
        return body | facts | numbers | told | {"inference": self.inference.to_dict()}

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Load what `save` wrote, by this version or an older one."""
        return load_document(path, "results", VERSIONS, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> Results:
        certificate, target = Certificate.from_dict(body["certificate"]), text(body["target"])
        names = regressors(certificate.domain, texts(body["names"]), [target])
        return cls(
            target, names, numbers(body["coef"], (len(names),)), number(body["intercept"]), text(body["model"]),
            certificate, loaded_inference(body.get("inference"), len(names) + 1),
            None if body.get("rows") is None else number(body["rows"]), Later.of(text(body.get("release", ""))),
            texts(body.get("remarks", [])),
        )  # fmt: skip


def against(fitted: Results, asked: Model) -> Results:
    """The same line, with coefficients against the levels that a formula compares with."""
    domain = fitted.certificate.domain
    names = asked.domain.design_names(asked.features)
    if not domain.intercept or sorted(names) == sorted([CONSTANT, *fitted.names]):
        return fitted
    if type(fitted) is not Results:
        raise ParameterError(
            f"A model of kind {fitted.model!r} draws the levels of a category towards the first one that is declared. "
            'Leave out Treatment("..."), or fit another kind.'
        )
    M = recoding(domain, asked.domain, asked.features).T
    line, found = M @ fitted.lines[0][1], fitted.inference
    told = found if isinstance(found, Unavailable) else found.combined(M)
    return replace(fitted, names=tuple(names[1:]), coef=line[1:], intercept=float(line[0]), inference=told)


def results(released: ReleasedMoments, e: NormalEquations, theta: Floats, model: str) -> Results:
    """Package a solution in the user's units."""
    target, units = e.target, user_units(released, e, unclip=False)
    coef, intercept = unclipped(released, target, units).params(theta)
    names = tuple(name for name in e.names if name != CONSTANT)
    facts = released.certificate, infer(released, e, units), shown_rows(released, e)
    told = Later(lambda: released.digest), remarks(released, target)
    return Results(target, names, coef, intercept, model, *facts, *told)
