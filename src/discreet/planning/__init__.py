"""Plans: how good a private model will be, from public facts alone, before any budget is spent."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.progress import Progress, as_progress
from discreet.core.unavailable import Unavailable
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.planning.facts import facts as public_facts
from discreet.planning.inverse import answer, wants
from discreet.planning.inverse import tighter as tighter_bounds
from discreet.planning.methods import Promise, chosen
from discreet.planning.result import Plan, best_of, reference
from discreet.planning.simulate import Expected, Simulation

EPSILONS = (0.1, 0.5, 1.0, 2.0)

__all__ = ["Plan", "plan"]

PARAMETERS = """domain : Domain
        Public bounds and levels of the columns.
    target : str
        The outcome, a number.
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
        explain, were there no privacy.
    mean_square : float, optional
        A guess: E y^2 of the outcome, in its own unit. Or give its sd in `about`.
    correlation : float or matrix, optional
        A guess: the root mean square correlation of two features, 0.3 by default; or all of them, as a matrix over the
        columns that the features are made of.
    about : mapping, optional
        More guesses by column: ``{"age": {"mean": 50, "sd": 18}, "ward": {"shares": [0.5, 0.3, 0.2]}}``. By default
        a mean is in the middle of the bounds, an sd a third of the way from there to the nearest bound, and all
        levels are as frequent. Rows in a ball (`data_norm`) fill it by default.
    methods : sequence of str, optional
        Which methods; by default all that apply and are quick enough.
    want_width : mapping, optional
        By column, the largest width of its coefficient's interval that will do.
    want_error : float, optional
        The largest root mean squared error of prediction that will do, in the outcome's unit.
    tighter : bool
        Whether to tell what half as wide bounds would bring.
    level : float
        Of the intervals.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    draws : int
        How many tables are made up.
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
    epsilon: float | Sequence[float] = EPSILONS,
    delta: float | None = None,
    r_squared: float = 0.5,
    mean_square: float | None = None,
    correlation: Any = None,
    about: Mapping[str, Mapping[str, Any]] | None = None,
    methods: Sequence[str] | None = None,
    want_width: Mapping[str, float] | None = None,
    want_error: float | None = None,
    tighter: bool = True,
    level: float = 0.95,
    neighbors: Neighbors = "add-remove",
    draws: int = 12,
    random_state: int = 0,
    progress: bool | Progress = False,
) -> Plan:
    """Tell how good private models of an outcome will be, from public facts and guesses; no data are touched.

    Tables that fit the facts are made up, and the methods' own code is run on them with seeded noise.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "smoker": bool, "stay": (0, 30)})
    >>> found = plan(domain, "stay", rows=20_000, epsilon=[0.1, 1], r_squared=0.4, draws=6)
    >>> found.best, found.at(1.0).vs_non_private < 1.1
    ('DPLinearRegression', True)
    """
    known = public_facts(
        domain, target, features, rows=rows, r_squared=r_squared, mean_square=mean_square,
        correlation=correlation, about=about,
    )  # fmt: skip
    promise = Promise(checks.delta(delta, known.rows), checks.neighbors(neighbors), checks.fraction("level", level))
    epsilons, (names, left_out), wishes = _epsilons(epsilon), chosen(methods), wants(known, want_width, want_error)
    simulation = Simulation(known, promise, _whole("draws", draws, 2), _whole("random_state", random_state, 0))
    answers, bounds = [], []
    with as_progress(progress, "simulating") as report:
        steps = Steps(report, len(epsilons) * len(names) + len(wishes) + 1)
        expected, failed = _expected(simulation, epsilons, names, steps)
        best = best_of(expected)
        for wish in wishes:
            answers.append(answer(simulation, best, wish, epsilons))
            steps.done()
        if tighter:
            bounds = tighter_bounds(simulation, best, reference(epsilons))
        steps.done()
    parts = tuple(expected), left_out | failed, tuple(answers), tuple(bounds)
    return Plan(known, promise, epsilons, *parts, simulation.draws, simulation.r_squared)


plan.__doc__ = (plan.__doc__ or "").replace("{parameters}", PARAMETERS)


class Steps:
    """Reports the fraction done, step by step."""

    def __init__(self, report: Progress, count: int) -> None:
        self._report, self._count, self._done = report, count, 0

    def done(self) -> None:
        """One more."""
        self._done += 1
        self._report(self._done / self._count)


def _expected(
    simulation: Simulation, epsilons: Sequence[float], names: Sequence[str], steps: Steps
) -> tuple[list[Expected], dict[str, str]]:
    """What to expect of the methods that can keep every promise, and why the others cannot."""
    found, failed = [], {}
    for epsilon, name in itertools.product(epsilons, names):
        one = simulation.expected(name, epsilon)
        if isinstance(one, Unavailable):
            failed[name] = f"not possible at epsilon {epsilon:g}: {one.reason}"
        else:
            found.append(one)
        steps.done()
    kept = [one for one in found if one.method not in failed]
    if not kept:
        raise ParameterError(f"None of the methods can be used. {' '.join(failed.values())}")
    return kept, failed


def _epsilons(given: Any) -> tuple[float, ...]:
    several = [given] if checks.is_real(given) or given is None or isinstance(given, str) else list(given)
    if not several:
        raise ParameterError("epsilon names no value. Give one or several, for example epsilon=[0.1, 1].")
    return tuple(sorted({checks.epsilon(value) for value in several}))


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)
