"""Errata of li2021 that concern NAPP-ERM, recomputed with the published method itself."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from discreet import NAPP, NappAugmentation, NappConstants
from discreet.families.logistic import Logistic
from discreet.mechanisms.napp.algorithm import NAPPPlan, SquaredLosses, iterate, recycle
from discreet.mechanisms.napp.augmented import PLACES, DrawnRows, Regularizer
from discreet.mechanisms.napp.event import least_modulus, least_scale, noise_scale, printed_retrievable, retrievable
from discreet.mechanisms.napp.release import NAPPDraws
from discreet.privacy import gdp

EPSILON, DELTA, L = 1.0, 1e-4, 2.0
SD = noise_scale(L, EPSILON / 2, DELTA)
LAMBDA_0 = least_modulus(1.0, EPSILON, 0.5)
RNG = np.random.default_rng(0)
ONE = np.array([True])


def thetas(rows, grid, Lambda, *, selection=False, T=80):
    """The published estimate (p = 1, n_e in its limit, no zeros set) of rows (x, y), for each b of a grid.

    Problems of one coefficient each are one problem of many with a diagonal X'X.
    """
    (x, y), d = np.array(rows).T, len(grid)
    slopes = np.ones(d, dtype=bool)
    plan = NAPPPlan("linear", Regularizer("lasso", Lambda), LAMBDA_0, slopes, selection=selection, n_e=None, T=T)
    data = SquaredLosses(np.eye(d) * (x @ x), np.full(d, x @ y, dtype=float), 0.0)
    return iterate(data, None, plan, np.array(grid, dtype=float), RNG).thetas[-1]


def probabilities(edges):
    return np.diff(ndtr(edges / SD)), (edges[1:] + edges[:-1]) / 2


def test_the_constants_of_the_example():
    assert pytest.approx(17.63, abs=0.01) == SD
    assert LAMBDA_0 == 1.0


# -------------------------------------------------------------------- E10: weights that depend on the data


def test_e10_the_published_method_after_80_iterations():
    """The same event as in test_errata_objective, by the code of the estimator; theta is odd in b.

    For |b| below 8 it is smaller, for |b| above 13 it is larger than the event has it.
    """
    mass, b = probabilities(np.linspace(8, 13, 401))
    ends = -thetas([(0.01, 0)], [8, 13], 5.0), -thetas([(0.01, 0), (1, 0)], [8, 13], 5.0)
    assert max(e[0] for e in ends) < 0.26
    assert min(e[1] for e in ends) > 1
    p, q = (
        2 * mass[(theta > 0.26) & (theta < 1)].sum()
        for theta in (-thetas(rows, b, 5.0) for rows in ([(0.01, 0)], [(0.01, 0), (1, 0)]))
    )
    assert p == pytest.approx(0.0064, abs=3e-4)
    assert q == pytest.approx(0.0297, abs=3e-4)
    assert q - math.exp(EPSILON) * p == pytest.approx(0.0123, abs=1e-3)


def test_e10_the_fixed_point():
    """After very many iterations theta is (-b - 2 Lambda)/X'X, and has no curvature but the data's."""
    b = -10 - np.array([0.3, 0.9])
    theta = thetas([(0.01, 0), (1, 0)], b, 5.0, T=4000)
    np.testing.assert_allclose(theta, (-b - 10) / 1.0001, rtol=1e-3)
    mass = [ndtr((10 + xx) / SD) - ndtr(10 / SD) for xx in (1e-4, 1.0001)]
    assert mass[0] == pytest.approx(1.9e-6, rel=0.02)
    assert mass[1] == pytest.approx(0.0190, rel=0.01)
    assert math.log(mass[1] / mass[0]) == pytest.approx(9.19, abs=0.01)


def test_e10_a_fixed_weight_holds():
    """The same event with ridge weights: the sound part."""
    mass, b = probabilities(np.linspace(-9 * SD, 9 * SD, 400_001))
    for event in ((0.26, 1.0), (0.0, 1.0)):
        p, q = (
            mass[(np.abs(b / (xx + 2)) > event[0]) & (np.abs(b / (xx + 2)) < event[1])].sum() for xx in (1e-4, 1.0001)
        )
        assert q <= math.exp(EPSILON) * p + DELTA
        assert p <= math.exp(EPSILON) * q + DELTA


# -------------------------------------------------------------------- E11: truncated noise


def test_e11_truncated_noise_has_another_support():
    """1000 rows (1, 1), Lambda = 5; one row (1, -1) more. b > 0 leaves theta below the value at b = 0."""
    plain, more = [(1, 1)] * 1000, [(1, 1)] * 1000 + [(1, -1)]
    with_row, highest = thetas(more, [1e-12], 5.0, selection=True)[0], thetas(plain, [0.0], 5.0, selection=True)[0]
    assert with_row < highest
    b = (highest - with_row) * 1000  # theta falls by 1/1000 for each unit of b
    assert thetas(plain, [b], 5.0, selection=True)[0] == pytest.approx(with_row, abs=1e-7)
    assert 2 * ndtr(b / SD) - 1 == pytest.approx(0.090, abs=1e-3)


def test_e11_in_the_estimator():
    """Some releases without the row exceed all that are possible with it: a share of 0.090, within 3 sd."""
    X = np.ones((1000, 1))
    facts = {"epsilon": 1, "delta": 1e-4, "data_norm": 1, "bounds_y": (-1, 1), "fit_intercept": False}
    facts |= {"alpha": 5, "published": "li2021", "constants": NappConstants(slope=L)}
    facts |= {"augmentation": NappAugmentation(selection="VS+", n_e=None)}
    bound = thetas([(1, 1)] * 1000 + [(1, -1)], [0.0], 5.0, selection=True)[0]
    drawn = np.array([NAPP(**facts, random_state=seed).fit(X, np.ones(1000)).coef_[0] for seed in range(100)])
    assert 0.01 < np.mean(drawn > bound) < 0.18
    with_row = np.r_[np.ones(1000), -1.0]
    other = [NAPP(**facts, random_state=seed).fit(np.ones((1001, 1)), with_row).coef_[0] for seed in range(50)]
    assert max(other) <= bound + 1e-6


# -------------------------------------------------------------------- E12: b'|theta| without truncation


@pytest.mark.parametrize(("Lambda", "probability"), [(5.0, 0.39), (0.0, 0.50)])
def test_e12_the_sign_is_the_datas(Lambda, probability):
    """Eq. (8) for one row (1, y) and y near 0: theta has the sign of y wherever b < -Lambda, and is 0 elsewhere."""
    grid = np.linspace(-60, 60, 240_001)
    for b in (-Lambda - 8.0, -Lambda - 0.5, -Lambda + 0.5):
        for y in (0.01, -0.01):
            value = (grid - y) ** 2 / 2 + (Lambda + b) * np.abs(grid) + LAMBDA_0 * grid**2
            best = grid[value.argmin()]
            assert np.sign(best) == (np.sign(y) if b < -Lambda else 0)
    assert ndtr(-Lambda / SD) == pytest.approx(probability, abs=5e-3)


def test_e12_iterated_as_published():
    """Lambda = 0. One row (1, -1): theta < 0 where |b| < 1. With (1, 1) besides it never is."""
    b = np.linspace(-40, 40, 161)[:-1] + 0.01
    one, both = (thetas(rows, b, 0.0, selection=True) for rows in ([(1, -1)], [(1, -1), (1, 1)]))
    assert ((one < 0) == (np.abs(b) < 1)).all()
    assert not (both < 0).any()
    assert 2 * ndtr(1 / SD) - 1 == pytest.approx(0.045, abs=5e-4)


# -------------------------------------------------------------------- E13: retrieved budgets


def test_e13_as_printed_half_is_retrieved_where_there_is_nothing():
    """All weights at Lambda_0: V is 2 Lambda_0/(n_e l''), and 1 - Lambda_0/(n_e l'' V) is a half."""
    n_e, curvature, budget = 10_000, 0.25, 0.5
    V = 2 * LAMBDA_0 / (n_e * curvature)
    assert printed_retrievable(budget, LAMBDA_0, LAMBDA_0) == budget * (1 - LAMBDA_0 / (n_e * curvature * V)) == 0.25
    assert retrievable(budget, LAMBDA_0, LAMBDA_0) == 0
    assert min(0, budget * (1 - LAMBDA_0 / (n_e * curvature * V * 50))) == 0  # min retrieves nothing, ever


def test_e13_all_weights_must_exceed():
    """The text after proposition 6 takes the least over those j that exceed Lambda_0: one is enough to retrieve."""
    data = SquaredLosses(np.diag([100.0, 100.0]), np.array([900.0, 1.0]), 0.0)
    plan = NAPPPlan("linear", Regularizer("lasso", 3.0), LAMBDA_0, np.array([True, True]), n_e=None)
    found = recycle(data, None, plan, NAPPDraws(np.zeros(2), RNG, 0.5, 0, lambda more: 1.0))
    w = found.run.weights
    assert w[0] == LAMBDA_0 < w[1]
    assert found.retrieved == []
    assert retrievable(0.5, LAMBDA_0, w[w > LAMBDA_0].min()) > 0.4


def test_e13_rescaling_does_not_compound():
    """Line 6 of algorithm 2 multiplies e* by r e/(r e + Delta) again in every round; the noise of (14) does not."""
    factors = []

    def rescale(more):
        factors.append(0.5 / (0.5 + more))
        return factors[-1]

    data = SquaredLosses(np.diag([50.0, 60.0]), np.array([4.0, 5.0]), 0.0)
    plan = NAPPPlan("linear", Regularizer("lasso", 1.0), LAMBDA_0, np.array([True, True]), n_e=None)
    b = np.array([0.5, -0.4])
    found = recycle(data, None, plan, NAPPDraws(b, RNG, 0.5, 3, rescale))
    assert len(found.retrieved) >= 2
    assert found.retrieved == sorted(found.retrieved)
    assert found.retrieved[-1] <= 0.5
    assert factors == [0.5 / (0.5 + more) for more in found.retrieved]
    floor = found.run.least_weight(plan)
    expected = iterate(data, None, plan, factors[-1] * b, RNG, floor).thetas[-1]
    np.testing.assert_allclose(found.run.thetas[-1], expected, rtol=1e-3)
    assert np.prod(factors) < 0.8 * factors[-1]


def test_e13_a_returned_budget_depends_on_the_data():
    """Two neighbours of which only one is told that epsilon is smaller."""
    plan = NAPPPlan("linear", Regularizer("lasso", 1.0), LAMBDA_0, ONE, n_e=None)
    left = [
        recycle(
            SquaredLosses(np.array([[S]]), np.array([v]), 0.0),
            None,
            plan,
            NAPPDraws(np.zeros(1), RNG, 0.5, 0, lambda m: 1.0),
        )
        for S, v in ((2.0, 3.2), (3.0, 6.2))
    ]
    assert left[0].retrieved
    assert not left[1].retrieved


# -------------------------------------------------------------------- E22: eq. (3)


def test_e22_the_printed_outcomes_cannot_carry_the_noise():
    """l' = 0 for e_y = 0 (linear) and e_y = 1 (Poisson); for logistic halves of outcomes and of signs coincide."""
    linear, poisson = (lambda y: 0.0 - y), (lambda y: 1.0 - y)
    assert linear(0.0) == 0 == poisson(1.0)
    E = RNG.standard_normal((500, 2)) * 0.1
    rows, y = np.concatenate([E, -E]), np.repeat([0.0, 1.0], 500)
    slope = Logistic().parts(np.zeros(1000), y)[1]
    np.testing.assert_allclose(rows.T @ slope, E.sum(axis=0))  # adds up
    ours = DrawnRows(Logistic(), PLACES["logistic"], E, np.zeros(2))
    np.testing.assert_allclose(ours(np.zeros(2))[1], 0, atol=1e-12)  # cancels


