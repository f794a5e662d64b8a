"""Two fitted models side by side, from one release or from two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from discreet.core import checks
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.released.units import column_of
from discreet.results.numbers import json_ready
from discreet.results.results import Results
from discreet.results.series import ends, series
from discreet.results.side_by_side import (
    ABOUT,
    about_one_fit,
    epsilon_together,
    estimands,
    fitted_model,
    is_charged,
    reference_levels,
)
from discreet.results.summary import SIMULATION, Summarised, Summary, number, promise, to_pandas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.results.series import DataFrame, Series

SAME_RELEASE = Unavailable(
    "not available",
    "Both models come from one release. They share its people and its noise, so their errors are not independent, and "
    "how they go together is not known. To test whether features matter, fit one model with all of them: wald_test.",
)
OTHER_FIT = Unavailable(
    "not available",
    "The intervals of the two models are about different fits to the population: one is that of least squares under "
    "the declared bounds, in the other far rows and far residuals count less. Choose the same for both: "
    "results.about('declared').",
)
UNKNOWN_RELEASE = Unavailable(
    "not available", "A model was saved by an older version, so it is not known whether both come from one release."
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Summarised):
    """Two models side by side, and the differences B - A of the coefficients they share.

    *When a difference has an interval.* Two releases have noise that was drawn independently, so the privacy parts of
    the two variances add up exactly. The sampling parts add up if the people are different ones. If the same people
    are in both, their errors usually go up and down together, and the interval is then wider than it need be; that is
    the safe side, but it is not a proof: with other features, errors can go against each other. Two models from one
    release share people and noise. Their errors can nearly cancel (the same features) or not (other ones), so adding
    variances would be wrong in either direction, and no interval is given. Nor is one given where a model has none.

    Parameters
    ----------
    a, b : Results
        The fitted models.
    names : tuple of str
        Their names.
    """

    a: Results
    b: Results
    names: tuple[str, str] = ("A", "B")

    @property
    def models(self) -> tuple[tuple[str, Results], tuple[str, Results]]:
        """Names and models."""
        return (self.names[0], self.a), (self.names[1], self.b)

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The coefficients of A, then those of B alone."""
        return tuple(dict.fromkeys([*self.a.coefficients, *self.b.coefficients]))

    @property
    def shared(self) -> tuple[str, ...]:
        """The coefficients of both models that mean the same: equal units, and levels against the same first one."""
        a, b = self.a, self.b
        both = [name for name in a.coefficients if name in b.coefficients and a.unit(name) == b.unit(name)]
        return tuple(name for name in both if reference_levels(a, name) == reference_levels(b, name))

    @property
    def difference(self) -> Series | Unavailable:
        """B - A of the shared coefficients: of the estimates that intervals belong to, where both models have them."""
        return _as_series("difference", self.differences)

    @property
    def std_err(self) -> Series | Unavailable:
        """Standard errors of the differences."""
        return _as_series("std_err", self.errors)

    def conf_int(self, level: float = 0.95) -> DataFrame | Unavailable:
        """Confidence intervals of the differences, in columns 0 and 1, with Welch's degrees of freedom."""
        found = self.intervals(checks.fraction("level", level))
        return found if isinstance(found, Unavailable) else ends(found, list(found.values()))

    # ---------------------------------------------------------------- the same as plain mappings

    @property
    def differences(self) -> dict[str, float] | Unavailable:
        """`difference` by name."""
        if self.a.target != self.b.target:
            return Unavailable("not available", "The models have different outcomes.")
        if self.a.link != self.b.link:
            return Unavailable("not available", "The models are of different kinds, with coefficients of other things.")
        if len({isinstance(fitted.inference, Unavailable) for _, fitted in self.models}) > 1:
            return Unavailable(
                "not available", "Only one of the models has intervals, so their estimates differ in kind."
            )
        a, b = self.a.coefficients, self.b.coefficients
        return {name: b[name] - a[name] for name in self.shared}

    @property
    def errors(self) -> dict[str, float] | Unavailable:
        """`std_err` by name."""
        reason = self._no_errors()
        if reason is not None:
            return reason
        a, b = self.a.known("std_err"), self.b.known("std_err")
        return {name: float(np.hypot(a[name], b[name])) for name in self.shared}

    def intervals(self, level: float) -> dict[str, tuple[float, float]] | Unavailable:
        """`conf_int` by name: (low, high)."""
        errors, difference = self.errors, self.differences
        if isinstance(errors, Unavailable) or isinstance(difference, Unavailable):
            return errors if isinstance(errors, Unavailable) else difference  # type: ignore[return-value]
        found = {}
        for name, centre in difference.items():
            half = errors[name] * float(stats.t.ppf((1 + level) / 2, self._df(name)))
            found[name] = (centre - half, centre + half)
        return found

    def _no_errors(self) -> Unavailable | None:
        if isinstance(self.differences, Unavailable):
            return self.differences
        if not (self.a.release and self.b.release):
            return UNKNOWN_RELEASE
        if self.a.release == self.b.release:
            return SAME_RELEASE
        if len(estimands((self.a, self.b))) > 1:
            return OTHER_FIT
        return next((e for e in (self.a.known("std_err"), self.b.known("std_err")) if isinstance(e, Unavailable)), None)

    def _df(self, name: str) -> float:
        variances = np.array([fitted.known("std_err")[name] ** 2 for _, fitted in self.models])
        dfs = np.array([_degrees(fitted, name) for _, fitted in self.models])
        return float(variances.sum() ** 2 / np.sum(variances**2 / dfs))

    @property
    def together(self) -> float | None:
        """The exact epsilon of both releases for people in both of them, at the larger delta; None if there is none."""
        return epsilon_together((self.a, self.b))

    def differs(self) -> list[str]:
        """Describe how the models differ, apart from their numbers."""
        (A, a), (B, b) = self.models
        found = []
        if a.target != b.target:
            found.append(f"Outcome: {a.target} in {A}, {b.target} in {B}.")
        if len(estimands((self.a, self.b))) > 1:
            found.append("The intervals are about different fits: see the estimand in each model's own summary.")
        if a.kind != b.kind:
            found.append(f"Kind: {a.kind} in {A}, {b.kind} in {B}.")
        if a.model != b.model:
            found.append(f"Method: {a.model} in {A}, {b.model} in {B}.")
        for name, mine, other in ((A, a, b), (B, b, a)):
            if only := ", ".join(own for own in mine.coefficients if own not in other.coefficients):
                found.append(f"Only in {name}: {only}. Coefficients of the other model do not hold these equal.")
        shared = self.shared
        if unlike := ", ".join(name for name in a.coefficients if name in b.coefficients and name not in shared):
            found.append(f"In other units, or against another first level: {unlike}. They have no difference.")
        return found + _bounds(self)

    # ---------------------------------------------------------------- tables

    def summary(self, level: float = 0.95) -> Summary:
        """A table of both models and their difference."""
        level = checks.fraction("level", level)
        (A, a), (B, b) = self.models
        percent = f"{100 * level:g} % interval"
        columns = ("", A, f"{A} {percent}", B, f"{B} {percent}", f"{B} - {A}", "std err", percent, "unit")
        values = _values(self, level)
        absent = [(column, "not in it" if i in (0, 2) else "") for i, column in enumerate(values)]
        rows = [(name, *(_cell(*one, name) for one in absent), _unit(self, name)) for name in self.coefficients]
        title = f"{a.target}: {A} and {B}" if a.target == b.target else f"{A} ({a.target}) and {B} ({b.target})"
        told = Summary(title, tuple(_facts(self)), columns, tuple(rows), tuple(_notes(self, level)))
        missing = [i for i, column in enumerate(values, 1) if i in (2, 4, 6, 7) and isinstance(column, Unavailable)]
        return told.without(*missing)  # notes say why

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas frame with one row per coefficient; unavailable numbers are missing."""
        a, a_pairs, b, b_pairs, difference, errors, pairs = _values(self, checks.fraction("level", level))
        columns = {"a": a, "b": b, "difference": difference, "std_err": errors}
        names = self.coefficients
        table: dict[str, list[Any]] = {"name": list(names)}
        table |= {key: [_get(values, name) for name in names] for key, values in columns.items()}
        for key, sides in (("a", a_pairs), ("b", b_pairs), ("difference", pairs)):
            found = [_get(sides, name) for name in names]
            for i, side in enumerate(("low", "high")):
                table[f"{key}_{side}"] = [None if end is None else end[i] for end in found]
        return to_pandas(table | {"unit": [_unit(self, name) for name in names]})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        numbers = {"difference": self.differences, "std_err": self.errors, "conf_int": self.intervals(0.95)}
        return {
            "names": list(self.names),
            "models": [fitted.to_dict() for _, fitted in self.models],
            **{key: json_ready(value) for key, value in numbers.items()},
            "differs": self.differs(),
            "epsilon_together": self.together,
        }

    def plot(self, level: float = 0.95) -> Figure:
        """Plot both models' coefficients and their intervals."""
        from discreet.results.plots.releases import comparison_plot

        return comparison_plot(self, level)


