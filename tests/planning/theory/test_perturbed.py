"""li2021's lemma 7, theorems 8 and 10 and proposition 1, against perturbed minimisers and counterexamples."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from discreet.errors import ParameterError
from discreet.planning.theory import augmentation_spread, excess_risk, lasso_shortfall, perturbation_size, rows_needed

P, N, L, EPSILON = 5, 400, 1.0, 1.0


def laplace(rng, count, p, scale):
    directions = rng.normal(size=(count, p))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * rng.gamma(p, scale, (count, 1))


def gaussian(rng, count, p, delta, share=0.5):
    variance = 2 * (share * EPSILON + np.log(1 / delta)) * (L / (share * EPSILON)) ** 2
    return np.sqrt(variance) * rng.normal(size=(count, p))


@pytest.fixture(scope="module")
def problem():
    """Least squares with a ridge penalty: n J = |y - X t|^2/2 + (m/2)|t|^2, so the excess is b'(G + m I)^-1 b/2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) / 4
    return X.T @ X, rng


@pytest.mark.parametrize("delta", [None, 1e-3])
def test_theorem_8_mended_holds_in_probability_and_in_the_mean(problem, delta):
    G, rng = problem
    m = 3.0
    b = laplace(rng, 20_000, P, 2 * L / EPSILON) if delta is None else gaussian(rng, 20_000, P, delta)
    excess = np.einsum("ni,ij,nj->n", b, np.linalg.inv(G + m * np.eye(P)), b) / (2 * N)
    sizes = (b**2).sum(1)
    assert sizes.mean() == pytest.approx(perturbation_size(P, EPSILON, delta=delta), rel=0.03)
    assert np.all(excess <= excess_risk(N, sizes, m))
    assert excess.mean() <= excess_risk(N, perturbation_size(P, EPSILON, delta=delta), m)
    for rho in (0.5, 0.05):
        size = perturbation_size(P, EPSILON, delta=delta, rho=rho)
        assert np.mean(sizes > size) == pytest.approx(rho, abs=0.012)
        assert np.mean(excess > excess_risk(N, size, m)) <= rho


def test_half_of_lemma_7_is_enough_and_needed():
    """Without data the excess is exactly |b|^2/(2 m n): the paper's |b|^2/(m n) is twice that."""
    b, m = np.array([1.0, 2.0]), 4.0
    t = -b / m
    assert (m / 2) * (t @ t) / N == pytest.approx(excess_risk(N, b @ b, m))


def test_the_papers_quantiles():
    for p in (1, 5, 50):
        for rho in (0.5, 0.05, 1e-4):
            exact = np.sqrt(perturbation_size(p, EPSILON, rho=rho))
            assert exact <= p * 2 * np.log(p / rho) * (1 + 1e-12)  # scale 2, shape p: lemma 17 of its reference
    narrow = 2 * 10 * np.log(1 / 0.9)  # its squared bound, in variances, at rho = 0.9
    unit = 2 * (0.5 + np.log(1e3)) * 4
    assert perturbation_size(10, EPSILON, delta=1e-3, rho=0.9) > narrow * unit


def test_e23_the_misplaced_bracket():
    """(18) would multiply the gap between penalties by |b|^2: it grows where nothing does."""
    size, m, gap = 440.0, 2.0, 3.0
    printed = size * (1 / m + gap) / N
    assert excess_risk(N, size, m, gap=gap) == pytest.approx((size / (2 * m) + gap) / N)
    assert printed > 10 * excess_risk(N, size, m, gap=gap)
    tiny = 1e-6  # without noise only the gap is left; the printed bound says that there is none
    assert tiny * (1 / m + gap) / N < gap / N / 1e5


