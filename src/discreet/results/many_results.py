"""Fitted models of many outcomes: coefficients, how sure they are, and what testing many of them means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.files import load_document, number, numbers, text, texts, write_document
from discreet.core.later import Later
from discreet.core.unavailable import Unavailable
from discreet.domain import CONSTANT, derived
from discreet.errors import GuaranteeError
from discreet.privacy.certificate import Certificate
from discreet.released.units import coefficient_unit, regressors
from discreet.results.design import design_matrix
from discreet.results.many_inference import ManyInference
from discreet.results.summary import Summary

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ManyResults:
    """Linear models of many outcomes on the same features. Holds released values only, so it can be published.

    Parameters
    ----------
    targets, names : tuple of str
        The outcomes, and the regressors without the intercept.
    coef : array
        A row of coefficients for each outcome, in units of the outcome per unit of the regressor.
    intercept : array
        For each outcome, its prediction where all regressors are zero and categories at their first level.
    model : str
        How the equations were solved.
    certificate : Certificate
        The guarantee of the release behind it.
    rows : float
        The number of rows: declared, or a released noisy one.
    inference_later, release_later : Later
        `inference` and `release`, which many users of thousands of outcomes never ask for.
    """

    targets: tuple[str, ...]
    names: tuple[str, ...]
    coef: Floats
    intercept: Floats
    model: str
    certificate: Certificate
    rows: float
    inference_later: Later[ManyInference | Unavailable]
    release_later: Later[str]

    # ---------------------------------------------------------------- numbers

    @property
    def inference(self) -> ManyInference | Unavailable:
        """How sure the release is of the coefficients, or why that is not known."""
        return self.inference_later()

    @property
    def release(self) -> str:
        """The digest of the release behind it, by which it can be cited."""
        return self.release_later()

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what each outcome has: the intercept first, where the model has one."""
        return (CONSTANT, *self.names) if self.certificate.domain.intercept else self.names

    @property
    def params(self) -> Floats:
        """The model's intercepts and coefficients, a row for each outcome, in the order of `parameters`."""
        return self._own(np.column_stack([self.intercept, self.coef]))

    @property
    def debiased(self) -> Floats | Unavailable:
        """The same without the shrinkage that helps a model to predict: the centres of the intervals."""
        return self._part("estimate")

    @property
    def std_err(self) -> Floats | Unavailable:
        """Standard errors of the debiased coefficients: sampling error and privacy noise."""
        return self._part("std_err")

    @property
    def privacy_noise(self) -> Floats | Unavailable:
        """What the standard errors would be if privacy noise were all there is."""
        return self._part("privacy_noise")

    @property
    def pvalues(self) -> Floats | Unavailable:
        """p-values of the tests that each coefficient is zero, each by itself."""
        return self._part("p_values")

    def adjusted(self, method: str = "holm") -> Floats | Unavailable:
        """p-values adjusted for testing all coefficients of all outcomes; NaN for intercepts, which are not tested.

        Parameters
        ----------
        method : {"holm", "fdr"}
            Holm: a wrong rejection anywhere has a probability of at most the level. Benjamini-Hochberg ("fdr"): of all
            rejections, at most that share is wrong on average, if tests are independent or positively dependent.
        """
        checks.choice("method", method, ("holm", "fdr"))
        p = self.pvalues
        if isinstance(p, Unavailable):
            return p
        shift = len(self.parameters) - len(self.names)
        full = np.full(p.shape, np.nan)
        full[:, shift:] = adjust(p[:, shift:].ravel(), method).reshape(-1, len(self.names))
        return full

    def conf_int(self, level: float = 0.95) -> Floats | Unavailable:
        """Confidence intervals, each by itself: an array of outcomes, `parameters` and (low, high)."""
        level = checks.fraction("level", level)
        found = self.inference
        pairs = found if isinstance(found, Unavailable) else found.interval(level)
        return pairs if isinstance(pairs, Unavailable) else self._own(pairs)

    def predict(self, X: Any) -> Floats:
        """Predict every outcome; X is not clipped to the bounds.

        Parameters
        ----------
        X : frame, Arrow table, mapping of columns, or matrix
            The features by name; or a matrix with one column for each of `names`.
        """
        predicted: Floats = design_matrix(X, self.certificate.domain, self.names) @ self.coef.T + self.intercept
        return predicted

    def unit(self, target: str, name: str) -> str:
        """The unit of a coefficient, as far as the schema gives units."""
        return coefficient_unit(self.certificate.domain, target, name)

    def _own(self, values: Floats) -> Floats:
        return values[:, values.shape[1] - len(self.parameters) :]

    def _part(self, what: str) -> Floats | Unavailable:
        if isinstance(self.inference, Unavailable):
            return self.inference
        values = getattr(self.inference, what)
        return values if isinstance(values, Unavailable) else self._own(values)

    # ---------------------------------------------------------------- tables, pictures and files

    def to_frame(self, level: float = 0.95) -> Any:
        """A long pandas frame, one row for each outcome and coefficient; what is not available is missing."""
        from discreet.results.many_reading import long_frame

        return long_frame(self, checks.fraction("level", level))

    def summary(self, level: float = 0.95, most: int = 20) -> Summary:
        """The guarantee, and the coefficients that stand out most from their standard errors.

        Parameters
        ----------
        level : float
            Of the intervals.
        most : int
            How many coefficients are shown.
        """
        from discreet.results.many_reading import read_many

        return read_many(self, checks.fraction("level", level), most)

    def heatmap(self, values: str = "z", ax: Any = None) -> Any:
        """Draw outcomes against regressors with matplotlib, and return the axes.

        Parameters
        ----------
        values : {"z", "debiased", "coef"}
            Debiased coefficients over their standard errors, debiased coefficients, or those of the model.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from discreet.results.many_reading import draw_heatmap

        return draw_heatmap(self, values, ax)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description: for each outcome its parameters by name, with standard errors where there are."""
        from discreet.results.many_reading import many_dict

        return many_dict(self)

    def save(self, path: str | Path) -> None:
        """Save the models and their certificate as JSON with a SHA-256 digest, which finds damage, not forgery."""
        if self.certificate.simulation:
            raise GuaranteeError("These models come from a simulation, which promises no privacy: they are not saved.")
        write_document(path, self._document())

    def _document(self) -> dict[str, Any]:
        version = derived.format_version(self.certificate.domain)
        body = {"kind": "many results", "format_version": version, "certificate": self.certificate.to_dict()}
        facts = {"targets": list(self.targets), "names": list(self.names), "model": self.model, "rows": self.rows}
        numbers = {"coef": self.coef.tolist(), "intercept": self.intercept.tolist(), "release": self.release}
        return body | facts | numbers | {"inference": self.inference.to_dict()}

    @classmethod
    def load(cls, path: str | Path) -> ManyResults:
        """Load what `save` wrote."""
        return load_document(path, "many results", derived.VERSIONS, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> ManyResults:
        certificate, targets = Certificate.from_dict(body["certificate"]), texts(body["targets"])
        names = regressors(certificate.domain, texts(body["names"]), targets)
        coef = numbers(body["coef"], (len(targets), len(names)))
        facts, size = body["inference"], (len(targets), len(names) + 1)
        known = "estimate" in facts
        found = ManyInference.from_dict(facts, *size) if known else Unavailable.from_dict(facts)
        rest = text(body["model"]), certificate, number(body["rows"])
        facts = numbers(body["intercept"], (len(targets),)), *rest, Later.of(found), Later.of(text(body["release"]))
        return cls(targets, names, coef, *facts)

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def adjust(p: Floats, method: str) -> Floats:
    """p-values adjusted for their number, by Holm or by Benjamini and Hochberg ("fdr").

    Examples
    --------
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm"), adjust(np.array([0.01, 0.04, 0.03]), "fdr")
    (array([0.03, 0.06, 0.06]), array([0.03, 0.04, 0.04]))
    """
    order, m = np.argsort(p, kind="stable"), len(p)
    rank = np.arange(m)
    if method == "holm":
        rising = np.maximum.accumulate((m - rank) * p[order])
    else:
        rising = np.minimum.accumulate((m / (rank + 1) * p[order])[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(rising, 1.0)
    return adjusted
