"""Plans for numbers: the expected accuracy of each method at each epsilon, what a wanted accuracy needs, and advice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.placeholders import Unavailable
from discreet.core.threads import one_thread
from discreet.data.reading import Progress, as_progress
from discreet.data.tables import described_by
from discreet.domain import Domain, Numeric
from discreet.domain.formula import is_formula
from discreet.domain.required import require_bounds
from discreet.errors import ParameterError
from discreet.mechanisms.registry import DEFAULT
from discreet.planning import targets, words
from discreet.planning.base import Plan
from discreet.planning.documents import PLAN
from discreet.planning.facts import PlanFacts
from discreet.planning.facts import facts as public_facts
from discreet.planning.models import model_asked, plan_model, refuse_targets
from discreet.planning.searched import hopeless
from discreet.planning.simulation import Expected, SimulatedPromise, Simulation, chosen
from discreet.planning.targets import Answer, SpreadScenario, Tighter
from discreet.planning.untold import masked, needed
from discreet.recipes.budget import MOST_STAGES
from discreet.released.units import coefficient_unit
from discreet.results.summary import Summary, to_pandas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CLOSE = 1.05  # the default is recommended unless another method's errors are smaller by more than this factor


_DRAWS, _FEW_DRAWS, _NARROW = 24, 12, 21
"""The default numbers of simulated tables, for at most this many coefficients with the intercept and for more."""


@dataclass(frozen=True, eq=False, repr=False)
class NumberPlan(Plan):
    """The expected accuracy of models of a number, by several methods, before any budget is spent.

    Parameters
    ----------
    facts : PlanFacts
        The public facts and guesses.
    promise : SimulatedPromise
        The promise apart from epsilon.
    epsilons : tuple of float
        The requested epsilons.
    expected : tuple of Expected
        One for each epsilon and method.
    left_out : dict
        The reasons why other methods were not simulated.
    answers : tuple of Answer
        The epsilon and the rows that wanted accuracies need.
    tighter : tuple of Tighter
        The effects of bounds half as wide, at `reference`.
    draws : int
        The number of simulated tables.
    r_squared : float
        The R^2 of the simulated populations; it may differ from the requested one because of the bounds.
    stages : int or "auto"
        The number of stages, for methods that release in stages.
    spreads : tuple of SpreadScenario
        The effects of other sds than those assumed, at the smallest epsilon, where they matter most.
    inflation : float
        By how much the features' correlations increase standard errors, compared with unrelated features.
    people : dict
        If persons are protected: for some values of `rows_per_person`, the error at `reference` relative to that of
        predicting the mean.
    declared : tuple of Expected
        Where columns have no bounds: what `best` would expect with guessed ranges declared, for each requested epsilon.
    hopeless : dict
        The requested epsilons at which a search for bounds cannot succeed, and why; `epsilons` are the others.
    """

    facts: PlanFacts
    promise: SimulatedPromise
    epsilons: tuple[float, ...]
    expected: tuple[Expected, ...]
    left_out: dict[str, str]
    answers: tuple[Answer, ...]
    tighter: tuple[Tighter, ...]
    draws: int
    r_squared: float
    stages: int | str = "auto"
    spreads: tuple[SpreadScenario, ...] = ()
    inflation: float = 1.0
    people: dict[int, float] = field(default_factory=dict)
    declared: tuple[Expected, ...] = ()
    hopeless: dict[float, str] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """The methods that were simulated."""
        return list(dict.fromkeys(found.method for found in self.expected))

    @property
    def names(self) -> list[str]:
        """The intercept and the coefficients; the intercept is 0 in models without one."""
        return self.facts.names

    @property
    def reference(self) -> float:
        """The epsilon for which advice and the effects of tighter bounds are given."""
        return _reference(self.epsilons)

    @property
    def best(self) -> str:
        """The method to use: the default, unless another has clearly smaller errors over all epsilons."""
        return best_of(self.expected)

    def at(self, epsilon: float, method: str | None = None) -> Expected:
        """The expected accuracy at one of the epsilons, of the best method by default."""
        name = self.best if method is None else method
        for found in self.expected:
            if (found.epsilon, found.method) == (epsilon, name):
                return found
        if epsilon in self.hopeless:
            raise ParameterError(self.hopeless[epsilon])
        raise ParameterError(
            f"This plan has no {name} at epsilon {epsilon:g}. It has {', '.join(self.methods)} at "
            f"{', '.join(f'{e:g}' for e in self.epsilons)}."
        )

    def untold(self, name: str) -> tuple[str, ...]:
        """The guesses that nobody made and that a coefficient's standard error depends on, as ``("age.sd",)``."""
        return needed(self.facts, name)

    def advice(self) -> list[str]:
        """Advice on what to do, and why, in plain words."""
        return words.advice(self)

    # ---------------------------------------------------------------- tables

    def summary(self) -> Summary:
        """Summarise the errors of prediction of each method at each epsilon, with advice."""
        return words.methods_summary(self)

    def coefficients(self, method: str | None = None) -> Summary:
        """Expected standard errors of each coefficient at each epsilon."""
        return words.coefficients_summary(self, self.best if method is None else method)

    def to_frame(self, method: str | None = None) -> Any:
        """A pandas frame: one row per method and epsilon; for a given method, one row per coefficient and epsilon."""
        if method is not None:
            return self._coefficient_frame(method)
        names = ("name", "epsilon", "mse", "mse_low", "mse_high", "vs_trivial", "vs_non_private", "stages")
        rows = [
            (one.method, one.epsilon, *_in_units(one), one.vs_trivial, one.vs_non_private, one.stages)
            for one in self.expected
        ]
        return to_pandas({name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)})

    def _coefficient_frame(self, method: str) -> Any:
        found = [self.at(epsilon, method) for epsilon in self.epsilons]
        size = len(self.names)
        columns: dict[str, list[Any]] = {"name": self.names * len(found)}
        columns["epsilon"] = [one.epsilon for one in found for _ in range(size)]
        for key in ("rmse", "std_err", "width", "per_sd"):
            columns[key] = [value for one in found for value in _plain(getattr(one, key), size)]
        units = [coefficient_unit(self.facts.domain, self.facts.target, name) for name in self.names]
        return to_pandas(columns | {"unit": units * len(found)})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return PLAN.write(self)

    def plot(self) -> Figure:
        """Plot the error of prediction against epsilon, with one curve per method."""
        return words.plan_plot(self)


