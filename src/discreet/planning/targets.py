"""The epsilon or the number of rows that a wanted accuracy needs, and the effects of tighter bounds and other sds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.domain.kinds.base import Column
from discreet.errors import ParameterError
from discreet.planning.facts import Number, PlanFacts
from discreet.planning.simulation import Expected, Simulation
from discreet.planning.untold import needed_for_rows, not_told
from discreet.released.units import coefficient_unit, column_of

_EPSILONS, _ROWS = (0.01, 10.0), (10, 10_000_000_000)
_FIRST_STEP, _PRECISION = 1.5, 1.05  # first factor of a search, squared at each step; precision of the bisection
_DRAWS = 4

FACTOR = 3.0
"""The factor by which standard deviations are increased and decreased."""

_MOST = 0.9  # share of the largest possible sd within the bounds
_TIGHTER_FITS, _LEAST_DRAWS = 24, 2  # tighter bounds are tried on fewer tables if there are many kinds of columns


@dataclass(frozen=True)
class AccuracyTarget:
    """A wanted accuracy: the largest width of a coefficient's interval, or typical error of a prediction."""

    words: str
    most: float  # the largest width or error, in the user's units
    places: tuple[int, ...]  # whose intervals are meant, the intercept being 0; empty for errors of prediction

    def value(self, expected: Expected | Unavailable) -> float:
        """The width or error of a fit; infinite if it has no intervals."""
        if isinstance(expected, Unavailable):
            return math.inf
        if not self.places:
            return math.sqrt(expected.mse)
        if isinstance(expected.width, Unavailable):
            return math.inf
        return float(np.max(expected.width[list(self.places)]))


@dataclass(frozen=True)
class Answer:
    """The epsilon and the number of rows that a wanted accuracy needs."""

    want: AccuracyTarget
    epsilon: float | Unavailable  # the least one with the planned number of rows
    rows: dict[float, float | Unavailable]  # the least number at each planned epsilon


@dataclass(frozen=True)
class Tighter:
    """The effect of bounds half as wide for one column: errors relative to those with the present bounds."""

    column: str
    low: float  # the tighter bounds, around the guessed mean
    high: float
    mse: float  # of prediction
    own: bool  # whether the column is a feature
    error: float  # of its coefficient, or of all if it is the outcome; see `_gain`


@dataclass(frozen=True)
class SpreadScenario:
    """Errors of prediction, relative to predicting the mean, with the sds of some columns as assumed and otherwise."""

    columns: tuple[str, ...]  # the outcome, or all features whose sds were not guessed
    outcome: bool  # whether it is the outcome
    assumed: float
    larger: float  # with sds `FACTOR` times as large, as far as the bounds allow; R^2 as guessed
    smaller: float  # with sds `FACTOR` times smaller


def accuracy_targets(facts: PlanFacts, width: Mapping[str, float] | None, error: Any) -> list[AccuracyTarget]:
    """Check the wanted widths and the wanted error."""
    names, found = facts.names, []
    if width is not None and not isinstance(width, Mapping):
        raise ParameterError('want_width must map columns to widths, for example {"age": 0.1}.')
    for name, most in (width or {}).items():
        places = [i for i, known in enumerate(names) if name in (known, _column(facts.domain, known))]
        if not places:
            known = ", ".join(dict.fromkeys(_column(facts.domain, n) for n in names))
            raise ParameterError(f"want_width names {name!r}, which is not in the model: {known}.")
        figure = checks.positive(f"The wanted width of {name!r}", most)
        unit = coefficient_unit(facts.domain, facts.target, names[places[0]])
        found.append(
            AccuracyTarget(f"an interval of {name} no wider than {figure:g} {unit}".strip(), figure, tuple(places))
        )
    if error is not None:
        figure = checks.positive("want_error", error)
        unit = coefficient_unit(facts.domain, facts.target, CONSTANT)
        found.append(AccuracyTarget(f"predictions typically off by no more than {figure:g} {unit}".strip(), figure, ()))
    return found


def _column(domain: Domain, name: str) -> str:
    return name if name == CONSTANT else column_of(domain, name)


def answer(simulation: Simulation, method: str, want: AccuracyTarget, epsilons: Sequence[float]) -> Answer:
    """Search for the least epsilon and the least numbers of rows; without the guesses that it takes there is none."""
    if what := needed_for_rows(simulation.facts, [simulation.facts.names[place] for place in want.places]):
        unknown = not_told(what, "It")
        return Answer(want, unknown, dict.fromkeys(epsilons, unknown))
    if not want.places:
        best = math.sqrt(float(np.median([p.mse(p.best) for p in simulation.people])))
        if best >= want.most:
            why = f"Even without privacy and with any number of rows, predictions are off by {best:.3g} typically."
            never = Unavailable("not reachable", why)
            return Answer(want, never, dict.fromkeys(epsilons, never))

    widths = bool(want.places)

    def enough(epsilon: float, n: float | None = None) -> bool:
        rows = None if n is None else round(n)
        return want.value(simulation.expected(method, epsilon, rows=rows, draws=_DRAWS, widths=widths)) <= want.most

    found = least(enough, 1.0, *_EPSILONS)
    rows: dict[float, float | Unavailable] = {}
    effort = simulation.facts.rows * (found if isinstance(found, float) else _EPSILONS[1])
    for epsilon in epsilons:  # rows times epsilon changes little
        rows[epsilon] = needed = least(partial(enough, epsilon), effort / epsilon, *_ROWS)
        effort = needed * epsilon if isinstance(needed, float) else effort
    return Answer(want, found, rows)


