"""Tables with bounds that a person could have declared, and every method that fits a linear model to them.

The bounds are the range of each column, widened and rounded outwards. They are **made from the data**, which no promise
covers: for studies only, where the question is what round bounds cost.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet import DiscreetWarning, Domain, formula
from discreet.data.tables import design_matrix
from discreet.domain.encoding import clipped
from discreet.errors import DiscreetError
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.registry import METHODS
from discreet.models.base import PrivateRegressor
from discreet.privacy import gdp
from experiments import populations, uci
from experiments.comparison.contenders import CONTENDERS, Contender, Task
from experiments.uci import Floats

PRIVATE_MEAN, LEAST_SQUARES, RIDGE = "private mean", "least squares", "ridge, not private"
SEARCHED = "DPLinearRegression, no bounds"
"""The default, whose bounds are all searched for."""
NOT_LINEAR = ("DPPoissonRegression",)
OURS = {m.name: m.estimator for m in METHODS if issubclass(m.estimator, PrivateRegressor) and m.name not in NOT_LINEAR}
OTHERS = {c.name: c for c in CONTENDERS if c.promise == "equalised" or (c.peer and c.promise == "verified")}
"""Peers, and papers' printed constants, at equal true (epsilon, delta)."""
NAMES = (*OURS, *OTHERS, SEARCHED, PRIVATE_MEAN, RIDGE, LEAST_SQUARES)
SHARES = {"sum": 0.8, "count": 0.2}
"""Of mu^2, for the private mean."""
WAGES_ROWS, WIDE_ROWS, TEST_ROWS = 50_000, 10_000, 5_000


# ---------------------------------------------------------------- bounds


def bounds(low: float, high: float, k: float = 1.0) -> tuple[float, float]:
    """A range, widened k times about its middle and rounded outwards to one digit of its half width.

    Examples
    --------
    >>> bounds(17.3, 88.1), bounds(17.3, 88.1, 3), bounds(4, 4)
    ((10.0, 90.0), (-100.0, 200.0), (3.0, 5.0))
    """
    centre, half = (low + high) / 2, k * (high - low) / 2 or 1.0
    unit = 10.0 ** math.floor(math.log10(half))
    return math.floor((centre - half) / unit) * unit, math.ceil((centre + half) / unit) * unit


def column_bounds(values: Floats, k: float) -> tuple[float, float]:
    """Bounds for a column, from its own range."""
    return bounds(float(values.min()), float(values.max()), k)


def declared_rows(n: int) -> int:
    """The number of rows rounded up to two digits, for methods that must be told it.

    Examples
    --------
    >>> declared_rows(1353), declared_rows(90), declared_rows(7)
    (1400, 90, 7)
    """
    unit = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // unit) * unit


# ---------------------------------------------------------------- tables


