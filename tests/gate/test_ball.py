"""Draws from a Gaussian restricted to a ball: their law, exact decisions, the bound that rejection needs."""

import math

import mpmath
import numpy as np
import pytest
from listed_words import Listed
from scipy import stats

from discreet.errors import DataError
from discreet.gate.entropy import NO_NOISE, SeededEntropy
from discreet.mechanisms.posterior_sampling import ball_release as ball_module
from discreet.mechanisms.posterior_sampling.ball_release import Ball, Proposal


def make(S, b, gamma=0.5, radius=1.0, penalty=None):
    whole = np.vectorize(lambda value: round(value * 2**40), otypes=[object])
    penalty = 1 / (gamma * radius**2) if penalty is None else penalty
    return Ball(whole(np.atleast_2d(S)), whole(np.atleast_1d(b)), gamma, penalty, radius)


def draws(ball, count, seed=0):
    proposal, source = Proposal(ball), SeededEntropy(seed)
    return np.array([proposal.draw(source) for _ in range(count)])


@pytest.mark.parametrize(
    ("S", "b", "radius"),
    [(3.0, 9.0, 2.0), (0.0, 0.0, 1.0), (100.0, 20.0, 0.3), (10.0, -200.0, 1.0), (1e4, 5e4, 1.3), (1e6, 9e5, 1.0)],
    ids=["across the boundary", "flat", "inside", "outside", "far outside", "narrow"],
)
def test_the_law_in_one_dimension(S, b, radius):
    ball = make(S, b, radius=radius)
    found = draws(ball, 1500)[:, 0]
    x = np.sort(np.r_[np.linspace(-radius, radius, 20_001), radius - np.geomspace(1e-12, radius, 20_001)])
    energy = ball.gamma / 2 * ((S + ball.penalty) * x**2 - 2 * b * x)
    density = np.exp(energy.min() - energy)
    law = np.r_[0, np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))]
    assert stats.kstest(found, lambda v: np.interp(v, x, law / law[-1])).pvalue > 1e-3


@pytest.mark.parametrize(("scale", "target"), [(4.0, 0.2), (60.0, 0.9), (60.0, 3.0)])
def test_the_law_in_two_dimensions(scale, target):
    S = scale * np.array([[2.0, 1.2], [1.2, 1.0]])
    ball = make(S, S @ [target, -target / 2])
    found = draws(ball, 1500)
    r, angle = np.meshgrid((np.arange(400) + 0.5) / 400, np.linspace(0, 2 * np.pi, 400, endpoint=False))
    point = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1)
    form = np.einsum("...i,ij,...j", point, S + ball.penalty * np.eye(2), point)
    energy = ball.gamma / 2 * (form - 2 * point @ S @ [target, -target / 2])
    weight = r * np.exp(energy.min() - energy)
    for statistic in (lambda x, y: x, lambda x, y: y, np.hypot, np.multiply):
        values = statistic(point[..., 0], point[..., 1])
        mean = np.sum(weight * values) / weight.sum()
        sd = math.sqrt(np.sum(weight * (values - mean) ** 2) / weight.sum())
        assert abs(statistic(*found.T).mean() - mean) < 4 * sd / math.sqrt(len(found))
    assert np.hypot(*found.T).max() <= 1


