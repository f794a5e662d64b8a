"""The posterior of scoring steps: its integral over normal rows, and its limits without noise and with noise alone."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.families import FAMILIES, Logistic, Poisson, SmoothHinge
from discreet.solve.scoring import Derivative, NoisyScore, ScoreField, Scoring, step_variance

ROWS, RADIUS, WIDTH, SHARE, CORNER = 3000, 10.0, 0.7, 0.4, 0.5
SLOPES = np.array([0.4, -0.8, 0.5, 0.3])
LOSSES = {"logit": Logistic(), "log": Poisson(1e4), "sign": SmoothHinge(CORNER)}
"""Rates stay far below the limit of the counts: at the limit they have a corner, where no integral is smooth."""


def means(link, shift=0.0, share=SHARE):
    most, width = 1e4 if link == "log" else 1.0, CORNER if link == "sign" else None
    return FAMILIES[link].field(most, shift, np.array([share]), width)


def moments(rng, constant):
    A = rng.normal(size=(4, 4))
    V = A @ A.T / 4 + 0.3 * np.eye(4)
    if constant:
        V[0] = V[:, 0] = 0.0
        V[0, 0] = 1.0
    return V


def normal_rows(V, constant, rng, n=100_000):
    """Rows whose first and second moments are those of the law, to the last bits: z and -z, linearly mapped."""
    half = rng.standard_normal((n, 4))
    z = np.vstack([half, -half])
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T @ np.linalg.cholesky(V).T
    if constant:
        z[:, 0] = 1.0
    return z


# ---------------------------------------------------------------- the field


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("link", LOSSES)
def test_the_field_is_the_mean_over_normal_rows(link, constant):
    """Errors of the drawn rows are below 0.3 % for any of ten seeds; a wrong term is larger by far."""
    rng = np.random.default_rng(0)
    for radius in (2.0, 0.9):
        V, gamma = moments(rng, constant), 0.6 * radius * rng.normal(size=(4, 1))
        mean = means(link, shift=0.3 if link == "log" else 0.0)
        F, _ = ScoreField(mean, V, 1000.0, radius, WIDTH, constant).at(gamma)
        z = normal_rows(V, constant, rng)
        drawn = (z * mean(z @ gamma / radius)[0]).mean(axis=0)
        expected = 1000 * min(1, radius**2 / np.trace(V)) / (radius * WIDTH) * drawn
        np.testing.assert_allclose(F, expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("link", LOSSES)
def test_the_derivative_of_the_field_is_that_of_finite_differences(link, constant):
    rng = np.random.default_rng(1)
    field = ScoreField(means(link), moments(rng, constant), 1000.0, 2.0, WIDTH, constant)
    gamma, h = 0.5 * rng.normal(size=(4, 1)), 1e-5
    moved = [h * np.eye(4)[:, [j]] for j in range(4)]
    found = np.array([(field.at(gamma + m)[0] - field.at(gamma - m)[0]) / (2 * h) for m in moved]).T
    _, H = field.at(gamma)
    np.testing.assert_allclose(H, found, atol=1e-3 * np.abs(H).max())
    np.testing.assert_allclose(H, H.T, atol=1e-12 * np.abs(H).max())


@pytest.mark.parametrize("link", LOSSES)
def test_at_the_constant_model_the_field_has_no_slopes(link):
    """Without slopes the predictor has no variance, which the integral must not divide by."""
    field = ScoreField(means(link), np.eye(4), 1000.0, RADIUS, WIDTH, True)
    F, H = field.at(np.array([[0.5 * RADIUS], [0.0], [0.0], [0.0]]))
    h, slope = means(link)(np.array([[0.5]]))
    np.testing.assert_allclose(F, [100 / WIDTH * h[0, 0], 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(H, 10 / WIDTH * slope[0, 0, 0] * np.eye(4), atol=1e-9)


@pytest.mark.parametrize("link", LOSSES)
def test_the_field_is_the_mean_slope_of_the_loss(link):
    """Up to a term that does not depend on the predictor, where classes do not depend on it, either."""
    eta = np.linspace(-3, 3, 61)
    loss, shares = LOSSES[link], {0.0: 1 - SHARE, 1.0: SHARE}
    expected = sum(share * loss.parts(eta, np.full(61, y))[1] for y, share in shares.items())
    h, slope = means(link)(eta[:, None])
    off = h[:, 0] - expected
    np.testing.assert_allclose(off, off[0], atol=1e-9)
    curvature = sum(share * loss.parts(eta, np.full(61, y))[2] for y, share in shares.items())
    np.testing.assert_allclose(slope[:, 0, 0], curvature, rtol=1e-9)


@pytest.mark.parametrize("link", LOSSES)
def test_the_residual_of_a_row_is_its_score(link):
    rng = np.random.default_rng(2)
    eta, y = rng.normal(size=200), rng.integers(0, 2, 200).astype(float)
    width = CORNER if link == "sign" else None
    found = FAMILIES[link].residual(eta, y, 1e4 if link == "log" else 1.0, width)
    np.testing.assert_allclose(found, -LOSSES[link].parts(eta, y)[1], rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- the posterior


@dataclass(frozen=True)
class Rows:
    """Made-up rows, with the first of four coordinates a constant."""

    link: str
    z: np.ndarray
    y: np.ndarray

    @classmethod
    def drawn(cls, link, seed, skew=False):
        rng = np.random.default_rng(seed)
        z = rng.exponential(size=(ROWS, 4)) - 1 if skew else rng.normal(size=(ROWS, 4))
        z[:, 0] = 1.0
        eta = z @ SLOPES
        y = rng.poisson(np.exp(eta)) if link == "log" else rng.random(ROWS) < 1 / (1 + np.exp(-eta))
        return cls(link, z, y.astype(float))

    @property
    def fit(self):
        """The coefficients with the least loss, by another method."""

        def both(theta):
            value, slope, _ = LOSSES[self.link].parts(self.z @ theta, self.y)
            return value.sum(), self.z.T @ slope

        return minimize(both, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-8}).x

    @property
    def constant(self):
        m = self.y.mean()
        return np.array([math.log(m) if self.link == "log" else math.log(m / (1 - m)), 0, 0, 0])

    def sums(self, gamma):
        """The sum of u e at a model, without noise."""
        width = CORNER if self.link == "sign" else None
        eta = (self.z @ gamma / RADIUS)[:, 0]
        e = FAMILIES[self.link].residual(eta, self.y, 1e4 if self.link == "log" else 1.0, width) / WIDTH
        return (self.z.T @ e / RADIUS)[:, None]

    def derivative(self, gamma):
        """The derivative of minus that sum."""
        curvature = LOSSES[self.link].parts((self.z @ gamma / RADIUS)[:, 0], self.y)[2]
        return self.z.T @ (curvature[:, None] * self.z) / (RADIUS**2 * WIDTH)

    def scored(self, sd, steps=8, seed=0):
        rng = np.random.default_rng(seed)
        share = 0.5 if self.link == "log" else float(self.y.mean())
        field = ScoreField(means(self.link, share=share), np.eye(4), float(ROWS), RADIUS, WIDTH, True)
        scoring = Scoring(field, RADIUS * self.constant[:, None], 0.1)
        for _ in range(steps):
            gamma = scoring.mean
            noisy = self.sums(gamma) + sd * rng.standard_normal((4, 1))
            scoring = scoring.after(NoisyScore(gamma, noisy, sd))
        return scoring


def theta(scoring):
    return scoring.mean[:, 0] / RADIUS


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("link", LOSSES)
def test_without_noise_the_steps_lead_to_the_fit_of_normal_rows(link, seed):
    rows = Rows.drawn(link, seed)
    np.testing.assert_allclose(theta(rows.scored(1e-6)), rows.fit, atol=1e-5)


@pytest.mark.parametrize("link", ["logit", "sign"])
def test_without_noise_the_steps_lead_to_the_fit_of_other_rows_too(link):
    """The field of normal rows is then wrong, but successive steps correct it."""
    rows = Rows.drawn(link, 0, skew=True)
    np.testing.assert_allclose(theta(rows.scored(1e-6)), rows.fit, atol=1e-4)


def test_rates_of_skewed_rows_need_more_steps():
    """Rates of far rows are much larger than those of normal ones, so the field is off by more."""
    rows = Rows.drawn("log", 0, skew=True)
    few, many = (np.abs(theta(rows.scored(1e-6, steps)) - rows.fit).max() for steps in (8, 24))
    assert many < few < 0.1
    assert many < 1e-3


@pytest.mark.parametrize("link", LOSSES)
def test_noise_moves_the_fit_by_about_its_own_size(link):
    """One sd of a step's noise, over eight steps, in units of the derivative of the score: at most six of them."""
    rows, sd = Rows.drawn(link, 0), 1.0
    H = rows.derivative(RADIUS * rows.fit[:, None])
    own = sd / math.sqrt(8) * np.linalg.norm(np.linalg.inv(H), axis=1) / RADIUS
    for seed in range(3):
        assert (np.abs(theta(rows.scored(sd, seed=seed)) - rows.fit) < 6 * own).all()


