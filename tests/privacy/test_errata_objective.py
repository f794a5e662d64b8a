"""Errata of li2021 that concern objective perturbation, recomputed, beside what we do instead."""

import math

import numpy as np
import pytest
from scipy.special import gamma, ndtr
from scipy.stats import kstest

from discreet.families import Logistic
from discreet.gate.entropy import SeededEntropy
from discreet.gate.noise import spherical_laplace
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent

# -------------------------------------------------------------------- E9: spherical Laplace noise


def log_density(x, shape):
    """Of a vector in the plane whose norm has a Gamma law of this shape and scale 1, up to a constant."""
    norm = np.linalg.norm(x, axis=-1)
    return (shape - 2) * np.log(norm) - norm


@pytest.mark.parametrize(("shape", "pure"), [(2, True), (1, False)])
def test_e9_the_norm_must_have_shape_p(shape, pure):
    """Moving the noise by 1/2 must change densities by at most e^(1/2): with shape 1 there is a pole at 0."""
    angle = np.linspace(0, 2 * np.pi, 400)
    rays = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points = np.geomspace(1e-4, 20, 300)[:, None, None] * rays
    ratio = log_density(points, shape) - log_density(points - [0.5, 0.0], shape)
    assert (np.abs(ratio).max() <= 0.5 + 1e-9) == pure
    assert pure or ratio.max() > 5


def test_e9_the_variance_of_a_coordinate_is_p_plus_1():
    """The paper says 2 s^2 for all p."""
    draws = np.array([spherical_laplace(4, source)[0] for source in [SeededEntropy(0)] for _ in range(20_000)])
    norms = np.linalg.norm(draws, axis=1)
    assert kstest(norms, lambda r: 1 - sum(np.exp(-r) * r**k / gamma(k + 1) for k in range(4))).pvalue > 1e-3
    assert draws.var() == pytest.approx(5, rel=0.05)
    assert np.abs((draws / norms[:, None]).mean(axis=0)).max() < 0.02
    cosines = draws[:, 0] / norms
    assert cosines.var() == pytest.approx(1 / 4, rel=0.05)


def test_e9_the_error_bound_of_the_noise_is_small():
    source = SeededEntropy(1)
    for p in (1, 3, 50):
        for _ in range(50):
            b, error = spherical_laplace(p, source)
            assert error < 1e-6 * np.linalg.norm(b)


# -------------------------------------------------------------------- E10: weights that depend on the data

EPSILON, DELTA, L, LAMBDA, LAMBDA_0 = 1.0, 1e-4, 2.0, 5.0, 1.0
SD = math.sqrt(2 * (EPSILON / 2 - math.log(DELTA))) * L / (EPSILON / 2)
"""Eq. (4) of the paper, half of epsilon for the noise."""


def test_e10_the_fixed_point_is_not_private():
    """D: one row x = 0.01, y = 0; D' adds x = 1, y = 0. For 0 < theta < 5 the fixed point is (-b - 2 Lambda)/X'X."""
    p, q = (ndtr((2 * LAMBDA + xx) / SD) - ndtr(2 * LAMBDA / SD) for xx in (1e-4, 1.0001))
    assert p == pytest.approx(1.9e-6, rel=0.02)
    assert q == pytest.approx(0.0190, rel=0.01)
    assert math.log(q / p) == pytest.approx(9.19, abs=0.01)
    assert q - math.exp(EPSILON) * p == pytest.approx(0.0189, abs=1e-4)


def iterated(b, xx):
    weight = np.full_like(b, LAMBDA_0)
    for _ in range(80):
        theta = -b / (xx + 2 * weight)
        weight = np.maximum(LAMBDA / np.maximum(np.abs(theta), 1e-300), LAMBDA_0)
    return np.abs(theta)


def test_e10_nor_are_80_iterations():
    edges = np.linspace(-9 * SD, 9 * SD, 2_000_001)
    mass, b = np.diff(ndtr(edges / SD)), (edges[1:] + edges[:-1]) / 2
    p, q = (mass[(theta > 0.26) & (theta < 1)].sum() for theta in (iterated(b, 1e-4), iterated(b, 1.0001)))
    assert p == pytest.approx(0.0064, abs=2e-4)
    assert q == pytest.approx(0.0297, abs=2e-4)
    assert q - math.exp(EPSILON) * p == pytest.approx(0.0123, abs=5e-4)


def test_e10_a_second_stage_with_public_weights_is_certified_by_its_least_weight():
    """Ours: weights are fixed before the noise of their stage is drawn, so the modulus is a fact."""
    small, large = (ObjectiveEvent(Logistic(), ("x",), 1.0, m, 30.0, 1e-6, 1e-4) for m in (0.5, 5.0))
    assert large.law.delta(EPSILON) < small.law.delta(EPSILON)