def _reference(epsilons: Sequence[float]) -> float:
    """The largest epsilon up to 1, or else the smallest."""
    return max((epsilon for epsilon in epsilons if epsilon <= 1), default=min(epsilons))


def best_of(expected: Sequence[Expected]) -> str:
    """The default method, unless the geometric mean of another method's errors is clearly smaller."""
    scores: dict[str, list[float]] = {}
    for found in expected:
        scores.setdefault(found.method, []).append(math.log(max(found.mse, 1e-300)))
    means = {method: float(np.mean(values)) for method, values in scores.items()}
    best = min(means, key=lambda method: means[method])
    return DEFAULT if means.get(DEFAULT, math.inf) <= means[best] + math.log(_CLOSE) else best


def _in_units(one: Expected) -> tuple[float | None, ...]:
    """The error and its range in the outcome's unit; None where nobody told its sd."""
    return (one.mse, *one.mse_range) if one.in_units else (None, None, None)


def _plain(values: Any, size: int) -> list[float | None]:
    """Numbers for a table or for JSON; None if they are not available."""
    if isinstance(values, Unavailable):
        return [None] * size
    return [None if math.isnan(value) else float(value) for value in values]


# ---------------------------------------------------------------- how a plan is made

_PARAMETERS = """domain : Domain
        Public bounds and levels of the columns.
    target : str
        The outcome, a number or a level; or a formula such as ``"log(stay) ~ age"`` (docs/howto/formulas.md). A yes or
        no, or one model of classes or counts in `methods`, gives a `ModelPlan`, with the standard errors that fits
        report.
    features : sequence of str, optional
        The features; all other columns by default.
    rows : int
        About how many rows the table will have, as publicly known.
    epsilon : float or sequence of float
        The promises to compare.
    delta : float, optional
        1/rows^2 by default.
    r_squared : float
        A guess: the share of the outcome's variance (of E y^2, in models without an intercept) that the features
        explain, were there no privacy; 0.5 is taken by default.
    mean_square : float, optional
        A guess: E y^2 of the outcome, in its own unit. Or give its sd in `about`.
    correlation : float, mapping or matrix, optional
        A guess: the root mean square correlation of two features, 0.2 by default; or those of pairs that have any, as
        ``{("age", "tenure"): 0.8}``; or all of them, as a matrix over the columns that the features are made of.
    about : mapping, optional
        More guesses by column: ``{"age": {"mean": 50, "sd": 18}, "ward": {"shares": [0.5, 0.3, 0.2]}}``. By default
        a mean is in the middle of the bounds, an sd a tenth of the way from there to the nearest bound, and all
        levels are as frequent. Rows in a ball (`data_norm`) fill it by default. That will do for errors of prediction.
        Of a column without bounds, guess mean and sd, or the range of nearly all values: ``{"pay": {"low": 0, "high":
        90}}``. The plan then searches for its bounds, as the release will, and compares declaring that range.
        Standard errors, and the rows or the epsilon that intervals need, are told only where the guesses that they
        depend on were made: `untold` of the plan names the others.
    methods : sequence of str, optional
        Which methods; by default all that apply and are quick enough.
    stages : int or "auto"
        In how many stages `DPLinearRegression` and the penalised models release, as in the models themselves.
    want_width : mapping, optional
        By column, the largest width of its coefficient's interval that will do.
    want_error : float, optional
        The largest root mean squared error of prediction that will do, in the outcome's unit.
    tighter : bool
        Whether to tell what half as wide bounds would bring, and other sds than those that are assumed.
    level : float
        Of the intervals.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    draws : int, optional
        How many tables are made up: by default 24, and 12 for more than 20 coefficients, whose errors vary less.
    random_state : int
        The seed of the simulation.
    progress : bool or callable
        Show a progress bar, or call this with the fraction done."""


