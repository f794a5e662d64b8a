"""The exact OPS curve: against 60 digits, quadrature, Monte Carlo and draws in several dimensions."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from discreet import OPS, AdaOPS, Budget, OutputPerturbation
from discreet.errors import ParameterError
from discreet.privacy import ops


def reference(epsilon, m, gamma, r):
    """Both directions in arithmetic that leaves 40 digits or more after all cancellation."""
    with mpmath.workdps(80 + int(2 * abs(math.log10(m)) + 2 * math.log10(1 + math.sqrt(gamma) * abs(r)))):
        e, m, rho = mpmath.mpf(epsilon), mpmath.mpf(m), mpmath.sqrt(mpmath.mpf(gamma)) * abs(mpmath.mpf(r))
        K, s, root = mpmath.log(1 + m) + rho**2 / (1 + m), mpmath.sqrt(1 + m), mpmath.sqrt(m)

        def upper(x):
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        t = mpmath.sqrt(K + 2 * e)
        p = upper((t - rho) / root) + upper((t + rho) / root)
        q = upper((t * s - rho / s) / root) + upper((t * s + rho / s) / root)
        without = p - mpmath.exp(e) * q
        if 2 * e >= K:
            return without, mpmath.mpf(0)
        u = mpmath.sqrt(K - 2 * e)
        q = upper((rho / s - u * s) / root) - upper((rho / s + u * s) / root)
        p = upper((rho - u) / root) - upper((rho + u) / root)
        return without, q - mpmath.exp(e) * p


def grid(count, seed=0):
    """Epsilons where the loss is between its median and 8 sds above it, over the whole range of the other figures."""
    rng = np.random.default_rng(seed)
    m, gamma = 10 ** rng.uniform(-12, 3, count), 10 ** rng.uniform(-8, 8, count)
    r = 10 ** rng.uniform(-4, 3, count) * rng.choice([-1, 1], count)
    rho, z = np.sqrt(gamma) * np.abs(r), rng.uniform(-1, 8, count)
    loss = -np.log1p(m) / 2 + rho**2 * m / (2 * (1 + m)) + rho * np.sqrt(m) * z + m * z * z / 2
    epsilon = np.minimum(np.abs(loss), 1e5)
    epsilon[::10] = 0
    return epsilon, m, gamma, r


def test_the_curve_agrees_with_high_precision_everywhere():
    epsilon, m, gamma, r = grid(2500)
    found = ops.delta(epsilon, m, r, gamma), ops.delta_with(epsilon, m, r, gamma)
    seen = np.zeros(2, dtype=int)
    for i in range(len(m)):
        exact = reference(epsilon[i], m[i], gamma[i], r[i])
        for way, tolerance in ((0, 1e-11), (1, 1e-10)):
            if exact[way] > 1e-300:
                assert abs(found[way][i] / exact[way] - 1) < tolerance
                seen[way] += 1
            else:
                assert found[way][i] <= 1e-299
        with mpmath.workdps(60):  # section 8.2: without the row is the worse way
            assert exact[1] - exact[0] <= exact[0] * mpmath.mpf(10) ** -25
    assert (seen > 800).all()


@pytest.mark.parametrize("m", [1e-12, 1e-6, 1e-2, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("rho", [0.0, 0.1, 3.0, 100.0])
def test_without_the_row_is_the_worse_way(m, rho):
    epsilon = np.concatenate([[0], np.geomspace(1e-9, 1e3, 400)])
    forth, back = ops.delta(epsilon, m, rho, 1.0), ops.delta_with(epsilon, m, rho, 1.0)
    assert (back <= forth * (1 + 1e-10)).all()
    assert back[0] == pytest.approx(forth[0], rel=1e-9)  # both are the total variation
    assert (ops.delta(epsilon, m, rho, 1.0) == forth).all()


@pytest.mark.parametrize(
    ("m", "gamma", "r"), [(1.0, 1.0, 1.0), (1e-3, 1000.0, 1.0), (0.05, 4.0, 2.0), (30.0, 0.5, 3.0)]
)
def test_quadrature(m, gamma, r):
    """The divergences straight from the two densities of w, with no use of thresholds."""
    rho = math.sqrt(gamma) * r
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        K = math.log1p(m) + rho**2 / (1 + m)
        cuts = sorted({s * math.sqrt(v) for v in (K + 2 * epsilon, K - 2 * epsilon) if v > 0 for s in (-1, 1)})
        p = partial(mpmath.npdf, mu=rho, sigma=math.sqrt(m))
        q = partial(mpmath.npdf, mu=rho / (1 + m), sigma=math.sqrt(m / (1 + m)))
        ends = [rho - 40 * math.sqrt(m), *cuts, rho, rho + 40 * math.sqrt(m)]
        ends = sorted({*ends, *np.linspace(ends[0], ends[-1], 60)})
        k = math.exp(epsilon)
        forth = mpmath.quad(lambda w, p=p, q=q, k=k: max(p(w) - k * q(w), 0), ends)
        back = mpmath.quad(lambda w, p=p, q=q, k=k: max(q(w) - k * p(w), 0), ends)
        assert ops.delta(epsilon, m, r, gamma) == pytest.approx(float(forth), rel=1e-9, abs=1e-14)
        assert ops.delta_with(epsilon, m, r, gamma) == pytest.approx(float(back), rel=1e-9, abs=1e-14)


def fit(X, y, lambda_):
    H = X.T @ X + lambda_ * np.eye(X.shape[1])
    return np.linalg.solve(H, X.T @ y), H


def test_monte_carlo_in_three_dimensions():
    """Draws of theta itself, with their own densities: leverage and residual are all that matters."""
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-1, 1, (12, 3)), rng.uniform(-1, 1, 12)
    x, target, lambda_, gamma, epsilon = np.array([0.9, -0.4, 0.7]), -1.0, 0.5, 6.0, 0.5
    (t0, H0), (t1, H1) = fit(X, y, lambda_), fit(np.vstack([X, x]), np.append(y, target), lambda_)
    m, r = float(x @ np.linalg.solve(H0, x)), float(target - x @ t0)

    def log_density(theta, centre, H):
        shift = theta - centre
        return (np.linalg.slogdet(H)[1] - gamma * np.einsum("ij,jk,ik->i", shift, H, shift)) / 2

    for first, second, formula in (((t0, H0), (t1, H1), ops.delta), ((t1, H1), (t0, H0), ops.delta_with)):
        noise = np.linalg.solve(np.linalg.cholesky(first[1]).T, rng.standard_normal((3, 400_000))).T
        theta = first[0] + noise / math.sqrt(gamma)
        gain = np.maximum(-np.expm1(epsilon + log_density(theta, *second) - log_density(theta, *first)), 0)
        assert abs(gain.mean() - formula(epsilon, m, r, gamma)) < 4 * gain.std() / math.sqrt(len(gain))
        assert gain.mean() > 0.01
    leverage, residual = float(x @ np.linalg.solve(H1, x)), float(target - x @ t1)
    assert (leverage / (1 - leverage), residual / (1 - leverage)) == pytest.approx((m, r))


def test_monte_carlo_of_the_loss():
    """Leverage 1, gamma 1, residual 1, epsilon 0.5: the mean gain over draws of w."""
    w = 1 + np.random.default_rng(0).standard_normal(2_000_000)
    gain = np.maximum(-np.expm1(0.5 - (-math.log(2) / 2 + (w * w - 0.5) / 2)), 0)
    assert ops.delta(0.5, 1, 1, 1) == pytest.approx(gain.mean(), abs=4 * gain.std() / math.sqrt(len(w)))


def test_small_leverage_is_the_gaussian_curve():
    mu, epsilon = 0.3, np.linspace(0, 1.5, 7)
    gauss, slope = ops.gaussian_delta(epsilon, mu)
    for m in (1e-8, 1e-12):
        assert ops.delta(epsilon, m, mu / math.sqrt(m), 1.0) == pytest.approx(gauss, rel=3e3 * math.sqrt(m))
    exact = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert gauss == pytest.approx(exact, rel=1e-7)
    steps = (ops.gaussian_delta(np.log(np.exp(epsilon) + 1e-6), mu)[0] - gauss) / 1e-6
    assert slope == pytest.approx(steps, rel=1e-4)


@pytest.mark.parametrize("delta", [1e-15, 1e-10, 1e-6, 1e-2, 0.3])
def test_epsilon_inverts_the_curve_on_the_safe_side(delta):
    rng = np.random.default_rng(7)
    m, gamma, r = 10 ** rng.uniform(-12, 3, 60), 10 ** rng.uniform(-8, 8, 60), 10 ** rng.uniform(-3, 1, 60)
    gamma = np.minimum(gamma, 1e4 / (m * r * r))  # epsilons up to about 1e5
    found = ops.epsilon(delta, m, r, gamma)
    for i in range(60):
        exact = reference(found[i], m[i], gamma[i], r[i])[0]
        assert exact <= delta
        if found[i] > 0:
            assert reference(found[i] * (1 - 1e-8), m[i], gamma[i], r[i])[0] > delta * (1 - 1e-8)


def test_arrays_broadcast_and_scalars_stay_floats():
    values = ops.delta(np.array([[0.0], [1.0]]), np.array([0.1, 0.2, 0.3]), 1.0, 1.0)
    assert values.shape == (2, 3)
    assert values[1, 2] == pytest.approx(ops.delta(1.0, 0.3, 1.0, 1.0), rel=1e-14)
    assert isinstance(ops.delta(1.0, 0.3, 1.0, 1.0), float)
    assert ops.epsilon(1e-6, [0.1, 0.2], 1.0, 1.0).shape == (2,)


def test_bad_figures_are_refused():
    for wrong in ((-1.0, 1, 1, 1), (1, 0.0, 1, 1), (1, 1, math.nan, 1), (1, 1, 1, 0.0), (1, math.inf, 1, 1)):
        with pytest.raises(ParameterError):
            ops.delta(*wrong)
    with pytest.raises(ParameterError, match="delta"):
        ops.epsilon(1.0, 1, 1, 1)


@pytest.mark.parametrize("method", [OPS, AdaOPS, OutputPerturbation])
def test_an_epsilon_that_floating_point_cannot_account_for_is_refused_before_it_is_paid(method):
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    model = method(epsilon=1000, delta=1e-6, neighbors="replace-one", rows=50, bounds_X=(-1, 1), bounds_y=(-1, 1))
    with (
        Budget(epsilon=5000, delta=1e-4, adding=True, neighbors="replace-one") as budget,
        pytest.raises(ParameterError, match="at most 700"),
    ):
        model.fit(X, X[:, 0])
    assert budget.epsilon_spent == 0
