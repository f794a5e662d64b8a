"""Fitted generalised linear models: released coefficients in the user's units, with the guarantee they carry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.files import digest, load_document, numbers, text, texts, write_document
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Numeric
from discreet.domain.linked import Linked
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy.certificate import Certificate
from discreet.released.grids import GridValues
from discreet.released.links import places, probabilities, rate
from discreet.released.moments import ReleasedMoments
from discreet.released.units import coefficient_unit, regressors, unit_per
from discreet.results.contrasts import Contrasts
from discreet.results.design import design_matrix
from discreet.results.effects import Variables
from discreet.results.fitted import Fitted
from discreet.results.glm_inference import NO_SPREAD, WITHOUT_ERRORS
from discreet.results.inference import Inference, loaded_inference
from discreet.results.margins import setting_of
from discreet.results.numbers import json_ready
from discreet.results.responses import average_effects
from discreet.results.series import like
from discreet.results.summary import number, to_pandas

Link = Literal["logit", "log", "identity", "sign"]

FORMAT_VERSIONS = (3, 4, 5)
"""Of files of kind "model"; their certificates hold events that versions 1 and 2 do not know; 4 has functions of
columns, 5 models in private coordinates, with what was released besides."""


_RATIOS = {"logit": "odds_ratio", "log": "rate_ratio"}
_KINDS = {
    "logit": "logistic regression",
    "log": "Poisson regression",
    "identity": "linear regression",
    "sign": "linear classification",
}


@dataclass(frozen=True, eq=False, repr=False)
class GLMResults(Fitted):
    """A fitted generalised linear model. Holds released values only, so it can be saved and published.

    Parameters
    ----------
    target : str
        The outcome.
    names : tuple of str
        The regressors, without the intercept.
    coef, intercept : array
        One row of coefficients, and one intercept, for each linear predictor, in the user's units.
    model : str
        The method.
    certificate : Certificate
        The guarantee.
    link : {"logit", "log", "identity", "sign"}
        How the linear predictor leads to the outcome.
    classes : tuple, optional
        The classes of the outcome, in order; more than two have one linear predictor each.
    weights : array, optional
        Of the adaptive method: how much more than others each regressor was penalised, a row for each predictor.
    inference : Inference or Unavailable
        How sure the release is of the coefficients, or why that is not known.
    values : tuple of tuples of GridValues
        The noisy values of the Gaussian events of the certificate, where the model was fitted in private coordinates.
    """

    target: str
    names: tuple[str, ...]
    coef: Floats
    intercept: Floats
    model: str
    certificate: Certificate
    link: Link
    classes: tuple[Any, ...] | None = None
    weights: Floats | None = None
    inference: Inference | Unavailable = WITHOUT_ERRORS
    values: tuple[tuple[GridValues, ...], ...] = ()

    @property
    def released(self) -> ReleasedMoments:
        """The noisy values behind the model, with their certificate."""
        return ReleasedMoments(self.certificate, self.values)

    @property
    def coefficients(self) -> dict[str, float]:
        """All coefficients by name, the intercept first; behind the class where there are several predictors."""
        constant = self.certificate.domain.intercept
        names = ([CONSTANT] if constant else []) + list(self.names)
        found: dict[str, float] = {}
        for head, row, intercept in zip(self._heads, self.coef.tolist(), self.intercept.tolist(), strict=True):
            values = ([intercept] if constant else []) + row
            found |= {head + name: value for name, value in zip(names, values, strict=True)}
        return found

    @property
    def _heads(self) -> list[str]:
        return [""] if len(self.coef) == 1 else [f"{label}: " for label in self.classes or ()]

    @property
    def lines(self) -> list[tuple[str, Floats]]:
        """(intercept, coefficients) of each linear predictor, with the class that stands before its names."""
        return list(zip(self._heads, np.column_stack([self.intercept, self.coef]), strict=True))

    def coordinate(self, name: str) -> str:
        """The regressor that a name in `params` stands for."""
        known = (CONSTANT, *self.names)
        return next(name.removeprefix(head) for head in ("", *self._heads) if name.removeprefix(head) in known)

    @property
    def kind(self) -> str:
        """What kind of model it is, in words."""
        return _KINDS[self.link]

    @property
    def estimand(self) -> str:
        """What the coefficients are about."""
        if isinstance(self.inference, Inference):
            return (
                f"the {self.kind} that fits the population best, with every column clipped to its bounds, where rows "
                "far from the others count less"
            )
        return (
            f"the penalised {self.kind} that fits the population best, with every column clipped to its bounds; the "
            "penalty draws coefficients towards zero"
        )

    @property
    def rows(self) -> float | None:  # type: ignore[override]
        """The number of rows: declared, or a released noisy one."""
        return self.released.rows() if self.values else self.certificate.rows

    @property
    def release(self) -> str:  # type: ignore[override]
        """The SHA-256 that the saved model carries: one name for one release, to cite it by."""
        return digest(self._document())

    def unit(self, name: str) -> str:
        """What one unit of a regressor changes: log odds, or the logarithm of a rate, or the outcome's own unit."""
        domain = self.certificate.domain
        if self.link == "identity":
            return coefficient_unit(domain, self.target, self.coordinate(name))
        head = {"logit": "log odds", "log": "log rate"}.get(self.link, "1")
        return unit_per(domain, head, self.coordinate(name))

    # ---------------------------------------------------------------- how sure it is

    def ratios(self, level: float = 0.95) -> Any:
        """A pandas frame: what one unit more multiplies the odds by, or the expected count, with intervals.

        Parameters
        ----------
        level : float
            Of the intervals.
        """
        found = self.intervals(checks.fraction("level", level))
        if self.link not in _RATIOS:
            raise ParameterError(f"A model of kind {self.kind!r} has no ratios: only odds and rates have them.")
        if isinstance(found, Unavailable):
            return found
        debiased, p = self.known("estimate"), self.known("p_values")
        names = [name for name in found if name != CONSTANT]
        columns: dict[str, list[Any]] = {"name": names}
        columns[_RATIOS[self.link]] = [math.exp(debiased[name]) for name in names]
        columns |= {side: [math.exp(found[name][i]) for name in names] for i, side in enumerate(("low", "high"))}
        return to_pandas(columns | {"p_value": [p[name] for name in names]})

    @property
    def dispersion(self) -> float | Unavailable:
        """Of counts: how many times as large as their mean their variance is, on average over the directions.

        It is the mean of squared Pearson residuals, weighted by leverage, from the released information and meat.
        """
        found = self.inference
        if self.link != "log" or isinstance(found, Unavailable):
            return found if isinstance(found, Unavailable) else NO_SPREAD
        if isinstance(found.sampling, Unavailable) or not found.robust:
            return Unavailable("not released", "Classical standard errors take counts to vary as a Poisson law does.")
        told, Q = np.linalg.eigh(found.G)
        kept = Q[:, told > 1e-9 * max(told[-1], np.finfo(float).tiny)]
        if not kept.size:
            return Unavailable("not available", found.withheld or "Noise hides how counts vary.")
        ratio = np.linalg.solve(kept.T @ found.G @ kept, kept.T @ found.sampling @ kept)
        return float(np.trace(ratio)) / len(ratio)

    def spread_facts(self, level: float) -> dict[str, str]:
        """What the summary says of how outcomes vary around the model."""
        found = self.dispersion
        if isinstance(found, Unavailable):
            return {}
        return {"Dispersion": f"{number(found)}: the variance of counts over their mean; 1 for a Poisson law"}

    def marginal_effects(self, at: Any = None) -> Contrasts | Unavailable:
        """What the expected outcome changes by for one unit more of each variable: a probability, or a count.

        Parameters
        ----------
        at : mapping or frame, optional
            Where: values of some variables, ``{"age": 40, "sex": "F"}``, or rows of a public table, over which effects
            are averaged. Variables that are not named are in the middle of their declared ranges.
        """
        if self.link not in _RATIOS:
            return super().marginal_effects(at)
        found = Variables(self.certificate.domain, self.names)
        setting = found.middle if at is None else setting_of(found, at)
        if isinstance(self.inference, Unavailable):
            return self.inference
        note = "For one unit more of a number; for a level against the first one of its category."
        outcome = "1" if self.link == "logit" else self._outcome_unit()
        return average_effects(self.target, self.inference, found, setting, self._mean, note, outcome)

    def _outcome_unit(self) -> str:
        return coefficient_unit(self.certificate.domain, self.target, CONSTANT) or "1"

    def _mean(self, eta: Floats) -> tuple[Floats, Floats]:
        if self.link == "logit":
            p = probabilities(eta[:, None])[:, 1]
            return p, p * (1 - p)
        counts = rate(eta, self._most)
        return counts, counts

    @property
    def exposure(self) -> str | None:
        """The column that counts are for one unit of, if there is one."""
        own = [stage.event.coordinates for stage in self.released.stages] if self.values else []
        return next((at.exposure for at in own if isinstance(at, Linked)), None)

    @property
    def remarks(self) -> tuple[str, ...]:  # type: ignore[override]
        """What a reader should know."""
        return () if self.exposure is None else (f"Rates, and predictions, are for one unit of {self.exposure}.",)

    # ---------------------------------------------------------------- predictions

    @property
    def _most(self) -> float:
        """The upper bound of a count."""
        column = self.certificate.domain.columns[self.target]
        return column.high if isinstance(column, Numeric) else math.inf

    def predictor(self, X: Any) -> Floats:
        """The linear predictors of the rows of X, a column each.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            The features by name; or a matrix with one column for each of `names`.
        """
        eta: Floats = design_matrix(X, self.certificate.domain, self.names) @ self.coef.T + self.intercept
        return eta

    def predict(self, X: Any) -> Any:
        """The expected count or number, or the class, of each row; X is not clipped to the bounds.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predictor`.
        """
        return like(X, self.predicted(self.predictor(X)), self.target)

    def predicted(self, eta: Floats) -> Any:
        """What linear predictors say of the outcome."""
        if self.classes is None:
            return rate(eta[:, 0], self._most) if self.link == "log" else eta[:, 0]
        return np.array(self.classes)[places(eta)]

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, in the order of `classes`; of logistic models only.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            As for `predictor`.
        """
        if self.link != "logit":
            raise ParameterError(f"A model of kind {self.kind!r} has no probabilities.")
        return probabilities(self.predictor(X))

    def selection(self) -> list[dict[str, Any]]:
        """Which regressors have a coefficient other than zero in some predictor, the largest in mapped units first.

        With an l1 penalty coefficients are exactly zero where noise and penalty outweigh the data. Free, as all that is
        computed from a release.
        """
        halves = np.array([self.certificate.domain.map(column)[1] for column in self._columns()])
        size = np.abs(self.coef * halves).max(axis=0)
        table = []
        for j in np.argsort(-size, kind="stable"):
            row = {"name": self.names[j], "selected": bool(size[j] > 0), "size": float(size[j])}
            if self.weights is not None:
                row["weight"] = float(self.weights[:, j].min())
            table.append(row)
        return table

    def _columns(self) -> list[str]:
        domain = self.certificate.domain
        return [domain.entries[i].column for i in domain.indices(self.names)]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        facts = {"target": self.target, "model": self.model, "link": self.link, "params": self.coefficients}
        numbers = {
            "debiased": self.known("estimate"),
            "std_err": self.known("std_err"),
            "privacy_noise": self.known("privacy_noise"),
            "pvalues": self.known("p_values"),
            "conf_int": self.intervals(0.95),
        }
        told = {key: json_ready(value) for key, value in numbers.items()} | {"rows": self.rows}
        return facts | told | {"classes": self.classes, "guarantee": self.certificate.guarantee.to_dict()}

    def save(self, path: str | Path, *, simulation: bool = False, overwrite: bool = False) -> None:
        """Save the model and its certificate as JSON with a SHA-256 digest, which finds damage, not forgery.

        Parameters
        ----------
        path : path
            The file.
        simulation : bool
            Must be True to save a model whose noise came from a seed.
        overwrite : bool
            Must be True to replace a file: another model may be all that is left of its budget.
        """
        if not simulation:
            self.certificate.refuse_simulation("model", "Fit")
        write_document(path, self._document(), overwrite=overwrite)

    def _document(self) -> dict[str, Any]:
        version = (
            FORMAT_VERSIONS[-1] if self.values else max(FORMAT_VERSIONS[0], self.certificate.domain.format_version)
        )
        body = {"kind": "model", "format_version": version, "certificate": self.certificate.to_dict()}
        body |= {"target": self.target, "model": self.model, "names": list(self.names), "link": self.link}
        body |= {"coef": self.coef.tolist(), "intercept": self.intercept.tolist()}
        body["classes"] = None if self.classes is None else list(self.classes)
        body["weights"] = None if self.weights is None else self.weights.tolist()
        if self.values:
            body["values"] = [[part.to_dict() for part in parts] for parts in self.values]
            body["inference"] = self.inference.to_dict()
        return body

    @classmethod
    def load(cls, path: str | Path) -> GLMResults:
        """Load what `save` wrote, after checking that it is whole."""
        return load_document(path, "model", FORMAT_VERSIONS, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> GLMResults:
        certificate, target, link = Certificate.from_dict(body["certificate"]), text(body["target"]), body["link"]
        names, count = regressors(certificate.domain, texts(body["names"]), [target]), len(body["coef"])
        coef, intercept = numbers(body["coef"], (count, len(names))), numbers(body["intercept"], (count,))
        weights = None if body["weights"] is None else numbers(body["weights"], coef.shape)
        classes = None if body["classes"] is None else tuple(body["classes"])
        if link not in get_args(Link) or not _are_classes(classes, count, link):
            raise FileFormatError("it is damaged: its link or its classes are not those of a model.")
        values = tuple(tuple(map(GridValues.from_dict, parts)) for parts in body.get("values", ()))
        told = loaded_inference(body["inference"], len(names) + 1) if values else WITHOUT_ERRORS
        facts = (certificate, link, classes, weights, told, values)
        fitted = cls(target, names, coef, intercept, text(body["model"]), *facts)
        if values:
            fitted.released.check_values()
        return fitted


def _are_classes(classes: tuple[Any, ...] | None, count: int, link: str) -> bool:
    """Whether classes are different scalars, as many as there are linear predictors; or two, or none, for one."""
    if classes is None:
        return count == 1 and link in ("log", "identity")
    plain = all(isinstance(label, str | int | float) for label in classes)
    different = plain and len(set(map(str, classes))) == len(classes)
    return different and link in ("logit", "sign") and (count == 1 if len(classes) == 2 else count == len(classes) > 2)