@pytest.mark.parametrize("link", LOSSES)
def test_steps_of_noise_alone_leave_the_constant_model(link):
    rows = Rows.drawn(link, 0)
    assert rows.scored(1e8, steps=0).mean.tolist() == (RADIUS * rows.constant[:, None]).tolist()
    for seed in range(3):
        np.testing.assert_allclose(theta(rows.scored(1e8, seed=seed)), rows.constant, atol=0.02)


@pytest.mark.parametrize("link", ["logit", "log"])
def test_a_derivative_that_is_told_makes_the_last_step_better(link):
    rows = Rows.drawn(link, 0, skew=True)
    one = rows.scored(1e-6, steps=4)
    gamma = one.mean
    step = NoisyScore(gamma, rows.sums(gamma), 1e-6)
    told = one.after(step, Derivative(rows.derivative(gamma), 1e-6))
    untold = one.after(step)
    off = [np.abs(theta(scoring) - rows.fit).max() for scoring in (one, untold, told)]
    assert off[2] < 0.7 * off[1] < 0.7 * off[0]


def test_a_derivative_that_is_mostly_noise_is_not_trusted():
    H = 5.0 * np.eye(4)
    assert Derivative(H, 1e-9).trust(H) == pytest.approx(1.0)
    assert Derivative(H, 1e6).trust(H) < 1e-6
    assert np.linalg.eigvalsh(Derivative(np.diag([5.0, -3.0]), 1.0).denoised).min() >= 0


@pytest.mark.parametrize("link", ["logit", "log"])
def test_all_steps_tell_the_score_at_the_last_model(link):
    """As a step near it would, with less noise than any of them has."""
    rows = Rows.drawn(link, 0)
    scoring = rows.scored(1.0)
    gamma = scoring.steps[-1].gamma
    found, sd = scoring.score(rows.derivative(gamma))
    assert 1 / math.sqrt(8) <= sd < 1.0
    assert (np.abs(found - rows.sums(gamma)[:, 0]) < 6 * sd).all()


def test_a_step_far_from_the_model_counts_less():
    assert step_variance(2.0, np.zeros(3)) == 4.0
    assert step_variance(2.0, np.full(3, 10.0)) > 10
