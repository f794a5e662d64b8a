"""AdaOPS: the divergence of the whole algorithm, integrated over its releases; accuracy against the printed one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from experiments import uci
from privacy_integrals import adapted, planned_delta, signed_delta
from scipy.special import ndtr, ndtri

from discreet.errors import ParameterError
from discreet.mechanisms.posterior_sampling import adaptive_estimator as ada_ops
from discreet.privacy import ops

FOLDER = uci.data_folder()


def ridge_norm(X, y, lambda_):
    H = X.T @ X + lambda_ * np.eye(X.shape[1])
    return float(np.linalg.norm(np.linalg.solve(H, X.T @ y)))


def least_eigenvalue(X):
    return max(0.0, float(np.linalg.eigvalsh(X.T @ X)[0])) if len(X) else 0.0


def whole_divergence(plan, X, y, x, target, epsilon, *, without, count=161):
    """HS of the whole algorithm for the data (X, y) without or with the row (x, target), at e^epsilon.

    Under the first data set Z1, Z2 are standard normal. The loss of the two Gaussian releases is then known, and the
    draw must be told apart at epsilon less that loss: the mean of this over a fine grid of Z1, Z2.
    """
    edges = np.linspace(-8.5, 8.5, count + 1)
    z, weight = (edges[:-1] + edges[1:]) / 2, np.diff(ndtr(edges))
    X1, y1 = np.vstack([X, x]), np.append(y, target)
    first, second = ((X, y), (X1, y1)) if without else ((X1, y1), (X, y))
    least, other, smaller = (least_eigenvalue(data) for data in (first[0], second[0], X))
    move1 = (least - other) / plan.s1
    sums = [(data.T @ data, data.T @ outcome) for data, outcome in (first, second, (X, y))]
    total = 0.0
    rhos = {}
    for z1, w1 in zip(z, weight, strict=True):
        penalty = plan.penalty(least + plan.s1 * z1)
        if penalty.lt > smaller:  # the declared failure: as if all were told
            total += w1
            continue
        ridge = penalty.lambda_ * np.eye(len(x))
        thetas = [np.linalg.solve(G + ridge, v) for G, v in sums]
        a, b = (math.log(plan.Y + plan.B * float(np.linalg.norm(theta))) for theta in thetas[:2])
        if penalty.leverage not in rhos:
            rhos[penalty.leverage] = plan.precision(penalty, 1.0)
        rho = rhos[penalty.leverage]
        m = float(x @ np.linalg.solve(sums[2][0] + ridge, x))
        r = float(target - x @ thetas[2])
        loss1 = z1 * move1 + move1**2 / 2
        if plan.mu2:
            R = np.array([plan.residual_bound(penalty, a + penalty.s2 * z2) for z2 in z])
            move2 = (a - b) / penalty.s2
            loss, w = loss1 + z * move2 + move2**2 / 2, weight
        else:
            R, loss, w = np.array([plan.residual_bound(penalty)]), np.array([loss1]), np.ones(1)
        total += w1 * float(w @ signed_delta(epsilon - loss, m, r, rho / R**2, without=without))
    return total


def pairs(B=1.0, Y=1.0):
    """Tiny data and a row that comes or goes: empty, near singular, aligned, huge coefficients, saturated bounds."""
    tiny = 1e-3
    yield "empty", np.zeros((0, 1)), np.zeros(0), np.array([B]), Y
    yield "one tiny row", np.array([[tiny]]), np.array([Y]), np.array([B]), -Y
    yield "opposite", np.full((30, 1), B), np.full(30, Y), np.array([B]), -Y
    yield "long and opposite", np.full((400, 1), 0.3 * B), np.full(400, Y), np.array([B]), -Y
    yield "many and opposite", np.full((1900, 1), B), np.full(1900, Y), np.array([B]), -Y
    yield "new direction", np.tile([B, 0.0], (60, 1)), np.full(60, Y), np.array([0.0, B]), Y
    X = np.vstack([np.tile([B, 0.0], (50, 1)), np.tile([0.0, B / 4], (400, 1))])
    yield "huge coefficient", X, np.r_[np.zeros(50), np.full(400, Y)], np.array([0.0, B]), -Y
    X = np.vstack([np.tile([B * 0.8, B * 0.6], (200, 1)), [[B * 0.6, -B * 0.8]] * 2])
    yield "near singular", X, np.r_[np.full(200, Y), -Y, -Y], np.array([0.6 * B, -0.8 * B]), Y


PAIRS = list(pairs())
MANY = next(pair[1:] for pair in PAIRS if pair[0] == "many and opposite")


@pytest.mark.parametrize(("epsilon", "delta", "kappa"), [(1.0, 1e-6, None), (0.5, 1e-2, None), (4.0, 1e-3, 1.0)])
@pytest.mark.parametrize(("name", "X", "y", "x", "target"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_the_whole_algorithm_keeps_its_promise(name, X, y, x, target, epsilon, delta, kappa):
    d, n_max = X.shape[1], None if kappa is None and len(y) % 2 else 2000
    plan = ada_ops.plan(epsilon, delta, B=1.0, Y=1.0, d=d, n_max=n_max, kappa=kappa)
    assert planned_delta(plan, epsilon) <= delta
    for without in (True, False):
        spent = whole_divergence(plan, X, y, x, target, epsilon, without=without, count=41)
        assert spent <= delta


@pytest.mark.more
def test_the_integral_sees_a_broken_promise():
    """The promise is nearly used up, and a little more of any of the three parts breaks it: the test has power."""
    epsilon, delta, data = 1.0, 1e-3, MANY
    plan = ada_ops.plan(epsilon, delta, B=1.0, Y=1.0, d=1, n_max=2000)
    spent = [whole_divergence(plan, *data, epsilon, without=without, count=41) for without in (True, False)]
    assert 0.65 * delta < min(spent) <= max(spent) <= delta
    for part, factor in (("mu_o", 1.2), ("mu1", 4.0), ("mu2", 3.0)):
        broken = replace(plan, **{part: factor * getattr(plan, part)})
        assert whole_divergence(broken, *data, epsilon, without=False, count=41) > delta, part


@pytest.mark.more
def test_the_integral_is_exact_for_gaussians():
    """With a draw that tells next to nothing, the integral is the Gaussian curve of the releases."""
    plan = ada_ops.plan(1.0, 1e-6, B=1.0, Y=1.0, d=1)
    X, y, x = np.full((30_000, 1), 1.0), np.zeros(30_000), np.array([1.0])
    found = whole_divergence(plan, X, y, x, 0.0, 0.02, without=True, count=200)
    lone = ops.gaussian_delta([0.02], plan.mu1)[0][0]  # y = 0: the norm stays 0 and only the eigenvalue speaks
    assert found == pytest.approx(lone, rel=2e-3)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (10.0, 1e-10), (0.01, 1e-4)])
def test_a_plan_spends_all_and_no_more(epsilon, delta, neighbors):
    plan = ada_ops.plan(epsilon, delta, B=2.0, Y=3.0, d=4, n_max=10**6, neighbors=neighbors)
    if neighbors == "add-remove":
        assert 0.999 * delta <= planned_delta(plan, epsilon) <= delta
    else:
        half = planned_delta(plan, epsilon / 2)
        assert 0.999 * delta <= half * (1 + math.exp(epsilon / 2)) <= delta * (1 + 1e-12)


@pytest.mark.parametrize("eigenvalue", [-1e6, 0.0, 40.0, 1e3, 1e6])
@pytest.mark.parametrize("kappa", [None, 3.0])
def test_every_penalty_is_feasible(eigenvalue, kappa):
    plan = ada_ops.plan(1.0, 1e-6, B=1.0, Y=1.0, d=10, n_max=5000, kappa=kappa)
    chosen = plan.penalty(eigenvalue)
    assert chosen.lambda_ >= 0
    assert chosen.lt >= 0
    assert chosen.h == chosen.lambda_ + chosen.lt
    assert chosen.h >= plan.h_min
    assert plan.precision(chosen, 1.0) > 0
    if kappa:
        assert chosen.h >= 5000 / 30


def test_the_bounds_fail_as_rarely_as_declared():
    """lt exceeds the smaller eigenvalue of a pair, and R falls below the larger norm, with the declared probability."""
    plan = ada_ops.plan(1.0, 0.5, B=1.0, Y=1.0, d=1)
    z = np.random.default_rng(0).standard_normal(400_000)
    smaller, larger = 50.0, 51.0
    for eigenvalue in (smaller, larger):
        margin = plan.s1 * float(-ndtri(plan.delta_a)) + plan.eigenvalue_sensitivity
        rate = np.mean(eigenvalue + plan.s1 * z - margin > smaller)
        assert eigenvalue == smaller or rate >= plan.delta_a / 2  # no more than needed is taken off
        assert rate <= plan.delta_a + 4 * math.sqrt(plan.delta_a / len(z))
        assert plan.s1 == pytest.approx(1 / plan.mu1)
        assert plan.penalty(eigenvalue + plan.s1).lt == pytest.approx(max(0, eigenvalue + plan.s1 - margin))
    penalty = plan.penalty(60.0)
    released = math.log(2.0) + penalty.s2 * z[:20_000]
    bounds = np.array([plan.residual_bound(penalty, v) for v in released])
    rate = np.mean(bounds < 2.0 * math.exp(penalty.s))  # a neighbour's Y + B norm may be larger by a factor of e^s
    assert abs(rate - plan.delta_b) <= 4 * math.sqrt(plan.delta_b / 20_000)


def test_the_log_norm_moves_as_little_as_assumed():
    rng = np.random.default_rng(3)
    for _ in range(1000):
        d, n = rng.integers(1, 4), rng.integers(0, 6)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 0)
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        y, target, lambda_ = rng.choice([-1, 1], n), rng.choice([-1.0, 1.0]), 10.0 ** rng.uniform(-2, 2)
        h = lambda_ + (least_eigenvalue(X) if n else 0)
        a, b = ridge_norm(X, y, lambda_), ridge_norm(np.vstack([X, x]), np.append(y, target), lambda_)
        assert abs(math.log((1 + a) / (1 + b))) <= math.log1p(1 / h) * (1 + 1e-9)


def test_kappa_must_be_possible():
    with pytest.raises(ParameterError, match="n_max"):
        ada_ops.plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, kappa=2.0)
    with pytest.raises(ParameterError, match="between 0 and"):
        ada_ops.plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, n_max=1000, kappa=100.0)


SMALL = ("airfoil", "autompg", "autos", "breastcancer", "concrete", "concreteslump", "energy", "fertility", "forest")
SMALL += ("housing", "machine", "parkinsons", "pendulum", "servo", "skillcraft", "solar", "stock", "wine", "yacht")
LARGE = ("bike", "elevators", "kin40k", "pol", "protein")


def errors(name, epsilons, count=3):
    """Mean test error over that of predicting 0, of the verified and of the printed AdaOPS, at each epsilon.

    The mean over the draw itself is taken exactly: error of theta_lambda plus tr(T'T H^-1)/gamma.
    """
    Z, t = uci.prepare(*uci.load(name, FOLDER))
    delta, found = uci.delta(len(t)), {epsilon: [[], [], []] for epsilon in epsilons}
    rng = np.random.default_rng(0)
    plans = {}
    for train, test in uci.splits(len(t), count):
        X, y, T, u = Z[train], t[train], Z[test], t[test]
        d = X.shape[1]
        values, vectors = np.linalg.eigh(X.T @ X)
        values, b, A = np.maximum(values, 0), vectors.T @ (X.T @ y), T @ vectors
        for epsilon in epsilons:
            if epsilon not in plans:
                plans[epsilon] = ada_ops.plan(epsilon, delta, B=1.0, Y=1.0, d=d, n_max=len(t))
            for z1, z2 in rng.standard_normal((2, 2)):
                chosen, _, precision = adapted(
                    plans[epsilon], values[0], lambda v, b=b, w=values: np.linalg.norm(b / (w + v)), z1, z2
                )
                sd = math.sqrt(math.log(6 / delta)) / (epsilon / 4)
                lt, lambda_ = ada_ops.printed_penalty(epsilon, delta, 1.0, d, values[0] + sd * z1)
                h, norm = lambda_ + lt, np.linalg.norm(b / (values + lambda_))
                released = (1 + norm) * math.exp(math.log1p(1 / h) * sd * z2) - 1
                _, gamma = ada_ops.printed_gamma(epsilon, delta, 1.0, 1.0, h, released)
                for cell, (v, g) in enumerate(((chosen.lambda_, precision), (lambda_, gamma))):
                    residual = u - A @ (b / (values + v))
                    found[epsilon][cell].append(np.mean(residual**2) + np.sum(A**2 / (values + v)) / g / len(u))
                found[epsilon][2].append(np.mean(u**2))
    return {epsilon: [np.mean(f) / np.mean(found[epsilon][2]) for f in found[epsilon][:2]] for epsilon in epsilons}


@pytest.mark.skipif(FOLDER is None, reason="DISCREET_DATA does not name a folder with the studies' data")
@pytest.mark.more
def test_verified_ada_ops_is_as_accurate_as_the_printed_one():
    found = [errors(name, (0.1, 1.0)) for name in SMALL + LARGE]
    for epsilon in (0.1, 1.0):
        verified, published = np.exp(np.mean(np.log([f[epsilon] for f in found]), axis=0))
        print(f"epsilon {epsilon:g}: verified {verified:.3f}, published {published:.3f}")
        assert verified <= 1.05 * published
