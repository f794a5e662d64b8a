"""Effects of a variable on the outcome, including its squares, products and curves.

All is a weighted sum of coefficients. Where a variable stands in several regressors, x and x^2 and x:sex, the
regressors at two places of the variable differ by a vector a, and a'(intercept, coef) is its effect, with the interval
of that sum. The other variables stay in the middle: numbers in the middle of their declared range, categories at the
mean of their levels. These are public facts; the data's means, as released, are used where they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import Domain
from discreet.domain.derived import bounded, number
from discreet.domain.kinds.base import Column, categories_of
from discreet.released.means import ColumnMeans
from discreet.released.units import column_of
from discreet.results.summary import number as shown

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

_POINTS = 33
"""Number of points of a curve."""

_MOST_LINES, _MOST_CURVES = 5, 6
"""Maximum number of lines of one plot, one for each level, and of plots of one model."""

_STEP = 1e-4
"""Step of a numerical slope, as a share of the declared range."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Values of the variables, a row for each point: numbers, and shares of the levels of categories."""

    values: dict[str, Floats]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values.values()), [0]))

    def repeated(self, rows: int) -> Setting:
        """Return the only row, repeated, or all rows if there are as many."""
        return Setting({name: np.broadcast_to(x, (rows, *x.shape[1:])) for name, x in self.values.items()})

    def moved(self, name: str, to: Floats) -> Setting:
        """Move one variable to the rows of `to`, values or shares, and keep the others."""
        return Setting({**self.repeated(len(to)).values, name: to})


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables that regressors are made of."""

    domain: Domain
    names: tuple[str, ...]

    @cached_property
    def specs(self) -> dict[str, Column]:
        """The variables with their public facts, in the order in which they come up."""
        found: dict[str, Column] = {}
        for column in dict.fromkeys(column_of(self.domain, name) for name in self.names):
            spec = self.domain.columns[column]
            for factor in spec.parts(column):
                for name, own in factor.inputs.items():
                    found.setdefault(name, own)
        radius = dict.fromkeys(self.domain.norm_columns, self.domain.data_norm)
        return {name: bounded(spec, radius.get(name)) for name, spec in found.items()}

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The positions, from 1 on, of the regressors that each variable is part of."""
        found: dict[str, list[int]] = {name: [] for name in self.specs}
        for i, name in enumerate(self.names, 1):
            for variable in self.domain.made_of(column_of(self.domain, name)) & found.keys():
                found[variable].append(i)
        return found

    @cached_property
    def middle(self) -> Setting:
        """One row: numbers in the middle of their range, categories at the mean of their levels."""
        return Setting({name: spec.middle for name, spec in self.specs.items()})

    def at_means(self, means: ColumnMeans, moved: Floats | None = None) -> Setting:
        """Variables at their means, one row; or a row for each row of `moved`, which is added to the means.

        Those whose means are not known stay in the middle.
        """
        rows = means.mean[None] if moved is None else means.mean + moved
        found = {name: self._at_mean(name, means, rows) for name in self.specs}
        return Setting(self.middle.repeated(len(rows)).values | {name: x for name, x in found.items() if x is not None})

    def without_mean(self, means: ColumnMeans) -> list[str]:
        """The variables whose means are not known: they stand in functions and products only."""
        return [name for name in self.specs if self._at_mean(name, means, means.mean[None]) is None]

    def _at_mean(self, name: str, means: ColumnMeans, rows: Floats) -> Floats | None:
        spec = self.specs[name]
        own = [means.places.get(coordinate) for coordinate in spec.coordinates(name)]
        if spec.bounds:
            return None if own[0] is None else rows[:, own[0]]
        if own.count(None) > 1:
            return None
        rest = 1.0 - sum(rows[:, place] for place in own if place is not None)
        shares = np.maximum(np.array([rest if place is None else rows[:, place] for place in own]), 0.0).T
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def regressors(self, at: Setting, places: Sequence[int] | None = None) -> Floats:
        """Return rows of the constant and the regressors; those that are not requested are 0."""
        A = np.zeros((at.rows, len(self.names) + 1))
        A[:, 0] = places is None
        for i in range(1, len(self.names) + 1) if places is None else places:
            A[:, i] = self._values(self.names[i - 1], at)
        return A

    def _values(self, name: str, at: Setting) -> Floats:
        entry = self.domain.entries[self.domain.indices([name])[0]]
        spec = self.domain.columns[entry.column]
        if not spec.factors:
            return at.values[name] if entry.level is None else at.values[entry.column][:, entry.level]
        values: Floats = number(spec, at.values, lambda *_: None, clip=False)
        if entry.level is not None:
            categories = categories_of(spec.factors)
            levels = np.unravel_index(entry.level, [len(f.spec.levels) for f in categories])
            for factor, level in zip(categories, levels, strict=True):
                values = values * at.values[factor.column][:, level]
        return values

    def difference(self, name: str, at: Setting, to: Floats) -> Floats:
        """Change of the regressors as one variable goes from the first row of `to` to each of the others."""
        A = self.regressors(at.moved(name, to), self.places[name])
        change: Floats = A[1:] - A[0]
        return change

    def across(self, name: str, over: tuple[float, float] | None = None) -> Floats:
        """The change from the low end of a range to the high end, or from the first level to each of the others."""
        spec = self.specs[name]
        ends = np.array(over or spec.crossed) if spec.bounds else np.eye(len(spec.levels))[self.order(name)]
        return self.difference(name, self.middle, ends)

    def order(self, name: str) -> list[int]:
        """The positions of a category's levels, the reference level first."""
        levels = range(len(self.specs[name].levels))
        own = self.specs[name].coordinates(name)
        left_out = [i for i in levels if own[i] not in self.names]
        first = left_out[0] if len(left_out) == 1 else 0
        return [first, *(i for i in levels if i != first)]

    def first(self, name: str) -> str:
        """The reference level."""
        return str(self.specs[name].levels[self.order(name)[0]])

    def ends(self, name: str, at: Setting) -> list[tuple[Floats, Floats, Floats]]:
        """Regressors a little below and above a number, and how far apart; or at the first level and at others."""
        spec = self.specs[name]
        x = at.values[name]
        if spec.bounds is None:
            kinds = np.eye(len(spec.levels))[self.order(name)]
            first, *others = (self.regressors(at.moved(name, np.broadcast_to(kind, x.shape))) for kind in kinds)
            return [(first, other, np.ones(len(other))) for other in others]
        least, most = spec.bounds
        h = _STEP * (most - least)
        low, high = np.maximum(x - h, np.minimum(x, least)), np.minimum(x + h, np.maximum(x, most))
        A, B = (self.regressors(at.moved(name, end)) for end in (low, high))
        return [(A, B, high - low)]

    def is_straight(self, name: str) -> bool:
        """Whether a variable's effect is a single coefficient, or one for each level."""
        return self._columns(name) == {name}

    def partners(self, name: str) -> list[str]:
        """The variables that multiply a variable: its effect depends on them."""
        inputs = {part for column in self._columns(name) for part in self.domain.made_of(column)}
        return [other for other in self.specs if other != name and other in inputs]

    def _columns(self, name: str) -> set[str]:
        """The columns that a variable is part of."""
        return {column_of(self.domain, self.names[i - 1]) for i in self.places[name]}

    def labels(self, name: str) -> list[str]:
        """Labels of a variable's effects: its own name, or each level but the first."""
        spec = self.specs[name]
        own = spec.coordinates(name)
        return own if spec.bounds else [own[i] for i in self.order(name)[1:]]

    def words(self, name: str) -> str:
        """The range that a number crosses; "" for a category."""
        return self.specs[name].span(shown)[1]