@dataclass
class Declared:
    """Rows to fit a model to and rows to try it on, with the declared facts.

    Parameters
    ----------
    domain : Domain
        The features, derived ones too, and the outcome.
    target : str
        The outcome.
    train, test : Arrow tables
        The rows.
    delta : float
        Of the promise.
    """

    domain: Domain
    target: str
    train: pa.Table
    test: pa.Table
    delta: float

    @cached_property
    def features(self) -> list[str]:
        """Names of the features."""
        return self.domain.features_for({self.target})

    @cached_property
    def places(self) -> list[int]:
        """Where the regressors stand among the coordinates of the domain, the constant first."""
        return self.domain.design(self.features)

    @property
    def y(self) -> Floats:
        """The outcome in the training rows."""
        return np.asarray(self.train[self.target])

    @property
    def y_test(self) -> Floats:
        """The outcome in the test rows."""
        return np.asarray(self.test[self.target])

    @cached_property
    def design_test(self) -> Floats:
        """The constant and the features of the test rows, in the user's units."""
        return self._design(self.test)

    @cached_property
    def design(self) -> Floats:
        """The same of the training rows."""
        return self._design(self.train)

    def _design(self, table: pa.Table) -> Floats:
        features = self.domain.select(self.features)
        return np.column_stack([np.ones(len(table)), design_matrix(table.select(list(features.inputs)), features)])

    @cached_property
    def mapped(self) -> Floats:
        """The training rows within the bounds, the constant among them, every number in [-1, 1]."""
        centre, half = self.domain.centre[self.places], self.domain.half[self.places]
        return np.clip((self.design - centre) / half, -1, 1)

    @cached_property
    def mapped_y(self) -> Floats:
        """The outcome in the training rows, in [-1, 1]."""
        centre, half = self.domain.map(self.target)
        return np.clip((self.y - centre) / half, -1, 1)

    def unmapped(self, theta: Floats) -> Floats:
        """Coefficients for the user's units, from those for mapped columns and outcome; the intercept comes first."""
        (c_y, h_y), c, h = self.domain.map(self.target), self.domain.centre, self.domain.half
        coef = h_y * theta / h[self.places]
        coef[0] = c_y + h_y * theta[0] - coef[1:] @ c[self.places][1:]
        return coef


def uci_table(X: Floats, y: Floats, k: float, split: int, *, products: bool = False) -> Declared:
    """One 90/10 split of a set, its columns called x0, x1, ... and y; with all squares and products if asked."""
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    base = Domain({name: column_bounds(column, k) for name, column in [*columns.items(), ("y", y)]})
    terms = list(columns)
    if products:
        terms += [f"{name}^2" for name in columns] + [f"{a}:{b}" for a, b in itertools.combinations(columns, 2)]
    domain = formula(f"y ~ {' + '.join(terms)}", base).domain
    table = pa.table(columns | {"y": y})
    train, test = next(itertools.islice(uci.splits(len(y), split + 1), split, None))
    return Declared(domain, "y", table.take(train), table.take(test), uci.delta(len(y)))


def wages_table(k: float, split: int) -> Declared:
    """Made-up wages: 50,000 people, another 50,000 for every split."""
    rng = np.random.default_rng([1, split])
    ranges = {name: bounds(*ends, k) for name, ends in populations.WAGES_RANGES.items()}
    domain = formula(populations.WAGES, Domain(ranges | populations.WAGES_LEVELS)).domain
    train, test = populations.wages(WAGES_ROWS, rng), populations.wages(TEST_ROWS, rng)
    return Declared(domain, "wage", train, test, uci.delta(WAGES_ROWS))


def wide_table(columns: int, k: float, split: int) -> Declared:
    """A made-up table of levels with 10,000 rows, another for every split."""
    found = populations.wide(columns, WIDE_ROWS, TEST_ROWS, np.random.default_rng([2, columns, split]))
    y = np.concatenate([np.asarray(found.train["y"]), np.asarray(found.test["y"])])
    domain = Domain(found.levels | {"y": column_bounds(y, k)})
    return Declared(domain, "y", found.train, found.test, uci.delta(WIDE_ROWS))


# ---------------------------------------------------------------- methods

Fit = Callable[[np.random.Generator], Floats | None]
"""From a random generator to intercept and coefficients in the user's units; None where there is no model."""


def available(method: str) -> bool:
    """Whether the package that a method needs is there."""
    return method not in OTHERS or OTHERS[method].ready()


def fitter(method: str, table: Declared, epsilon: float) -> Fit:
    """One simulated fit of a method, by its name among `NAMES`, at (epsilon, the table's delta)."""
    if method == SEARCHED:
        return SearchedFit(table, epsilon)
    if method in OURS:
        return _estimator(OURS[method], table, epsilon)
    if method in OTHERS:
        return _other(OTHERS[method], table, epsilon)
    if method == PRIVATE_MEAN:
        return lambda rng: private_mean(table, epsilon, rng)
    theta = {LEAST_SQUARES: _least_squares, RIDGE: _ridge}[method](table)
    return lambda rng: theta


