"""Fitted models: coefficients in the user's units, how sure they are, and the guarantee they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import load_document, number, numbers, text, texts, write_document
from discreet.core.placeholders import Later, Unavailable
from discreet.domain import CONSTANT
from discreet.errors import GuaranteeError, ParameterError
from discreet.privacy.certificate import VERSIONS, Certificate
from discreet.released.equations import NormalEquations
from discreet.released.moments import ReleasedMoments
from discreet.released.units import coefficient_unit, column_of, regressors, unclipped, user_units
from discreet.results.fitted import Fitted, design_matrix, finite
from discreet.results.inference import ESTIMANDS, LARGEST_NOISE, OLD_FILE, Estimand, Inference, Test, infer
from discreet.results.pile_up import remarks

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
    def params(self) -> dict[str, float]:
        """All coefficients by name, the intercept first."""
        return self._named(np.concatenate([[self.intercept], self.coef]))

    def wald_test(self, names: str | Sequence[str]) -> Test | Unavailable:
        """The test that several coefficients are all zero.

        Parameters
        ----------
        names : str, or sequence of str
            A variable, such as a category with all its levels; or coefficients and variables.
        """
        known, domain = list(self.params), self.certificate.domain
        asked = [names] if isinstance(names, str) else list(names)
        meant = {name: [name] if name in known else [] for name in asked}
        for name in [name for name, own in meant.items() if not own]:
            meant[name] = [own for own in self.names if column_of(domain, own) == name]
        if not asked or not all(meant.values()):
            variables = dict.fromkeys(column_of(domain, name) for name in self.names)
            raise ParameterError(
                f"names must be a variable ({', '.join(variables)}), or a list of coefficients among "
                f"{', '.join(known)}."
            )
        found, shift = self.inference, 0 if CONSTANT in known else 1
        places = dict.fromkeys(known.index(name) + shift for own in meant.values() for name in own)
        return found if isinstance(found, Unavailable) else found.test(list(places))

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

    def predict(self, X: Any) -> Floats:
        """Predict the outcome; X is not clipped to the bounds.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            The features by name; or a matrix with one column for each of `names`.
        """
        predicted: Floats = self._design(X) @ self.coef + self.intercept
        return predicted

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
            Where a new outcome lies, if outcomes are normal around the line, with a variance that may change along it;
            or where the line itself lies, NaN where the features tell too little of it.
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
            variance, df = variance + spread.variance(centre), np.full(len(Z), spread.df)
        else:
            variance = np.where(found.noise_of(Z) > LARGEST_NOISE, np.nan, variance)
        half = found.quantile(level, df) * np.sqrt(variance)
        return centre - half, centre + half

    def _design(self, X: Any) -> Floats:
        return design_matrix(X, self.certificate.domain, self.names)

    # ---------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        numbers = {
            "debiased": self.debiased,
            "std_err": self.std_err,
            "privacy_noise": self.privacy_noise,
            "conf_int": self.conf_int(),
        }
        return {
            "target": self.target,
            "model": self.model,
            "params": self.params,
            **{key: v.to_dict() if isinstance(v, Unavailable) else finite(v) for key, v in numbers.items()},
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
            certificate, _inference(body.get("inference"), len(names) + 1),
            None if body.get("rows") is None else number(body["rows"]), Later.of(text(body.get("release", ""))),
            texts(body.get("remarks", [])),
        )  # fmt: skip


def _inference(facts: dict[str, Any] | None, size: int) -> Inference | Unavailable:
    if facts is None or "tilt" in facts:
        return OLD_FILE
    return Inference.from_dict(facts, size) if "estimate" in facts else Unavailable.from_dict(facts)


def results(
    released: ReleasedMoments, e: NormalEquations, theta: Floats, model: str, estimand: Estimand = "bounded"
) -> Results:
    """Package a solution in the user's units."""
    target, units = e.target, user_units(released, e, unclip=False)
    coef, intercept = unclipped(released, target, units).params(theta)
    names = tuple(name for name in e.names if name != CONSTANT)
    facts = released.certificate, infer(released, e, units, estimand), e.n
    told = Later(lambda: released.digest), remarks(released, target)
    return Results(target, names, coef, intercept, model, *facts, *told)
