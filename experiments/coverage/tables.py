"""Populations that behave as real tables do, with the bounds that a person could declare.

Three are made up, with unequal variances, skew and heavy tails: hourly wages, the spending of households, visits to a
doctor; and one, with equal variances, that flatters every method. The others are UCI sets and Adult, taken as whole
populations; their bounds are those of `experiments.declared`.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from discreet import Domain
from experiments import uci
from experiments.declared import bounds
from experiments.uci import Floats

ROWS = 40_000
MADE_UP = ("even", "wages", "spending", "visits")
SETS = ("bike", "elevators", "keggdirected", "kin40k", "parkinsons", "pendulum", "protein", "skillcraft", "sml", "wine")
"""UCI sets with 600 rows or more and at most 30 columns that do not repeat each other."""
ADULT = "adult"


@dataclass(frozen=True, eq=False)
class Population:
    """A table that samples are drawn from, and its bounds.

    Parameters
    ----------
    frame : DataFrame
        All rows; the outcome is "y".
    domain : Domain
        What is declared.
    """

    frame: pd.DataFrame
    domain: Domain

    @property
    def names(self) -> list[str]:
        """Of the features."""
        return [name for name in self.frame.columns if name != "y"]

    @property
    def design(self) -> Floats:
        """(1, features), clipped to the bounds."""
        columns = [self.frame[name].clip(*self._ends(name)).to_numpy(float) for name in self.names]
        return np.column_stack([np.ones(len(self.frame)), *columns])

    @property
    def outcome(self) -> Floats:
        """The outcome, clipped to its bounds."""
        return self.frame["y"].clip(*self._ends("y")).to_numpy(float)

    def _ends(self, name: str) -> tuple[float, float]:
        centre, half = self.domain.map(name)
        return centre - half, centre + half

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Rows drawn with replacement."""
        return self.frame.iloc[rng.integers(0, len(self.frame), n)]


def even(rng: np.random.Generator, n: int) -> tuple[dict[str, Floats], dict[str, tuple[float, float]]]:
    """Normal features with one thing in common, and normal errors of equal variance."""
    X = 0.6 * rng.standard_normal((n, 8)) + 0.3 * rng.standard_normal((n, 1))
    y = X @ np.linspace(1, -1, 8) + rng.standard_normal(n)
    named = {f"x{i}": x for i, x in enumerate(X.T)}
    return named | {"y": y}, dict.fromkeys(named, (-5.0, 5.0)) | {"y": (-20.0, 20.0)}


def wages(rng: np.random.Generator, n: int) -> tuple[dict[str, Floats], dict[str, tuple[float, float]]]:
    """Hourly wages: log-normal around a curve, so that they vary more where they are high."""
    age, school = np.floor(18 + 47 * rng.beta(1.6, 1.8, n)), np.clip(rng.normal(12, 3, n), 0, 22).round()
    female, worked = (rng.random(n) < 0.48) * 1.0, np.clip(age - school - 6, 0, 50)
    union, tenure = (
        (rng.random(n) < 0.15 + 0.1 * (school < 12)) * 1.0,
        np.clip(rng.exponential(0.3 * worked + 1), 0, 45),
    )
    mean = 1.2 + 0.08 * school + 0.03 * worked - 0.0005 * worked**2 - 0.2 * female + 0.15 * union + 0.01 * tenure
    columns = {"school": school, "female": female, "worked": worked, "union": union, "tenure": tenure}
    limits = {"school": (0.0, 25.0), "female": (0.0, 1.0), "worked": (0.0, 60.0), "union": (0.0, 1.0)}
    return columns | {"y": np.exp(mean + 0.5 * rng.standard_normal(n))}, limits | {
        "tenure": (0.0, 50.0),
        "y": (0.0, 200.0),
    }


