"""Expected errors of a method, by running the estimators' own code on simulated tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.placeholders import Unavailable
from discreet.domain import Domain
from discreet.drivers.simulate import simulate
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.mechanisms.gradient_descent.estimator import NoisyGradientDescent
from discreet.mechanisms.objective_perturbation.estimator import ObjectivePerturbation
from discreet.mechanisms.posterior_sampling.adaptive_estimator import AdaOPS
from discreet.mechanisms.posterior_sampling.estimator import OPS
from discreet.mechanisms.registry import METHODS, find
from discreet.mechanisms.reuse_covariance.estimator import ReuseCov
from discreet.models.linear import DPLinearRegression, MomentsEstimator
from discreet.models.penalised import DPElasticNet, DPLasso
from discreet.models.perturbed import PerturbedModel
from discreet.planning.facts import PlanFacts
from discreet.planning.population import Population, SampledTable, population
from discreet.privacy import gdp
from discreet.results.private_moments import PrivateMoments

_SLOW = (OPS, AdaOPS, NoisyGradientDescent)  # slow methods, which are simulated less often
_NOT_ASKED = Unavailable("not available", "Widths of intervals were not asked for.")
_BOUNDS = Unavailable("not available", "In one stage standard errors depend on how much of their bounds columns fill.")


@dataclass(frozen=True, eq=False)
class SimulatedFit:
    """One simulated fit."""

    mse: float  # of prediction, over the population
    error: Floats  # intercept and coefficients minus those of the population's best fit, in the user's units
    std_err: Floats | Unavailable  # those that the fit itself reports
    width: Floats | Unavailable  # of its intervals
    per_sd: Floats | Unavailable  # its standard errors in sds of the outcome, of the effect of one sd of the regressor
    stages: int | None  # 0 if it releases only the mean; None for methods without stages


@dataclass(frozen=True)
class SimulatedPromise:
    """The promise apart from epsilon."""

    delta: float
    neighbors: Neighbors
    level: float


def row_epsilon(epsilon: float, delta: float, most: int) -> float:
    """The epsilon for rows with the same Gaussian noise as a promise for persons who have up to `most` rows.

    Examples
    --------
    >>> round(row_epsilon(1.0, 1e-6, 4), 3)
    0.227
    """
    return epsilon if most == 1 else gdp.epsilon(mu=gdp.mu(epsilon=epsilon, delta=delta) / most, delta=delta)


def chosen(names: Sequence[str] | None, domain: Domain) -> tuple[list[str], dict[str, str]]:
    """The methods to simulate, and the reasons why others are left out."""
    if isinstance(names, str) or not (names is None or isinstance(names, Iterable)):
        example = names if isinstance(names, str) else METHODS[0].name
        raise ParameterError(f"methods must be a list of names, for example [{example!r}].")
    why = {method.name: _why_not(method.estimator, domain) for method in METHODS}
    left_out = {name: reason for name, reason in why.items() if reason}
    if names is None:
        return [name for name in why if name not in left_out], left_out
    asked = list(dict.fromkeys(find(name).name for name in names))
    for name in asked:
        if name in left_out and not issubclass(find(name).estimator, (DPLasso, DPElasticNet)):
            raise ParameterError(f"{name} cannot be simulated by a plan: {left_out[name]}.")
    if not asked:
        raise ParameterError("methods names no method. Leave it None for all that apply.")
    return asked, {name: "not asked for" for name in why if name not in asked}


def _why_not(estimator: Any, domain: Domain) -> str:
    if not domain.unit.plain and str(getattr(estimator, "one_row_each", "")):
        return "for rows that count alike, one a person"
    if issubclass(estimator, ReuseCov):
        return "for many outcomes"
    if issubclass(estimator, PerturbedModel) and not issubclass(estimator, ObjectivePerturbation):
        return "for classes or counts, not for numbers"
    if not issubclass(estimator, MomentsEstimator):
        return "reads rows, and a plan simulates their sums only"
    if domain.searched and not issubclass(estimator, DPLinearRegression):
        return "needs bounds of all columns"
    if issubclass(estimator, (DPLasso, DPElasticNet)):
        return "the release of DPRidge, solved by whole paths, which takes long; name it in methods= to have it"
    return ""


def fit(
    method: str,
    table: SampledTable,
    domain: Domain,
    epsilon: float,
    promise: SimulatedPromise,
    rows: int,
    seed: Any,
    *,
    widths: bool,
    stages: int | str = "auto",
) -> SimulatedFit:
    """Release and solve once, by the method's own code with seeded noise; `stages` is for methods that have stages."""
    facts = table.people.facts
    model: Any = find(method).estimator(
        epsilon=epsilon, delta=promise.delta, rows=rows, neighbors=promise.neighbors,
        fit_intercept=domain.intercept, random_state=np.random.default_rng(seed),
    )  # fmt: skip
    told = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        if isinstance(model, DPLinearRegression):
            model.stages = stages
            told = _fit_by_recipe(model, table, domain, (epsilon, promise, rows, seed, stages))
        else:
            model.fit_moments(table.moments(domain), facts.target, list(facts.features))
    found = model.results_.inference
    std_err = found if isinstance(found, Unavailable) else found.std_err
    interval: Any = found if widths else _NOT_ASKED
    if widths and not isinstance(found, Unavailable):
        interval = found.interval(promise.level)
    width = interval if isinstance(interval, Unavailable) else interval[:, 1] - interval[:, 0]
    params = np.concatenate([[model.intercept_], model.coef_])
    per_sd: Any = _BOUNDS if (told or 0) < 2 else std_err
    if not isinstance(per_sd, Unavailable):
        per_sd = per_sd * table.people.relative_sds
    return SimulatedFit(table.people.mse(params), params - table.people.best, std_err, width, per_sd, told)


