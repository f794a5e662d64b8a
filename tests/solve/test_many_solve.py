"""Solves for many outcomes: the same as one outcome at a time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.results.models import solve_many
from discreet.solve.equations import NormalEquations
from discreet.solve.noise_aware import noise_aware
from discreet.solve.ridge import conjugate_gradients, paper_penalty, ridge

ONE_STAGE = SimpleNamespace(stages=())


def equations(d=6, l=30, n=4000, noise=20.0, seed=0, squares=True):  # noqa: E741
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    Y = np.clip(X @ rng.normal(0, 0.3, (d, l)) + 0.2 * rng.standard_normal((n, l)), -1, 1)
    N = noise * rng.standard_normal((d, d))
    S = X.T @ X + np.triu(N) / np.sqrt(2) + np.triu(N, 1).T / np.sqrt(2)
    V, yy = X.T @ Y + noise * rng.standard_normal((d, l)), np.sum(Y**2, axis=0) + noise * rng.standard_normal(l)
    names, targets = tuple(f"x{i}" for i in range(d)), tuple(f"y{j}" for j in range(l))
    yy, s_yy = (yy, noise) if squares else (None, None)
    W = noise**2 * (np.eye(d) + 1) / 2
    return NormalEquations(names, targets, S, V, yy, noise, np.full(l, noise), s_yy, float(n), W)


@pytest.mark.parametrize("squares", [True, False])
@pytest.mark.parametrize("noise", [1e-3, 20.0, 2000.0])
def test_noise_aware_is_that_of_each_outcome(noise, squares):
    e = equations(noise=noise, squares=squares)
    one_by_one = np.column_stack([noise_aware(e.one(j))[:, 0] for j in range(30)])
    np.testing.assert_allclose(noise_aware(e), one_by_one, rtol=1e-8, atol=1e-12)


def test_more_outcomes_than_a_chunk():
    e = equations(d=3, l=1500)
    theta = noise_aware(e)
    for j in (0, 1023, 1024, 1499):
        np.testing.assert_allclose(theta[:, j], noise_aware(e.one(j))[:, 0], rtol=1e-8)


def test_outcomes_with_noise_of_their_own():
    e = equations()
    sds = np.geomspace(5, 400, 30)
    mixed = replace(e, s_V=sds)
    theta = noise_aware(mixed)
    for j in range(30):
        wanted = noise_aware(mixed.one(j))[:, 0]
        assert np.linalg.norm(theta[:, j] - wanted) <= 0.05 * np.linalg.norm(wanted)


def test_ridge_and_conjugate_gradients_agree():
    e = equations()
    direct = ridge(e.S, e.V, 50.0)
    np.testing.assert_allclose(direct, np.linalg.solve(e.S + 50.0 * np.eye(6), e.V), rtol=1e-10)
    np.testing.assert_allclose(conjugate_gradients(e.S, e.V, 50.0), direct, rtol=1e-6, atol=1e-12)
    assert np.array_equal(solve_many(ONE_STAGE, e, "ridge", 50.0), direct)
    np.testing.assert_allclose(solve_many(ONE_STAGE, e, "cg"), solve_many(ONE_STAGE, e, "ridge"), rtol=1e-6, atol=1e-12)
    with pytest.raises(ParameterError, match="solve must be"):
        solve_many(ONE_STAGE, e, "lasso")


def test_indefinite_matrices_have_a_solution_all_the_same():
    S, V = np.diag([2.0, -1.0]), np.array([[2.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(ridge(S, V, 0.0), [[1.0, 0.0], [-1.0, 0.0]])
    assert np.isfinite(conjugate_gradients(S, V, 0.0)).all()
    np.testing.assert_allclose(ridge(np.zeros((2, 2)), V, 0.0), 0.0)


def test_the_papers_penalty():
    e = equations(d=10, noise=3.0)
    wanted = np.sqrt(10 * np.log(2 * 100 / 0.05)) * np.sqrt(3.0**2 + 3.0**2)
    assert paper_penalty(e) == pytest.approx(wanted)
