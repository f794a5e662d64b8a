"""Posterior samples, perturbed objectives, output perturbation: closed forms against likelihood ratios of draws."""

import math

import numpy as np
import pytest
from privacy_integrals import planned_delta
from scipy.integrate import quad
from scipy.stats import norm

from discreet.mechanisms.objective_perturbation import loss as objectives
from discreet.mechanisms.posterior_sampling import adaptive_estimator as ada_ops
from discreet.mechanisms.posterior_sampling import adaptive_event, adaptive_loss
from discreet.per_instance import search
from discreet.per_instance.leverage import LeverageRidge
from discreet.per_instance.smooth import output_epsilon
from discreet.privacy import gdp, ops

DRAWS = 150_000


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    return X, np.clip(X @ np.linspace(0.5, -0.5, d) + rng.normal(0, 0.3, n), -1, 1)


def stick(ratios, epsilon):
    share = np.maximum(0, -np.expm1(epsilon - ratios))
    return share.mean(), share.std() / math.sqrt(len(ratios)) + 1e-9


def gaussian_log_density(theta, centre, root):
    """Up to a constant; the precision is root'root."""
    return np.linalg.slogdet(root)[1] - (((theta - centre) @ root.T) ** 2).sum(axis=1) / 2


def both_tables(X, y, penalty, i=None, row=None):
    """(H, theta_hat) without and with a row of the table, or one outside it."""
    X1, y1 = (X, y) if row is None else (np.vstack([X, row[0]]), np.append(y, row[1]))
    X0, y0 = (np.delete(X, i, axis=0), np.delete(y, i)) if row is None else (X, y)
    pairs = []
    for A, b in ((X0, y0), (X1, y1)):
        H = A.T @ A + penalty * np.eye(A.shape[1])
        pairs.append((H, np.linalg.solve(H, A.T @ b)))
    return pairs


def check(found, tables, root_of, epsilon, seed):
    """The densities of both tables at draws from one twice as wide, so that rare events are seen too."""
    rng = np.random.default_rng(seed)
    for expected, (here, there) in zip(found, (tables, tables[::-1]), strict=True):
        (H, centre), (H2, centre2) = here, there
        root, root2 = root_of(H), root_of(H2)
        theta = centre + 2 * rng.standard_normal((DRAWS, len(centre))) @ np.linalg.inv(root).T
        p, q = gaussian_log_density(theta, centre, root), gaussian_log_density(theta, centre2, root2)
        share = np.exp(p - gaussian_log_density(theta, centre, root / 2)) * np.maximum(0, -np.expm1(epsilon + q - p))
        assert abs(expected - share.mean()) < 4.5 * share.std() / math.sqrt(DRAWS) + 1e-7


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_ops_against_draws_of_the_posterior(inside, d, epsilon):
    X, y = table(15, d)
    gamma, fit = 3.0, LeverageRidge(X.T @ X, X.T @ y, 0.8)
    row = None if inside else (np.full(d, 0.9 / math.sqrt(d)), -1.0)
    rows = fit.without(X, y) if inside else fit.adding(row[0][None], np.array([row[1]]))
    i = 4 if inside else 0
    found = [ways(epsilon, rows.leverage[i], rows.residual[i], gamma) for ways in (ops.delta, ops.delta_with)]
    assert found[0] >= found[1] * (1 - 1e-9)
    tables = both_tables(X, y, 0.8, i, row)
    check(found, tables, lambda H: np.linalg.cholesky(H).T * math.sqrt(gamma), epsilon, 1)


def test_epsilons_of_ops_meet_their_delta():
    X, y = table(30, 3)
    rows = LeverageRidge(X.T @ X, X.T @ y, 0.8).without(X, y)
    found = np.atleast_1d(ops.epsilon(1e-5, rows.leverage, rows.residual, 2.0))
    for e, m, r in zip(found, rows.leverage, rows.residual, strict=True):
        assert ops.delta(e, m, r, 2.0) == pytest.approx(1e-5, rel=1e-6)


def both_ways(rows, sigma, epsilon):
    """delta_i(epsilon) of each row under a perturbed objective: without against with, and with against without."""
    e = np.full(len(rows.leverage), epsilon)
    return objectives._both(objectives._statistics(rows), sigma, e, np.zeros_like(e))


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_objective_perturbation_against_draws_of_the_minimiser(inside, d, epsilon):
    X, y = table(14, d, seed=2)
    sigma, fit = 1.5, LeverageRidge(X.T @ X, X.T @ y, 0.6)
    row = None if inside else (np.full(d, 0.9 / math.sqrt(d)), 1.0)
    rows = fit.without(X, y) if inside else fit.adding(row[0][None], np.array([row[1]]))
    i = 5 if inside else 0
    found = [float(way[i]) for way in both_ways(rows, sigma, epsilon)]
    tables = both_tables(X, y, 0.6, i, row)
    check(found, tables, lambda H: H / sigma, epsilon, 3)  # theta = theta_hat - H^-1 b


def test_objective_perturbation_in_one_dimension_against_integration():
    X, y = table(6, 1, seed=5)
    sigma, penalty = 0.8, 0.5
    rows = LeverageRidge(X.T @ X, X.T @ y, penalty).without(X, y)
    for i in (0, 3):
        ((H0, c0), (H1, c1)) = both_tables(X, y, penalty, i)
        p = norm(c0[0], sigma / H0[0, 0]).logpdf
        q = norm(c1[0], sigma / H1[0, 0]).logpdf
        for epsilon in (0.0, 0.5, 2.0):
            exact = [
                quad(lambda t, a=a, b=b, e=epsilon: max(0.0, math.exp(a(t)) - math.exp(e + b(t))), -15, 15, limit=2000)[
                    0
                ]
                for a, b in ((p, q), (q, p))
            ]
            found = [float(way[i]) for way in both_ways(rows, sigma, epsilon)]
            assert found == pytest.approx(exact, rel=1e-5, abs=1e-9)