def plan(
    domain: Domain,
    target: str,
    features: Sequence[str] | None = None,
    *,
    rows: int,
    epsilon: float | Sequence[float] = (0.1, 0.5, 1.0, 2.0),
    delta: float | None = None,
    r_squared: float | None = None,
    mean_square: float | None = None,
    correlation: Any = None,
    about: Mapping[str, Mapping[str, Any]] | None = None,
    methods: Sequence[str] | None = None,
    stages: int | str = "auto",
    want_width: Mapping[str, float] | None = None,
    want_error: float | None = None,
    tighter: bool = True,
    level: float = 0.95,
    neighbors: Neighbors = "add-remove",
    draws: int | None = None,
    random_state: int = 0,
    progress: bool | Progress = False,
) -> Plan:
    """Predict how accurate private models of an outcome will be, from public facts and guesses; no data are touched.

    Tables that fit the facts are simulated, and the methods' own code is run on them with seeded noise.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "smoker": bool, "stay": (0, 30)})
    >>> found = plan(domain, "stay", rows=20_000, epsilon=[0.1, 1], r_squared=0.4, draws=6)
    >>> found.best, found.at(1.0).vs_non_private < 1.1
    ('DPLinearRegression', True)
    >>> found.untold("age"), str(found.at(1.0).std_err)
    (('age.sd', 'stay.sd'), 'not told')
    """
    epsilons, seed = _epsilons(epsilon), _whole("random_state", random_state, 0)
    times = None if draws is None else _whole("draws", draws, 2)
    domain, target, features = _described(domain, target, features)
    guesses: dict[str, Any] = {"r_squared": r_squared, "correlation": correlation, "about": about}
    if (model := model_asked(domain, target, methods)) is not None:
        refuse_targets(want_width, want_error, mean_square)
        held = SimulatedPromise(checks.delta(delta, checks.rows(rows)), checks.neighbors(neighbors), level)
        run: dict[str, Any] = {"rows": rows, "draws": times or _FEW_DRAWS, "random_state": seed, "progress": progress}
        return plan_model(model, domain, target, features, epsilons=epsilons, promise=held, **guesses, **run)
    known = public_facts(domain, target, features, rows=rows, mean_square=mean_square, **guesses)
    promise = SimulatedPromise(
        checks.delta(delta, known.rows), checks.neighbors(neighbors), checks.fraction("level", level)
    )
    names = chosen(methods, known.declared)
    wanted = targets.accuracy_targets(known, want_width, want_error)
    stages = checks.choice("stages", stages, ("auto", *range(1, MOST_STAGES + 1)))
    if stages == 1:
        require_bounds(known.declared, "A release in one stage")
    simulation = Simulation(known, promise, times or _default_draws(known), seed, stages)
    return _simulated(simulation, epsilons, names, wanted, tighter=tighter, progress=progress)


def _default_draws(known: PlanFacts) -> int:
    return _DRAWS if len(known.names) <= _NARROW else _FEW_DRAWS


