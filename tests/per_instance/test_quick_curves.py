"""Curves for many rows: never below integrals on a fine grid, and above them by no more than is stated."""

import math

import numpy as np
import pytest

from discreet import ReuseCov
from discreet.mechanisms.objective_perturbation import loss as objectives
from discreet.mechanisms.posterior_sampling import loss as coefficients
from discreet.mechanisms.reuse_covariance.event import sampled
from discreet.per_instance import compose, losses, quadratic, search
from discreet.per_instance.mechanisms.gaussian import SampledCurve
from discreet.per_instance.quadratic import Quadratic, _bend, _stick, line, plane
from discreet.privacy.laws import together

Z = np.linspace(-10.5, 10.5, 8001)
DENSITY = np.exp(-Z * Z / 2) / math.sqrt(2 * math.pi) * (Z[1] - Z[0])


def on_a_fine_grid(T, epsilon):
    """E (1 - e^(epsilon - T))+ by the trapezoidal rule over Z1; given that, T is normal."""
    found = []
    for A, B, b1, b2, mu, c, e in zip(*np.broadcast_arrays(*T, epsilon), strict=True):
        sd = np.hypot(2 * B * Z + b2, mu)
        found.append(DENSITY @ objectives._above(A * Z * Z + b1 * Z + c, sd, np.full_like(Z, e)))
    return np.array(found)


def rows(rng, n):
    """m, sizes from next to nothing to large, how much of it is the Gaussian part's, and epsilons out to six sds."""
    m, angle = 10 ** rng.uniform(-6, 0, n), np.arcsin(rng.uniform(0.03, 1, n))
    size = np.minimum(m * 10 ** rng.uniform(-1, 4, n), 5)
    total = np.hypot(size, m)
    epsilon = total * (total / 2 + rng.uniform(0, 6, n)) * rng.choice([0, 1, 1, 1], n)
    return m, size * np.cos(angle), size * np.sin(angle), epsilon


def draw(m, rho, mu):
    """The losses of both directions of a posterior sample beside a mu-GDP part (8.1)."""
    s2, log = 1 + m, np.log1p(m)
    forth = Quadratic(m / 2, 0.0, rho * np.sqrt(m), 0.0, mu, (m * rho**2 / s2 - log + mu**2) / 2)
    back = Quadratic(-m / (2 * s2), 0.0, rho * np.sqrt(m) / s2**1.5, 0.0, mu, (m * rho**2 / s2**2 + log + mu**2) / 2)
    return forth, back


def test_a_draw_beside_a_gaussian_part_is_bounded_tightly():
    m, b, mu, e = rows(np.random.default_rng(0), 700)
    rho = b / np.sqrt(m)
    forth, back = (on_a_fine_grid(T, e) for T in draw(m, rho, mu))
    known = forth > 1e-11
    assert (back[known] <= forth[known] * (1 + 1e-6)).all()  # 10.9: the first direction is the worse one
    above = coefficients._beside(e, mu, m, rho)[known] / forth[known] - 1
    assert above.min() >= 0
    assert above[(rho**2 >= 9 * m)[known]].max() <= 7e-4
    assert above.max() <= 2.5e-3
    bends = _bend(draw(m, rho, mu)[0], e)[known]
    assert all(np.sum((bends > low) & (bends <= high)) > 20 for low, high in ((0, 0.02), (0.05, 0.15), (0.15, 0.2)))


def test_below_zero_the_other_direction_counts():
    m, rho, mu = np.full(3, 0.05), np.full(3, 2.0), np.array([0.0, 0.1, 0.7])
    curve = coefficients.PosteriorCurve(1.0, spare=0.2)
    found = curve.delta(np.full(3, 0.05), mu, np.stack([m, rho]))
    exact = on_a_fine_grid(draw(m, rho, np.maximum(mu, 1e-3))[1], np.full(3, -0.15))
    assert found == pytest.approx(exact, rel=1e-3)


def test_perturbed_least_squares_is_bounded_tightly():
    rng = np.random.default_rng(1)
    m, b, mu, e = rows(rng, 500)
    x2, ratio = 10 ** rng.uniform(-1, 1, 500), 1 / np.cos(rng.uniform(0, 1.2, 500) * rng.choice([0, 0.1, 1], 500))
    known = np.stack([m, (ratio * m) ** 2 / x2, 3 * b / np.sqrt(x2), x2])
    truth = np.maximum(*(on_a_fine_grid(T, e) for T in objectives._quadratics(known, 3.0, mu)))
    some = truth > 1e-11
    above = objectives.SquaredCurve(3.0).delta(e, mu, known)[some] / truth[some] - 1
    assert above.min() >= 0
    assert above.max() <= 7e-4


def test_the_quadratic_form_is_that_of_the_integral():
    """The two ways that objectives computes one curve, where both are good."""
    known, e, mu = np.array([[0.02], [4e-4], [0.5], [2.0]]), np.array([0.3]), np.array([0.05])
    exact = objectives._both(known, 2.0, e, mu)
    for T, one in zip(objectives._quadratics(known, 2.0, mu), exact, strict=True):
        assert _stick(T, e, plane(9)) == pytest.approx(one, rel=1e-6)