def _fit_by_recipe(model: DPLinearRegression, table: SampledTable, domain: Domain, key: tuple[Any, ...]) -> int:
    """Fit a model to a simulated release, and return its number of stages; penalised models share the release."""
    facts = table.people.facts
    recipe, session = model.recipe(domain, facts.target, facts.features)
    found = table.released((*key, domain, recipe.name), lambda: simulate(recipe, table.source(domain), session))
    model.solve(found, facts.target, facts.features)
    released = model.release_ if isinstance(model.release_, PrivateMoments) else model.results_.released
    return 1 if not released.stages else 0 if released.mean_alone else len(released.stages)


# ---------------------------------------------------------------- many fits


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected accuracy of one method at one epsilon; medians over simulated tables."""

    method: str
    epsilon: float
    mse: float  # of prediction, in the outcome's unit squared
    mse_range: tuple[float, float]  # its 10 % and 90 % quantiles over tables
    trivial: float  # the error of predicting the outcome's mean, or 0 without an intercept
    non_private: float  # the error of least squares without privacy
    excess: float  # by how much the error exceeds that of least squares with the same rows, as a share of the latter
    rmse: Floats  # of the intercept and the coefficients, in the user's units
    std_err: Floats | Unavailable  # those that fits report, if more than half of them do
    width: Floats | Unavailable  # of their intervals, likewise
    per_sd: Floats | Unavailable  # the standard errors in sds of the outcome, of the effect of one sd of the regressor
    stages: int | None = None  # 0 if they release only the mean; None for methods without stages
    in_units: bool = True  # whether the outcome's sd was told: mse, trivial and non_private are made up otherwise

    @property
    def vs_trivial(self) -> float:
        """The error relative to that of predicting the mean, or 0: a value of 1 is useless."""
        return self.mse / self.trivial

    @property
    def vs_non_private(self) -> float:
        """The error relative to that of least squares without privacy: at 1, privacy is free."""
        return 1 + self.excess


class Simulation:
    """Simulated people and tables, the same for every method and epsilon, so that differences are not chance."""

    def __init__(
        self, facts: PlanFacts, promise: SimulatedPromise, draws: int, seed: int, stages: int | str = "auto"
    ) -> None:
        self.facts, self.promise, self.draws, self.seed, self.stages = facts, promise, draws, seed, stages
        self._tables: dict[int, list[SampledTable]] = {}
        self._known: dict[tuple[Any, ...], Expected | Unavailable] = {}

    @cached_property
    def people(self) -> list[Population]:
        """The populations."""
        return [population(self.facts, np.random.default_rng([self.seed, i])) for i in range(self.draws)]

    @property
    def r_squared(self) -> float:
        """The mean R^2 over populations."""
        return sum(people.r_squared for people in self.people) / len(self.people)

    @property
    def inflation(self) -> float:
        """The median over populations of what correlations do to standard errors."""
        return float(np.median([people.inflation for people in self.people]))

    def tables(self, rows: int, count: int) -> list[SampledTable]:
        """At least `count` tables, one per population; those of the planned size and of one other size are cached."""
        found = self._tables.get(rows, [])
        for i in range(len(found), count):
            found.append(SampledTable(self.people[i], rows, np.random.default_rng([self.seed, i, 1])))
        self._tables = {n: kept for n, kept in self._tables.items() if n == self.facts.rows} | {rows: found}
        return found

    def expected(
        self,
        method: str,
        epsilon: float,
        *,
        rows: int | None = None,
        domain: Domain | None = None,
        draws: int | None = None,
        widths: bool = True,
        most: int | None = None,
    ) -> Expected | Unavailable:
        """The expected accuracy, optionally with other rows, bounds or rows per person; or why it is not available."""
        n = self.facts.rows if rows is None else rows
        count = self.draws if draws is None else min(draws, self.draws)
        if issubclass(find(method).estimator, _SLOW):
            count = -(-count // 6)
        if domain is not None or most is not None:
            bounds = self.facts.declared if domain is None else domain
            return self._simulated(method, epsilon, n, count, bounds, widths=widths, most=most)
        key = method, epsilon, n, count
        found = self._known.get((*key, True), self._known.get((*key, widths)))
        if found is None:
            found = self._simulated(*key, self.facts.declared, widths=widths)
            self._known[*key, widths] = found
        return found

    def _simulated(
        self, method: str, epsilon: float, n: int, count: int, bounds: Domain, *, widths: bool, most: int | None = None
    ) -> Expected | Unavailable:
        """Simulate fits; a promise for persons has the noise of a promise for rows with a smaller epsilon."""
        options: dict[str, Any] = {"widths": widths, "stages": self.stages}
        own = row_epsilon(epsilon, self.promise.delta, bounds.most if most is None else most)
        bounds = bounds.of_rows()
        tables = self.tables(n, count)[:count]
        try:
            fits = [
                fit(method, table, bounds, own, self.promise, n, [self.seed, i, 2], **options)
                for i, table in enumerate(tables)
            ]
        except DiscreetError as error:
            return Unavailable("not available", str(error))
        return _summarise(method, epsilon, fits, tables)


def _summarise(method: str, epsilon: float, fits: Sequence[SimulatedFit], tables: Sequence[SampledTable]) -> Expected:
    """Take medians over fits."""
    mse = np.array([found.mse for found in fits])
    least = np.array([table.people.mse(table.least_squares) for table in tables])
    low, high = np.quantile(mse, [0.1, 0.9])
    return Expected(
        method=method,
        epsilon=epsilon,
        mse=float(np.median(mse)),
        mse_range=(float(low), float(high)),
        trivial=float(np.median([table.people.trivial for table in tables])),
        non_private=float(np.median(least)),
        excess=float(np.median(mse / least)) - 1,
        rmse=np.sqrt(np.mean([found.error**2 for found in fits], axis=0)),
        std_err=_median([found.std_err for found in fits]),
        width=_median([found.width for found in fits]),
        per_sd=_median([found.per_sd for found in fits]),
        stages=fits[0].stages,
    )


def _median(values: Sequence[Any]) -> Floats | Unavailable:
    given = [value for value in values if not isinstance(value, Unavailable)]
    if 2 * len(given) > len(values):
        median = np.median(np.where(np.isnan(given), np.inf, given), axis=0)
        return np.where(np.isinf(median), np.nan, median)
    return next(value for value in values if isinstance(value, Unavailable))
