"""The numbers of a fitted model, by name: as plain mappings for ourselves, as pandas for people who know statsmodels.

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
from discreet.privacy.certificate import Certificate
from discreet.results.constraints import constraints
from discreet.results.contrasts import Contrasts
from discreet.results.inference import Inference, Test
from discreet.results.series import ends, series, square

if TYPE_CHECKING:
    from discreet.results.series import DataFrame, Series


class Numbers(ABC):
    """What a fitted model knows of its coefficients.

    Subclasses have `names` (of the regressors), `certificate`, `inference` and `rows`.
    """

    names: tuple[str, ...]
    certificate: Certificate
    inference: Inference | Unavailable
    rows: float | None

    # ---------------------------------------------------------------- plain

    @property
    @abstractmethod
    def coefficients(self) -> dict[str, float]:
        """The coefficients that predict, by name, the intercept first."""

    def known(self, what: str) -> dict[str, float] | Unavailable:
        """A part of `inference` by name: "estimate", "std_err", "privacy_noise" or "p_values"."""
        if isinstance(self.inference, Unavailable):
            return self.inference
        values = getattr(self.inference, what)
        return values if isinstance(values, Unavailable) else self._named(values)

    def intervals(self, level: float) -> dict[str, tuple[float, float]] | Unavailable:
        """Confidence intervals (low, high) by name."""
        found = self.inference
        pairs = found if isinstance(found, Unavailable) else found.interval(level)
        if isinstance(pairs, Unavailable):
            return pairs
        return {name: (low, high) for name, (low, high) in self._named(pairs).items()}

    def _named(self, values: Floats) -> dict[str, Any]:
        """Values of (intercept, coef) by name; without an intercept the first is left out."""
        names = [CONSTANT, *self.names] if self.certificate.domain.intercept else list(self.names)
        return dict(zip(names, values[-len(names) :].tolist() if names else [], strict=True))

    # ---------------------------------------------------------------- pandas

    @property
    def params(self) -> Series:
        """The coefficients that predict, by name, the intercept first."""
        return series("params", self.coefficients, self.coefficients.values())

    @property
    def debiased(self) -> Series | Unavailable:
        """The coefficients without the shrinkage that helps a model to predict: what the intervals are around."""
        return self._known("debiased", "estimate")

    @property
    def std_err(self) -> Series | Unavailable:
        """Standard errors of the debiased coefficients: sampling error and privacy noise."""
        return self._known("std_err", "std_err")

    @property
    def bse(self) -> Series | Unavailable:
        """`std_err`, by the name that statsmodels gives it."""
        return self._known("bse", "std_err")

    @property
    def privacy_noise(self) -> Series | Unavailable:
        """What the standard errors would be if privacy noise were all there is."""
        return self._known("privacy_noise", "privacy_noise")

    @property
    def tvalues(self) -> Series | Unavailable:
        """The debiased coefficients in standard errors."""
        debiased, std_err = self.debiased, self.std_err
        if isinstance(debiased, Unavailable) or isinstance(std_err, Unavailable):
            return std_err if isinstance(std_err, Unavailable) else debiased
        return (debiased / std_err).rename("tvalues")

    @property
    def pvalues(self) -> Series | Unavailable:
        """p-values of the tests that each coefficient is zero."""
        return self._known("pvalues", "p_values")

    def conf_int(self, level: float = 0.95) -> DataFrame | Unavailable:
        """Confidence intervals: a row for each coefficient, with columns 0 and 1 for the ends.

        Parameters
        ----------
        level : float
            The share of samples and noises for which the interval holds the true coefficient.
        """
        found = self.intervals(checks.fraction("level", level))
        if isinstance(found, Unavailable):
            return found
        return ends(found, list(found.values()))

    def cov_params(self) -> DataFrame | Unavailable:
        """The covariance of the debiased coefficients: sampling error and privacy noise."""
        found = self.inference
        C = found if isinstance(found, Unavailable) else found.covariance
        if isinstance(C, Unavailable):
            return C
        names, given = list(self.coefficients), found.given  # type: ignore[union-attr]
        shown = np.where(np.outer(given, given), C, np.nan)
        return square(names, shown[-len(names) :, -len(names) :])

    def _known(self, name: str, what: str) -> Series | Unavailable:
        found = self.known(what)
        return found if isinstance(found, Unavailable) else series(name, found, found.values())

    # ---------------------------------------------------------------- of the whole

    @property
    def rsquared(self) -> float | Unavailable:
        """The share of the outcome's variance that the line explains."""
        return self.inference if isinstance(self.inference, Unavailable) else self.inference.explained

    @property
    def residual_sd(self) -> float | Unavailable:
        """The standard deviation of outcomes around the line."""
        return self.inference if isinstance(self.inference, Unavailable) else self.inference.sigma

    @property
    def df_resid(self) -> float | Unavailable:
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
        inference = self.inference
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
        found = self.inference
        return found if isinstance(found, Unavailable) else found.joint(self._weights(weights), values)

    f_test = wald_test

    def _about(self) -> dict[str, list[str]]:
        """The coefficients that each variable of the model stands in."""
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


def json_ready(value: Any) -> Any:
    """JSON of numbers by name: None for one that is missing or infinite, a reason for what is unavailable.

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