def spending(rng: np.random.Generator, n: int) -> tuple[dict[str, Floats], dict[str, tuple[float, float]]]:
    """What households spend: incomes are log-normal, and the share that is spent is, too."""
    income, age = np.exp(10.3 + 0.7 * rng.standard_normal(n)), rng.uniform(20, 85, n)
    size = rng.choice([1.0, 2, 3, 4, 5, 6], n, p=[0.3, 0.3, 0.15, 0.15, 0.07, 0.03])
    urban = (rng.random(n) < 0.7) * 1.0
    y = 3000 + 0.35 * income * np.exp(0.5 * rng.standard_normal(n) - 0.125) + 2000 * size + 20 * age
    y = y + 1500 * urban * np.exp(0.5 * rng.standard_normal(n))
    limits = {"income": (0.0, 5e5), "size": (0.0, 10.0), "age": (18.0, 100.0), "urban": (0.0, 1.0), "y": (0.0, 5e5)}
    return {"income": income, "size": size, "age": age, "urban": urban, "y": y}, limits


def visits(rng: np.random.Generator, n: int) -> tuple[dict[str, Floats], dict[str, tuple[float, float]]]:
    """Visits to a doctor: counts with many zeros, whose mean is a curve and whose variance exceeds it."""
    age = rng.uniform(18, 80, n)
    chronic = np.clip(rng.poisson(0.3 + 0.02 * (age - 18)), 0, 10) * 1.0
    insured, income = (rng.random(n) < 0.3) * 1.0, np.clip(np.exp(3 + 0.6 * rng.standard_normal(n)), 0, 200)
    rate = np.exp(0.2 + 0.25 * np.minimum(chronic, 5) + 0.005 * age + 0.1 * insured - 0.002 * income)
    y = rng.poisson(rate * rng.gamma(0.8, 1 / 0.8, n)) * 1.0
    limits = {"age": (18.0, 100.0), "chronic": (0.0, 15.0), "insured": (0.0, 1.0), "income": (0.0, 200.0)}
    return {"age": age, "chronic": chronic, "insured": insured, "income": income, "y": y}, limits | {"y": (0.0, 100.0)}


@lru_cache(maxsize=1)
def population(name: str, folder: Path | None) -> Population:
    """A population by name."""
    if name in MADE_UP:
        make = {"even": even, "wages": wages, "spending": spending, "visits": visits}[name]
        columns, limits = make(np.random.default_rng([1, MADE_UP.index(name)]), ROWS)
        return Population(pd.DataFrame(columns), Domain(limits))
    if folder is None:
        raise ValueError(f"{name} needs the folder with the data: --data, or DISCREET_DATA.")
    frame = _adult(folder) if name == ADULT else _set(name, folder)
    limits = {column: bounds(float(values.min()), float(values.max())) for column, values in frame.items()}
    return Population(frame, Domain(limits))


def _set(name: str, folder: Path) -> pd.DataFrame:
    """A UCI set, without columns that are constant or that the ones before them determine."""
    X, y = uci.load(name, folder)
    kept: list[int] = []
    for j in range(X.shape[1]):
        Z = np.column_stack([np.ones(len(X)), X[:, kept]])
        rest = X[:, j] - Z @ np.linalg.lstsq(Z, X[:, j])[0]
        if X[:, j].std() > 0 and rest.std() > 0.05 * X[:, j].std():
            kept.append(j)
    return pd.DataFrame({f"x{j}": X[:, j] for j in kept} | {"y": y})


def _adult(folder: Path) -> pd.DataFrame:
    """Adult: hours a week by age, schooling, sex, marriage and capital income."""
    with gzip.open(folder / "adult" / "adult-train.csv.gz", "rt", encoding="utf-8") as file:
        rows = [line.strip().split(", ") for line in file if line.count(",") == 14 and "?" not in line]
    age, _, _, _, school, marriage, _, _, _, sex, gain, loss, hours, _, _ = (
        np.array(part) for part in zip(*rows, strict=True)
    )
    columns = {
        "age": age.astype(float),
        "school": school.astype(float),
        "married": (marriage == "Married-civ-spouse") * 1.0,
        "male": (sex == "Male") * 1.0,
        "gain": gain.astype(float),
        "loss": loss.astype(float),
        "y": hours.astype(float),
    }
    return pd.DataFrame(columns)
