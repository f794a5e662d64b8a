"""Fitted generalised linear models: released coefficients in the user's units, with the guarantee they carry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.files import digest, load_document, numbers, text, texts, write_document
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import FileFormatError
from discreet.privacy.certificate import Certificate
from discreet.released.grids import GridValues
from discreet.released.moments import ReleasedMoments
from discreet.released.units import coefficient_unit, regressors, unit_per
from discreet.results.fitted import Fitted
from discreet.results.glm_inference import WITHOUT_ERRORS
from discreet.results.inference import Inference, loaded_inference

Link = Literal["logit", "log", "identity", "sign"]

FORMAT_VERSIONS = (3, 4, 5)
"""Of files of kind "model"; their certificates hold events that versions 1 and 2 do not know; 4 has functions of
columns, 5 models in private coordinates, with what was released besides."""


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
        return facts | {"classes": self.classes, "guarantee": self.certificate.guarantee.to_dict()}

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
