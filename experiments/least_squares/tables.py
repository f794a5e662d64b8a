"""The tables of the study: UCI sets, tables that others published figures on, and made-up people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from discreet import Domain
from discreet.domain.levels import model_design
from discreet.privacy import gdp
from discreet.released.units import in_user_units
from discreet.results.private_moments import PrivateMoments
from experiments import uci
from experiments.uci import Floats

FEWEST_ROWS, MOST_COLUMNS, MARGIN = 900, 60, 0.05
"""UCI sets of at least so many rows and at most so many columns; bounds lie this share of the range beyond it."""

Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit, rows to predict, and the declared bounds.

    Parameters
    ----------
    train, test : DataFrame
        Features, then the outcome.
    domain : Domain
        The declared bounds.
    delta : float
        Of the promise.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    domain: Domain
    delta: float = 1e-6

    @property
    def target(self) -> str:
        """The outcome, the last column."""
        return str(self.train.columns[-1])

    def arrays(self, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        """(1, features) and outcome of rows, clipped to the bounds; a category has a column for each level but one."""
        columns: list[Floats] = [np.ones(len(frame))]
        for name in frame.columns[:-1]:
            levels = self.domain.columns[name].levels
            if levels:
                columns += [(frame[name] == level).to_numpy(float) for level in levels[1:]]
            else:
                columns.append(frame[name].clip(*self.ends(name)).to_numpy(float))
        return np.column_stack(columns), frame[self.target].clip(*self.ends(self.target)).to_numpy(float)

    def ends(self, name: str) -> tuple[float, float]:
        """The declared bounds of a number."""
        centre, half = self.domain.map(name)
        return centre - half, centre + half


def hc1(Z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Coefficients of least squares and their robust standard errors (HC1).

    Examples
    --------
    >>> b, se = hc1(np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]]), np.array([0.0, 2.0, 3.0, 5.0]))
    >>> b.round(6).tolist(), se.round(3).tolist()
    ([1.0, 3.0], [1.0, 1.414])
    """
    scale = np.maximum(np.abs(Z).max(axis=0), 1e-300)
    A = Z / scale
    G = np.linalg.pinv(A.T @ A)
    b = G @ (A.T @ y)
    scores = A * (y - A @ b)[:, None]
    n, p = Z.shape
    return b / scale, np.sqrt(np.diag(G @ (scores.T @ scores) @ G) * n / (n - p)) / scale


# ---------------------------------------------------------------- real tables


def uci_names(folder: Path) -> list[str]:
    """The sets of at least 900 rows and at most 60 columns."""
    shapes = {name: _set(name, str(folder))[0].shape for name in uci.available(folder)}
    return [name for name, (n, d) in shapes.items() if n >= FEWEST_ROWS and d <= MOST_COLUMNS]


@cache
def _set(name: str, folder: str) -> tuple[Floats, Floats]:
    return uci.load(name, Path(folder))


def uci_rows(name: str, folder: str, split: int) -> Rows:
    """One 90/10 split of a set, without columns that do not vary; bounds 5 % beyond the range."""
    X, y = _set(name, folder)
    X = X[:, X.std(axis=0) > 0]
    frame = pd.DataFrame({f"x{i}": column for i, column in enumerate(X.T)} | {"y": y})
    train, test = list(uci.splits(len(y), split + 1))[split]
    return Rows(frame.iloc[train], frame.iloc[test], Domain(_beyond(frame)), uci.delta(len(y)))


def _beyond(frame: pd.DataFrame) -> Bounds:
    """Bounds 5 % of the range beyond it, made from the data: for studies only."""
    ends = {str(name): (float(frame[name].min()), float(frame[name].max())) for name in frame}
    return {name: (low - MARGIN * (high - low), high + MARGIN * (high - low)) for name, (low, high) in ends.items()}


