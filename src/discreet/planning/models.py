"""Plans for models of classes and counts, by running the estimators' own code on simulated tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import brentq

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.data.reading import Progress, as_progress
from discreet.data.tables import design_matrix, feature_names
from discreet.domain import Categorical, Domain, Numeric
from discreet.domain.unit import Unit
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.mechanisms.registry import find
from discreet.models.counting import refuse_unit
from discreet.models.glm import DPLogisticRegression
from discreet.models.perturbed import PerturbedModel
from discreet.planning.base import Plan
from discreet.planning.documents import MODEL_PLAN
from discreet.planning.facts import R_SQUARED, PlanFacts, facts, level_shares
from discreet.planning.population import population
from discreet.planning.searched import hopeless, with_ranges
from discreet.planning.simulation import SimulatedPromise, row_epsilon
from discreet.planning.untold import NOT_TOLD, needed, not_told
from discreet.recipes.glm_geometry import is_wide
from discreet.recipes.outlook import no_errors, unlikely
from discreet.results.summary import Summary, number, to_pandas

_LARGEST = math.exp(50.0)
"""The upper limit on the means of simulated counts."""


@dataclass(frozen=True, eq=False)
class ExpectedAccuracy:
    """The expected accuracy at one epsilon: medians over the simulated tables."""

    epsilon: float
    excess: float  # the log loss, or half the deviance, of a row above that of the true model
    best: float  # the same for predicting the mean
    std_err: Floats  # of the intercept and the coefficients, as fits report them; NaN if most fits withhold them
    privacy_noise: Floats  # the part of them due to privacy noise
    error: Floats  # the root mean squared error of the coefficients used for prediction
    intervals: int  # how many of the intercept and the coefficients most fits give intervals for


@dataclass(frozen=True, eq=False, repr=False)
class ModelPlan(Plan):
    """The expected accuracy of a model of classes or counts, before any budget is spent; no data are touched.

    Parameters
    ----------
    method, target : str
        The model and its outcome.
    names : tuple of str
        The intercept and the coefficients.
    rows : int
        The approximate number of rows.
    promise : SimulatedPromise
        The promise apart from epsilon.
    expected : tuple of ExpectedAccuracy
        One for each epsilon.
    draws : int
        The number of simulated tables.
    unit : Unit
        The unit of privacy. Rows are taken to have the largest weight.
    needs : tuple of tuples of str
        For each of the names, the guesses that nobody made and that its standard error depends on: it is NaN then.
    declared : tuple of ExpectedAccuracy
        Where columns have no bounds: the same with guessed ranges declared, for each requested epsilon.
    hopeless : dict
        The requested epsilons at which a search for bounds cannot succeed, and why; `expected` has the others.
    """

    method: str
    target: str
    names: tuple[str, ...]
    rows: int
    promise: SimulatedPromise
    expected: tuple[ExpectedAccuracy, ...]
    draws: int
    unit: Unit
    needs: tuple[tuple[str, ...], ...] = ()
    declared: tuple[ExpectedAccuracy, ...] = ()
    hopeless: dict[float, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The method to use: the one that was simulated."""
        return self.method

    def at(self, epsilon: float, method: str | None = None) -> ExpectedAccuracy:
        """The expected accuracy at one of the epsilons."""
        for found in self.expected:
            if found.epsilon == epsilon and method in (None, self.method):
                return found
        raise ParameterError(self.hopeless.get(epsilon, f"This plan has no epsilon {epsilon:g}."))

    def summary(self) -> Summary:
        """Summarise the accuracy of predictions and the number of intervals at each epsilon."""
        lines = {(found.epsilon, ""): self._line(found) for found in self.expected}
        lines |= {(epsilon, ""): (f"{epsilon:g}", *["no search"] * 3) for epsilon in self.hopeless}
        lines |= {(found.epsilon, "declared"): self._line(found, ", declared") for found in self.declared}
        return Summary(
            title=f"A plan for {self.target} by {self.method}",
            facts=(
                ("Rows", f"about {self.rows:,}"),
                ("Delta", f"{self.promise.delta:.3g}"),
                *(() if self.unit.plain else (("Protected", self.unit.short),)),
            ),
            columns=("epsilon", "excess loss", "of what can be explained", "intervals"),
            rows=tuple(lines[key] for key in sorted(lines)),
            notes=(
                "Made from public facts and guesses; no data were touched. Medians over made-up tables.",
                *(["Bounds are searched for; declared: the same with guessed ranges declared."] * bool(self.declared)),
                *([self.hopeless[max(self.hopeless)]] if self.hopeless else []),
                *self._no_interval(),
            ),
        )

    def _line(self, found: ExpectedAccuracy, more: str = "") -> tuple[str, ...]:
        """A line of the summary."""
        gain = max(0.0, 1 - found.excess / found.best) if found.best > 0 else 0.0
        given = f"{found.intervals} of {len(self.names)}"
        return f"{found.epsilon:g}{more}", number(found.excess), f"{100 * gain:.0f} %", given

    def _no_interval(self) -> list[str]:
        """Say at which epsilons no interval is likely, and what would help."""
        lacking, size = [found.epsilon for found in self.expected if found.intervals == 0], len(self.names)
        if not lacking:
            return []
        family = find(self.method).estimator.family
        if not family.staged:
            return [f"{self.method} gives no intervals, whatever epsilon is."]
        if family.classes and is_wide(size):
            return [no_errors(size)]
        if word := unlikely(size, self.rows, max(lacking), self.promise.delta, self.unit.most, linear=False):
            return [word]
        where = "at any of these epsilons" if len(lacking) == len(self.expected) else f"up to epsilon {max(lacking):g}"
        return [f"No interval is likely {where}: most fits to made-up tables gave none, for the noise is too large."]

    def coefficients(self, method: str | None = None) -> Summary:
        """The standard errors that fits report."""
        needs = self.needs or ((),) * len(self.names)
        cells = [
            [
                number(v) if math.isfinite(v) else NOT_TOLD if what and found.intervals else "withheld"
                for v, what in zip(found.std_err, needs, strict=True)
            ]
            for found in self.expected
        ]
        notes = ["Sampling error and privacy noise together, in the unit of each coefficient.", *self._no_interval()]
        if any(NOT_TOLD in column for column in cells):
            what = list(dict.fromkeys(guess for own in needs for guess in own))
            notes.append(not_told(what, "Each of those that are not told").reason)
        return Summary(
            title="Standard errors of coefficients",
            facts=(),
            columns=("", *(f"epsilon {found.epsilon:g}" for found in self.expected)),
            rows=tuple(zip(self.names, *cells, strict=True)),
            notes=tuple(notes),
        )

    def to_frame(self, method: str | None = None) -> Any:
        """A pandas frame: one row for each epsilon and coefficient."""
        lines = [(name, found, i) for found in self.expected for i, name in enumerate(self.names)]
        table: dict[str, list[Any]] = {"name": [name for name, _, _ in lines]}
        table["epsilon"] = [found.epsilon for _, found, _ in lines]
        for key in ("std_err", "privacy_noise", "error"):
            table[key] = [float(getattr(found, key)[i]) for _, found, i in lines]
        return to_pandas(table)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; withheld numbers are None."""
        return MODEL_PLAN.write(self)


def model_asked(domain: Any, target: Any, methods: Sequence[str] | None) -> type[PerturbedModel] | None:
    """The model of classes or counts to plan for: the one in `methods`, or logistic regression for a category."""
    if isinstance(methods, (list, tuple)) and len(methods) == 1:
        estimator = find(methods[0]).estimator
        plain = not issubclass(estimator, PerturbedModel) or estimator.family.linear
        return None if plain else estimator
    known = isinstance(domain, Domain) and methods is None and isinstance(target, str)
    column = domain.columns.get(target) if known else None
    return DPLogisticRegression if column is not None and column.levels else None


def refuse_targets(*given: Any) -> None:
    """Refuse parameters that only plans for numbers have: want_width, want_error and mean_square."""
    if any(aim is not None for aim in given):
        raise ParameterError("want_width, want_error and mean_square are for numbers, not for classes and counts.")


def plan_model(
    model: type[PerturbedModel],
    domain: Domain,
    target: str,
    features: Sequence[str] | None,
    *,
    rows: int,
    epsilons: Sequence[float],
    promise: SimulatedPromise,
    r_squared: float | None,
    correlation: Any,
    about: Mapping[str, Mapping[str, Any]] | None,
    draws: int,
    random_state: int,
    progress: bool | Progress,
) -> ModelPlan:
    """Simulate a model of classes or counts; parameters as of `plan`.

    `r_squared` is the share of the variance that the predictor explains: of the latent variable behind a yes or no, or
    of the count. For a yes or no, guess ``about={"bought": {"shares": [0.7, 0.3]}}``; for a count, its mean.
    """
    refuse_unit(model(), domain)
    if target in domain.columns:
        domain = _as_declared(model, domain.select([*feature_names(domain, [target], features), target]), target)
    unit, asked = domain.unit, domain.of_rows()
    domain, guesses = with_ranges(asked, about)
    column, guesses = domain.columns.get(target), dict(guesses or {})
    own = guesses.pop(target, {})
    if not model.family.classes:
        if column is None or not column.bounds or (asked.columns[target].bounds or (0,))[0] < 0:
            raise ParameterError(f"Counts are at least 0: declare bounds from 0 on for {target!r}.")
        stand, mean = domain, float(own.get("mean", sum(column.bounds) / 10))
    else:
        if column is not None and len(column.levels) > 2:
            raise ParameterError(
                f"There is no plan for three or more classes, and {target!r} has {len(column.levels)}. A plan for a "
                "yes or no with the same features tells what noise does at least."
            )
        if column is None or not column.levels:
            raise ParameterError(f"A plan for classes needs a yes or no, or two levels, and {target!r} is not.")
        stand, mean = domain.with_column(target, Numeric(0.0, 1.0)), level_shares(target, column, own)[1]
    told: dict[str, Any] = {"correlation": correlation, "about": guesses, "mean_square": None}
    known = facts(stand, target, features, rows=rows, r_squared=R_SQUARED, **told)
    known = replace(known, untold=tuple(_untold(known, "shares" if model.family.classes else "mean", own)))
    explained = R_SQUARED if r_squared is None else checks.fraction("r_squared", r_squared)
    people = _Classes(model, domain, known, mean, explained)
    needs = tuple(needed(known, name) for name in people.names)
    why = hopeless(asked.with_unit(**unit.to_dict()), known.rows, epsilons, promise.delta, promise.neighbors)
    possible = [(asked, epsilon) for epsilon in epsilons if epsilon not in why]
    todo = [*possible, *((domain, epsilon) for epsilon in epsilons if asked.searched)]
    found = []
    with as_progress(progress, "simulating") as report:
        for i, (bounds, epsilon) in enumerate(todo):
            seeds = [np.random.default_rng([random_state, draw]) for draw in range(draws)]
            accuracy = people.expected(row_epsilon(epsilon, promise.delta, unit.most), promise, seeds, bounds)
            found.append(_masked(replace(accuracy, epsilon=epsilon), needs))
            report((i + 1) / len(todo))
    parts = tuple(found[: len(possible)]), draws, unit, needs, tuple(found[len(possible) :])
    return ModelPlan(model.__name__, target, people.names, known.rows, promise, *parts, why)


def _as_declared(model: type[PerturbedModel], domain: Domain, target: str) -> Domain:
    """Return the domain with a comparison, the outcome of a classifier, as a yes or no."""
    made = model.family.classes and domain.columns[target].compares
    return domain.with_column(target, Categorical((False, True))) if made else domain


def _untold(known: PlanFacts, what: str, own: Mapping[str, Any]) -> Iterator[str]:
    """The untold guesses, with that of the outcome's level in place of its sd."""
    yield from (guess for guess in known.untold if guess != f"{known.target}.sd")
    if what not in own:
        yield f"{known.target}.{what}"


