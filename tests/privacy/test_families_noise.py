"""The noise that is drawn is the noise that events list."""

import math
from functools import cache

import numpy as np
import pytest

from discreet import OPS, AdaOPS, Domain, Moments, NoisyGradientDescent, NoisySGD, OutputPerturbation
from discreet.gate.entropy import entropy
from discreet.mechanisms.gradient_descent.batches_release import release_batches
from discreet.mechanisms.gradient_descent.release import release_descent
from discreet.mechanisms.posterior_sampling.release import BoundedRidge

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (800, 2))
Y = X @ [0.5, -0.25] + RNG.uniform(-0.25, 0.25, 800)
DOMAIN = Domain.from_bounds(["a", "b"], ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
MOMENTS = Moments.from_source((X, Y), DOMAIN)
RUNS = 200


def new_fits(cls, runs, **options):
    source = entropy(0)
    given = {"epsilon": 1, "delta": 1e-5, "rows": 800, "random_state": source} | options
    return [cls(**given).fit_moments(MOMENTS, "y") for _ in range(runs)]


fits = cache(new_fits)


def is_standard(values):
    values = np.ravel(values)
    slack = 4 / math.sqrt(len(values))
    assert abs(values.mean()) < slack
    assert abs(values.std() - 1) < slack


def ridge(penalty):
    S = MOMENTS.floats([1, 2, 3])
    return np.linalg.solve(S[:2, :2] + penalty * np.eye(2), S[:2, 2])


@pytest.mark.parametrize(("cls", "runs"), [(OPS, 30), (AdaOPS, 30)])
def test_noise_hides_where_a_sample_was_rounded(cls, runs, monkeypatch):
    monkeypatch.setattr(BoundedRidge, "draw", lambda *args: np.full(2, 0.3))
    found = new_fits(cls, runs)
    is_standard([(fit.coef_ - 0.3) / fit.certificate_.events[0].output for fit in found])


@pytest.mark.parametrize("cls", [OPS, AdaOPS])
def test_a_sample_has_the_precision_it_lists(cls):
    S = MOMENTS.floats([1, 2, 3])[:2, :2]
    scores = []
    for fit in fits(cls, 60):
        event = fit.certificate_.events[0]
        L = np.linalg.cholesky(S + event.penalty * np.eye(2))
        scores.append(L.T @ (fit.coef_ - ridge(event.penalty)) * math.sqrt(event.gamma))
    is_standard(scores)


@pytest.mark.parametrize("cls", [AdaOPS, OutputPerturbation])
def test_the_first_two_releases_have_the_noise_they_list(cls):
    events = [fit.certificate_.events[0] for fit in fits(cls, 60)]
    least = np.linalg.eigvalsh(MOMENTS.floats([1, 2]))[0]
    is_standard([(event.eigenvalue - least) / event.eigenvalue_sd for event in events])
    sizes = [event.outcome + event.norm * np.linalg.norm(ridge(event.penalty)) for event in events]
    is_standard([(e.log_norm - math.log(size)) / e.norm_sd for e, size in zip(events, sizes, strict=True)])


def test_perturbed_coefficients_have_the_noise_they_list():
    found = [(fit.coef_, fit.certificate_.events[0]) for fit in fits(OutputPerturbation, 60)]
    is_standard([(coef - ridge(event.penalty)) * math.sqrt(event.gamma) for coef, event in found])


@pytest.mark.parametrize("shape", ["fisher", "democratic"])
def test_shaped_noise_is_smaller_where_more_is_known(shape):
    found = fits(OutputPerturbation, 100, shape=shape, epsilon=10)
    spread = [np.linalg.norm(fit.coef_ - ridge(fit.certificate_.events[0].penalty)) for fit in found]
    plain = [
        np.linalg.norm(fit.coef_ - ridge(fit.certificate_.events[0].penalty))
        for fit in fits(OutputPerturbation, 100, epsilon=10)
    ]
    assert 0.1 < np.mean(spread) / np.mean(plain) < 10


@pytest.mark.parametrize(("cls", "release"), [(NoisyGradientDescent, release_descent), (NoisySGD, release_batches)])
def test_gradients_have_the_noise_they_list(cls, release, monkeypatch):
    """One step from 0: what is released is step (X'y - noise)."""
    steps = []

    def record(private, event, *args):
        steps.append(args[-3] if release is release_descent else args[0])
        return release(private, event, *args)

    monkeypatch.setattr(f"{cls.__module__}.{release.__name__}", record)
    source = entropy(1)
    given = {"epsilon": 1, "delta": 1e-5, "rows": 800, "steps": 1, "random_state": source, "data_norm": 1.0}
    given |= {"bounds_y": (-1, 1), "fit_intercept": False}
    if cls is NoisySGD:
        given["rate"] = 1.0
    found = [cls(**given).fit(X, Y) for _ in range(RUNS)]
    exact = MOMENTS.floats([1, 2, 3])[:2, 2]
    noise = np.array([fit.coef_ / step - exact for fit, step in zip(found, steps, strict=True)])
    event = found[0].certificate_.events[0]
    sd = event.sd if cls is NoisySGD else event.sds[0]
    is_standard(noise / sd)
