"""The projection by its secular equation, against a generic convex solver and against its definition."""

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.solve.projection import OutcomeSpectrum, project


def generic(G, Y, B):
    """The nearest Z'Y/n with |Z|_F <= sqrt(n) B, by a general solver over all entries of Z."""
    n, d, scale = len(Y), len(G), np.linalg.norm(G)

    def gap(z):
        off = (z.reshape(n, d).T @ Y / n - G) / scale
        return np.sum(off**2), (2 * Y @ off.T / n / scale).ravel()

    inside = {"type": "ineq", "fun": lambda z: n * B * B - z @ z, "jac": lambda z: -2 * z}
    start = np.full(n * d, 0.1 * B / np.sqrt(d))
    options = {"maxiter": 2000, "ftol": 1e-16}
    found = minimize(gap, start, jac=True, constraints=[inside], method="SLSQP", options=options)
    return found.x.reshape(n, d).T @ Y / n


@pytest.mark.parametrize(("n", "d", "l"), [(6, 2, 3), (5, 3, 8), (8, 1, 2), (7, 2, 7)])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_it_is_the_nearest_point(n, d, l, size):  # noqa: E741
    rng = np.random.default_rng([n, d, l])
    Y = rng.uniform(-1, 1, (n, l))
    G = size * rng.standard_normal((d, l))
    found = project(G, OutcomeSpectrum.of_gram(Y.T @ Y), n, 1.0).G
    wanted = generic(G, Y, 1.0)
    assert np.linalg.norm(found - G) <= np.linalg.norm(wanted - G) * (1 + 1e-9) + 1e-9
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize(("n", "l"), [(4, 9), (9, 4), (5, 5)])
def test_both_ways_to_the_spectrum_agree(n, l):  # noqa: E741
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((n, l))
    Y[-1] = Y[0]  # a direction less
    G = 5 * rng.standard_normal((3, l))
    one, other = (
        project(G, spectrum, n, 0.5) for spectrum in (OutcomeSpectrum.of_gram(Y.T @ Y), OutcomeSpectrum.of_rows(Y))
    )
    np.testing.assert_allclose(one.G, other.G, atol=1e-9)
    np.testing.assert_allclose(one.noise, other.noise, atol=1e-7)
    assert one.nu == pytest.approx(other.nu, rel=1e-7)


def test_points_of_the_set_stay():
    rng = np.random.default_rng(2)
    X, Y = rng.uniform(-1, 1, (50, 3)) / np.sqrt(3), rng.uniform(-1, 1, (50, 4))
    G = X.T @ Y / 50
    found = project(G, OutcomeSpectrum.of_gram(Y.T @ Y), 50, 1.0)
    np.testing.assert_allclose(found.G, G, atol=1e-12)
    assert found.nu == 0
    np.testing.assert_allclose(found.noise, 1.0)


def test_the_answer_is_on_the_border_and_the_residual_normal_to_it():
    """p of the answer has norm sqrt(n) B, and G - answer is nu times the answer's own p in each direction."""
    rng = np.random.default_rng(3)
    Y, G = rng.standard_normal((20, 5)), 9 * rng.standard_normal((3, 5))
    spectrum = OutcomeSpectrum.of_gram(Y.T @ Y)
    found = project(G, spectrum, 20, 0.7)
    p = (found.G @ spectrum.V) / (np.sqrt(spectrum.squares) / 20)
    assert np.linalg.norm(p) == pytest.approx(np.sqrt(20) * 0.7, rel=1e-10)
    rest = (G - found.G) @ spectrum.V * (np.sqrt(spectrum.squares) / 20)
    np.testing.assert_allclose(rest, found.nu * p, rtol=1e-8, atol=1e-10)


def test_the_noise_that_is_left_is_the_noise_that_is_left():
    """By simulation around a point, with the multiplier held: the map is linear then."""
    rng = np.random.default_rng(4)
    Y, G = rng.standard_normal((30, 6)) @ np.diag([3, 2, 1, 1, 0.1, 0.1]), 4 * rng.standard_normal((1, 6))
    spectrum = OutcomeSpectrum.of_gram(Y.T @ Y)
    found = project(G, spectrum, 30, 0.5)
    assert found.nu > 0
    h = spectrum.squares / (spectrum.squares + 30**2 * found.nu)
    noise = rng.standard_normal((40_000, 6)) @ (spectrum.V * h) @ spectrum.V.T
    np.testing.assert_allclose(noise.std(axis=0), found.noise, rtol=0.03)