def least(enough: Callable[[float], bool], start: float, low: float, high: float) -> float | Unavailable:
    """Find the least x between two limits that is enough, to two digits, rounded up; more is always enough."""
    good = bad = min(max(start, low), high)
    step = _FIRST_STEP
    if enough(good):
        while enough(bad := max(good / step, low)):
            if bad == low:
                return low
            good, step = bad, step**2
    else:
        while not enough(good := min(bad * step, high)):
            if good == high:
                return Unavailable("not reachable", f"Not even {high:g} is enough.")
            bad, step = good, step**2
    while good / bad > _PRECISION:
        middle = math.sqrt(bad * good)
        bad, good = (bad, middle) if enough(middle) else (middle, good)
    digits = 1 - math.floor(math.log10(good))
    return float(round(math.ceil(round(good * 10.0**digits, 6)) / 10.0**digits, max(digits, 0)))


def tighter(simulation: Simulation, method: str, epsilon: float) -> list[Tighter]:
    """The effect of bounds half as wide, for each number with its own bounds; columns with equal facts share it."""
    facts, names, alike = simulation.facts, simulation.facts.names, _alike(simulation.facts)
    draws = max(_LEAST_DRAWS, _TIGHTER_FITS // max(len(alike), 1))
    before = simulation.expected(method, epsilon, draws=draws, widths=False)
    if isinstance(before, Unavailable):
        return []
    found: dict[str, Tighter] = {}
    for columns in alike:
        bounds = {name: _half(facts, name, column) for name, column in columns.items()}
        name = next(iter(columns))
        tight = facts.declared.with_column(name, columns[name].narrowed(*bounds[name]))
        after = simulation.expected(method, epsilon, domain=tight, draws=draws, widths=False)
        if isinstance(after, Unavailable):
            continue
        own, mse = name in names, after.mse / before.mse
        error = _gain(before, after, [names.index(name)] if own else range(len(names)))
        found |= {other: Tighter(other, low, high, mse, own, error) for other, (low, high) in bounds.items()}
    return [found[name] for name in facts.domain.columns if name in found]


def _alike(facts: PlanFacts) -> list[dict[str, Column]]:
    """Group the numbers with their own bounds by the facts known about them, apart from units."""
    factors = {own for name in facts.domain.columns for own in facts.domain.made_of(name) - {name}}
    found: dict[Any, dict[str, Column]] = {}
    for name, column in facts.domain.columns.items():
        if name in factors or name in facts.searched or name in facts.domain.norm_columns:
            continue
        if column.factors or column.bounds is None:
            continue
        number, (low, high) = facts.numbers[name], column.bounds
        key: Any = name
        if number is not None and name != facts.target and facts.correlations is None:
            key = round((number.mean - low) / (high - low), 9), round(number.sd / (high - low), 9)
        found.setdefault(key, {})[name] = column
    return list(found.values())


def _gain(before: Expected, after: Expected, places: Sequence[int]) -> float:
    """The error of some coefficients relative to before: the larger of two ratios, because simulated errors vary."""
    pairs = [(after.rmse, before.rmse)]
    if not isinstance(after.std_err, Unavailable) and not isinstance(before.std_err, Unavailable):
        pairs.append((after.std_err, before.std_err))
    gains = []
    for new, old in pairs:  # the intercept of a model without one has no error, and some standard errors are withheld
        at = [i for i in places if old[i] > 0 and np.isfinite(new[i])]
        gains += [float(np.sqrt(np.mean((new[at] / old[at]) ** 2)))] if at else []
    return max(gains, default=1.0)


def _half(facts: PlanFacts, name: str, column: Column) -> tuple[float, float]:
    """Bounds of half the width, around the mean as far as the present bounds allow."""
    number, (low, high) = facts.numbers[name], column.range
    quarter = (high - low) / 4
    mean = low / 2 + high / 2 if number is None else number.mean
    centre = min(max(mean, low + quarter), high - quarter)
    return centre - quarter, centre + quarter


# ---------------------------------------------------------------- other standard deviations


def spreads(simulation: Simulation, method: str, epsilon: float) -> list[SpreadScenario]:
    """Vary the sds of the outcome and of the features, if they are assumed, on the same few simulated tables."""
    facts, found = simulation.facts, []
    planned = _error(simulation, method, epsilon)
    for outcome in (True, False):
        columns = tuple(name for name in facts.assumed if (name == facts.target) == outcome)
        if columns and not math.isnan(planned):
            others = [_with_sds(simulation, columns, factor) for factor in (FACTOR, 1 / FACTOR)]
            found.append(
                SpreadScenario(columns, outcome, planned, *(_error(other, method, epsilon) for other in others))
            )
    return [one for one in found if math.isfinite(one.larger + one.smaller)]


def _error(simulation: Simulation, method: str, epsilon: float) -> float:
    """The error relative to that of predicting the mean; NaN if it is not available."""
    found = simulation.expected(method, epsilon, draws=_DRAWS, widths=False)
    return math.nan if isinstance(found, Unavailable) else found.vs_trivial


def _with_sds(simulation: Simulation, columns: Sequence[str], factor: float) -> Simulation:
    """Return the simulation with other sds of some columns, as far as the bounds allow."""
    numbers = dict(simulation.facts.numbers)
    for name in columns:
        number, (low, high) = numbers[name], simulation.facts.domain.inputs[name].range
        assert number is not None
        most = _MOST * math.sqrt((number.mean - low) * (high - number.mean))
        numbers[name] = Number(number.mean, min(factor * number.sd, most))
    facts = replace(simulation.facts, numbers=numbers)
    return Simulation(facts, simulation.promise, min(_DRAWS, simulation.draws), simulation.seed, simulation.stages)
