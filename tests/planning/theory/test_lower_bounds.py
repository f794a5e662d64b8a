"""(1) to (6) of wang2018 and the region where privacy is for free."""

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.planning.theory import (
    adaops_rate,
    conditioned_from,
    cramer_rao,
    free_epsilon,
    learning_rate,
    minimax_estimation,
    minimax_prediction,
    optimisation_errors,
    private_lower_bound,
)

UNITS = {"norm_x": 3.0, "norm_y": 0.7, "norm_theta": 2.0}


@pytest.fixture(scope="module")
def draws():
    """20,000 least-squares fits to one design: the design, the errors of the coefficients, and F(fit) - F(truth)."""
    rng = np.random.default_rng(1)
    X, sigma = rng.normal(size=(40, 4)) @ np.diag([1, 1, 0.5, 2.0]), 0.8
    noise = sigma * rng.normal(size=(20_000, 40))
    apart = noise @ np.linalg.pinv(X).T
    own = (((noise - apart @ X.T) ** 2).sum(1) - (noise**2).sum(1)) / 2
    return X, sigma, apart, own


def test_least_squares_attains_1_to_3(draws):
    X, sigma, apart, _ = draws
    G = X.T @ X
    predicted = ((apart @ X.T) ** 2).sum(1) / 2
    assert predicted.mean() == pytest.approx(minimax_prediction(4, sigma), rel=0.02)
    assert (apart**2).sum(1).mean() == pytest.approx(minimax_estimation(G, sigma), rel=0.02)
    points = np.array([[1.0, 2, 3, 4], [0, 0, 1, 0]])
    assert np.var(apart @ points.T, axis=0) == pytest.approx(cramer_rao(G, sigma, points), rel=0.05)
    assert cramer_rao(G, sigma) == pytest.approx(sigma**2 * np.linalg.inv(G))


def test_e26_as_printed_1_has_the_wrong_sign(draws):
    """With the F of the same outcomes, as section 2 defines it, least squares is below the truth by d sigma^2/2."""
    _, sigma, _, own = draws
    assert own.mean() == pytest.approx(-minimax_prediction(4, sigma), rel=0.02)


def test_e27_5_and_6_meet_where_6_begins():
    """So the footnote's lambda_min >= sqrt(d) L/epsilon lacks a factor 1/T, which only T = 1 hides."""
    n, d, epsilon = 1e6, 12.0, 0.3
    B, Y, T = UNITS.values()
    alpha = float(conditioned_from(n, d, epsilon, **UNITS))
    at = [float(private_lower_bound(n, d, epsilon, alpha=alpha * factor, **UNITS)) for factor in (0.5, 1.0, 2.0)]
    assert at == pytest.approx(np.array([1, 1, 0.5]) * private_lower_bound(n, d, epsilon, **UNITS))
    L = B * (B * T + Y)
    assert alpha * n * B**2 / d == pytest.approx(np.sqrt(d) * L / (T * epsilon))
    assert alpha * n * B**2 / d != pytest.approx(np.sqrt(d) * L / epsilon)


@pytest.mark.parametrize(
    "bound",
    [
        lambda **k: learning_rate(1e4, 10, **k),
        lambda **k: private_lower_bound(1e5, 10, 0.5, **k),
        lambda **k: private_lower_bound(1e5, 10, 0.5, alpha=0.5, **k),
        lambda **k: np.array(list(optimisation_errors(1e5, 10, 0.5, 1e-6, **_no_outcome(k)).values())),
        lambda **k: adaops_rate(1e6, 10, 0.5, 1e-6, alpha=0.5, **_no_outcome(k)),
    ],
)
def test_bounds_on_f_do_not_depend_on_the_unit_of_features(bound):
    """Table 1's and theorem 2's well-conditioned terms do, as printed: they lack B^2."""
    feet = {"norm_x": 3.28 * UNITS["norm_x"], "norm_y": UNITS["norm_y"], "norm_theta": UNITS["norm_theta"] / 3.28}
    assert bound(**feet) == pytest.approx(bound(**UNITS))
    inches = {k: v if k == "norm_x" else 12 * v for k, v in UNITS.items()}
    assert bound(**inches) == pytest.approx(144 * bound(**UNITS))


def _no_outcome(norms):
    return {k: v for k, v in norms.items() if k != "norm_y"}


def test_table_1_matches_the_lower_bounds_up_to_logarithms():
    n, d, epsilon, delta = 1e6, 10.0, 0.5, 1e-8
    best = optimisation_errors(n, d, epsilon, delta, alpha=0.5, norm_x=3.0, norm_theta=2.0)["AdaOPS, AdaSSP"]
    lower = private_lower_bound(n, d, epsilon, alpha=0.5, norm_x=3.0, norm_theta=2.0, norm_y=6.0)
    assert best / -np.log(delta) == pytest.approx(lower / 4)


@pytest.mark.parametrize("alpha", [None, 1.0, 0.03])
@pytest.mark.parametrize("ratio", ["equal", "root"])
def test_the_free_epsilon_is_the_papers(alpha, ratio):
    """Its formulas for B T = Y and, with n > d, for B T = sqrt(d) Y; ours has the constants of (4) to (6)."""
    d = np.geomspace(2, 1e4, 9)[:, None]
    n = np.maximum(np.geomspace(10, 1e9, 17), 1.01 * d)
    a = 1e-300 if alpha is None else alpha
    if ratio == "equal":
        printed = np.minimum(
            np.maximum(d**-0.5, np.sqrt(d / n)), np.maximum(d / np.sqrt(n**1.5 * a), np.sqrt(d / (n * a)))
        )
        ours = free_epsilon(n, d, alpha=alpha)
    else:
        printed = np.minimum(np.sqrt(d), d / np.sqrt(n * a))
        ours = free_epsilon(n, d, alpha=alpha, norm_theta=np.sqrt(d))
    assert np.all(ours <= 2.01 * printed)
    assert np.all(ours >= 0.5 * printed)


def test_the_free_epsilon_is_where_the_bounds_cross():
    rng = np.random.default_rng(0)
    n, d = 10 ** rng.uniform(1, 8, 200), 10 ** rng.uniform(0, 3, 200)
    for given in ({}, {"norm_theta": 5.0}, {"alpha": 0.2, "norm_x": 2.0}):
        epsilon = free_epsilon(n, d, **given)
        free = {k: v for k, v in given.items() if k != "alpha"}
        rate, real = learning_rate(n, d, **free), epsilon > 0
        e = np.where(real, epsilon, 1.0)
        assert np.all(private_lower_bound(n, d, 1.001 * e, **given) <= rate * 1.0001)
        assert np.all(private_lower_bound(n, d, 0.5 * e, **given)[real] > rate[real])


def test_with_fewer_rows_than_features_predicting_0_is_free():
    """In its second case the paper's formula would give d^1.5/n there, but (4) is n Y^2."""
    assert free_epsilon(50, 100, norm_theta=10.0) == 0
    assert learning_rate(50, 100, norm_theta=10.0) == 50


@pytest.mark.parametrize(
    "call",
    [
        lambda: learning_rate(0, 3),
        lambda: learning_rate([10, -1], 3),
        lambda: learning_rate("many", 3),
        lambda: private_lower_bound(10, 3, 1, alpha=1.5),
        lambda: minimax_estimation(np.zeros((2, 2)), 1.0),
        lambda: minimax_estimation([[1.0, 2.0], [0.0, 1.0]], 1.0),
        lambda: cramer_rao(-np.eye(2), 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(ParameterError):
        call()
