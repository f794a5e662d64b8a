"""Made-up populations in the user's own units: wages with their true equation, and wide tables of levels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from experiments.uci import Floats

# ---------------------------------------------------------------- wages

WAGES = "wage ~ age + age^2 + sex*education + region"
WAGES_SIGMA = 5.0
WAGES_RANGES = {"age": (18.0, 67.0), "wage": (0.0, 100.0)}
"""What a person knows of the numbers without looking: ages of work, euros an hour."""

_EDUCATION = {"school": 0.35, "vocational": 0.35, "bachelor": 0.2, "master": 0.1}
_REGIONS = ("west", "south", "north", "capital", "east", "coast", "lakes", "hills", "islands", "border")
WAGES_LEVELS = {"sex": ["F", "M"], "education": list(_EDUCATION), "region": list(_REGIONS)}

WAGES_TRUE = {
    "(intercept)": 2.0,
    "age": 0.95,
    "age^2": -0.01,
    "sex[M]": 1.5,
    "education[vocational]": 3.0,
    "education[bachelor]": 8.0,
    "education[master]": 13.0,
    "sex:education[M:vocational]": 0.5,
    "sex:education[M:bachelor]": 1.5,
    "sex:education[M:master]": 3.0,
} | {f"region[{name}]": round(2.5 * float(np.sin(1.0 + i)), 2) for i, name in enumerate(_REGIONS[1:])}
"""The coefficients, in the order of the design of `WAGES`."""


def wages(n: int, rng: np.random.Generator) -> pa.Table:
    """So many people: age, sex, education, region, and an hourly wage with skewed errors of sd `WAGES_SIGMA`."""
    age = np.floor(18 + 50 * rng.beta(1.6, 1.8, n))
    sex = rng.choice(WAGES_LEVELS["sex"], n, p=[0.48, 0.52])
    education = rng.choice(WAGES_LEVELS["education"], n, p=list(_EDUCATION.values()))
    region = rng.choice(WAGES_LEVELS["region"], n, p=_zipf(len(_REGIONS), 0.8))
    names = [[f"sex[{s}]", f"education[{e}]", f"sex:education[{s}:{e}]"] for s in "FM" for e in _EDUCATION]
    cells = {name[2]: sum(WAGES_TRUE.get(part, 0.0) for part in name) for name in names}
    wage = WAGES_TRUE["(intercept)"] + WAGES_TRUE["age"] * age + WAGES_TRUE["age^2"] * age**2
    wage += [cells[f"sex:education[{s}:{e}]"] for s, e in zip(sex, education, strict=True)]
    wage += [WAGES_TRUE.get(f"region[{r}]", 0.0) for r in region]
    wage += WAGES_SIGMA * (rng.gamma(4.0, size=n) - 4.0) / 2.0
    return pa.table({"age": age, "sex": sex, "education": education, "region": region, "wage": wage})


# ---------------------------------------------------------------- wide tables

SIZES = (5, 8, 12, 20, 25, 30)
"""Levels of six categories: 100 coordinates."""
_EXPLAINED = 0.8


class Wide(NamedTuple):
    """Training and test rows, and the levels of each category."""

    train: pa.Table
    test: pa.Table
    levels: dict[str, list[str]]


def wide(columns: int, n: int, n_test: int, rng: np.random.Generator) -> Wide:
    """A table of categories with so many levels together, a multiple of 100.

    Levels are as frequent as Zipf's law has it, with a power between 0.7 and 1.5. Each has an effect of its own, drawn
    from a normal law whose sd differs between categories; together they explain four fifths of the outcome's variance.
    """
    if columns <= 0 or columns % sum(SIZES):
        raise ValueError(f"columns must be a multiple of {sum(SIZES)}.")
    sizes = SIZES * (columns // sum(SIZES))
    held: dict[str, Any] = {}
    levels: dict[str, list[str]] = {}
    signal: Floats = np.zeros(n + n_test)
    for j, size in enumerate(sizes):
        frequency = rng.permutation(_zipf(size, rng.uniform(0.7, 1.5)))
        codes = rng.choice(size, n + n_test, p=frequency)
        name = f"c{j}"
        levels[name] = [f"level {i}" for i in range(size)]
        held[name] = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), levels[name])
        signal += (rng.uniform(0.2, 1.0) * rng.standard_normal(size))[codes]
    signal *= np.sqrt(_EXPLAINED) / signal.std()
    error = np.sqrt(1 - _EXPLAINED) * rng.standard_normal(n + n_test)
    table = pa.table(held | {"y": 50 + 10 * (signal + error)})
    return Wide(table[:n], table[n:], levels)


def _zipf(size: int, power: float) -> Floats:
    weights = np.arange(1.0, size + 1) ** -power
    shares: Floats = np.asarray(weights / weights.sum(), dtype=np.float64)
    return shares


# ---------------------------------------------------------------- classes and counts

COUNTS_BOUNDS = ([-10.0, -5.0, 0.0], [10.0, 20.0, 1.0])
"""Bounds of the three features of `counts` and `choices` that a careful person could declare: far too wide."""

_RATES = {
    "plain": (0.2, 0.4, -0.3, 0.5),
    "rare": (-1.2, 0.5, 0.2, 0.3),
    "overdispersed": (0.5, 0.3, -0.3, 0.5),
    "zeros": (1.0, 0.3, -0.2, 0.4),
    "large": (2.5, 0.3, -0.2, 0.2),
    "no effect": (0.7, 0.0, 0.0, 0.0),
}
CHOICES = (-0.4, 0.8, -0.5, 0.6)
"""Intercept and slopes of the log odds of `choices`."""


def features(n: int, rng: np.random.Generator) -> Floats:
    """A normal column, a uniform one, and one of zeros and ones."""
    return np.column_stack([rng.normal(0, 1, n).clip(-5, 5), rng.uniform(0, 3, n), rng.integers(0, 2, n)])


def counts(kind: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Features, counts up to 100, and the slopes of the log rate: of a kind among those of `_RATES`."""
    X, (intercept, *slopes) = features(n, rng), _RATES[kind]
    rates = np.exp(intercept + X @ np.array(slopes))
    if kind == "overdispersed":
        y = rng.negative_binomial(1.0, 1 / (1 + rates))
    elif kind == "zeros":
        y = rng.poisson(rates / 0.6) * (rng.random(n) < 0.6)
    else:
        y = rng.poisson(rates)
    return X, np.minimum(y, 100).astype(float), np.array(slopes)


