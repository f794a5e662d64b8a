"""The numbers of a fitted model, by name: as plain mappings internally, as pandas for users of statsmodels.

A number that is not known of any coefficient is an `Unavailable` that says why. One that is known of some coefficients
is missing (NaN) where it is not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.released.certificate import Certificate
from discreet.results.constraints import constraints
from discreet.results.contrasts import Contrasts
from discreet.results.inference import JointInference, Test
from discreet.results.series import ends, series, square
from discreet.results.uncertainty import ONE_OUTCOME, Inference

if TYPE_CHECKING:
    from discreet.results.series import DataFrame, Series


class Numbers(ABC):
    """The numbers of a fitted model of one outcome or of several.

    All of them are arrays with a row for each linear predictor and a column for each of `parameters`. Those of one
    outcome are shown as pandas by name, those of several as the arrays.
    """

    targets: tuple[str, ...]
    names: tuple[str, ...]
    certificate: Certificate
    rows: float | None

    @property
    @abstractmethod
    def inference(self) -> Inference | Unavailable:
        """Standard errors and tests of the coefficients, or why there are none."""

    @property
    @abstractmethod
    def several(self) -> bool:
        """Whether the outcomes are a list, so that numbers have a row for each."""

    @property
    @abstractmethod
    def lines(self) -> list[tuple[str, Floats]]:
        """(intercept, coefficients) of each linear predictor, with the prefix of its names in `coefficients`."""

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
        """The coefficients that predict, by name, the intercept first; behind the class or outcome where several."""
        names = [head + name for head, _ in self.lines for name in self.parameters]
        return dict(zip(names, self._params.ravel().tolist(), strict=True))

    def known(self, what: str) -> dict[str, float] | Unavailable:
        """A part of `inference` by name: "estimate", "std_err", "privacy_noise" or "p_values"."""
        found = self.table(what)
        if isinstance(found, Unavailable):
            return found
        return dict(zip(self.coefficients, found.ravel().tolist(), strict=True))

    def table(self, what: str) -> Floats | Unavailable:
        """A part of `inference`, or the model's own "params", as an array with a row for each linear predictor."""
        if what == "params":
            return self._params
        found = self.inference
        values = found if isinstance(found, Unavailable) else getattr(found, what)
        return values if isinstance(values, Unavailable) else self._own(values)

    def intervals(self, level: float) -> dict[str, tuple[float, float]] | Unavailable:
        """Confidence intervals (low, high) by name."""
        found = self._intervals(level)
        if isinstance(found, Unavailable):
            return found
        pairs = [(low, high) for low, high in found.reshape(-1, 2).tolist()]
        return dict(zip(self.coefficients, pairs, strict=True))

    def _intervals(self, level: float) -> Floats | Unavailable:
        found = self.inference
        pairs = found if isinstance(found, Unavailable) else found.interval(level)
        return pairs if isinstance(pairs, Unavailable) else self._own(pairs)

    def columns(self, level: float) -> dict[str, Floats | Unavailable]:
        """The columns of tables of coefficients, in the order of `coefficients`."""
        parts = {"coef": "params", "debiased": "estimate", "std_err": "std_err"}
        parts |= {"privacy_noise": "privacy_noise", "p_value": "p_values"}
        found, pairs = {key: self.table(what) for key, what in parts.items()}, self._intervals(level)
        found |= {
            side: pairs if isinstance(pairs, Unavailable) else pairs[..., i] for i, side in enumerate(("low", "high"))
        }
        return {key: part if isinstance(part, Unavailable) else part.ravel() for key, part in found.items()}

    @property
    def _params(self) -> Floats:
        return np.array([line for _, line in self.lines])[:, 1 + len(self.names) - len(self.parameters) :]

    def _own(self, values: Floats) -> Floats:
        """Values of (intercept, coefficients), without the intercept where the model has none; a row an outcome."""
        rows = values if self.several else values[None]
        return rows[:, 1 + len(self.names) - len(self.parameters) :]

    # ---------------------------------------------------------------- pandas, or arrays of several outcomes

    @property
    def params(self) -> Series | Floats:
        """The coefficients that predict, by name, the intercept first."""
        return self._shown("params", self._params)

    @property
    def debiased(self) -> Series | Floats | Unavailable:
        """The coefficients without the shrinkage that helps a model to predict: the centres of the intervals."""
        return self._known("debiased", "estimate")

    @property
    def std_err(self) -> Series | Floats | Unavailable:
        """Standard errors of the debiased coefficients: sampling error and privacy noise."""
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
        """The debiased coefficients in standard errors."""
        debiased, std_err = self.table("estimate"), self.table("std_err")
        if isinstance(debiased, Unavailable) or isinstance(std_err, Unavailable):
            return std_err if isinstance(std_err, Unavailable) else debiased
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._shown("tvalues", debiased / std_err)

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

    def conf_int(self, level: float = 0.95) -> DataFrame | Floats | Unavailable:
        """Confidence intervals: a row for each coefficient, with columns 0 and 1 for the ends.

        Those of several outcomes are an array of outcomes, `parameters` and ends.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds the true coefficient.
        """
        level = checks.fraction("level", level)
        if self.several:
            return self._intervals(level)
        found = self.intervals(level)
        return found if isinstance(found, Unavailable) else ends(found, list(found.values()))

    def cov_params(self) -> DataFrame | Unavailable:
        """The covariance of the debiased coefficients: sampling error and privacy noise."""
        found = self.joint
        C = found if isinstance(found, Unavailable) else found.covariance
        if isinstance(C, Unavailable):
            return C
        names, given = list(self.coefficients), found.given  # type: ignore[union-attr]
        shown = np.where(np.outer(given, given), C, np.nan)
        return square(names, shown[-len(names) :, -len(names) :])

    def _known(self, name: str, what: str) -> Series | Floats | Unavailable:
        found = self.table(what)
        return found if isinstance(found, Unavailable) else self._shown(name, found)

    def _shown(self, name: str, rows: Floats) -> Series | Floats:
        return rows if self.several else series(name, self.coefficients, rows.ravel())

    # ---------------------------------------------------------------- of the whole

    @property
    def rsquared(self) -> float | Unavailable:
        """The share of the outcome's variance that the line explains."""
        return self.joint if isinstance(self.joint, Unavailable) else self.joint.explained

    @property
    def residual_sd(self) -> float | Floats | Unavailable:
        """The standard deviation of outcomes around the line."""
        return self.inference if isinstance(self.inference, Unavailable) else self.inference.sigma

    @property
    def df_resid(self) -> float | Floats | Unavailable:
        """Rows less coefficients, as far as the number of rows is known."""
        return self.inference if isinstance(self.inference, Unavailable) else self.inference.df

    @property
    def nobs(self) -> float | None:
        """The number of rows as far as it is known: declared, or a released noisy one."""
        return self.rows

    # ---------------------------------------------------------------- tests

    def t_test(self, said: Any) -> Contrasts | Unavailable:
        """Estimates and tests of weighted sums of coefficients, each by itself.

        Parameters
        ----------
        said : str, list of str, or array
            Statements such as ``"age - hours = 0"``; or weights, one for each of `params`; or a matrix of them.
        """
        found = constraints(said, list(self.coefficients))
        inference = self.joint
        if isinstance(inference, Unavailable):
            return inference
        estimates = tuple(inference.contrast(row) for row in self._weights(found.weights))
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
        known = list(self.coefficients)
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
        return found if isinstance(found, Unavailable) else found.joint(self._weights(weights), values)

    f_test = wald_test

    def _about(self) -> dict[str, list[str]]:
        """Return the coefficients of each variable of the model."""
        domain = self.certificate.domain
        found: dict[str, list[str]] = {}
        for name, entry in zip(self.names, (domain.entries[i] for i in domain.indices(self.names)), strict=True):
            for variable in domain.made_of(entry.column):
                found.setdefault(variable, []).append(name)
        return found

    def _weights(self, weights: Floats) -> Floats:
        """Weights of `coefficients` as those of (intercept, coef)."""
        padded: Floats = np.pad(weights, ((0, 0), (0 if self.certificate.domain.intercept else 1, 0)))
        return padded


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