def test_e22_one_label_is_the_same_as_two_with_signs_of_their_own():
    """A logistic row (e, 1) is a row (-e, 0): halves of labels are possible where noise takes their signs."""
    E, theta = RNG.standard_normal((40, 3)), np.array([0.3, -1.0, 2.0])
    one = Logistic().parts(E @ theta, np.ones(40))[0]
    two = Logistic().parts(np.r_[E[:20], -E[20:]] @ theta, np.repeat([1.0, 0.0], 20))[0]
    np.testing.assert_allclose(one, two, rtol=1e-12)


# -------------------------------------------------------------------- corollary 5


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-10])
def test_corollary_5_is_the_printed_bound_and_holds_for_the_noise(epsilon, delta):
    """(12) for r = 1/2; its second line is the noise of eq. (4)."""
    L = 1.7
    printed = L / epsilon * (math.sqrt(-2 * math.log(delta) + epsilon) + math.sqrt(-2 * math.log(delta)))
    simple = 2 * L / epsilon * math.sqrt(-2 * math.log(delta) + epsilon)
    assert least_scale(L, epsilon / 2, delta) == pytest.approx(printed)
    assert noise_scale(L, epsilon / 2, delta) == pytest.approx(simple)
    assert printed < simple
    assert gdp.delta(mu=L / printed, epsilon=epsilon / 2) <= delta