def rates_of(kind: str) -> Floats:
    """The true intercept and slopes of the log rate."""
    return np.array(_RATES[kind])


def choices(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Features, and a yes or no whose log odds are `CHOICES`."""
    X = features(n, rng)
    eta = CHOICES[0] + X @ np.array(CHOICES[1:])
    return X, (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)


CARE = ((0.3, 0.6, -0.4, 0.5), (-0.5, -0.5, 0.3, 0.8))
"""Intercept and slopes of the log odds of the second and third of three classes against the first."""


def care(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Features, and one of three classes whose log odds against the first are `CARE`."""
    X = features(n, rng)
    eta = np.column_stack([np.zeros(n), *(own[0] + X @ np.array(own[1:]) for own in CARE)])
    return X, np.argmax(eta + rng.gumbel(size=(n, 3)), axis=1)


_FOUR = np.random.default_rng(0).standard_normal((7, 4))
"""Intercepts and slopes of the four predictors of `four_classes`, for a strength of 1."""


def four_classes(strength: float, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Six standard normal columns, and one of four classes whose coefficients have that standard deviation."""
    X = rng.standard_normal((n, 6))
    eta = strength * (_FOUR[0] + X @ _FOUR[1:])
    return X, np.argmax(eta + rng.gumbel(size=(n, 4)), axis=1)


def four_contrasts(strength: float) -> Floats:
    """Intercept and slopes of the log odds of the other classes of `four_classes` against the first, a row each."""
    found: Floats = strength * (_FOUR[:, 1:] - _FOUR[:, :1]).T
    return found
