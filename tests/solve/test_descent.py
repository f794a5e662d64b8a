"""Noisy descent: its limit without noise, the loss that it tells, and the model that it chooses."""

import math

import numpy as np
import pytest

from discreet.solve.descent import Descent

N, Q = 4000, 6
RNG = np.random.default_rng(0)
U = RNG.normal(size=(N, Q))
U /= np.maximum(np.linalg.norm(U, axis=1), 1.0)[:, None]
TRUE = RNG.normal(size=Q)


def scores(kind, y, gamma):
    eta = U @ gamma[:, 0]
    e = y - (eta if kind == "linear" else 1 / (1 + np.exp(-eta)))
    return (U.T @ e)[:, None]


def loss(kind, y, gamma):
    eta = U @ gamma[:, 0]
    return np.mean((y - eta) ** 2) / 2 if kind == "linear" else np.mean(np.logaddexp(0, eta) - y * eta)


def outcome(kind):
    eta = U @ TRUE
    return eta + 0.3 * RNG.normal(size=N) if kind == "linear" else (RNG.random(N) < 1 / (1 + np.exp(-eta))) * 1.0


def descended(kind, y, steps, time, sd=0.0, rng=None, width=1.0):
    own = Descent(float(N), steps, width, time, (np.zeros((Q, 1)),))
    for _ in range(steps):
        noise = 0.0 if rng is None else sd * rng.normal(size=(Q, 1))
        own = own.after(scores(kind, y, own.gamma) / width + noise, sd)
    return own


@pytest.mark.parametrize("kind", ["linear", "logit"])
def test_without_noise_it_ends_at_the_least_loss(kind):
    y = outcome(kind)
    own = descended(kind, y, 400, 4000.0)
    assert np.abs(scores(kind, y, own.estimate)).max() / N < 1e-4


@pytest.mark.parametrize("kind", ["linear", "logit"])
def test_it_tells_the_loss_of_its_models(kind):
    y = outcome(kind)
    own = descended(kind, y, 60, 300.0)
    exact = [loss(kind, y, model) - loss(kind, y, own.models[0]) for model in own.models[:-1]]
    assert np.abs(np.array(own.losses) - exact).max() < 0.02 * abs(exact[-1])


def test_the_loss_is_told_without_bias_under_noise():
    """The mean of 400 descents; the noise of a score enters its own move, and is taken away."""
    y, rng, gaps, sds = outcome("linear"), np.random.default_rng(1), [], []
    for _ in range(400):
        own = descended("linear", y, 12, 60.0, 60.0, rng)
        gaps.append(own.losses[-1] - loss("linear", y, own.models[-2]) + loss("linear", y, own.models[0]))
        sds.append(math.sqrt(own.variances[-1]))
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / 20
    assert 0.5 * np.mean(sds) < np.std(gaps) < 2 * np.mean(sds)


def test_where_noise_is_all_the_constant_model_is_kept():
    """With nothing to learn, noise makes the loss rise, and the estimate stays near the first model."""
    y, rng = np.zeros(N), np.random.default_rng(2)
    sizes = [np.linalg.norm(descended("linear", y, 30, 5e3, 300.0, rng).estimate) for _ in range(10)]
    walked = [np.linalg.norm(descended("linear", y, 30, 5e3, 300.0, rng).models[-1]) for _ in range(10)]
    assert np.median(sizes) < 0.5 * np.median(walked)


def test_scores_are_in_units_of_the_half_width():
    y = outcome("linear")
    one, other = (descended("linear", y, 20, 100.0, width=b).estimate for b in (1.0, 0.25))
    assert np.allclose(one, other)