def _estimator(cls: Any, table: Declared, epsilon: float) -> Fit:
    given = {"epsilon": epsilon, "delta": table.delta, "domain": table.domain, "n_jobs": 1}
    if issubclass(cls, CoefficientsRegressor):
        given["rows"] = declared_rows(len(table.train))

    def fit(rng: np.random.Generator) -> Floats | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            try:
                model = cls(**given, random_state=rng).fit_source(table.train, table.target, table.features)
            except DiscreetError:
                return None
        return np.concatenate([[model.intercept_], np.ravel(model.coef_)])

    return fit


class SearchedFit:
    """The default, whose bounds are all searched for; test rows are clipped to what was found, as by `predict`.

    Attributes
    ----------
    design_test : array
        The constant and the features of the test rows, for the last fit.
    unseen : int
        The number of columns of which the last search saw nothing.
    """

    def __init__(self, table: Declared, epsilon: float) -> None:
        self._table, self.design_test, self.unseen = table, table.design_test, 0
        unknown = Domain(dict.fromkeys(table.domain.inputs, "number"))
        self._model = OURS["DPLinearRegression"](epsilon=epsilon, delta=table.delta, domain=unknown, n_jobs=1)

    def __call__(self, rng: np.random.Generator) -> Floats:
        """Fit once; return intercept and coefficients in the user's units."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            model: Any = self._model.set_params(random_state=rng).fit_source(
                self._table.train, self._table.target, self._table.features
            )
        found = model.certificate_.domain
        X = clipped(self._table.design_test[:, 1:], found, self._table.features)
        self.design_test = np.column_stack([np.ones(len(X)), X])
        self.unseen = sum(column.range == (-1.0, 1.0) for column in found.columns.values())
        return np.concatenate([[model.intercept_], np.ravel(model.coef_)])


def _other(contender: Contender, table: Declared, epsilon: float) -> Fit:
    """A method for rows of norm 1 and no intercept: the constant is a column, and mapped rows are shortened."""
    longest = math.sqrt(table.domain.norm_squared(table.places))
    task = Task(table.mapped / longest, table.mapped_y, epsilon, table.delta)

    def fit(rng: np.random.Generator) -> Floats | None:
        theta = contender.fit(task, rng)[0]
        return table.unmapped(theta / longest) if theta is not None and np.isfinite(theta).all() else None

    return fit


def private_mean(table: Declared, epsilon: float, rng: np.random.Generator) -> Floats:
    """A constant: the noisy sum of the mapped outcome over the noisy number of rows; the budget is spent on both."""
    mu, z = gdp.mu(epsilon, table.delta), table.mapped_y
    sd = {name: 1 / (mu * math.sqrt(share)) for name, share in SHARES.items()}
    count = max(1.0, len(z) + sd["count"] * rng.standard_normal())
    mean = (float(z.sum()) + sd["sum"] * rng.standard_normal()) / count
    theta = np.zeros(len(table.places))
    theta[0] = min(max(mean, -1.0), 1.0)
    return table.unmapped(theta)


def _least_squares(table: Declared) -> Floats:
    theta: Floats = np.linalg.lstsq(table.mapped, table.mapped_y)[0].astype(np.float64)
    return table.unmapped(theta)


def _ridge(table: Declared) -> Floats:
    """Ridge on standardised columns, its penalty chosen by leaving one row out."""
    model = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e5, 17))).fit(table.design[:, 1:], table.y)
    scaler, ridge = model[0], model[1]
    coef = ridge.coef_ / scaler.scale_
    return np.concatenate([[ridge.intercept_ - coef @ scaler.mean_], coef])


def middle(table: Declared) -> Floats:
    """What stands for a fit that gave no model: the middle of the outcome's bounds."""
    return table.unmapped(np.zeros(len(table.places)))
