"""The study of many outcomes: its tables, its least squares and its errors."""

import numpy as np
import pandas as pd
import pytest
from experiments.neel2023 import outcomes
from experiments.neel2023.tables import KINDS, genotype_chunks, genotypes, problem

from discreet import Domain

N, D, L = 6000, 8, 16
DOMAIN = Domain.from_bounds([f"x{i}" for i in range(D)], [f"y{j}" for j in range(L)], bounds_X=(0, 2), bounds_y=(-1, 1))


def chunks(kind="separate"):
    return genotype_chunks(N, 10, L, kind, seed=1)


def cut(pairs):
    return ((X[:, :D], Y) for X, Y in pairs)


@pytest.fixture(scope="module")
def made():
    return problem(cut(chunks()), DOMAIN, L, [(0, L), (4, 8)], products=L)


def test_genotypes_are_counts_of_alleles_and_correlated():
    G = genotypes(20_000, 10, np.random.default_rng(0))
    assert set(np.unique(G)) == {0.0, 1.0, 2.0}
    assert np.corrcoef(G[:, 4], G[:, 5])[0, 1] > 0.25
    assert abs(np.corrcoef(G[:, 0], G[:, 9])[0, 1]) < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_lie_in_their_bounds_and_are_repeatable(kind):
    (X, Y), *_ = chunks(kind)
    assert np.abs(Y).max() <= 1
    assert Y.shape == (len(X), L)
    again = next(chunks(kind))
    assert np.array_equal(X, again[0])
    assert np.array_equal(Y, again[1])


def test_least_squares_and_errors(made):
    X, Y = (np.vstack(part) for part in zip(*cut(chunks()), strict=True))
    design = np.column_stack([np.ones(N), X])
    best = np.linalg.lstsq(design, Y)[0].T
    np.testing.assert_allclose(made.best, best, atol=1e-4)
    np.testing.assert_allclose(made.A, design.T @ design / N, rtol=1e-9)
    np.testing.assert_allclose(made.explained(L), np.var(design @ best.T, axis=0), rtol=1e-3)
    np.testing.assert_allclose(made.YY, Y.T @ Y, rtol=1e-9)
    assert made.norms[4, 8] == pytest.approx(np.linalg.norm(Y[:, 4:8], axis=1).max())
    np.testing.assert_allclose(made.excess(made.best), 0.0, atol=1e-20)


def test_every_method_is_measured(made):
    rows = outcomes.shared(made, 4, 4, 0, L) + outcomes.independent(made, 4)
    assert {row["method"] for row in rows} == set(outcomes.METHODS)
    assert all(0 < row["error"] < 50 for row in rows)


def test_the_power_of_l_is_read_off_the_errors():
    lines = [
        {"data": "a", "rows": 9, "outcomes": k, "method": "independent", "error": 0.1 * k**0.5} for k in (1, 4, 16)
    ]
    wide = pd.DataFrame(lines).pivot_table(index=["data", "rows", "outcomes"], columns="method", values="error")
    assert outcomes.growth(wide, "independent", 1, 16).tolist() == pytest.approx([0.5])
