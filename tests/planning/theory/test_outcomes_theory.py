"""neel2023's orders, the cost column of figure 1, and X'X from a sample."""

import numpy as np
import pytest

from discreet.planning.theory import (
    paper_baseline,
    private_lower_bound,
    regime,
    reuse_cost,
    reuse_rate,
    sampling_excess,
)

ROWS = {  # n, d, outcomes k, w, labels -> the bound of figure 1's row, X = Y = 1
    1: (1e3, 10_000, 1e4, 100.0, "public", lambda n, d, k, w: np.sqrt(d) * w**2 / n),
    2: (1e6, 100, 1e6, 1.0, "public", lambda n, d, k, w: w * d**0.25 / np.sqrt(n)),
    3: (1e6, 100, 50, 100.0, "private", lambda n, d, k, w: np.sqrt(d) * w**2 / n),
    4: (1e6, 100, 5000, 3.0, "private", lambda n, d, k, w: w * np.sqrt(k * d) / n),
}
COSTS = {1: lambda n, d, k, w: 1, 2: lambda n, d, k, w: np.sqrt(n) / d**0.25 / w, 3: lambda n, d, k, w: 1,
         4: lambda n, d, k, w: np.sqrt(k) / w}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_every_row_of_figure_1(row):
    n, d, k, w, labels, bound = ROWS[row]
    given = {"norm_w": w, "labels": labels}
    assert reuse_rate(n, d, k, **given) == pytest.approx(bound(n, d, k, w), rel=0.5)
    assert reuse_cost(n, d, k, **given) == pytest.approx(COSTS[row](n, d, k, w), rel=0.5)


def test_e36_row_2_prints_a_cost_that_its_bound_does_not_have():
    n, d, k, w, labels, bound = ROWS[2]
    lower = np.sqrt(d) * w**2 / n
    assert bound(n, d, k, w) / lower == pytest.approx(np.sqrt(n) / d**0.25)
    assert n / d**0.25 > 100 * bound(n, d, k, w) / lower
    assert reuse_cost(n, d, k, labels=labels, norm_w=w) == pytest.approx(bound(n, d, k, w) / lower, rel=0.01)


def test_one_outcome_costs_what_the_lower_bound_of_wang2018_says():
    n, d, epsilon = 1e6, 49, 0.5
    lower = private_lower_bound(n, d, epsilon, norm_theta=8.0, norm_y=0.1) / n
    assert reuse_rate(n, d, 1, epsilon, norm_w=8.0, norm_y=0.1) == pytest.approx(lower, rel=0.02)
    l = np.array([1, 16, 256])  # noqa: E741
    assert paper_baseline(n, d, l, epsilon) == pytest.approx(np.sqrt(l) * paper_baseline(n, d, 1, epsilon))
    assert np.all(reuse_rate(n, d, l, epsilon) <= paper_baseline(n, d, l, epsilon))


def test_the_orders_are_those_of_the_bounds_with_constants():
    """How `regime`'s errors, which hold, change with n and with the number of outcomes."""
    given = {"norm_x": 1.0, "norm_w": 1.0}
    n, l = np.geomspace(1e5, 1e8, 4), np.geomspace(100, 1e5, 4)  # noqa: E741
    by_n = [regime(k, 100, 10, epsilon=1, delta=1e-8, **given).errors["gaussian"] for k in n]
    by_l = [regime(1e6, 100, int(k), epsilon=1, delta=1e-8, **given).errors["gaussian"] for k in l]
    for measured, order in (
        (by_n, reuse_rate(n, 100, 10)),
        (by_l, reuse_rate(1e6, 100, l)),
    ):
        ratio = np.array(measured) / order
        assert ratio.max() / ratio.min() < 1.6


def test_the_paper_row_of_regime_tells_the_mended_cost():
    assert (
        "sqrt(n)" in regime(1e6, 100, 10**6, epsilon=1, delta=1e-8, labels="public", norm_x=1.0, norm_w=1.0).paper_row
    )


def sampled_excess(rng, X, y, lambda_, s, count):
    """|w_s - w|^2 in the norm of X'X/n + lambda I, for many samples."""
    n, d = X.shape
    S, v = X.T @ X / n + lambda_ * np.eye(d), X.T @ y / n
    w, found = np.linalg.solve(S, v), []
    for _ in range(count):
        some = X[rng.choice(n, s, replace=False)]
        apart = np.linalg.solve(some.T @ some / s + lambda_ * np.eye(d), v) - w
        found.append(apart @ S @ apart)
    return np.array(found)


def test_the_sampling_bound_holds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) * [1, 1, 0.3, 0.1, 2]
    X /= np.linalg.norm(X, axis=1).max()
    y = np.clip(X @ rng.normal(size=5), -1, 1)
    for s in (500, 2000):
        found = sampled_excess(rng, X, y, 0.05, s, 200)
        bound = float(sampling_excess(s, 5, 0.05, rho=0.05))
        assert np.isinf(bound) or np.mean(found > bound) <= 0.05
    assert np.isfinite(sampling_excess(2000, 5, 0.05))
    assert np.isinf(sampling_excess(10, 5, 0.05))
    falls = sampling_excess(np.array([1e6, 1e8]), 5, 0.05)
    assert falls[0] / falls[1] == pytest.approx(100, rel=0.1)


def test_e37_lemma_12_depends_on_the_unit_of_the_features():
    """X Y log(2 d/rho)/(lambda s) falls like 1/c when X is scaled by c and lambda by c^2; nothing else changes."""
    rng = np.random.default_rng(1)
    X, c = rng.uniform(-1, 1, (1000, 3)), 1e4
    y = np.clip(X @ [0.5, 0.2, -0.4], -1, 1)
    one, other = (sampled_excess(np.random.default_rng(2), k * X, y, 0.1 * k**2, 100, 50).mean() for k in (1.0, c))
    assert other == pytest.approx(one)
    printed = [np.sqrt(3) * k * np.log(2 * 3 / 0.05) / (0.1 * k**2 * 100) for k in (1.0, c)]
    assert printed[1] < other < sampling_excess(5000, 3, 0.1 * c**2, norm_x=np.sqrt(3) * c)
    assert sampling_excess(5000, 3, 0.1 * c**2, norm_x=c) == pytest.approx(sampling_excess(5000, 3, 0.1))
