"""The numbers of a fitted model, by name: as plain mappings internally, as pandas for users of statsmodels.

A number that is not known of any coefficient is an `Unavailable` that says why. One that is known of some coefficients
is missing (NaN) where it is not.

One estimate is reported of each coefficient, and of each weighted sum of them: the debiased one, which its standard
error, interval and test belong to. Where no interval is given, because the model has none or noise hides this one, it
is that of the coefficients that predict, `coef` and `intercept`: a debiased one would be noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.privacy.events.coordinates import StageEvent
from discreet.released.certificate import Certificate
from discreet.results.constraints import constraints
from discreet.results.contrasts import Contrasts
from discreet.results.estimands import EstimandChoice, second
from discreet.results.inference import JointInference, Test
from discreet.results.series import ends, series, square
from discreet.results.spread import OutcomeSpread
from discreet.results.uncertainty import ONE_OUTCOME, Estimate, Inference

if TYPE_CHECKING:
    from discreet.results.series import DataFrame, Series


NARROWED = Unavailable(
    "not available",
    "The bounds of the outcome were narrowed, and what lies beyond them was not released. Stages do not narrow them.",
)
OLD_SPREAD = Unavailable(
    "not available",
    "This file was saved by an older version of discreet, without what lies beyond the cut of residuals. Fit the "
    "release again: release.fit(...).",
)
NO_MEAN = Unavailable("not available", "The mean of the outcome is told by models in stages with an intercept.")


class Numbers(ABC):
    """The numbers of a fitted model of one outcome or of several.

    All of them are arrays with a row for each linear predictor and a column for each of `parameters`. Those of one
    outcome are shown as pandas by name, those of several as the arrays.
    """

    targets: tuple[str, ...]
    names: tuple[str, ...]
    certificate: Certificate
    rows: float | None
    rows_sd: float | None

    @property
    @abstractmethod
    def inference(self) -> Inference | Unavailable:
        """Standard errors and tests of the coefficients, or why there are none."""

    @property
    @abstractmethod
    def several(self) -> bool:
        """Whether the outcomes are a list, so that numbers have a row for each."""

    @abstractmethod
    def about(self, estimand: EstimandChoice) -> Self:
        """Return the model with intervals about another fit to the population."""

    @property
    @abstractmethod
    def lines(self) -> list[tuple[str, Floats]]:
        """(intercept, coefficients) that predict, of each linear predictor, with the prefix of its names."""

    @property
    def joint(self) -> JointInference | Unavailable:
        """`inference` with the covariance of the coefficients, which one outcome has."""
        found = self.inference
        return found if isinstance(found, JointInference | Unavailable) else ONE_OUTCOME

    # ---------------------------------------------------------------- plain

    @property
    def parameters(self) -> tuple[str, ...]:
        """The intercept, where the model has one, and the regressors."""
        return (CONSTANT, *self.names) if self.certificate.domain.intercept else self.names

    @property
    def coefficients(self) -> dict[str, float]:
        """The reported estimates by name, the intercept first; behind the class or outcome where several."""
        return self._by_name(self._params)

    @property
    def predicting(self) -> dict[str, float]:
        """The coefficients that predict, `coef` and `intercept`, by name."""
        return self._by_name(self._predicting)

    @property
    def labels(self) -> list[str]:
        """The names of all coefficients, the intercept first."""
        return [head + name for head, _ in self.lines for name in self.parameters]

    def _by_name(self, values: Floats) -> dict[str, Any]:
        return dict(zip(self.labels, values.ravel().tolist(), strict=True))

    def known(self, what: str) -> dict[str, float] | Unavailable:
        """A part of `inference` by name: "estimate", "std_err", "privacy_noise" or "p_values"."""
        found = self.table(what)
        if isinstance(found, Unavailable):
            return found
        return self._by_name(found)

    def table(self, what: str) -> Floats | Unavailable:
        """A part of `inference`, or "params" or "coef", as an array with a row for each linear predictor."""
        if what in ("params", "coef"):
            return self._params if what == "params" else self._predicting
        found = self.inference
        values = found if isinstance(found, Unavailable) else getattr(found, what)
        return values if isinstance(values, Unavailable) else self._own(values)

    def intervals(self, level: float) -> dict[str, tuple[float, float]] | Unavailable:
        """Confidence intervals (low, high) by name."""
        found = self._intervals(level)
        if isinstance(found, Unavailable):
            return found
        pairs = [(low, high) for low, high in found.reshape(-1, 2).tolist()]
        return dict(zip(self.labels, pairs, strict=True))

    @property
    def second(self) -> Inference | None:
        """The inference about the other fit, where it differs visibly: it is shown beside the first."""
        return None if isinstance(self.inference, Unavailable) else second(self.inference)

    def _intervals(self, level: float) -> Floats | Unavailable:
        return self._ends(self.inference, level)

    def _ends(self, found: Inference | Unavailable, level: float) -> Floats | Unavailable:
        pairs = found if isinstance(found, Unavailable) else found.interval(level)
        return pairs if isinstance(pairs, Unavailable) else self._own(pairs)

    def columns(self, level: float) -> dict[str, Floats | Unavailable]:
        """The columns of tables of coefficients, in the order of `coefficients`.

        Intervals about the other fit, where it differs, begin with its name; `coef` predicts.
        """
        parts = {"estimate": "params", "std_err": "std_err", "privacy_noise": "privacy_noise", "p_value": "p_values"}
        found, other = {key: self.table(what) for key, what in parts.items()}, self.second
        pairs = {"": self._intervals(level)}
        pairs |= {} if other is None else {f"{other.estimand}_": self._ends(other, level)}
        for head, pair in pairs.items():
            for i, side in enumerate(("low", "high")):
                found[head + side] = pair if isinstance(pair, Unavailable) else pair[..., i]
        found["coef"] = self._predicting
        return {key: part if isinstance(part, Unavailable) else part.ravel() for key, part in found.items()}

    @property
    def _params(self) -> Floats:
        found = self.inference
        if isinstance(found, Unavailable):
            return self._predicting
        given = np.broadcast_to(found.given, found.estimate.shape)
        return np.where(self._own(given), self._own(found.estimate), self._predicting)

    @property
    def _predicting(self) -> Floats:
        return np.array([line for _, line in self.lines])[:, 1 + len(self.names) - len(self.parameters) :]

    def _own(self, values: Any) -> Any:
        """Values of (intercept, coefficients), without the intercept where the model has none; a row an outcome."""
        rows = values if self.several else values.reshape(len(self.lines), -1, *values.shape[1:])
        return rows[:, 1 + len(self.names) - len(self.parameters) :]

    # ---------------------------------------------------------------- pandas, or arrays of several outcomes

    @property
    def params(self) -> Series | Floats:
        """The estimates to report, by name, the intercept first: those that intervals and tests belong to.

        Where an interval is withheld, or the model has none, they are the coefficients that predict, `coef`.
        """
        return self._shown("params", self._params)

    @property
    def debiased(self) -> Series | Floats | Unavailable:
        """The estimates without the shrinkage that helps to predict, of those too whose intervals are withheld."""
        return self._known("debiased", "estimate")

    @property
    def std_err(self) -> Series | Floats | Unavailable:
        """Standard errors of `params`: sampling error and privacy noise."""
        return self._known("std_err", "std_err")

    @property
    def bse(self) -> Series | Floats | Unavailable:
        """`std_err`, by the name that statsmodels gives it."""
        return self._known("bse", "std_err")

    @property
    def privacy_noise(self) -> Series | Floats | Unavailable:
        """Standard errors from privacy noise alone."""
        return self._known("privacy_noise", "privacy_noise")

    @property
    def tvalues(self) -> Series | Floats | Unavailable:
        """`params` in standard errors."""
        std_err = self.table("std_err")
        if isinstance(std_err, Unavailable):
            return std_err
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._shown("tvalues", self._params / std_err)

    @property
    def pvalues(self) -> Series | Floats | Unavailable:
        """p-values of the tests that each coefficient is zero, each by itself."""
        return self._known("pvalues", "p_values")

    def adjusted(self, method: str = "holm") -> Series | Floats | Unavailable:
        """p-values adjusted for testing all coefficients of all outcomes; NaN for intercepts, which are not tested.

        Parameters
        ----------
        method : {"holm", "fdr"}
            Holm: a wrong rejection anywhere has a probability of at most the level. Benjamini-Hochberg ("fdr"): of all
            rejections, at most that share is wrong on average, if tests are independent or positively dependent.
        """
        checks.choice("method", method, ("holm", "fdr"))
        p = self.table("p_values")
        if isinstance(p, Unavailable):
            return p
        shift = len(self.parameters) - len(self.names)
        full = np.full(p.shape, np.nan)
        full[:, shift:] = adjust(p[:, shift:].ravel(), method).reshape(-1, len(self.names))
        return self._shown("adjusted", full)

    def conf_int(self, level: float = 0.95, estimand: EstimandChoice | None = None) -> DataFrame | Floats | Unavailable:
        """Confidence intervals: a row for each coefficient, with columns 0 and 1 for the ends.

        Those of several outcomes are an array of outcomes, `parameters` and ends.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds the true coefficient.
        estimand : {"declared", "bounded", "auto"}, optional
            The fit that the intervals are about, as for `about`; by default the first one.
        """
        level = checks.fraction("level", level)
        if estimand is not None:
            return self.about(estimand).conf_int(level)
        if self.several:
            return self._intervals(level)
        found = self.intervals(level)
        return found if isinstance(found, Unavailable) else ends(found, list(found.values()))

    def cov_params(self) -> DataFrame | Unavailable:
        """The covariance of `params`: sampling error and privacy noise."""
        found = self.joint
        C = found if isinstance(found, Unavailable) else found.covariance
        if isinstance(C, Unavailable):
            return C
        given, kept = found.given, self._own(np.arange(len(C))).ravel()  # type: ignore[union-attr]
        shown = np.where(np.outer(given, given), C, np.nan)
        return square(self.labels, shown[np.ix_(kept, kept)])

    def _known(self, name: str, what: str) -> Series | Floats | Unavailable:
        found = self.table(what)
        return found if isinstance(found, Unavailable) else self._shown(name, found)

    def _shown(self, name: str, rows: Floats) -> Series | Floats:
        return rows if self.several else series(name, self.labels, rows.ravel())

    # ---------------------------------------------------------------- of the whole

    @property
    def rsquared(self) -> float | Unavailable:
        """The share of the outcome's variance that the line explains; of cut residuals, where they are cut.

        `rsquared_interval` is about the table itself.
        """
        return self.joint if isinstance(self.joint, Unavailable) else self._of_table("rsquared", self.joint.explained)

    @property
    def residual_sd(self) -> float | Floats | Unavailable:
        """The standard deviation of outcomes around the line; of residuals cut at `cut_at`, where they are cut.

        `residual_sd_interval` is about the table itself.
        """
        found = self.inference
        if isinstance(found, Unavailable):
            return found
        return self._of_table("residual_sd", found.sigma) if isinstance(found, JointInference) else found.sigma

    def _of_table(self, name: str, value: Any) -> Any:
        """Return a number, unless it is of cut residuals and the model is about all of them."""
        found = self.joint
        if isinstance(found, Unavailable) or found.estimand != "declared" or self.cut_at is None:
            return value
        return Unavailable(
            "not available", f"Residuals were cut. {name}_interval() tells where that of all of them lies."
        )

    @property
    def cut_at(self) -> float | None:
        """The half width at which residuals are cut, in the outcome's unit; None where that hardly matters."""
        spread = self._spread
        return spread.cut.half_width if isinstance(spread, OutcomeSpread) and spread.cut and spread.is_cut else None

    @property
    def _spread(self) -> OutcomeSpread | Unavailable:
        return self.joint if isinstance(self.joint, Unavailable) else self.joint.spread

    @property
    def _whole_spread(self) -> OutcomeSpread | Unavailable:
        """The spread, if it tells of the table itself."""
        spread, certificate = self._spread, self.certificate
        if isinstance(spread, Unavailable):
            return spread
        if certificate.declared is not None:
            before, after = (domain.ranges(self.targets) for domain in (certificate.declared, certificate.domain))
            return spread if np.array_equal(before, after) else NARROWED
        return OLD_SPREAD if spread.cut is None and certificate.of(StageEvent) else spread

    def residual_sd_interval(self, level: float = 0.95) -> tuple[float, float] | Unavailable:
        """An interval for the residual sd of least squares of the table, with residuals beyond the cut.

        What lies there is estimated from noisy counts, as if it fell smoothly: a few rows far out, which noise hides,
        are not allowed for.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        spread = self._whole_spread
        level = checks.fraction("level", level)
        return spread if isinstance(spread, Unavailable) else spread.table_sigma_interval(level)

    def rsquared_interval(self, level: float = 0.95) -> tuple[float, float] | Unavailable:
        """An interval for R^2 of least squares of the table, as `residual_sd_interval`.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        spread = self._whole_spread
        level = checks.fraction("level", level)
        return spread if isinstance(spread, Unavailable) else spread.table_explained_interval(level)

    def mean_outcome_interval(self, level: float = 0.95) -> tuple[float, float] | Unavailable:
        """An interval for the mean of the table's outcomes, of models in stages with an intercept.

        Where residuals are cut on one side, as those of a skewed outcome are, the mean of predictions lies beside it.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds it.
        """
        spread = self._whole_spread
        level = checks.fraction("level", level)
        if isinstance(spread, Unavailable):
            return spread
        found = None if spread.cut is None else spread.cut.mean_interval(level)
        return NO_MEAN if found is None else found

    @property
    def df_resid(self) -> float | Floats | Unavailable:
        """Rows less coefficients, as far as the number of rows is known."""
        return self.inference if isinstance(self.inference, Unavailable) else self.inference.df

    @property
    def nobs(self) -> float | None:
        """The number of rows as far as it is known: declared, or a released noisy one; of weighted rows their sum."""
        return self.rows

    @property
    def nobs_sd(self) -> float | None:
        """The sd of the noise in `nobs`: 0 if it was declared, None if it is not known."""
        return self.rows_sd

    # ---------------------------------------------------------------- tests

    def t_test(self, said: Any) -> Contrasts | Unavailable:
        """Estimates and tests of weighted sums of coefficients, each by itself.

        Parameters
        ----------
        said : str, list of str, or array
            Statements such as ``"age - hours = 0"``; or weights, one for each of `params`; or a matrix of them.
        """
        found = constraints(said, self.labels)
        inference = self.joint
        if isinstance(inference, Unavailable):
            return inference
        estimates = tuple(self.weighted_sum(inference, row) for row in self.weights_of(found.weights))
        what = ("Weighted sums of coefficients",)
        return Contrasts(*what, found.labels, estimates, tuple(found.values.tolist()), ("",) * len(estimates))

    def wald_test(self, said: Any) -> Test | Unavailable:
        """The test that several statements about coefficients are all true.

        Parameters
        ----------
        said : str, list of str, or array
            A variable, ``"region"``: that no coefficient with it in it matters. Or names of coefficients: that all of
            them are zero. Or statements and weights as for `t_test`.
        """
        known = self.labels
        if isinstance(said, str) and said in (about := self._about()):
            said = about[said]
        listed = isinstance(said, Sequence) and not isinstance(said, str)
        if listed and not len(said):
            raise ParameterError(f"Name what is tested: coefficients among {', '.join(known)}, or a variable.")
        if listed and all(isinstance(name, str) and name in known for name in said):
            places = [known.index(name) for name in dict.fromkeys(said)]
            weights, values = np.eye(len(known))[places], np.zeros(len(places))
        else:
            _, weights, values = constraints(said, known)
        found = self.joint
        return found if isinstance(found, Unavailable) else found.joint(self.weights_of(weights), values)

    f_test = wald_test

    def _about(self) -> dict[str, list[str]]:
        """Return the coefficients of each variable of the model."""
        domain = self.certificate.domain
        found: dict[str, list[str]] = {}
        for name, entry in zip(self.names, (domain.entries[i] for i in domain.indices(self.names)), strict=True):
            for variable in domain.made_of(entry.column):
                found.setdefault(variable, []).extend(head + name for head, _ in self.lines)
        return found

    def weighted_sum(self, found: JointInference, weights: Floats) -> Estimate:
        """A weighted sum of (intercept, coef) of all lines: of those that predict where its interval is withheld."""
        one, line = found.contrast(weights), np.concatenate([line for _, line in self.lines])
        return one if one.law.given[0] else replace(one, value=float(weights @ line))

    def on_line(self, place: int, weights: Floats) -> Floats:
        """Weights of (intercept, coef) of one line as those of all lines."""
        whole = np.zeros((len(self.lines), len(weights)))
        whole[place] = weights
        return whole.ravel()

    def weights_of(self, weights: Floats) -> Floats:
        """Weights of `coefficients` as those of (intercept, coef)."""
        own = weights.reshape(len(weights), len(self.lines), -1)
        padded: Floats = np.pad(own, ((0, 0), (0, 0), (0 if self.certificate.domain.intercept else 1, 0)))
        return padded.reshape(len(weights), -1)


def adjust(p: Floats, method: str) -> Floats:
    """Adjust p-values for their number, by Holm or by Benjamini and Hochberg ("fdr")."""
    order, m = np.argsort(p, kind="stable"), len(p)
    rank = np.arange(m)
    if method == "holm":
        rising = np.maximum.accumulate((m - rank) * p[order])
    else:
        rising = np.minimum.accumulate((m / (rank + 1) * p[order])[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(rising, 1.0)
    return adjusted


def json_ready(value: Any) -> Any:
    """Convert numbers by name for JSON: None for a missing or infinite number, the reason for what is not available.

    Examples
    --------
    >>> json_ready({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, Unavailable):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: json_ready(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [json_ready(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