def test_epsilons_of_objective_perturbation_meet_their_delta():
    X, y = table(20, 3, seed=1)
    rows = LeverageRidge(X.T @ X, X.T @ y, 0.6).without(X, y)
    found = search.epsilon(objectives.SquaredCurve(2.0), np.zeros(20), objectives._statistics(rows), 1e-4)
    for i in (0, 7, 19):
        reached = max(way[i] for way in both_ways(rows, 2.0, found[i]))
        assert 1e-4 * (1 - 6e-4) <= reached <= 1e-4  # from the safe side, as stated


@pytest.mark.parametrize("shape", [np.eye(2), np.array([[3.0, 1.0], [1.0, 2.0]])])
def test_output_perturbation_with_a_fixed_covariance(shape):
    X, y = table(20, 2)
    gamma = 40.0
    rows = LeverageRidge(X.T @ X, X.T @ y, 0.5).without(X, y, shape)
    tables = both_tables(X, y, 0.5, 3)
    mu = math.sqrt(gamma) * rows.shift[3]
    fixed = [(shape, centre) for _, centre in tables]
    check([gdp.delta(mu, 0.3)] * 2, fixed, lambda A: np.linalg.cholesky(A).T * math.sqrt(gamma), 0.3, 5)
    assert output_epsilon(rows.shift, gamma, 1e-5)[3] == pytest.approx(gdp.epsilon(mu, 1e-5), rel=1e-9)


# -------------------------------------------------------------------- AdaOPS, all three stages


@pytest.fixture
def quick(monkeypatch):
    """A limit that is at once computed: what is tested is the integral over the stages, not their calibration."""
    monkeypatch.setattr(adaptive_event, "gaussian_residual_limit", lambda mu, delta, m: mu / math.sqrt(m) * (1 - m / 3))


def draw(plan, S, v, rng):
    lmin = np.linalg.eigvalsh(S)[0]
    released = lmin + plan.s1 * rng.standard_normal()
    penalty = plan.penalty(released)
    H = S + penalty.lambda_ * np.eye(len(v))
    centre = np.linalg.solve(H, v)
    log_norm = None
    if plan.mu2:
        log_norm = math.log(plan.Y + plan.B * np.linalg.norm(centre)) + penalty.s2 * rng.standard_normal()
    gamma = plan.precision(penalty, plan.residual_bound(penalty, log_norm))
    theta = centre + np.linalg.solve(np.linalg.cholesky(H).T, rng.standard_normal(len(v))) / math.sqrt(gamma)
    return released, penalty, log_norm, gamma, theta


def log_density(plan, drawn, S, v, lmin):
    released, penalty, log_norm, gamma, theta = drawn
    H = S + penalty.lambda_ * np.eye(len(v))
    centre = np.linalg.solve(H, v)
    total = -(((released - lmin) / plan.s1) ** 2) / 2
    total += np.linalg.slogdet(H)[1] / 2 - gamma * (theta - centre) @ H @ (theta - centre) / 2
    if log_norm is not None:
        mean = math.log(plan.Y + plan.B * np.linalg.norm(centre))
        total -= ((log_norm - mean) / penalty.s2) ** 2 / 2
    return total


@pytest.mark.parametrize("kappa", [None, 2.0])
def test_ada_ops_against_draws_of_the_whole_algorithm(kappa, quick):
    X, y = table(40, 2, seed=1)
    x, t = np.array([1.0, 0.0]), -1.0
    plan = ada_ops.plan(6.0, 1e-2, B=1, Y=1, d=2, n_max=60, kappa=kappa)
    S, v = X.T @ X, X.T @ y
    S1, v1 = S + np.outer(x, x), v + x * t
    least, least1 = (float(np.linalg.eigvalsh(A)[0]) for A in (S, S1))
    pair = adaptive_loss.Neighbour(
        least, least1, lambda penalty: LeverageRidge(S, v, penalty).adding(x[None], np.array([t]))
    )
    curve, rng = adaptive_loss.AdaOpsCurve(plan, pair), np.random.default_rng(0)
    tables = [(S, v, least), (S1, v1, least1)]
    for way, (here, there) in enumerate((tables, tables[::-1])):
        drawn = [draw(plan, *here[:2], rng) for _ in range(4000)]
        ratios = np.array([log_density(plan, one, *here) - log_density(plan, one, *there) for one in drawn])
        for epsilon in (0.0, 0.7, 1.5):
            mean, error = stick(ratios, epsilon)
            assert abs(curve.delta(epsilon)[way] - mean) < 4.5 * error + 1e-3


def test_ada_ops_keeps_its_plan():
    """With the real calibration: the loss of a bad row stays below what the plan promises to everybody."""
    X, y = table(60, 2, seed=3)
    plan = ada_ops.plan(1.0, 1e-4, B=1, Y=1, d=2, n_max=100, kappa=3.0)
    x, S, v = np.array([1.0, 0.0]), X.T @ X, X.T @ y
    least, least1 = (float(np.linalg.eigvalsh(A)[0]) for A in (S, S + np.outer(x, x)))
    pair = adaptive_loss.Neighbour(
        least, least1, lambda penalty: LeverageRidge(S, v, penalty).adding(x[None], np.array([-1.0]))
    )
    curve = adaptive_loss.AdaOpsCurve(plan, pair, panels=2)
    for epsilon in (0.0, 0.3, 1.0):
        assert 0 <= max(curve.delta(epsilon)) <= planned_delta(plan, epsilon) * (1 + 1e-6)
    assert max(curve.delta(0.0)) > 0.01