def _masked(found: ExpectedAccuracy, needs: Sequence[Sequence[str]]) -> ExpectedAccuracy:
    """Return the expected accuracy without errors of coefficients that depend on untold guesses."""
    hidden = np.array([bool(what) for what in needs])
    parts: dict[str, Any] = {
        key: np.where(hidden, np.nan, getattr(found, key)) for key in ("std_err", "privacy_noise", "error")
    }
    return replace(found, **parts)


class _Classes:
    """Simulated people with a yes or no, or a count, that follows a generalised linear model."""

    def __init__(
        self, model: type[PerturbedModel], domain: Domain, known: PlanFacts, mean: float, r_squared: float
    ) -> None:
        self._model, self._law, self._domain, self._facts = model, model.family.law, domain, known
        self._mean, self._r_squared = mean, r_squared
        self.names = tuple(known.names)

    def _table(self, rng: np.random.Generator) -> tuple[pa.Table, Floats, Floats]:
        """Rows, their expected outcomes, and the true (intercept, coefficients)."""
        known = self._facts
        pool = population(known, rng)
        at = rng.integers(0, len(pool.y), known.rows)
        table = pa.table({name: self._written(name, values[at]) for name, values in pool.values.items()})
        X = design_matrix(table, known.domain.select(list(known.features)))
        centre, sd = X.mean(axis=0), X.std(axis=0)
        Z = (X - centre) / np.where(sd > 0, sd, 1.0)
        weights = rng.standard_normal(Z.shape[1])
        line = Z @ weights
        size = self._law.predictor_sd(self._r_squared, self._mean) / max(float(line.std()), 1e-12)
        slopes = size * weights / np.where(sd > 0, sd, 1.0)
        eta = size * line
        a = brentq(lambda a: float(self._expect(a + eta).mean()) - self._mean, -40.0, 40.0)
        return table, self._expect(a + eta), np.concatenate([[a - centre @ slopes], slopes])

    def _written(self, name: str, values: Any) -> Any:
        levels = self._facts.domain.inputs[name].levels
        return pa.array([levels[i] for i in values] if levels else values)

    def _expect(self, eta: Floats) -> Floats:
        return self._law.mean(eta, _LARGEST)

    def _outcomes(self, means: Floats, rng: np.random.Generator) -> Any:
        column, found = self._domain.columns[self._facts.target], self._law.simulate(means, rng)
        if column.bounds:
            return np.clip(found, *column.bounds)
        return pa.array([column.levels[int(yes)] for yes in found])

    def expected(
        self, epsilon: float, promise: SimulatedPromise, seeds: Sequence[np.random.Generator], bounds: Domain
    ) -> ExpectedAccuracy:
        """Fit a table with each seed, by some bounds."""
        fits = [self._fit(epsilon, promise, rng, bounds) for rng in seeds]
        excess, best, errors, noises, offs = (np.array(part) for part in zip(*fits, strict=True))
        seen = np.isfinite(errors).mean(axis=0) >= 0.5
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            std_err, noise = (np.where(seen, np.nanmedian(part, axis=0), np.nan) for part in (errors, noises))
        error = np.sqrt(np.mean(offs**2, axis=0))
        middle = float(np.median(excess)), float(np.median(best))
        return ExpectedAccuracy(epsilon, *middle, std_err, noise, error, int(np.sum(np.isfinite(std_err))))

    def _fit(
        self, epsilon: float, promise: SimulatedPromise, rng: np.random.Generator, bounds: Domain
    ) -> tuple[float, float, Floats, Floats, Floats]:
        known = self._facts
        table, truth, true = self._table(rng)
        table = table.append_column(known.target, pa.array(self._outcomes(truth, rng)))
        held: dict[str, Any] = {"epsilon": epsilon, "delta": promise.delta, "neighbors": promise.neighbors}
        least, missing = self._law.expected_loss(truth, truth), np.full(len(true), np.nan)
        mean = self._law.expected_loss(np.full(len(truth), truth.mean()), truth) - least
        domain = bounds.select([*known.features, known.target])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            try:
                model: Any = self._model(domain=domain, rows=known.rows, random_state=rng, n_jobs=1, **held)
                model.fit_source(table, known.target, list(known.features))
            except DiscreetError:
                return mean, mean, missing, missing, -true
        X = design_matrix(table.drop_columns([known.target]), known.domain.select(list(known.features)))
        params = np.concatenate([np.ravel(model.intercept_), np.ravel(model.coef_)])
        excess = self._law.expected_loss(self._expect(params[0] + X @ params[1:]), truth) - least
        found = model.results_.inference
        errors = missing if isinstance(found, Unavailable) else found.std_err
        noise = missing if isinstance(found, Unavailable) else found.privacy_noise
        return excess, mean, np.asarray(errors), np.asarray(noise), params - true