def _described(domain: Any, target: Any, features: Sequence[str] | None) -> tuple[Any, Any, Sequence[str] | None]:
    """Return the columns, the outcome and the features of a formula; all else as it is."""
    if isinstance(domain, Domain) and features is None and is_formula(target, domain):
        domain, target, features = described_by(target, domain)
    return _of_deviations(domain) if isinstance(domain, Domain) and domain.deviates else domain, target, features


def _of_deviations(domain: Domain) -> Domain:
    """Return the domain of deviations from the means of persons as numbers of their own, which guesses are about."""
    columns = {name: Numeric(*column.range, column.coordinate_unit) for name, column in domain.columns.items()}
    return domain.with_columns(columns, intercept=False)


def _simulated(
    simulation: Simulation,
    epsilons: tuple[float, ...],
    methods: tuple[list[str], dict[str, str]],
    wanted: Sequence[targets.AccuracyTarget],
    *,
    tighter: bool,
    progress: bool | Progress,
) -> NumberPlan:
    """Run the simulation: the expected accuracy, what wanted accuracies need, and the effects of tighter bounds."""
    names, left_out = methods
    known, promise, asked = simulation.facts, simulation.promise, epsilons
    hopeless_at = hopeless(known.declared, known.rows, asked, promise.delta, promise.neighbors)
    epsilons = tuple(epsilon for epsilon in asked if epsilon not in hopeless_at)
    answers = list[Answer]()
    with one_thread(), as_progress(progress, "simulating") as report:
        steps, done = len(epsilons) * len(names) + len(wanted) + 1, itertools.count(1)

        def step() -> None:
            report(next(done) / steps)

        expected, failed = _expected(simulation, epsilons, names, step)
        best = best_of(expected)
        for aim in wanted:
            answers.append(targets.answer(simulation, best, aim, asked))
            step()
        bounds = targets.tighter(simulation, best, _reference(epsilons)) if tighter else []
        others = targets.spreads(simulation, best, min(epsilons)) if tighter else []
        people = _people(simulation, best, _reference(epsilons))
        declared = _declared(simulation, best, asked)
        step()
    expected = [masked(simulation.facts, one) for one in expected]
    parts = tuple(expected), left_out | failed, tuple(answers), tuple(bounds)
    made = simulation.draws, simulation.r_squared, simulation.stages
    return NumberPlan(
        simulation.facts, simulation.promise, epsilons, *parts, *made, tuple(others), simulation.inflation, people,
        declared, hopeless_at,
    )  # fmt: skip


plan.__doc__ = (plan.__doc__ or "").replace("{parameters}", _PARAMETERS)


def _declared(simulation: Simulation, method: str, epsilons: Sequence[float]) -> tuple[Expected, ...]:
    """The expected accuracy of the same people with the guessed ranges declared as bounds."""
    facts = simulation.facts
    asked = [simulation.expected(method, e, domain=facts.domain) for e in epsilons if facts.searched]
    return tuple(masked(facts, one) for one in asked if not isinstance(one, Unavailable))


def _people(simulation: Simulation, method: str, epsilon: float) -> dict[int, float]:
    """The errors with other values of `rows_per_person`, if these were enough for everybody."""
    unit = simulation.facts.domain.unit
    if unit.person is None:
        return {}
    most = sorted({1, max(unit.most // 2, 1), unit.most, 2 * unit.most})
    asked = {m: simulation.expected(method, epsilon, most=m, draws=4, widths=False) for m in most}
    return {m: found.vs_trivial for m, found in asked.items() if not isinstance(found, Unavailable)}


def _expected(
    simulation: Simulation, epsilons: Sequence[float], names: Sequence[str], step: Callable[[], None]
) -> tuple[list[Expected], dict[str, str]]:
    """The expected accuracy of methods that can keep every promise, and the reasons why the others cannot."""
    found, failed = [], {}
    for epsilon, name in itertools.product(epsilons, names):
        one = simulation.expected(name, epsilon)
        if isinstance(one, Unavailable):
            failed[name] = f"not possible at epsilon {epsilon:g}: {one.reason}"
        else:
            found.append(one)
        step()
    kept = [one for one in found if one.method not in failed]
    if not kept:
        raise ParameterError(f"None of the methods can be used. {' '.join(failed.values())}")
    return kept, failed


def _epsilons(given: Any) -> tuple[float, ...]:
    try:
        several = [given] if isinstance(given, str) else list(given)
    except TypeError:  # not a sequence
        several = [given]
    if not several:
        raise ParameterError("epsilon names no value. Give one or several, for example epsilon=[0.1, 1].")
    return tuple(sorted({checks.epsilon(value) for value in several}))


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