@pytest.mark.parametrize("points", [line(2), line(3), line(5), plane(2), plane(3), plane(5)])
def test_rules_have_the_moments_of_normals(points):
    x, y, w = np.array(points).T
    assert (w.sum(), w @ x, w @ x**2, w @ x**3) == pytest.approx((1, 0, 1, 0))
    if len(points) not in (2, 4):
        assert w @ x**4 == pytest.approx(3)
    assert w @ (x * y) == pytest.approx(0)


def test_epsilons_of_many_rows_are_on_the_safe_side():
    m, b, mu, _ = rows(np.random.default_rng(2), 400)
    known = np.stack([m, b / np.sqrt(m)])
    for gaussian in (mu, np.zeros_like(mu)):
        for delta in (1e-2, 1e-6):
            curve = coefficients.PosteriorCurve(1.0)
            e = search._each_epsilon(curve, gaussian, known, delta)
            reached = curve.delta(e, gaussian, known)
            assert reached.max() <= delta * (1 + 1e-9)
            assert (reached[e > 0] >= delta * (1 - 1e-4)).all()
            assert (e > 0).any()


# -------------------------------------------------------------------- samples


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("q", [0.02, 0.3, 0.9])
def test_a_sample_beside_a_gaussian_part(q, neighbors):
    rng = np.random.default_rng(4)
    m = 10 ** rng.uniform(-2, 0.5, 40)
    mu = np.minimum(q * m * 10 ** rng.uniform(-2, 2, 40), 3)
    S = np.hypot(q * m, mu)
    e = S * (S / 2 + rng.uniform(0, 5, 40))
    found, z = SampledCurve(q, neighbors).delta(e, mu, m[None]), np.linspace(-10, 10, 40_001)
    weights = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for i in range(40):
        law = sampled(q, float(m[i]), neighbors)
        true = max(weights @ way(e[i] - mu[i] * z - mu[i] ** 2 / 2) for way in law.ways)
        assert true * (1 - 1e-7) <= found[i] <= true * 1.03 + 1e-13
        if i % 10 == 0:
            assert found[i] >= together([law], float(mu[i]))(float(e[i])) * (1 - 1e-4)


@pytest.mark.parametrize(("q", "low", "high"), [(0.3, 0.02, 0.2), (0.05, 0.1, 0.7)])
def test_the_table_is_never_below_and_hardly_above(q, low, high):
    rng, n = np.random.default_rng(5), 3000
    m, mu = np.exp(rng.uniform(math.log(low), math.log(high), n))[None], 0.1 * 10 ** rng.uniform(-4, 0, n)
    curve, some = SampledCurve(q, "add-remove"), slice(0, 250)
    exact = search._each_epsilon(curve, mu[some], m[:, some], 1e-6)
    above = search.epsilon(curve, mu, m, 1e-6)[some] / exact - 1
    assert above.min() >= 0
    assert np.median(above) <= 1e-4
    assert above.max() <= 2e-3
    exact = search._each_delta(curve, mu[some], m[:, some], 0.05)
    found = search.delta(curve, mu, m, 0.05)[some]
    assert (found >= exact).all()
    seen = exact > 1e-9
    assert seen.any()
    assert np.median(found[seen] / exact[seen]) <= 1 + 1e-3


def test_rows_that_lose_nothing_are_in_the_table():
    m, mu = np.full((1, 2000), 0.1), np.full(2000, 0.01)
    m[0, :500], mu[:1000] = 0.0, 0.0
    curve = SampledCurve(0.3, "add-remove")
    e, d = search.epsilon(curve, mu, m, 1e-6), search.delta(curve, mu, m, 0.01)
    for found in (e, d):
        assert (found[:500] == 0).all()
        assert (found[500:] > 0).all()
    assert e[1000] > e[500]


def test_two_samples_are_convolved():
    rng = np.random.default_rng(6)
    X, Y = rng.uniform(-1, 1, (40, 2)), rng.uniform(-1, 1, (40, 2))
    model = ReuseCov(epsilon=1, delta=1e-5, bounds_X=(-1, 1), bounds_y=(-1, 1), subsample=0.3, rows=40).fit(X, Y)
    one = losses((X[:3], Y[:3]), model)
    both = compose(one, one)
    assert (both.epsilon(1e-5) > one.epsilon(1e-5)).all()
    assert (both.epsilon(2e-5) <= 2 * one.epsilon(1e-5) * 1.15).all()  # mu is rounded up for this
    assert both.for_all(1e-5) >= both.epsilon(1e-5).max()


def test_the_margin_is_needed(monkeypatch):
    """Without what is added the rules would fall below the truth."""
    m, b, mu, e = rows(np.random.default_rng(0), 300)
    truth = on_a_fine_grid(draw(m, b / np.sqrt(m), mu)[0], e)
    monkeypatch.setattr(quadratic, "_UP", 1.0)
    assert (coefficients._beside(e, mu, m, b / np.sqrt(m))[truth > 1e-11] < truth[truth > 1e-11] * (1 - 1e-5)).any()