def test_e34_lemma_7_fails_where_the_penalty_falls_short():
    """l = (t - 1/2)^2/2, R = |t|, R_t = t^2 (the lasso's weights at a previous iterate of 1), b = 0, n = 1."""
    J = lambda t: (t - 0.5) ** 2 / 2 + abs(t)  # noqa: E731
    best = minimize_scalar(J, bounds=(-1, 1), method="bounded")
    assert best.x == pytest.approx(0, abs=1e-5)
    found = 0.5 / 3
    assert found == pytest.approx(minimize_scalar(lambda t: (t - 0.5) ** 2 / 2 + t**2).x)
    excess, printed = J(found) - J(0.0), 0.0
    assert excess == pytest.approx(0.0972, abs=1e-4)
    assert excess > printed
    assert excess <= excess_risk(1, 1e-12, 2.0, shortfall=lasso_shortfall(1.0, [1.0]))


def test_the_shortfall_of_weighted_squares():
    t = np.linspace(-3, 3, 200_001)
    for w in (0.5, 2.0):
        assert np.max(1.5 * np.abs(t) - w * t**2) == pytest.approx(lasso_shortfall(1.5, [w]), rel=1e-6)


def test_theorem_10_solves_its_own_bound():
    risk, size, m, R, C, rho = 0.02, 440.0, 2000.0, 250.0, 1.0, 0.05
    n = rows_needed(risk, size, m, penalty_at_truth=R, constant=C, rho=rho)
    assert (R + size / m) / n + C * np.log(1 / rho) / (2 * m) == pytest.approx(risk)
    assert np.all(np.diff(rows_needed([0.5, 0.1, 0.01], size, m, penalty_at_truth=R, constant=C)) > 0)
    assert rows_needed(1e-4, size, m, penalty_at_truth=R, constant=C) == np.inf


def test_e35_theorem_10_has_one_constant_not_two():
    """2 |b|^2/m for Laplace noise and |b|^2/m for Gaussian: lemma 9 doubles lemma 7's bound, which is |b|^2/(2 m)."""
    m, risk, size = 2000.0, 0.02, 225.0
    found = rows_needed(risk, size, m, penalty_at_truth=1e-9, constant=1e-9)
    assert found == pytest.approx(2 * excess_risk(1, size, m) / risk)
    assert found == pytest.approx(size / m / risk)
    assert found < 2 * size / m / risk * 0.51  # what the paper asks for with Laplace noise


def test_theorem_10_holds_in_a_case_with_a_known_risk():
    """A mean of bounded numbers: loss (t - z)^2/2, z = +-1, truth 0.2; the excess risk of t is (t - 0.2)^2/2."""
    rng = np.random.default_rng(1)
    risk, m = 0.05, 300.0
    size = float(perturbation_size(1, EPSILON, lipschitz=2.0, rho=0.05))
    n = int(np.ceil(rows_needed(risk, size, m, penalty_at_truth=m / 2 * 0.2**2, constant=4.0)))
    z = 2 * rng.binomial(n, 0.6, 2000) - n  # sums
    t = (z - laplace(rng, 2000, 1, 4.0)[:, 0]) / (n + m)
    assert np.mean((t - 0.2) ** 2 / 2 > risk) <= 0.1


def test_proposition_1_has_this_rate():
    rng = np.random.default_rng(2)
    theta, variances = np.array([1.0, -2.0, 0.5]), np.array([0.2, 1.0, 3.0])
    for rows in (20, 320):
        half = rng.normal(size=(4000, rows // 2, 3)) * np.sqrt(variances)
        realised = ((half @ theta) ** 2).sum(1)  # l''/2 times both halves
        wanted = rows / 2 * (variances * theta**2).sum()
        assert realised.mean() == pytest.approx(wanted, rel=0.02)
        assert realised.std() / wanted == pytest.approx(augmentation_spread(rows), rel=0.06)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ParameterError, match="share"):
        perturbation_size(3, 1.0, share=1.5)
    with pytest.raises(ParameterError, match="shortfall"):
        excess_risk(10, 1.0, 1.0, shortfall=-1.0)
