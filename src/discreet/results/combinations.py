"""Nonlinear combinations of coefficients: ratios, turning points, products; docs/mathematics, 6.9.

A combination g of coefficients b has the standard error of the delta method, sqrt(g'C g) with its gradient g'. Its
interval does not lean on that: it holds the values r for which the statement g(b) = r is not rejected. For a ratio of
weighted sums a'b/c'b the statement is linear, (a - r c)'b = 0, and its test is that of any weighted sum (Fieller). For
others it is the range of g over the b within t standard errors in every direction, which is the same set where g is
linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.results.expressions import CoefficientExpression, Value, expressions
from discreet.results.inference import JointInference
from discreet.results.series import ends, series
from discreet.results.summary import Summarised, Summary, number

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted
    from discreet.results.series import DataFrame, Series

_HALVINGS = 60

_UNBOUNDED = Unavailable(
    "not available",
    "The denominator cannot be told from zero at this level, so that the ratio may be any number.",
)
_OUTSIDE = Unavailable(
    "not available",
    "Within the uncertainty of the coefficients the expression has values that are no numbers, or has no bound.",
)


@dataclass(frozen=True, eq=False)
class Combination:
    """One combination with its uncertainty.

    Parameters
    ----------
    expression : CoefficientExpression
        What is computed of the coefficients.
    b : array
        The coefficients.
    law : JointInference
        The inference on them, in the same order.
    """

    expression: CoefficientExpression
    b: Floats
    law: JointInference

    @property
    def value(self) -> float:
        """The estimate."""
        return self.expression.at(self.b)[0]

    def error(self, covariance: Floats | Unavailable) -> float | Unavailable:
        """Return the standard error of the delta method; an `Unavailable` where it is withheld."""
        if isinstance(covariance, Unavailable):
            return covariance
        if (reason := self._withheld()) is not None:
            return reason
        gradient = self.expression.at(self.b)[1]
        return math.sqrt(max(float(gradient @ covariance @ gradient), 0.0))

    @property
    def std_err(self) -> float | Unavailable:
        """The standard error: sampling error and privacy noise."""
        return self.error(self.law.covariance)

    @property
    def privacy_noise(self) -> float | Unavailable:
        """The standard error from privacy noise alone."""
        return self.error(self.law.T @ self.law.privacy @ self.law.T.T)

    def _withheld(self) -> Unavailable | None:
        own = self.law.combined(np.eye(len(self.b))[self.expression.used])
        return None if own.given.all() else Unavailable("not available", own.withheld)

    def interval(self, level: float) -> tuple[float, float] | Unavailable:
        """The confidence interval (low, high)."""
        error = self.std_err
        if isinstance(error, Unavailable):
            return error
        if not math.isfinite(self.value) or not math.isfinite(error):
            return _OUTSIDE
        return self._of_ratio(level) if self.expression.ratio is not None else self._of_range(level)

    def p_of_ratio(self, angle: float, scale: float) -> float:
        """p-value of the test that the ratio is scale * tan(angle); of a right angle, that the denominator is zero."""
        assert self.expression.ratio is not None
        above, below = self.expression.ratio
        row = math.cos(angle) * above - scale * math.sin(angle) * below
        p = self.law.combined(row[None, :-1]).p_values_at(np.array([-row[-1]]))
        return math.nan if isinstance(p, Unavailable) else float(p[0])

    def _of_ratio(self, level: float) -> tuple[float, float] | Unavailable:
        assert self.expression.ratio is not None
        above, below = (float(part[:-1] @ self.b + part[-1]) for part in self.expression.ratio)
        scale = abs(above / below) or 1.0
        p_unbounded = self.p_of_ratio(math.pi / 2, scale)
        if math.isnan(p_unbounded) or p_unbounded >= 1 - level:
            return _UNBOUNDED
        middle, found = math.atan2(above / below, scale), []
        for end in (-math.pi / 2, math.pi / 2):
            inside, outside = middle, end
            for _ in range(_HALVINGS):
                angle = (inside + outside) / 2
                if self.p_of_ratio(angle, scale) >= 1 - level:
                    inside = angle
                else:
                    outside = angle
            found.append(scale * math.tan(inside))
        return found[0], found[1]

    def _of_range(self, level: float) -> tuple[float, float] | Unavailable:
        """The range over the coefficients within t standard errors in every direction."""
        used, C = self.expression.used, self.law.covariance
        gradient = self.expression.at(self.b)[1]
        df = self.law.degrees(gradient[None])
        if isinstance(C, Unavailable) or isinstance(df, Unavailable):
            return _OUTSIDE
        root = np.linalg.cholesky(C[np.ix_(used, used)])
        t = float(self.law.quantile(level, df)[0])

        def at(sign: float, z: Floats) -> Value:
            moved = self.b.copy()
            moved[used] += t * root @ z
            value, slope = self.expression.at(moved)
            return sign * value, sign * t * (root.T @ slope[used])

        found = [_least(partial(at, sign), root.T @ gradient[used] * sign) for sign in (1.0, -1.0)]
        if not all(map(math.isfinite, found)):
            return _OUTSIDE
        return found[0], -found[1]


def _least(f: Callable[[Floats], Value], slope: Floats) -> float:
    """Return the least value of f in the unit ball, from where a line would have it; NaN if there is none."""
    start = -slope / max(float(np.linalg.norm(slope)), 1e-300)
    scale = max(abs(f(start)[0] - f(0 * start)[0]), 1e-300)

    def value(z: Floats) -> float:
        return f(z)[0] / scale

    def gradient(z: Floats) -> Floats:
        return f(z)[1] / scale

    ball = optimize.NonlinearConstraint(lambda z: z @ z, 0, 1, jac=lambda z: 2 * z)
    best = math.inf
    for place in (start, 0.5 * start, 0 * start):
        with np.errstate(all="ignore"):
            found = optimize.minimize(
                value, place, jac=gradient, constraints=[ball], method="SLSQP", options={"maxiter": 200, "ftol": 1e-12}
            ).x
        inside = found / max(1.0, float(np.linalg.norm(found)))
        if not np.isfinite(inside).all() or not math.isfinite(f(inside)[0]):
            return math.nan
        best = min(best, f(inside)[0])
    return best


@dataclass(frozen=True, eq=False, repr=False)
class Combinations(Summarised):
    """Nonlinear combinations of coefficients, with intervals; `Results.combinations` makes them.

    Parameters
    ----------
    names : tuple of str
        The combinations, as they were written or named.
    found : tuple of Combination
        Their estimates and uncertainty.
    """

    names: tuple[str, ...]
    found: tuple[Combination, ...]

    @property
    def effect(self) -> Series:
        """The estimates."""
        return self._series("effect", [own.value for own in self.found])

    @property
    def sd(self) -> Series:
        """Standard errors of the delta method: sampling error and privacy noise."""
        return self._series("sd", [own.std_err for own in self.found])

    @property
    def privacy_noise(self) -> Series:
        """Standard errors from privacy noise alone."""
        return self._series("privacy_noise", [own.privacy_noise for own in self.found])

    def conf_int(self, level: float = 0.95) -> DataFrame:
        """Confidence intervals: a row for each, with columns 0 and 1 for the ends."""
        level = checks.fraction("level", level)
        pairs = [own.interval(level) for own in self.found]
        return ends(self.names, [(np.nan, np.nan) if isinstance(pair, Unavailable) else pair for pair in pairs])

    def reasons(self, level: float = 0.95) -> list[str]:
        """Say why intervals are missing."""
        pairs = zip(self.names, (own.interval(level) for own in self.found), strict=True)
        return [f"{name}: {pair.reason}" for name, pair in pairs if isinstance(pair, Unavailable)]

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """A pandas frame: one row for each."""
        frame = self.conf_int(level).rename(columns={0: "low", 1: "high"})
        parts = {"effect": self.effect, "sd": self.sd, "privacy_noise": self.privacy_noise}
        for place, (name, part) in enumerate(parts.items()):
            frame.insert(place, name, part)
        return frame

    def summary(self, level: float = 0.95) -> Summary:
        """A table of them."""
        low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
        frame = self.to_frame(level)
        cells = [["" if np.isnan(value) else number(value) for value in frame[name]] for name in frame.columns[:5]]
        notes = (
            "Intervals hold the values that a test does not reject; std err is that of the delta method, which is too "
            "small where a combination is bent within the uncertainty of its coefficients.",
            *self.reasons(level),
        )
        rows = tuple(zip(self.names, *cells, strict=True))
        return Summary(
            "Combinations of coefficients", (), ("", "estimate", "std err", "privacy noise", low, high), rows, notes
        )

    def _series(self, name: str, values: list[float | Unavailable]) -> Series:
        return series(name, self.names, [np.nan if isinstance(value, Unavailable) else value for value in values])


def combinations(fitted: Fitted, said: Any) -> Combinations | Unavailable:
    """Read combinations of the coefficients of a fitted model."""
    found = expressions(said, fitted.labels)
    known = fitted.joint
    if isinstance(known, Unavailable):
        return known
    law = known.combined(fitted.weights_of(np.eye(len(fitted.labels))))
    b = np.array(list(fitted.coefficients.values()))
    return Combinations(tuple(found), tuple(Combination(own, b, law) for own in found.values()))
