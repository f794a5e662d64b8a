"""Newton's method under a bound on the norm: the constrained minimiser, also where the bound hardly binds."""

import numpy as np
import pytest
from scipy.optimize import brentq

from discreet import Budget, DPLogisticRegression
from discreet.errors import DiscreetError
from discreet.mechanisms.objective_perturbation import release as objective
from discreet.solve import newton
from discreet.solve.newton import WeightedPenalty, minimise, subgradient

RNG = np.random.default_rng(0)


def quadratic(d, size):
    Z = RNG.normal(size=(3 * d, d))
    H, b = Z.T @ Z, size * RNG.normal(size=d)
    return H, b, lambda theta: (float(theta @ H @ theta / 2), H @ theta, H)


def constrained(H, b, radius):
    """By the secular equation."""
    values, V = np.linalg.eigh(H)
    w = V.T @ b
    nu = brentq(lambda nu: np.linalg.norm(w / (values + nu)) - radius, 0, np.linalg.norm(b) / radius, xtol=1e-14)
    return -V @ (w / (values + nu))


@pytest.mark.parametrize("d", [1, 2, 12])
@pytest.mark.parametrize("part", [1e-6, 0.1, 0.9, 1 - 1e-6])
def test_the_constrained_minimiser(d, part):
    H, b, smooth = quadratic(d, 10.0)
    penalty = WeightedPenalty(np.full(d, 0.5), np.zeros(d))
    H1 = H + 0.5 * np.eye(d)
    radius = part * float(np.linalg.norm(np.linalg.solve(H1, b)))
    theta, residual = minimise(smooth, b, penalty, np.zeros(d), 1e-9, radius)
    assert residual <= 1e-9
    assert np.linalg.norm(theta) <= radius
    np.testing.assert_allclose(theta, constrained(H1, b, radius), atol=1e-7 * radius)


@pytest.mark.parametrize("gap", [1e-9, 1e-11, 1e-12, 1e-13, 1e-14])
def test_a_bound_that_hardly_binds(gap):
    """The multiplier is so small that rough minimisers do not tell on which side of the sphere they lie."""
    H, b, smooth = quadratic(4, 1e3)
    penalty = WeightedPenalty(np.full(4, 0.5), np.zeros(4))
    free = -np.linalg.solve(H + 0.5 * np.eye(4), b)
    radius = float(np.linalg.norm(free)) * (1 - gap)
    theta, residual = minimise(smooth, b, penalty, np.zeros(4), 1e-8, radius)
    assert residual <= 1e-8
    assert np.linalg.norm(theta) <= radius
    np.testing.assert_allclose(theta, free, rtol=1e-8)


def test_with_an_l1_norm_the_optimality_conditions_hold():
    H, b, smooth = quadratic(6, 20.0)
    penalty = WeightedPenalty(np.full(6, 0.5), np.full(6, 8.0))
    free, _ = minimise(smooth, b, penalty, np.zeros(6), 1e-10)
    radius = float(np.linalg.norm(free)) / 2
    theta, residual = minimise(smooth, b, penalty, np.zeros(6), 1e-8, radius)
    g = H @ theta + b + 0.5 * theta
    nu = -float((g + 8.0 * np.sign(theta)) @ theta) / radius**2
    assert nu > 0
    assert residual <= 1e-8
    assert subgradient(g + nu * theta, theta, penalty.l1) <= 1e-7


def test_minimisers_too_rough_for_the_sphere_are_made_finer():
    """Steep in one direction and flat in another: the first tolerance leaves the norm undecided."""
    rng = np.random.default_rng(53)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    H = Q @ np.diag(np.geomspace(1e7, 1, 3)) @ Q.T
    H, b = (H + H.T) / 2, rng.normal(size=3)
    b *= 1e4 / np.linalg.norm(b)
    radius = 0.9 * float(np.linalg.norm(np.linalg.solve(H + 0.1 * np.eye(3), b)))
    theta, residual = minimise(
        lambda t: (float(t @ H @ t / 2), H @ t, H),
        b,
        WeightedPenalty(np.full(3, 0.1), np.zeros(3)),
        np.zeros(3),
        2e-6,
        radius,
    )
    assert residual <= 2e-6
    np.testing.assert_allclose(theta, constrained(H + 0.1 * np.eye(3), b, radius), rtol=1e-5)


@pytest.mark.parametrize("l1", [0.0, 8.0])
def test_gradient_steps_take_over_where_newtons_make_no_progress(monkeypatch, l1):
    H, b, smooth = quadratic(6, 20.0)
    penalty = WeightedPenalty(np.full(6, 0.5), np.full(6, l1))
    usual, _ = minimise(smooth, b, penalty, np.zeros(6), 1e-9)
    monkeypatch.setattr(newton, "_model_minimiser", lambda H, g, theta, l1: theta + g)  # uphill
    stuck, left = minimise(smooth, b, penalty, np.zeros(6), 1e-9)
    assert left > 1e-9
    assert not stuck.any()
    theta, left = minimise(smooth, b, penalty, np.zeros(6), 1e-9, steepest=float(np.linalg.eigvalsh(H)[-1]))
    assert left <= 1e-9
    np.testing.assert_allclose(theta, usual, atol=1e-8)


def test_a_hessian_without_a_root_still_leads_downhill():
    H = np.full((3, 3), 1e20)
    g = np.array([1.0, 2.0, 3.0])
    found = newton._solved(H - np.eye(3), g)
    assert np.isfinite(found).all()
    assert found @ g > 0


def test_a_solver_that_stops_early_releases_nothing_and_what_it_cost_is_spent(monkeypatch):
    monkeypatch.setattr(objective, "minimise", lambda *given: (given[3], 1.0))
    X = RNG.uniform(-1, 1, (200, 2))
    model = DPLogisticRegression(epsilon=0.5, delta=1e-6, bounds_X=(-1, 1), classes=[0, 1], stages=1)
    with Budget(1, 1e-5, others=(0.9, 1e-6)) as budget:
        with pytest.raises(DiscreetError, match="what it cost is spent"):
            model.fit(X, (X[:, 0] > 0).astype(int))
        assert budget.others_left[0] < 0.9