DIAMONDS: Bounds = {
    "carat": (0, 10),
    "cut": (1, 5),
    "color": (1, 7),
    "clarity": (1, 8),
    "depth": (40, 80),
    "table": (40, 100),
    "x": (0, 20),
    "y": (0, 20),
    "z": (0, 20),
    "price": (0, 20_000),
}
_GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("JIHGFED"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


def diamonds(folder: str, split: int) -> Rows:
    """Prices of diamonds as coded by Amin et al. 2023, a tenth of the rows held back."""
    frame = pd.read_csv(Path(folder) / "published" / "diamonds.csv.gz")
    for name, grades in _GRADES.items():
        frame[name] = frame[name].map({grade: i for i, grade in enumerate(grades, start=1)})
    order = np.random.default_rng(split).permutation(len(frame))
    held = len(frame) // 10
    frame = frame[list(DIAMONDS)].astype(float)
    return Rows(frame.iloc[order[held:]], frame.iloc[order[:held]], Domain(DIAMONDS), 1e-5)


def air(folder: str, split: int) -> Rows:
    """Air Quality with its codes of -200 kept; all rows are fitted and predicted."""
    path = Path(folder) / "published" / "air.csv.gz"
    frame = pd.read_csv(path, sep=";", decimal=",").dropna(axis=1, how="all").dropna()
    frame = frame.drop(columns=["Date", "Time"]).astype(float)
    frame = frame[[name for name in frame if name != "CO(GT)"] + ["CO(GT)"]]
    frame.columns = [f"x{i}" for i in range(frame.shape[1] - 1)] + ["y"]
    return Rows(frame, frame, Domain(_beyond(frame)))


AIR_EPSILON = gdp.epsilon(1.0, 1e-6)
"""The epsilon of mu = 1."""

CPS: Bounds = {
    "educ_years": (0, 25),
    "experience": (0, 80),
    "experience_sq": (0, 6400),
    "female": (0, 1),
    "log_wage": (0, 15),
}


def cps(folder: str, split: int) -> Rows:
    """Log wages of CPS ASEC 2024; all rows are fitted and predicted."""
    frame = pd.read_csv(Path(folder) / "published" / "cps2024.csv.gz")[list(CPS)].astype(float)
    return Rows(frame, frame, Domain(CPS))


PUBLISHED: dict[str, Callable[[str, int], Rows]] = {"diamonds": diamonds, "air": air, "cps": cps}


# ---------------------------------------------------------------- made-up people

Made = tuple[dict[str, Floats], dict[str, tuple[float, float] | list[str]]]


def normal(n: int, rng: np.random.Generator) -> Made:
    """Normal features with one thing in common, normal errors of equal variance: it flatters every method."""
    X = 0.6 * rng.standard_normal((n, 6)) + 0.3 * rng.standard_normal((n, 1))
    y = X @ np.linspace(1, -1, 6) + rng.standard_normal(n)
    named = {f"x{i}": x for i, x in enumerate(X.T)}
    return named | {"y": y}, dict.fromkeys(named, (-5.0, 5.0)) | {"y": (-20.0, 20.0)}


def spending(n: int, rng: np.random.Generator) -> Made:
    """Medical spending: 30 % zeros, the others log-normal, more and more spread with chronic illness."""
    age, sex = rng.integers(18, 90, n).astype(float), (rng.random(n) < 0.5).astype(float)
    chronic, income = rng.poisson(1.0, n).clip(0, 8).astype(float), np.exp(rng.normal(10, 0.6, n))
    y = np.exp(4.5 + 0.01 * (age - 50) + 0.3 * chronic + 0.1 * sex + rng.standard_normal(n))
    found = {"age": age, "chronic": chronic, "sex": sex, "income": income, "y": np.where(rng.random(n) < 0.3, 0.0, y)}
    return found, {"age": (0, 110), "chronic": (0, 10), "sex": (0, 1), "income": (0, 200_000), "y": (0, 20_000)}


def far(n: int, rng: np.random.Generator) -> Made:
    """Two columns that nearly say the same, and three rows in a thousand far out."""
    a, c, out = rng.standard_normal(n), rng.standard_normal(n), rng.random(n) < 0.003
    b = a + 0.1 * rng.standard_normal(n)
    a, c = np.where(out, a + 6 * rng.standard_normal(n), a), np.where(out, 8 * c, c)
    y = 1 + a - 0.5 * b + 0.3 * c + rng.standard_normal(n)
    return {"a": a, "b": b, "c": c, "y": y}, dict.fromkeys("abc", (-40.0, 40.0)) | {"y": (-60.0, 60.0)}


def uneven(n: int, rng: np.random.Generator) -> Made:
    """Heavy-tailed errors whose spread grows along a feature."""
    x, w = rng.uniform(0, 10, n), rng.exponential(1, n)
    y = 5 + x + 2 * w + (0.3 + 0.2 * x) * rng.standard_t(4, n)
    return {"x": x, "w": w, "y": y}, {"x": (0, 10), "w": (0, 15), "y": (-50, 100)}


_SHARES = {"a": 0.5, "b": 0.3, "c": 0.189, "percent": 0.01, "tenth": 0.001}


def groups(n: int, rng: np.random.Generator) -> Made:
    """A category with levels of 1 % and of 0.1 % of the rows, and one without any."""
    g, x = rng.choice(list(_SHARES), n, p=list(_SHARES.values())), rng.normal(50, 10, n)
    effects = {"a": 0.0, "b": 1.0, "c": -1.0, "percent": 3.0, "tenth": -3.0}
    y = 10 + 0.2 * x + np.array([effects[level] for level in g]) + 3 * rng.standard_normal(n)
    return {"x": x, "g": g, "y": y}, {"x": (0, 100), "g": [*_SHARES, "nobody"], "y": (-20, 60)}


def cubic(n: int, rng: np.random.Generator) -> Made:
    """The log-wage equation of Barrientos et al. 2024: education, experience to the third power, non-white."""
    educ = np.clip(np.rint(rng.normal(13.5, 2.7, n)), 0, 20)
    ex = np.clip(rng.integers(18, 65, n) - educ - 6, 0, 50).astype(float)
    nonwhite = (rng.random(n) < 0.25).astype(float)
    y = 1.2 + 0.1 * educ + 0.06 * ex - 0.0015 * ex**2 + 1e-5 * ex**3 - 0.12 * nonwhite + 0.55 * rng.standard_normal(n)
    found = {"educ": educ, "ex": ex, "ex2": ex**2, "ex3": ex**3, "nonwhite": nonwhite, "y": y}
    return found, {
        "educ": (0, 20),
        "ex": (0, 50),
        "ex2": (0, 2500),
        "ex3": (0, 125_000),
        "nonwhite": (0, 1),
        "y": (0, 8),
    }


MADE_UP = {
    "normal": (normal, 10_000),
    "spending": (spending, 10_000),
    "far": (far, 10_000),
    "uneven": (uneven, 10_000),
    "groups": (groups, 10_000),
    "cubic": (cubic, 30_000),
}
"""Populations, and the number of rows of a sample."""
POPULATION = 100_000


@cache
def population(kind: str) -> Rows:
    """A whole population."""
    columns, declared = MADE_UP[kind][0](POPULATION, np.random.default_rng([7, list(MADE_UP).index(kind)]))
    frame = pd.DataFrame(columns)
    return Rows(frame, frame, Domain(declared))


def sample(kind: str, seed: int) -> Rows:
    """Rows of a population, drawn with replacement."""
    people, n = population(kind), MADE_UP[kind][1]
    drawn = np.random.default_rng([list(MADE_UP).index(kind), seed]).integers(0, POPULATION, n)
    frame = people.train.iloc[drawn].reset_index(drop=True)
    return Rows(frame, frame, people.domain)


@cache
def truth(kind: str) -> Floats:
    """Least squares on a whole population."""
    people = population(kind)
    return hc1(*people.arrays(people.train))[0]


_ROUNDS = 8


def bounded_truth(released: PrivateMoments, kind: str) -> Floats:
    """The fit to a whole population in which far rows and residuals count as the last stage says, in user units.

    It is where the sum of w x clip(w (y - theta'x), -b, b) is 0, x the mapped regressors.
    """
    stage, domain, people = released.stages[-1], released.domain, population(kind)
    own, b = stage.event.coordinates, stage.event.widths[0]
    x, (c, h) = _mapped(people, own.design), domain.map(people.target)
    y = (people.arrays(people.train)[1] - c) / h
    Z, theta = x @ own.P.floats, own.theta.floats[:, 0].copy()
    w = np.minimum(1.0, own.radius / np.linalg.norm(Z, axis=1))
    U = Z * (w / own.radius)[:, None]
    step = own.P.floats @ np.linalg.pinv(U.T @ U, rcond=1e-9, hermitian=True) * (b / own.radius)
    for _ in range(_ROUNDS):
        theta += step @ (U.T @ np.clip(w * (y - x @ theta) / b, -1, 1))
    full, K = model_design(domain, own.design)
    coef, intercept = in_user_units(domain, full, K.T @ theta)
    return np.concatenate([[c + h * intercept], h * coef])


@cache
def _mapped(people: Rows, design: tuple[str, ...]) -> Floats:
    """The coordinates of a design for all rows of a population, mapped to the units of the release."""
    domain, frame, columns = people.domain, people.train, [np.ones(len(people.train))]
    for i in domain.indices(design[1:]):
        entry, (c, h) = domain.entries[i], (domain.centre[i], domain.half[i])
        if levels := domain.columns[entry.column].levels:
            columns.append((frame[entry.column] == levels[domain.positions[entry.column].index(i)]).to_numpy(float))
        else:
            columns.append(np.clip((frame[entry.column].to_numpy(float) - c) / h, -1, 1))
    return np.column_stack(columns)


def overlap(one: Floats, other: Floats) -> Floats:
    """The mean share of two intervals that lies in both; below 0 where they are apart.

    Examples
    --------
    >>> overlap(np.array([[0.0, 2.0]]), np.array([[1.0, 5.0]])).tolist()
    [0.375]
    """
    both = np.minimum(one[:, 1], other[:, 1]) - np.maximum(one[:, 0], other[:, 0])
    found: Floats = (both / (one[:, 1] - one[:, 0]) + both / (other[:, 1] - other[:, 0])) / 2
    return found
