"""The corner argument, declared promises, calibrations from public facts, output perturbation: by brute force."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from discreet.errors import ParameterError
from discreet.mechanisms.posterior_sampling import estimator as papers_ops
from discreet.mechanisms.posterior_sampling.estimator import CALIBRATIONS, PublicFacts
from discreet.privacy import gdp, ops
from discreet.privacy.guarantee import add_remove
from discreet.privacy.laws import Point, together

FACTS = PublicFacts(epsilon=1.0, delta=1e-6, B=1.0, Y=1.0, n_max=500, d=4)


# The corner (8.3)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.1, 1.0, 5.0, 10.0, 40.0])
def test_the_curve_grows_towards_the_corner(epsilon):
    m = np.geomspace(1e-9, ops.GOLDEN, 300)
    rho = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 120)])
    values = ops.delta(epsilon, m[:, None], rho, 1.0)
    slack = 1e-11 * values + 1e-300
    assert (np.diff(values, axis=0) >= -slack[1:]).all()
    assert (np.diff(values, axis=1) >= -slack[:, 1:]).all()


def test_beyond_the_golden_ratio_the_corner_is_not_the_worst():
    """At rho = 10, epsilon = 10: delta falls from 0.857 at m = 17.8 to 0.799 at 31.6."""
    assert ops.delta(10, 17.8, 10, 1) == pytest.approx(0.857, abs=5e-4)
    assert ops.delta(10, 31.6, 10, 1) == pytest.approx(0.799, abs=5e-4)
    with pytest.raises(ParameterError, match="sqrt 5"):
        ops.worst_delta(10.0, 1.62, 1.0)


def test_the_golden_ratio_is_sharp():
    """Just above it there is a place where the curve falls with the leverage; just below there is none."""
    rhos = np.linspace(0, 40, 400)
    assert min(slopes(1e-9, 1.61, rho)[1] for rho in rhos) >= 0
    assert min(slopes(1e-9, 1.63, rho)[1] for rho in rhos) < 0


def slopes(epsilon, m, rho):
    """The derivatives printed in section 8.3."""
    s2 = 1 + m
    t = math.sqrt(2 * epsilon + math.log(s2) + rho**2 / s2)
    q = [math.exp(-((v - rho / s2) ** 2) * s2 / (2 * m)) * math.sqrt(s2 / (2 * math.pi * m)) for v in (t, -t)]
    by_rho = math.exp(epsilon) * m / s2 * (q[0] - q[1])
    by_m = math.exp(epsilon) / (2 * s2) * (t * (q[0] + q[1]) - rho * m / s2 * (q[0] - q[1]))
    return by_rho, by_m


@pytest.mark.parametrize(
    ("epsilon", "m", "rho"), [(0.0, 0.3, 1.0), (1.0, 0.1, 2.0), (2.0, 1.5, 4.0), (10.0, 20.0, 10.0)]
)
def test_the_derivatives_of_the_proof(epsilon, m, rho):
    by_rho, by_m = slopes(epsilon, m, rho)
    step = 1e-5
    rise = ops.delta(epsilon, m, rho * (1 + step), 1.0) - ops.delta(epsilon, m, rho * (1 - step), 1.0)
    assert rise / (2 * step * rho) == pytest.approx(by_rho, rel=1e-4)
    rise = ops.delta(epsilon, m * (1 + step), rho, 1.0) - ops.delta(epsilon, m * (1 - step), rho, 1.0)
    assert rise / (2 * step * m) == pytest.approx(by_m, rel=1e-4)


# Limits


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-15), (3.0, 1e-3), (20.0, 1e-6)])
def test_limits_are_safe_and_tight(epsilon, delta):
    top = ops.leverage_limit(epsilon, delta)
    assert ops.worst_delta(epsilon, top, 0.0) <= delta
    if top < ops.GOLDEN:
        assert ops.worst_delta(epsilon, top * (1 + 1e-8), 0.0) > delta
    m = top * np.array([1e-6, 0.01, 0.5, 0.99])
    rho = ops.residual_limit(epsilon, delta, m)
    assert (rho > 0).all()
    assert (ops.worst_delta(epsilon, m, rho) <= delta).all()
    assert (ops.worst_delta(epsilon, m, rho * (1 + 1e-6)) > delta).all()


def test_where_nothing_is_feasible_the_limit_is_0():
    assert ops.residual_limit(0.1, 1e-6, 1.0) == 0
    assert ops.gaussian_residual_limit(0.02, 1e-8, 1.0) == 0


@pytest.mark.parametrize(
    ("mu", "delta", "m"), [(0.2, 1e-7, 0.05), (0.02, 1e-9, 1e-3), (1.0, 1e-4, 0.2), (0.3, 1e-15, 1e-2)]
)
def test_gaussian_limits_hold_at_every_epsilon(mu, delta, m):
    rho = ops.gaussian_residual_limit(mu, delta, m)
    assert 0 < rho * math.sqrt(m) < mu
    epsilon = np.linspace(0, mu * mu / 2 + 14 * mu, 20_011)
    declared_curve = delta + (1 - delta) * ops.gaussian_delta(epsilon, mu)[0]
    for share in (1.0, 0.9, 0.3):  # below the corner too
        for smaller in (m, m / 2, m / 100):
            assert (ops.delta(epsilon, smaller, share * rho, 1.0) <= declared_curve).all()
            assert (ops.delta_with(epsilon, smaller, share * rho, 1.0) <= declared_curve * (1 + 1e-9)).all()
    over = ops.delta(epsilon, m, rho * 1.02, 1.0) - declared_curve
    assert over.max() > 0


def test_the_bound_between_grid_points_is_a_bound():
    rng = np.random.default_rng(0)
    for _ in range(40):
        mu, delta, m = 10 ** rng.uniform(-2, 0.5), 10 ** rng.uniform(-9, -2), 10 ** rng.uniform(-5, 0)
        rho = mu / math.sqrt(m) * rng.uniform(0.2, 1.2)
        epsilon = np.linspace(0, mu * mu / 2 + 10 * mu, 5003)
        difference = ops.delta(epsilon, m, rho, 1.0) - (1 - delta) * ops.gaussian_delta(epsilon, mu)[0]
        bound = ops.gaussian_excess(mu, delta, m, rho) + delta
        assert difference.max() <= bound
        assert bound <= difference.max() + 2e-3 * max(ops.delta(0, m, rho, 1.0), 1e-3)


# Declared stages (8.4)


def two_point(epsilon_o, delta_o):
    """The worst pair of an (epsilon_o, delta_o)-private stage: four outcomes."""
    p = math.exp(epsilon_o) / (1 + math.exp(epsilon_o))
    first = np.array([delta_o, (1 - delta_o) * p, (1 - delta_o) * (1 - p), 0.0])
    return first, first[::-1]


def composed_delta(epsilon, epsilon_o, delta_o, mu):
    """The delta of an (epsilon_o, delta_o)-private stage together with a mu-GDP part (8.4)."""
    p = 1 / (1 + math.exp(-epsilon_o))
    gauss = p * gdp.delta(mu, epsilon - epsilon_o) + (1 - p) * gdp.delta(mu, epsilon + epsilon_o)
    return delta_o + (1 - delta_o) * gauss


def remaining_delta(epsilon, delta, epsilon_o, mu):
    """The largest delta_o that may be declared so that the whole is (epsilon, delta)-private."""
    gauss = composed_delta(epsilon, epsilon_o, 0.0, mu)
    return (delta - gauss) / (1 - gauss)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("epsilon_o", "delta_o"), [(0.0, 0.0), (0.5, 1e-3), (1.5, 0.02), (2.0, 0.0)])
def test_composition_is_that_of_the_worst_pair(epsilon_o, delta_o, mu):
    first, second = two_point(epsilon_o, delta_o)
    x = np.linspace(-12, 12 + mu, 400_001)
    g = [np.exp(-((x - c) ** 2) / 2) / math.sqrt(2 * math.pi) for c in (mu, 0.0)]
    for epsilon in (0.0, 0.4, 1.0, 2.5):
        total = sum(
            np.trapezoid(np.maximum(a * g[0] - math.exp(epsilon) * b * g[1], 0), x)
            for a, b in zip(first, second, strict=True)
        )
        assert composed_delta(epsilon, epsilon_o, delta_o, mu) == pytest.approx(total, rel=1e-6, abs=1e-12)
        found = together([Point(epsilon_o, delta_o)], mu)(epsilon)
        assert total * (1 - 1e-6) <= found <= 1.01 * total + 1e-12


def test_what_remains_is_what_composes():
    for epsilon, delta, epsilon_o, mu in ((1.0, 1e-6, 0.5, 0.1), (0.1, 1e-9, 0.02, 0.01), (5.0, 1e-3, 2.0, 0.5)):
        left = remaining_delta(epsilon, delta, epsilon_o, mu)
        assert 0 < left < delta
        assert composed_delta(epsilon, epsilon_o, left, mu) == pytest.approx(delta, rel=1e-9)
        assert together([Point(epsilon_o, left)], mu)(epsilon) == pytest.approx(delta, rel=1e-2)


def signed(epsilon, m, rho):
    size = np.abs(epsilon)
    back = 1 - np.exp(-size) + np.exp(-size) * ops.delta_with(size, m, rho, 1.0)
    return np.where(epsilon >= 0, ops.delta(size, m, rho, 1.0), back)


def test_choosing_what_is_left_afterwards_is_unsound():
    """Four draws, each of which makes 1e-6 with the Gaussian part; an adversary picks one after seeing its output."""
    epsilon, delta, mu = 1.0, 1e-6, 0.15
    edges = np.linspace(-9, 9, 4001)
    z, weight = (edges[1:] + edges[:-1]) / 2, np.diff(ndtr(edges))
    left = epsilon - (mu * z + mu * mu / 2)
    curves = []
    for m in (1e-4, 0.03, 0.06, 0.09):
        rho = ops._largest(lambda rho, m=m: weight @ signed(left, m, rho) <= delta, 3 / math.sqrt(m))
        curves.append(signed(left, m, rho))
        assert weight @ curves[-1] == pytest.approx(delta, rel=1e-9)
    assert weight @ np.max(curves, axis=0) == pytest.approx(1.52e-6, rel=5e-3)
    # held to one promise declared beforehand, in either form, the same adversary stays below delta
    epsilon_o = 0.3
    delta_o = remaining_delta(epsilon, delta, epsilon_o, mu)
    m = np.array([1e-4, 0.01, 0.02])
    limits = ops.residual_limit(epsilon_o, delta_o, m)
    assert (limits > 0).all()
    fixed = [signed(left, a, b) for a, b in zip(m, limits, strict=True)]
    assert weight @ np.max(fixed, axis=0) <= delta
    mu_o = math.sqrt(gdp.mu(epsilon, 0.9 * delta) ** 2 - mu**2)
    fixed = [signed(left, a, ops.gaussian_residual_limit(mu_o, 0.1 * delta, a)) for a in (1e-4, 0.01, 0.03)]
    assert 0.3 * delta < weight @ np.max(fixed, axis=0) <= delta


@pytest.mark.parametrize(("share", "gain"), [(0.05, 1.25), (0.15, 1.50), (0.3, 1.84)])
def test_a_gaussian_promise_allows_a_more_precise_draw(share, gain):
    """The best of each kind, with a tenth of delta kept for failures, beside releases with a share of mu^2."""
    epsilon, delta, m = 1.0, 1e-6, 1 / 200
    mu = gdp.mu(epsilon, delta) * math.sqrt(share)
    best = [0.0, 0.0]
    for part in np.arange(0.1, 0.9, 0.1):
        epsilon_o = ops._largest(
            lambda e, part=part: composed_delta(epsilon, e, part * delta, mu) <= 0.9 * delta, epsilon
        )
        if epsilon_o:
            best[0] = max(best[0], float(ops.residual_limit(epsilon_o, part * delta, m)))
    for part in (0.01, 0.03, 0.1, 0.3):
        mu_o = math.sqrt(gdp.mu(epsilon, (0.9 - part) * delta) ** 2 - mu**2)
        rho = ops.gaussian_residual_limit(mu_o, part * delta, m)
        assert rho * math.sqrt(m) == pytest.approx(mu_o - 2 * m, rel=0.02)  # what ada_ops expects
        best[1] = max(best[1], rho)
    assert best[1] / best[0] == pytest.approx(gain, abs=0.01)


# Calibrations (8.3)


def brute_norm(X, y, lambda_):
    return np.linalg.norm(np.linalg.solve(X.T @ X + lambda_ * np.eye(X.shape[1]), X.T @ y))


def test_coefficients_stay_within_their_bound_and_reach_it():
    rng = np.random.default_rng(2)
    for _ in range(4000):
        n, d, lambda_ = rng.integers(1, 8), rng.integers(1, 4), 10 ** rng.uniform(-3, 2)
        X = rng.normal(size=(n, d))
        X *= rng.choice([1, rng.uniform()]) / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        least = np.linalg.eigvalsh(X.T @ X)[0].clip(0)
        norm = brute_norm(X, rng.choice([-1, 1], n), lambda_)
        for bound in (0.0, float(least)):
            assert norm <= ops.coefficient_bound(lambda_, n, 1.0, 1.0, bound) * (1 + 1e-9)
    for n, lambda_, size in (
        (100, 4.0, 0.2),
        (100, 100.0, 1.0),
        (100, 400.0, 1.0),
    ):
        X = np.full((n, 1), size)
        reached = ops.coefficient_bound(lambda_, n, 1.0, 1.0)
        assert brute_norm(X, np.ones(n), lambda_) == pytest.approx(reached)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrations_keep_their_promise_on_adversarial_data(name, neighbors):
    """Exact curve on data that reach the bound on the coefficients, near singular data, tiny data."""
    epsilon, budget = add_remove(1.0, 1e-4, neighbors)
    facts = PublicFacts(epsilon=epsilon, delta=budget, B=2.0, Y=3.0, n_max=60, d=2)
    found = CALIBRATIONS[name](facts)
    assert found.gamma > 0
    if neighbors == "replace-one":  # two such steps, the second weighed with e^epsilon
        assert 2 * epsilon == 1
        assert budget * (1 + math.exp(epsilon)) <= 1e-4
    rng = np.random.default_rng(0)
    worst = 0.0
    for n in (0, 1, 2, 10, 59):
        for size in (1e-3, 0.1, math.sqrt(found.lambda_ / max(n, 1)), 2.0):
            for angle in (0.0, 1e-4, 0.7):
                X = np.tile([math.cos(angle), math.sin(angle)], (n, 1)) * min(size, 2.0)
                X[: n // 2, 1] += rng.uniform(-1e-3, 1e-3, n // 2)
                X *= np.minimum(1, 2.0 / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
                H = X.T @ X + found.lambda_ * np.eye(2)
                theta = np.linalg.solve(H, X.T @ np.full(n, 3.0))
                for x in ([2.0, 0.0], [0.0, 2.0], [2 * math.cos(angle), 2 * math.sin(angle)]):
                    m, r = float(x @ np.linalg.solve(H, x)), -3.0 - x @ theta
                    assert m <= found.leverage * (1 + 1e-12)
                    R = ops.residual_at(np.array(m), found.lambda_, 60, 2.0, 3.0)
                    assert abs(r) <= min(R, found.residual) * (1 + 1e-7)  # R(m) is steep where m is largest
                    worst = max(worst, ops.delta(epsilon, m, r, found.gamma))
    assert worst <= budget
    m = found.leverage * np.linspace(0.01, 1, 5000)
    m = m[4 / m - found.lambda_ <= 60 * 4]  # n rows in one direction have an eigenvalue of n B^2 at most
    R = ops.residual_at(m, found.lambda_, 60, 2.0, 3.0)
    reached = [ops.delta(epsilon, m, R, found.gamma * more).max() for more in (1.0, 1.05)]
    assert reached[0] <= budget < reached[1]  # as large a gamma as may be, within 5 %


@pytest.mark.parametrize("eigenvalue", [0.0, 1.0, 7.0, 30.0, 50.0])
def test_the_largest_residual_at_a_leverage_is_reached(eigenvalue):
    """n rows in the direction of the new one, with outcomes against it."""
    n, lambda_ = 50, 7.0
    X = np.full((n, 1), math.sqrt(eigenvalue / n))
    m, r = 1 / (eigenvalue + lambda_), -1 - X.sum() / (eigenvalue + lambda_)
    assert -r == pytest.approx(ops.residual_at(np.array(m), lambda_, n, 1.0, 1.0))


def test_replacing_a_row_costs_no_more_than_two_steps():
    """The exact divergence of two posteriors that differ in one row, by integration in one dimension."""
    gamma, lambda_ = 0.7, 30.0
    theta = np.linspace(-6, 6, 400_001)
    for n, size in ((0, 1.0), (5, 1.0), (40, 0.9)):
        X, y = np.full(n, size), np.ones(n)

        def density(x, target, X=X, y=y):
            H = X @ X + x * x + lambda_
            centre = (X @ y + x * target) / H
            return np.exp(-gamma * H * (theta - centre) ** 2 / 2) * math.sqrt(gamma * H / (2 * math.pi))

        m, R = 1 / lambda_, 1 + ops.coefficient_bound(lambda_, max(n, 1), 1.0, 1.0)
        for epsilon in (0.1, 0.5, 1.0):
            bound = ops.delta(epsilon / 2, m, R, gamma) * (1 + math.exp(epsilon / 2))
            assert add_remove(epsilon, bound, "replace-one")[1] <= ops.delta(epsilon / 2, m, R, gamma)
            for first in ((1.0, 1.0), (1.0, -1.0), (0.0, 0.0)):
                for second in ((1.0, -1.0), (-1.0, -1.0), (0.5, 1.0)):
                    excess = np.maximum(density(*first) - math.exp(epsilon) * density(*second), 0)
                    assert np.trapezoid(excess, theta) <= bound


def test_calibrations_differ_as_they_should():
    found = {name: calibration(FACTS) for name, calibration in CALIBRATIONS.items()}
    least = 1 / ops.leverage_limit(1.0, 1e-6)
    assert found["diffuse"].lambda_ == pytest.approx(2 * least)
    assert found["concentrated"].gamma == pytest.approx(1.0)
    gamma = {lambda_: papers_ops.calibrate(FACTS, lambda_).gamma for lambda_ in np.linspace(1.1, 30, 200) * least}
    k = papers_ops.spread(FACTS.d)
    bound = {lambda_: k / gamma[lambda_] + lambda_ for lambda_ in gamma}
    reached = k / found["balanced"].gamma + found["balanced"].lambda_
    assert reached <= 1.05 * min(bound.values())
    assert reached < 0.9 * min(k / found[name].gamma + found[name].lambda_ for name in ("diffuse", "conservative"))
    assert found["balanced"].lambda_ > found["conservative"].lambda_ > least
    with pytest.raises(ParameterError, match="too small for this promise"):
        papers_ops.calibrate(FACTS, least * 0.99)


@pytest.mark.parametrize(("neighbors", "rows"), [("add-remove", 1), ("replace-one", 2)])
def test_pure_ops_by_integration(neighbors, rows):
    """The log ratio of the restricted densities, row by row: below epsilon, and close to it for some."""
    epsilon, radius = 0.8, 2.0
    gamma = papers_ops.pure(epsilon, 1.0, 1.0, radius, neighbors).gamma
    theta = np.linspace(-radius, radius, 20_001)

    def log_density(data):
        energy = -gamma / 2 * sum((y - x * theta) ** 2 for x, y in data) - gamma * 0.3 / 2 * theta**2
        return energy - math.log(np.trapezoid(np.exp(energy), theta))

    corners = [(x, y) for x in (-1.0, -0.5, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)]
    common = [[], [(1.0, 1.0)] * 3, [(1.0, 1.0)] * 400, [(1.0, -1.0)] * 4000]
    largest = 0.0
    for base in common:
        densities = [log_density([*base, row]) for row in corners]
        others = densities if rows == 2 else [log_density(base)]
        for a in densities:
            for b in others:
                largest = max(largest, np.abs(a - b).max())
    assert (0.9 if rows == 1 else 0.6) * epsilon < largest <= epsilon