def compare(a: Any, b: Any, names: Sequence[str] = ("A", "B")) -> Comparison:
    """Put two fitted models side by side.

    Parameters
    ----------
    a, b : Results, released models, or fitted estimators
        From the same release or from different ones. If their intervals are about different fits to the population,
        both get those about least squares under the declared bounds.
    names : two str
        Their names.

    Examples
    --------
    >>> from discreet import DPLinearRegression
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1))
    >>> X, y = [[0.1], [0.9]] * 50, [0.2, 0.8] * 50
    >>> twice = [model.fit(X, y).results_ for _ in range(2)]
    >>> comparison = compare(*twice, names=("first", "second"))
    >>> comparison.coefficients, round(comparison.together, 2)
    (('(intercept)', 'x0'), 1.45)
    """
    pair = [fitted_model(model) for model in (a, b)]
    if not all(isinstance(fitted, Results) and not fitted.several for fitted in pair):
        raise ParameterError("compare needs two fitted models: Results, or estimators with results_.")
    two = not isinstance(names, str) and len(names) == 2 and all(isinstance(name, str) and name for name in names)
    if not two or len({*names}) < 2:
        raise ParameterError("names must be two different texts, for example ('2024', '2025').")
    one, other = about_one_fit(pair)
    return Comparison(one, other, (names[0], names[1]))