def test_the_bound_holds_on_the_whole_ball():
    """f <= M q, by mpmath, at random points, at the boundary, and where the bound is nearly reached."""
    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0, 1e3, 1e6, 1e12):
        Z = rng.normal(size=(3, 3))
        S = scale * (Z @ Z.T + np.diag([0, 1e-6, 1]))
        ball = make(S, scale * rng.normal(size=3))
        proposal = Proposal(ball)
        directions = rng.normal(size=(20, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        points = np.r_[directions[:10] * rng.random((10, 1)), directions[10:] * (1 - 1e-11), [proposal._mu * 0.999999]]
        inside = points[np.linalg.norm(points, axis=1) <= 1]
        for theta in np.floor(inside / ball.step).astype(np.int64):
            centre = centres(proposal, theta)
            log_alpha, error = proposal._log_alpha(theta[None], centre[None])
            assert proposal._exact_alpha(theta, centre, 64) <= 2 ** (64 + ball_module.GUARD)
            if log_alpha[0] > -300:
                exact = log_of(ball, proposal, theta, centre)
                assert abs(log_alpha[0] - exact) <= error[0]
    assert exact_somewhere_near_the_bound()


def centres(proposal, theta):
    """What `_draw` would have drawn the coordinates of theta around."""
    step, centre = proposal._ball.step, np.zeros(len(theta))
    for i in reversed(range(len(theta))):
        off = theta[i + 1 :] * step - proposal._mu[i + 1 :]
        around = (proposal._mu[i] - off @ proposal._L[i + 1 :, i] / proposal._L[i, i]) / step
        centre[i] = np.rint(around * 4096) / 4096
    return centre


def log_of(ball, proposal, theta, centre):
    """log f/(M q) from its definition."""
    with mpmath.workprec(400):
        t = [mpmath.mpf(int(k)) * ball.step for k in theta]
        S = [[mpmath.mpf(int(v)) / 2**40 for v in row] for row in ball.S]
        energy = sum(t[i] * S[i][j] * t[j] for i in range(len(t)) for j in range(len(t)))
        energy += sum(ball.penalty * v * v - 2 * v * mpmath.mpf(int(b)) / 2**40 for v, b in zip(t, ball.b, strict=True))
        each = zip(theta.tolist(), centre.tolist(), proposal._sd.tolist(), strict=True)
        ends = [(abs(mpmath.mpf(k) - c) / sd, mpmath.mpf(0.5) / sd) for k, c, sd in each]
        q = mpmath.fprod(mpmath.ncdf(h - z) - mpmath.ncdf(-h - z) for z, h in ends)
        return float(-mpmath.mpf(ball.gamma) / 2 * energy - mpmath.log(q) - proposal._log_M)


def exact_somewhere_near_the_bound():
    """At mu on the boundary the bound is reached but for the slack."""
    ball = make(1e6, 5e6)
    proposal = Proposal(ball)
    theta = np.array([int(1 / ball.step)])
    return -0.1 < log_of(ball, proposal, theta, centres(proposal, theta)) < 0


def test_undecided_comparisons_are_settled_with_more_digits(monkeypatch):
    """With an error bound so large that nothing is sure, every decision is mpmath's, and the same."""
    ball = make([[30.0, 5.0], [5.0, 20.0]], [40.0, -30.0])
    plain = draws(ball, 60)
    own = Proposal._log_alpha

    def unsure(self, theta, centre):
        log_alpha, error = own(self, theta, centre)
        return log_alpha, error + 100

    settled = []
    decide = Proposal._settle
    monkeypatch.setattr(Proposal, "_log_alpha", unsure)
    monkeypatch.setattr(Proposal, "_settle", lambda self, *given: settled.append(1) or decide(self, *given))
    assert np.array_equal(draws(ball, 60), plain)
    assert len(settled) > 60


def test_one_digit_is_enough_to_be_undecided():
    """A word whose interval holds f/(M q) is extended until the two are apart."""
    ball = make(3.0, 1.0)
    proposal = Proposal(ball)
    theta = np.array([int(0.2 / ball.step)])
    centre = centres(proposal, theta)
    word = proposal._exact_alpha(theta, centre, 64) >> ball_module.GUARD

    assert proposal._settle(theta, centre, word, Listed(0, 0))
    assert not proposal._settle(theta, centre, word, Listed(2**64 - 1, 0))
    assert proposal._settle(theta, centre, word - 1, Listed(0, 0))
    assert not proposal._settle(theta, centre, word + 1, Listed(0, 0))


def test_points_are_on_a_public_lattice_and_in_the_ball():
    ball = make(np.diag([1e5, 2.0]), [4e5, 3.0], radius=0.7)
    assert ball.step == make(np.eye(2), [0.0, 0.0], radius=0.7).step
    found = draws(ball, 50) / ball.step
    assert np.array_equal(found, np.rint(found))
    proposal = Proposal(ball)
    edge = int(0.7 / ball.step)
    assert proposal._inside(np.array([edge, 0]))
    assert not proposal._inside(np.array([edge + 1, 0]))
    assert not proposal._inside(np.array([edge, 1000]) + np.array([0, 10**9]))


def test_without_noise_it_is_the_constrained_least_squares_fit():
    S, b = np.array([[5.0, 1.0], [1.0, 3.0]]), np.array([1.0, 0.5])
    inside = Proposal(make(S, b, penalty=0.1)).draw(NO_NOISE)
    np.testing.assert_allclose(inside, np.linalg.solve(S + 0.1 * np.eye(2), b), rtol=1e-9)
    outside = Proposal(make(S, 100 * b, penalty=0.1)).draw(NO_NOISE)
    assert np.linalg.norm(outside) == pytest.approx(1)
    gradient = (S + 0.1 * np.eye(2)) @ outside - 100 * b
    assert gradient[0] * outside[1] == pytest.approx(gradient[1] * outside[0])


def test_few_proposals_are_needed():
    """The mean number grows as the square root of gamma nu R^2, or of d."""
    rng = np.random.default_rng(1)
    for d, rows in ((2, 1e2), (30, 1e3), (30, 1e6)):
        Z = rng.uniform(-1, 1, (500, d))
        ball = make(Z.T @ Z * rows / 500, Z.T @ np.sign(Z[:, 0]) * rows / 500, gamma=2 / (1 + math.sqrt(d)) ** 2)
        proposal = Proposal(ball)
        theta, centre = proposal._draw(SeededEntropy(3))
        log_alpha, _ = proposal._log_alpha(theta, centre)
        share = np.mean(np.exp(log_alpha) * [proposal._inside(point) for point in theta])
        assert share > 0.2 / math.sqrt(1 + d + ball.gamma * proposal.nu)


def test_a_table_that_is_too_large_is_refused():
    with pytest.raises(DataError, match="too large"):
        Proposal(make(np.diag([1e19, 0.0]), [1e18, 0.0]))


def test_nothing_is_told_of_the_data():
    ball = make(3.125, 9.0)
    assert "9" not in repr(ball) + repr(Proposal(ball))
    assert "3125" not in repr(ball) + repr(Proposal(ball))
