"""wang2018's protocol for the UCI sets: preparation, splits, and one seeded fit of any method."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet import DiscreetWarning, Domain, DPLinearRegression, Moments
from discreet.errors import DiscreetError
from experiments import uci
from experiments.methods import PROTOCOL
from experiments.uci import Floats


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of one random 90/10 split, and the exact moments of the former."""

    number: int
    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats
    moments: Moments
    rows: int
    """Of the whole set: the public figure that methods are given, and what delta follows."""

    def error(self, theta: Floats) -> float:
        """Mean squared error on the test rows."""
        return float(np.mean((self.X_test @ theta - self.y_test) ** 2))

    def fit(
        self, cls: Any, options: dict[str, Any], epsilon: float, seed: Any, delta: float | None = None
    ) -> float | None:
        """Test error of one seeded fit; None where the method refuses a promise that it cannot keep here.

        delta is the paper's min(1e-6, 1/n^2) where none is given.
        """
        given = {"epsilon": epsilon, "delta": delta or uci.delta(self.rows), "rows": self.rows, "random_state": seed}
        model = cls(**given, **PROTOCOL, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            try:
                if cls is DPLinearRegression or not hasattr(model, "fit_moments"):  # the former narrows bounds by rows
                    return self.error(model.fit(self.X, self.y).coef_)
                return self.error(model.fit_moments(self.moments, "y").coef_)
            except DiscreetError:
                return None

    @cached_property
    def gram(self) -> Floats:
        """X'X of the training rows."""
        return self.X.T @ self.X

    @property
    def non_private(self) -> Floats:
        """What the authors' code takes for it: ridge with a penalty of 1, for some sets are singular."""
        return np.linalg.solve(self.gram + np.eye(self.X.shape[1]), self.X.T @ self.y)


def ssp_of_the_code(split: Split, epsilon: float, rng: np.random.Generator, delta: float | None = None) -> Floats:
    """(X'X + I + s N1)^-1 (X'y + s n2), s = sqrt(log(4/delta))/epsilon, N1 not symmetric: what the authors ran (E4)."""
    d, s = split.X.shape[1], np.sqrt(np.log(4 / (delta or uci.delta(split.rows)))) / epsilon
    S = split.gram + np.eye(d) + s * rng.standard_normal((d, d))
    return np.linalg.solve(S, split.X.T @ split.y + s * rng.standard_normal(d))


@cache
def authors(folder: Path) -> dict[tuple[str, float, str], tuple[float, float]]:
    """Means and standard deviations over ten folds that the authors stored with their code, by set, epsilon, method."""
    with (folder / "paper_tables" / "uci_authors_stored.csv").open() as file:
        return {
            (r["dataset"], float(r["epsilon"]), r["method"]): (float(r["mean"]), float(r["sd"]))
            for r in csv.DictReader(file)
        }


def splits(name: str, folder: Path, count: int) -> Iterator[Split]:
    """Splits of a set that is prepared as in the paper, which is not private (E18)."""
    Z, t = uci.prepare(*uci.load(name, folder))
    names = [f"x{i}" for i in range(Z.shape[1])]
    domain = Domain.from_bounds(names, ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    for number, (train, test) in enumerate(uci.splits(len(t), count)):
        moments = Moments.from_source((Z[train], t[train]), domain, n_jobs=1)
        yield Split(number, Z[train], t[train], Z[test], t[test], moments, len(t))
