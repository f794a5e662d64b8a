"""Tables with many outcomes for the study of `ReuseCov`: genotype-like ones, and UCI sets with engineered outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from discreet import Domain, Moments
from experiments import uci
from experiments.uci import Floats

CHUNK = 5_000
FACTORS = 16
UCI_SETS = ("keggundirected", "pol")
KINDS = ("separate", "correlated", "strong")
"""Outcomes with effects and errors of their own; made up mostly of `FACTORS` common factors; with large effects."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Exact moments of a table, and what the study measures errors with.

    Parameters
    ----------
    moments : Moments
        Of features x0, ... and outcomes y0, ...
    A : array
        X'X/n of the design, constant first, in user units.
    best : array
        Least squares, a row (intercept, coefficients) for each outcome.
    YY : array or None
        Y'Y of the outcomes in [-1, 1], where asked for.
    norms : dict
        For some (start, stop), the largest norm of these outcomes in a row.
    """

    moments: Moments
    A: Floats
    best: Floats
    n: int
    YY: Floats | None
    sums: Floats
    norms: dict[tuple[int, int], float]

    def excess(self, params: Floats) -> Floats:
        """Mean squared difference of predictions from those of least squares, by outcome."""
        off = params - self.best[: len(params)]
        return np.einsum("ji,ik,jk->j", off, self.A, off)

    def explained(self, count: int) -> Floats:
        """The same for predicting the mean."""
        mean = np.zeros_like(self.best[:count])
        mean[:, 0] = self.best[:count] @ self.A[0]
        return self.excess(mean)


def genotypes(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Numbers of minor alleles, 0, 1 or 2: two haplotypes, neighbours correlated by 0.7, frequencies 0.05 to 0.5."""
    cut = ndtri(np.random.default_rng(7).uniform(0.05, 0.5, d))
    total = np.zeros((n, d))
    for _ in range(2):
        Z = rng.standard_normal((n, d))
        for j in range(1, d):
            Z[:, j] = 0.7 * Z[:, j - 1] + np.sqrt(1 - 0.49) * Z[:, j]
        total += cut > Z
    return total


def genotype_chunks(n: int, d: int, l: int, kind: str, seed: int) -> Iterator[tuple[Floats, Floats]]:  # noqa: E741
    """Genotypes with outcomes in [-1, 1] that depend on ten columns each.

    Half of the variance is explained, and the sd is 1/3; for strong effects nine tenths, and 1/2.
    """
    explained, sd = (0.9, 1 / 2) if kind == "strong" else (0.5, 1 / 3)
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    scale = genotypes(20_000, d, np.random.default_rng(8))
    effects = np.zeros((d, FACTORS if kind == "correlated" else l))
    for column in effects.T:
        column[rng.choice(d, 10, replace=False)] = rng.standard_normal(10)
    effects *= np.sqrt(explained) / (scale @ effects).std(axis=0)
    centre = scale.mean(axis=0)
    loadings = rng.standard_normal((FACTORS, l))
    loadings /= np.linalg.norm(loadings, axis=0)
    for start in range(0, n, CHUNK):
        X = genotypes(min(CHUNK, n - start), d, rng)
        signal = (X - centre) @ effects
        errors = np.sqrt(1 - explained) * rng.standard_normal(signal.shape, dtype=np.float32)
        if kind == "correlated":
            own = rng.standard_normal((len(X), l), dtype=np.float32)
            Y = np.sqrt(0.9) * ((signal + errors) @ loadings) + np.sqrt(0.1) * own
        else:
            Y = signal + errors
        yield X, np.clip(sd * Y, -1, 1)


def uci_chunks(name: str, folder: Path, l: int) -> Iterator[tuple[Floats, Floats]]:  # noqa: E741
    """Every second column as a feature; outcomes are random waves of all columns and of the set's own outcome."""
    X, y = uci.load(name, folder)
    Z, t = uci.prepare(X, y)
    rng = np.random.default_rng([len(y), l])
    all_columns = np.column_stack([Z * np.sqrt(Z.shape[1]), t])
    weights = rng.standard_normal((all_columns.shape[1], l)) / np.sqrt(all_columns.shape[1])
    Y = np.sin(all_columns @ weights + rng.uniform(-1, 1, l))
    features = Z[:, ::2]
    for start in range(0, len(y), CHUNK):
        yield features[start : start + CHUNK], Y[start : start + CHUNK]


def problem(
    chunks: Iterator[tuple[Floats, Floats]],
    domain: Domain,
    l: int,  # noqa: E741
    windows: list[tuple[int, int]],
    products: int,
) -> Problem:
    """Sum up a table; Y'Y of the first `products` outcomes."""
    targets = [f"y{j}" for j in range(l)]
    moments: Moments | None = None
    YY = None
    n, sums, norms = 0, np.zeros(l), dict.fromkeys(windows, 0.0)
    for X, Y in chunks:
        part = Moments.from_source((X, Y), domain, targets=targets, n_jobs=1)
        moments = part if moments is None else moments + part
        if products:
            head = Y[:, :products]
            YY = head.T @ head if YY is None else np.add(YY, head.T @ head, out=YY)
        norms = {(i, j): max(norm, float(np.linalg.norm(Y[:, i:j], axis=1).max())) for (i, j), norm in norms.items()}
        n, sums = n + len(X), sums + Y.sum(axis=0)
    A, best = least_squares(moments)
    return Problem(moments, A / n, best, n, YY, sums, norms)


def least_squares(moments: Moments) -> tuple[Floats, Floats]:
    """X'X in user units, constant first, and a row (intercept, coefficients) for each outcome in [-1, 1]."""
    domain, l = moments.domain, len(moments.targets)  # noqa: E741
    features, outcomes = list(range(len(domain.entries) - l)), domain.indices(moments.targets)
    cross = moments.integers(np.repeat(features, l), np.tile(outcomes, len(features))).reshape(-1, l)
    maps = np.array([domain.map(domain.entries[i].column) for i in features])
    M = np.diag(maps[:, 1])
    M[:, 0] += np.where(np.arange(len(M)) > 0, maps[:, 0], 0.0)
    A = M @ moments.floats(features) @ M.T
    return A, np.linalg.lstsq(A, M @ (cross.astype(float) * 2.0**-40))[0].T
