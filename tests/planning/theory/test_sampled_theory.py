"""Theorems 4.2 and 4.5 of neel2023: the printed orders, and the mended bounds against simulated errors."""

from math import log, sqrt

import numpy as np
import pytest

from discreet.planning.theory import association_bound, sampled_bound, sampled_rate
from discreet.privacy import gdp
from discreet.solve.projection import OutcomeSpectrum, project


def test_the_printed_orders():
    n, d, l, epsilon, delta, X, Y, w, rho = 500.0, 9, 40, 0.7, 1e-5, 2.0, 3.0, 0.4, 0.1  # noqa: E741
    c = sqrt(2 * log(1.25 / delta)) / epsilon
    order = c * sqrt(log(2 / rho)) * Y**2 * X**2 / (n * sqrt(d))
    given = {"norm_x": X, "norm_y": Y, "rho": rho}
    assert association_bound(n, d, l, epsilon, delta, printed=True, **given) == pytest.approx(order)
    s, lambda_ = 50.0, 0.3
    q = log(2 * d / rho) / s
    inner = X**4 * n**2 / (s**4 * epsilon**2) * w**2 + l * X**2 * Y**2 / (n**2 * epsilon**2)
    order = w * sqrt(X * Y * q + d / lambda_ * (1 + q) * inner)
    assert sampled_rate(s, n, d, l, epsilon, lambda_, norm_w=w, **given) == pytest.approx(order)


@pytest.mark.parametrize("l", [3, 600])
def test_theorem_4_2_holds_for_the_projection(l):  # noqa: E741
    """Rows of norm 1 and outcomes in {-1, 1}; few outcomes, where noise alone is less, and many."""
    n, d, epsilon, delta, rng = 200, 8, 1.0, 1e-6, np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = rng.choice([-1.0, 1.0], (n, l))
    G, r = X.T @ Y / n, 2 * sqrt(l) / (n * gdp.mu(epsilon=epsilon, delta=delta))
    spectrum = OutcomeSpectrum.of_gram(Y.T @ Y) if l < n else OutcomeSpectrum.of_rows(Y)
    errors = []
    for _ in range(40):
        found = project(G + r * rng.standard_normal(G.shape), spectrum, float(n), 1.0).G
        errors.append(np.mean((found - G) ** 2))
    bound = association_bound(n, d, l, epsilon, delta)
    assert np.quantile(errors, 0.95) < bound
    noise = r**2
    assert (bound < noise) == (l == 600)
    assert max(errors) < 1.5 * noise


def test_theorem_4_5_holds_for_a_sample_of_the_rows():
    n, d, lambda_, s1, s2, rng = 40_000, 4, 0.05, 2e-3, 2e-3, np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = np.array([0.6, -0.3, 0.1, 0.0])
    y = np.clip(X @ theta + rng.normal(0, 0.1, n), -1, 1)
    S, v = X.T @ X / n, X.T @ y / n
    best = np.linalg.solve(S, v)
    for s in (4000, 20_000):
        bound = sampled_bound(s, d, lambda_, s1, s2, norm_w=float(np.linalg.norm(best)))
        errors = []
        for _ in range(30):
            part = X[rng.choice(n, s, replace=False)]
            E = rng.standard_normal((d, d)) * s1 / 2
            noisy = (
                part.T @ part / s + E + E.T + np.diag(rng.standard_normal(d) * s1 * sqrt(1 / 2)) + lambda_ * np.eye(d)
            )
            w = np.linalg.solve(noisy, v + s2 * rng.standard_normal(d))
            errors.append((w - best) @ S @ (w - best))
        assert np.quantile(errors, 0.95) < bound < 1


def test_the_mended_bound_does_not_depend_on_the_unit_of_the_features():
    """Features in units c times smaller: X, the noise of X'y and w scale by c, lambda and the noise of X'X by c^2."""
    bounds = [sampled_bound(1e5, 5, 0.05 * c**2, 1e-4 * c**2, 1e-4 * c, norm_x=c, norm_w=0.5 / c) for c in (1.0, 10.0)]
    assert bounds[0] == pytest.approx(bounds[1])
    assert sampled_bound(10, 5, 0.01, 1e-4, 1e-4) == np.inf
