"""Fitted models of many outcomes: coefficients, how sure they are, and what testing many of them means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.field_kinds import check_shapes
from discreet.core.files import Source, load_document, write_document
from discreet.core.placeholders import Later, Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.privacy.certificate import VERSIONS, Certificate
from discreet.released.units import coefficient_unit, regressors
from discreet.results.design import design_matrix
from discreet.results.documents import MANY_RESULTS
from discreet.results.many_inference import ManyInference
from discreet.results.summary import SIMULATION, Summary, number, promise, row_count


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

    def predict_interval(self, X: Any, level: float = 0.95) -> Unavailable:
        """Intervals are for one outcome, whose model has them."""
        return Unavailable("not available", "Intervals of predictions are for one outcome: fit it by itself.")

    def predictions(self, X: Any, level: float = 0.95) -> dict[str, Floats]:
        """What is predicted of each row, by outcome; see `Results.predictions`."""
        return dict(zip(self.targets, self.predict(X).T, strict=True))

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
        return _frame(self, checks.fraction("level", level))

    def summary(self, level: float = 0.95, most: int = 20) -> Summary:
        """The guarantee, and the coefficients that stand out most from their standard errors.

        Parameters
        ----------
        level : float
            Of the intervals.
        most : int
            How many coefficients are shown.
        """
        return _summary(self, checks.fraction("level", level), most)

    def heatmap(self, values: str = "z", ax: Any = None) -> Any:
        """Draw outcomes against regressors with matplotlib, and return the axes.

        Parameters
        ----------
        values : {"z", "debiased", "coef"}
            Debiased coefficients over their standard errors, debiased coefficients, or those of the model.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        from discreet.results.plots.releases import heatmap

        return heatmap(self, values, ax)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description: for each outcome its parameters by name, with standard errors where there are."""
        return _description(self)

    def save(self, path: str | Path, *, simulation: bool = False, overwrite: bool = False) -> None:
        """Save the models and their certificate as JSON with a SHA-256 digest; see `Results.save`."""
        if not simulation:
            self.certificate.refuse_simulation("model", "Fit")
        write_document(path, self._document(), overwrite=overwrite)

    def _document(self) -> dict[str, Any]:
        return MANY_RESULTS.body(self, self.certificate.format_version)

    @classmethod
    def load(cls, path: Source) -> ManyResults:
        """Load what `save` wrote."""
        return load_document(path, "many results", VERSIONS, cls._from_document)

    @classmethod
    def _from_document(cls, body: dict[str, Any]) -> ManyResults:
        facts = MANY_RESULTS.read(body)
        told, release, m = facts.pop("inference"), facts.pop("release"), len(facts["targets"])
        facts["names"] = regressors(facts["certificate"].domain, facts["names"], facts["targets"])
        d = len(facts["names"])
        check_shapes(facts, {"coef": (m, d), "intercept": (m,)})
        found = ManyInference.from_dict(told, m, d + 1) if "estimate" in told else Unavailable.from_dict(told)
        return cls(**facts, inference_later=Later.of(found), release_later=Later.of(release))

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


def _frame(fitted: ManyResults, level: float) -> Any:
    """One row for each outcome and coefficient."""
    l, k = fitted.params.shape  # noqa: E741
    pairs = fitted.conf_int(level)
    columns: dict[str, Floats | Unavailable] = {
        "coef": fitted.params,
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "privacy_noise": fitted.privacy_noise,
        "p_value": fitted.pvalues,
        "p_holm": fitted.adjusted("holm"),
        "p_fdr": fitted.adjusted("fdr"),
        "low": pairs if isinstance(pairs, Unavailable) else pairs[..., 0],
        "high": pairs if isinstance(pairs, Unavailable) else pairs[..., 1],
    }
    table: dict[str, Any] = {
        "outcome": pa.array(np.repeat(np.array(fitted.targets, dtype=object), k), pa.string()),
        "name": pa.array(np.tile(np.array(fitted.parameters, dtype=object), l), pa.string()),
    }
    for key, column in columns.items():
        missing = isinstance(column, Unavailable)
        table[key] = pa.nulls(l * k, pa.float64()) if missing else pa.array(np.ravel(column), from_pandas=True)
    return pa.table(table).to_pandas()


def _description(fitted: ManyResults) -> dict[str, Any]:
    """A JSON-ready description."""
    parts = {
        "params": fitted.params,
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "p_holm": fitted.adjusted("holm"),
    }
    models: dict[str, dict[str, Any]] = {target: {} for target in fitted.targets}
    for key, part in parts.items():
        for j, target in enumerate(fitted.targets):
            if isinstance(part, Unavailable):
                models[target][key] = part.to_dict()
            else:
                values = [None if np.isnan(value) else float(value) for value in part[j]]
                models[target][key] = dict(zip(fitted.parameters, values, strict=True))
    guarantee = fitted.certificate.guarantee.to_dict()
    return {"model": fitted.model, "outcomes": models, "guarantee": guarantee, "release": fitted.release}


def _summary(fitted: ManyResults, level: float, most: int) -> Summary:
    """The guarantee, and the coefficients that stand out most."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ParameterError(f"most must be a whole number of at least 1, got {most!r}.")
    l, d = len(fitted.targets), len(fitted.names)  # noqa: E741
    facts = {
        "Outcomes": f"{l:,}, on {d:,} regressors",
        "Method": fitted.model,
        "Guarantee": promise(fitted.certificate.guarantee),
        "Rows": row_count(fitted.certificate, fitted.rows),
    }
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    rows = _strongest(fitted, level, most)
    return Summary(
        title=f"{l:,} outcomes ~ {' + '.join(fitted.names[:6])}{' + ...' if d > 6 else ''}",
        facts=tuple(facts.items()),
        columns=("outcome", "name", "coef", "debiased", "std err", "P>|t|", "P Holm", "P FDR", low, high),
        rows=tuple(rows),
        notes=tuple(_notes(fitted, len(rows))),
        keys=2,
    )