def _as_series(name: str, found: dict[str, float] | Unavailable) -> Series | Unavailable:
    return found if isinstance(found, Unavailable) else series(name, found, found.values())


def _degrees(fitted: Results, name: str) -> float:
    """The degrees of freedom of a coefficient."""
    found, known = fitted.joint, fitted.labels
    if isinstance(found, Unavailable):
        return float(found)
    return float(found.degrees(fitted.weights_of(np.eye(len(known))[[known.index(name)]]))[0])


def _bounds(pair: Comparison) -> list[str]:
    A, B = pair.names
    left, right = (fitted.certificate for _, fitted in pair.models)
    used = {column_of(f.certificate.domain, name) for _, f in pair.models for name in (f.target, *f.names)}
    found = []
    for name, column in left.domain.columns.items():
        if name not in used or name not in right.domain.columns:
            continue
        declared = [(c.declared or c.domain).columns[name] for c in (left, right)]
        narrowed = [column, right.domain.columns[name]]
        for how, (one, other) in (("Bounds", declared), ("Bounds as used", narrowed)):
            if one != other:
                found.append(
                    f"{how} of {name}: {one.short()} in {A}, {other.short()} in {B}. Values outside are clipped."
                )
                break
    return found


def _values(pair: Comparison, level: float) -> list[Any]:
    of_a, of_b = ((fitted.coefficients, fitted.intervals(level)) for _, fitted in pair.models)
    return [*of_a, *of_b, pair.differences, pair.errors, pair.intervals(level)]


def _unit(pair: Comparison, name: str) -> str:
    units = [fitted.unit(name) for _, fitted in pair.models if name in fitted.coefficients]
    return " or ".join(dict.fromkeys(filter(None, units)))


def _facts(pair: Comparison) -> list[tuple[str, str]]:
    facts = []
    for name, fitted in pair.models:
        release = f"; release {fitted.release[:12]}" if fitted.release else ""
        facts.append((name, f"{fitted.model}; {promise(fitted.certificate.guarantee)}{release}"))
    if pair.a.release and pair.a.release == pair.b.release:
        facts.append(("Together", "one release, whose guarantee covers both models"))
    elif pair.together is not None:
        facts.append(
            ("Together", f"epsilon = {pair.together:.4g} for people who are in both releases, at the larger delta")
        )
    return facts


def _notes(pair: Comparison, level: float) -> list[str]:
    notes = ["Shown: the estimates of each model, as its own summary explains."]
    if len(found := estimands((pair.a, pair.b))) == 1:
        notes += [
            f"Intervals of both are about {ABOUT[own]}"
            for own in found
            if any(is_charged(fitted) for _, fitted in pair.models)
        ]
    for name, fitted in pair.models:
        interval = fitted.intervals(level)
        if isinstance(interval, Unavailable):
            notes.append(f"Intervals of {name} are {interval}: {interval.reason}")
    notes += pair.differs()
    errors = pair.errors
    if isinstance(errors, Unavailable):
        notes.append(f"Intervals of differences are {errors}: {errors.reason}")
    else:
        notes.append(
            "std err of a difference takes the people in the two releases to be different ones. Where the same people "
            "are in both, it is usually too large."
        )
    if any(fitted.certificate.simulation for _, fitted in pair.models):
        notes.append(SIMULATION)
    return notes


def _get(values: Any, name: str) -> Any:
    return None if isinstance(values, Unavailable) else values.get(name)


def _cell(values: Any, absent: str, name: str) -> str:
    """Format the number, or the interval, of a coefficient in a column of the table."""
    if isinstance(values, Unavailable):
        return str(values)
    value = values.get(name)
    if value is None:
        return absent
    if np.isnan(value).any():
        return "withheld"
    return f"[{number(value[0])}, {number(value[1])}]" if isinstance(value, tuple) else number(value)
