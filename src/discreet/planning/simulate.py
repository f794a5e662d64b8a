"""Expected errors of a method, from fits to simulated tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.unavailable import Unavailable
from discreet.domain import Domain
from discreet.errors import DiscreetError
from discreet.papers.registry import find
from discreet.planning.facts import Facts
from discreet.planning.methods import SLOW, Fit, Promise, fit
from discreet.planning.population import Population, population
from discreet.planning.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expected:
    """What to expect of one method at one epsilon; medians over simulated tables.

    Parameters
    ----------
    method, epsilon : str, float
        Which.
    mse : float
        Mean squared error of prediction, in the outcome's unit squared.
    mse_range : (float, float)
        Four of five tables have an error between these.
    trivial, non_private : float
        That of predicting the outcome's mean (0 without an intercept), and that of least squares without privacy.
    rmse : array
        Root mean squared errors of the intercept and the coefficients, in the user's units.
    std_err, width : array, or Unavailable
        The standard errors that fits report, and the widths of their intervals; not available where more than half of
        the fits give none.
    """

    method: str
    epsilon: float
    mse: float
    mse_range: tuple[float, float]
    trivial: float
    non_private: float
    rmse: Floats
    std_err: Floats | Unavailable
    width: Floats | Unavailable

    @property
    def vs_trivial(self) -> float:
        """The error over that of predicting nothing: 1 is useless."""
        return self.mse / self.trivial

    @property
    def vs_non_private(self) -> float:
        """The error over that of least squares without privacy: 1 is free."""
        return self.mse / self.non_private


class Simulation:
    """Simulated people and tables, the same for every method and epsilon, so that differences are not chance.

    Parameters
    ----------
    facts : Facts
        The public facts.
    promise : Promise
        What is promised besides epsilon.
    draws : int
        Populations, with a table each.
    seed : int
        Where they come from.
    """

    def __init__(self, facts: Facts, promise: Promise, draws: int, seed: int) -> None:
        self.facts, self.promise, self.draws, self.seed = facts, promise, draws, seed
        self._tables: dict[int, list[Table]] = {}

    @cached_property
    def people(self) -> list[Population]:
        """The populations."""
        return [population(self.facts, np.random.default_rng([self.seed, i])) for i in range(self.draws)]

    @property
    def r_squared(self) -> float:
        """The mean over populations."""
        return sum(people.r_squared for people in self.people) / len(self.people)

    def tables(self, rows: int, count: int) -> list[Table]:
        """At least so many tables, of as many populations; those of the planned size are kept, and of one other."""
        found = self._tables.get(rows, [])
        for i in range(len(found), count):
            found.append(Table(self.people[i], rows, np.random.default_rng([self.seed, i, 1])))
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
    ) -> Expected | Unavailable:
        """What to expect, perhaps with another number of rows or tighter bounds; or why the method cannot be used."""
        n = self.facts.rows if rows is None else rows
        bounds = self.facts.domain if domain is None else domain
        count = self.draws if draws is None else min(draws, self.draws)
        if issubclass(find(method).estimator, SLOW):
            count = -(-count // 6)
        tables = self.tables(n, count)[:count]
        try:
            fits = [
                fit(method, table, bounds, epsilon, self.promise, n, [self.seed, i, 2], widths=widths)
                for i, table in enumerate(tables)
            ]
        except DiscreetError as error:
            return Unavailable("not available", str(error))
        return summarise(method, epsilon, fits, tables)


def summarise(method: str, epsilon: float, fits: Sequence[Fit], tables: Sequence[Table]) -> Expected:
    """Medians over fits."""
    mse = np.array([found.mse for found in fits])
    low, high = np.quantile(mse, [0.1, 0.9])
    return Expected(
        method=method,
        epsilon=epsilon,
        mse=float(np.median(mse)),
        mse_range=(float(low), float(high)),
        trivial=float(np.median([table.people.trivial for table in tables])),
        non_private=float(np.median([table.people.mse(table.least_squares) for table in tables])),
        rmse=np.sqrt(np.mean([found.error**2 for found in fits], axis=0)),
        std_err=_median([found.std_err for found in fits]),
        width=_median([found.width for found in fits]),
    )


def _median(values: Sequence[Any]) -> Floats | Unavailable:
    given = [value for value in values if not isinstance(value, Unavailable)]
    if 2 * len(given) > len(values):
        median: Floats = np.median(given, axis=0)
        return median
    why: Unavailable = next(value for value in values if isinstance(value, Unavailable))
    return why