def _strongest(fitted: ManyResults, level: float, most: int) -> list[tuple[str, ...]]:
    """The coefficients of the least p-values; without those, of the largest coefficients by size."""
    shift = len(fitted.parameters) - len(fitted.names)
    debiased, se, p, pairs = fitted.debiased, fitted.std_err, fitted.pvalues, fitted.conf_int(level)
    if any(isinstance(part, Unavailable) for part in (debiased, se, p, pairs)):
        order = np.argsort(-np.abs(fitted.coef), axis=None)[:most]
        places = [np.unravel_index(i, fitted.coef.shape) for i in order]
        return [(fitted.targets[j], fitted.names[i], number(float(fitted.coef[j, i])), *[""] * 7) for j, i in places]
    z = np.abs(np.asarray(debiased) / np.asarray(se))[:, shift:]
    holm, fdr = (np.asarray(fitted.adjusted(method)) for method in ("holm", "fdr"))
    rows = []
    for j, i in (np.unravel_index(place, z.shape) for place in np.argsort(-z, axis=None)[:most]):
        at = j, i + shift
        tests = [f"{part[at]:.3g}" for part in (np.asarray(p), holm, fdr)]
        ends = [number(end) for end in np.asarray(pairs)[at]]
        values = [number(part[at]) for part in (fitted.params, np.asarray(debiased), np.asarray(se))]
        rows.append((fitted.targets[j], fitted.names[i], *values, *tests, *ends))
    return rows


def _notes(fitted: ManyResults, shown: int) -> list[str]:
    tests = len(fitted.targets) * len(fitted.names)
    notes = [f"Shown: the {shown} of {tests:,} coefficients that stand out most. to_frame() has all of them."]
    why = next((part for part in (fitted.inference, fitted.std_err) if isinstance(part, Unavailable)), None)
    if why is not None:
        notes.append(f"Standard errors, intervals and tests are {why}: {why.reason}")
    else:
        notes += [
            f"Many tests: of {tests:,} true null hypotheses about {tests / 20:,.0f} have P>|t| below 0.05 by chance. "
            "P Holm below 0.05 bounds the probability of any wrong finding by 0.05; P FDR below 0.05 the expected "
            "share of wrong ones among the findings, for tests that are independent or positively dependent. "
            "Intervals hold their level one by one.",
            "All outcomes share one noisy X'X, so their privacy errors are correlated.",
            "coef is for predictions: drawn towards zero where noise is large. debiased is not; std err, tests and "
            "intervals belong to it.",
        ]
    if fitted.certificate.simulation:
        notes.append(SIMULATION)
    return notes