# ---------------------------------------------------------------- effects over declared ranges


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects in the unit of the outcome, in the order of `names`.

    `names`: variables, or levels of them; the intercept alone where there are none.
    `variables`: the variable of each.
    `ranges`: the range that each one crosses, in words; "" for a level, which is compared with the first one.
    `own`: the coefficient that an effect is a multiple of; None where several make it.
    `estimate`: effects by the estimates that intervals belong to.
    `ends`: the intervals, a row (low, high) each; NaN where one of them is not known.
    `privacy`: half the width that intervals would have if privacy noise were all there is.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    ranges: tuple[str, ...]
    own: tuple[tuple[str, float] | None, ...]
    estimate: Floats
    ends: Floats | Unavailable
    privacy: Floats | Unavailable

    @property
    def clear(self) -> list[int]:
        """Positions of the effects that differ from zero, the largest first."""
        if isinstance(self.ends, Unavailable):
            return []
        places = np.flatnonzero(np.prod(np.sign(self.ends), axis=1) > 0)
        return sorted(places.tolist(), key=lambda i: -abs(float(self.estimate[i])))


def effects(fitted: Fitted, level: float, over: Mapping[str, tuple[float, float]] | None = None) -> Effects:
    """The effects of a fitted model's variables, over their declared ranges or over others."""
    found, known = Variables(fitted.certificate.domain, fitted.names), _Known(fitted, level)
    rows: list[tuple[Any, ...]] = []
    for place, (head, _) in enumerate(fitted.lines):
        for variable in found.specs:
            weights = found.across(variable, (over or {}).get(variable))
            straight = found.is_straight(variable)
            for label, a in zip(found.labels(variable), weights, strict=True):
                own = _own(fitted, head, a) if straight else None
                numbers = known.combined(fitted.on_line(place, a)) if own is None else known.multiple(*own)
                rows.append((head + label, variable, found.words(variable), own, *numbers))
    if not rows:
        rows = [(name, name, "", (name, 1.0), *known.multiple(name, 1.0)) for name in fitted.coefficients]
    names, variables, words, owns, estimate, ends, privacy = zip(*rows, strict=True)
    why, inference = known.intervals, fitted.joint
    return Effects(
        names, variables, words, owns, np.array(estimate),
        why if isinstance(why, Unavailable) else np.array(ends),
        inference if isinstance(inference, Unavailable) else inference.quantile(level) * np.array(privacy),
    )  # fmt: skip


def _own(fitted: Fitted, head: str, a: Floats) -> tuple[str, float] | None:
    """Return the only coefficient of an effect, and its multiple."""
    places = np.flatnonzero(a)
    if len(places) != 1:
        return None
    return head + fitted.names[places[0] - 1], float(a[places[0]])


_Numbers = tuple[float, tuple[float, float], float]
"""An effect, its interval, and its privacy noise."""


class _Known:
    """The estimates and intervals of a model, computed once."""

    def __init__(self, fitted: Fitted, level: float) -> None:
        self.fitted, self.inference, self.level = fitted, fitted.joint, level
        self.intervals, self.estimates = fitted.intervals(level), fitted.coefficients
        self.noise = fitted.known("privacy_noise")

    def multiple(self, name: str, width: float) -> _Numbers:
        """A multiple of one coefficient."""
        low, high = (np.nan, np.nan) if isinstance(self.intervals, Unavailable) else self.intervals[name]
        noise = np.nan if isinstance(self.noise, Unavailable) else self.noise[name]
        return width * self.estimates[name], (width * low, width * high), width * noise

    def combined(self, a: Floats) -> _Numbers:
        """A weighted sum of several."""
        if isinstance(self.inference, Unavailable):
            line = np.concatenate([line for _, line in self.fitted.lines])
            return float(a @ line), (np.nan, np.nan), np.nan
        found = self.fitted.weighted_sum(self.inference, a)
        pair = found.interval(self.level)
        return found.value, (np.nan, np.nan) if isinstance(pair, Unavailable) else pair, found.privacy_noise


# ---------------------------------------------------------------- curves


@dataclass(frozen=True, eq=False)
class Line:
    """Predicted outcomes along a variable: the line, and its interval at each point where it is known."""

    label: str
    y: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """Predicted outcome along a number that is part of several regressors; a line for each value of a partner."""

    variable: str
    partner: str | None
    x: Floats
    lines: tuple[Line, ...]
    date: bool


def curves(fitted: Fitted, level: float) -> list[EffectCurve]:
    """The curves of the numbers of a model whose effect is no single slope; none where there are several lines."""
    found = Variables(fitted.certificate.domain, fitted.names)
    bent = [name for name, spec in found.specs.items() if spec.bounds and not found.is_straight(name)]
    return [curve(fitted, found, name, level) for name in bent[:_MOST_CURVES]] if len(fitted.lines) == 1 else []


def curve(fitted: Fitted, found: Variables, name: str, level: float) -> EffectCurve:
    """The curve of one number, with the others in the middle, or at several places of the first that multiplies it."""
    spec = found.specs[name]
    x = np.linspace(*spec.range, _POINTS)
    partners = sorted(found.partners(name), key=lambda other: found.specs[other].bounds is not None)
    partner = partners[0] if partners else None
    lines = []
    stands = [("", x)] if partner is None else found.specs[partner].stands(partner, _MOST_LINES, shown)
    for label, to in stands:
        at = found.middle if partner is None else found.middle.moved(partner, to)
        lines.append(_line(fitted, label, found.regressors(at.moved(name, x)), level))
    return EffectCurve(name, partner, x, tuple(lines), spec.date)


def _line(fitted: Fitted, label: str, rows: Floats, level: float) -> Line:
    known = fitted.joint
    gap = np.full(len(rows), np.nan)
    if isinstance(known, Unavailable):
        return Line(label, rows @ fitted.lines[0][1], gap, gap)
    points = known.combined(rows)
    ends = points.interval(level)
    y = np.where(points.given, points.estimate, rows @ fitted.lines[0][1])
    return Line(label, y, *((gap, gap) if isinstance(ends, Unavailable) else ends.T))
