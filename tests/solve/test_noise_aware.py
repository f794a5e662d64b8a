"""The noise-aware solve against numerical integration, its limits, and simulated noise."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from discreet.solve.equations import NormalEquations
from discreet.solve.noise_aware import denoise, noise_aware


def equations(S, v, *, yy=None, s_xx=1.0, s_xy=1.0, s_yy=1.0, n=100.0):
    S, v = np.atleast_2d(S), np.atleast_1d(np.asarray(v, dtype=float))
    names = tuple(f"x{i}" for i in range(len(v)))
    return NormalEquations.of_one(names, "y", S, v, yy, s_xx, s_xy, None if yy is None else s_yy, n)


def solved(e):
    (theta,) = noise_aware(e).T
    return theta


# -------------------------------------------------------------------- the model, integrated numerically


def smoothed_eigenvalues(found, s_xx):
    """The shrinkage of eigenvalues for d = 1 and 2, in which all is explicit."""
    if len(found) == 1:
        return found
    V = 2 * s_xx**2 / 2
    gap = found[1] - found[0]
    push = 2 * V * (gap / (gap**2 + V / 2)) / 2
    pair = np.array([found[0] + push, found[1] - push])
    return np.full(2, pair.mean()) if pair[0] > pair[1] else pair


def integrated(e):
    """Posterior mean of theta under the model in the docs, theta integrated out on a grid, one coordinate at a time."""
    d, n = len(e.v), e.n
    found, U = np.linalg.eigh(e.S)
    a = np.maximum(smoothed_eigenvalues(found, e.s_xx), 1e-9 * n)
    v = U.T @ e.v
    weight, weighted = 0.0, np.zeros(d)
    for hidden in (0.0, 0.25, 0.5):
        floor = min(hidden * e.s_xx * np.sqrt(d / 2), 0.6 * a.sum())
        raised, directions = np.maximum(a, floor), min(d, a.sum() / floor) if floor else d
        for r in np.linspace(0.02, 0.98, 25):
            for energy in 10.0 ** np.linspace(-3, 0, 13):
                E = n * energy
                tau = r * E / a.sum()
                w = (1 - r) * E / n * a + e.s_xy**2 + e.s_xx**2 * (directions + 1) * tau / 8
                evidence = 1.0 if e.yy is None else norm.pdf(e.yy, E, e.s_yy)
                means = np.zeros(d)
                for i in range(d):
                    theta = np.linspace(-9, 9, 1201) * np.sqrt(tau)
                    density = norm.pdf(theta, 0, np.sqrt(tau)) * norm.pdf(v[i], raised[i] * theta, np.sqrt(w[i]))
                    mass = trapezoid(density, theta)
                    means[i] = trapezoid(theta * density, theta) / mass
                    evidence *= mass
                weight += evidence
                weighted += evidence * means
    return U @ (weighted / weight)


S2 = np.array([[60.0, 15.0], [15.0, 30.0]])
CASES = {
    "one column": equations(40.0, 12.0, yy=20.0, s_xx=5, s_xy=4, s_yy=6),
    "an eigenvalue hidden in the noise": equations(S2 / 4, [30.0, -9.0], yy=40.0, s_xx=40, s_xy=4, s_yy=6),
    "one column, no y'y": equations(40.0, 12.0, s_xx=5, s_xy=4),
    "one column, hidden": equations(1.0, 25.0, yy=30.0, s_xx=12, s_xy=3, s_yy=6),
    "two columns": equations(S2, [20.0, -9.0], yy=25.0, s_xx=4, s_xy=3, s_yy=5),
    "two columns, no y'y": equations(S2, [20.0, -9.0], s_xx=4, s_xy=3),
    "two columns, much noise": equations(S2, [20.0, -9.0], yy=-10.0, s_xx=40, s_xy=20, s_yy=30),
}


@pytest.mark.parametrize("e", CASES.values(), ids=CASES)
def test_the_posterior_mean_equals_numerical_integration(e):
    np.testing.assert_allclose(solved(e), integrated(e), rtol=1e-5, atol=1e-9)


# -------------------------------------------------------------------- limits


def well_conditioned(d, n, rng):
    A = rng.normal(size=(3 * d, d))
    S = A.T @ A / (3 * d) * n / d
    theta = rng.uniform(-0.5, 0.5, d)
    return S, S @ theta, theta


@pytest.mark.parametrize("given_yy", [True, False])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_without_noise_and_with_many_rows_it_is_least_squares(d, given_yy):
    n = 1e9
    S, v, theta = well_conditioned(d, n, np.random.default_rng(d))
    yy = 1.1 * theta @ S @ theta if given_yy else None
    got = solved(equations(S, v, yy=yy, s_xx=1e-3, s_xy=1e-3, s_yy=1e-3 * n, n=n))
    np.testing.assert_allclose(got, np.linalg.solve(S, v), atol=1e-6)


@pytest.mark.parametrize("noise", [{"s_xy": 1e9}, {"s_xx": 1e9}, {"s_xy": 1e9, "s_xx": 1e9}])
def test_with_unbounded_noise_it_is_zero(noise):
    S, v, _ = well_conditioned(5, 1e4, np.random.default_rng(0))
    assert np.abs(solved(equations(S, v, yy=1e3, **noise, n=1e4))).max() < 1e-4


@pytest.mark.parametrize("yy", [None, 50.0, -50.0, 1e6])
@pytest.mark.parametrize("n", [0.0, -5.0, 1e-3, 1.0, 1e12])
@pytest.mark.parametrize(
    "S",
    [np.zeros((3, 3)), np.ones((3, 3)), np.diag([5.0, -5.0, 0.0]), -np.eye(3) * 1e3, np.diag([1e12, 1.0, 1e-12])],
    ids=["zero", "singular", "indefinite", "negative", "ill-conditioned"],
)
def test_whatever_the_noise_left_the_result_is_finite(S, n, yy):
    theta = solved(equations(S, [3.0, -4.0, 5.0], yy=yy, s_xx=10.0, s_xy=10.0, s_yy=10.0, n=n))
    assert theta.shape == (3,)
    assert np.isfinite(theta).all()


def test_it_is_equivariant_under_rotations():
    rng = np.random.default_rng(3)
    S, v, _ = well_conditioned(6, 1e3, rng)
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    plain, rotated = (
        solved(equations(A, b, yy=50.0, s_xx=20.0, s_xy=10.0, s_yy=10.0, n=1e3))
        for A, b in ((S, v), (Q @ S @ Q.T, Q @ v))
    )
    np.testing.assert_allclose(rotated, Q @ plain, atol=1e-10)


# -------------------------------------------------------------------- eigenvalues


def gaussian_orthogonal(d, s_xx, rng):
    N = rng.normal(0, s_xx / np.sqrt(2), (d, d))
    N = np.triu(N, 1)
    return N + N.T + np.diag(rng.normal(0, s_xx, d))


SPECTRA = {
    "isotropic": lambda d: np.full(d, 200.0),
    "spiked": lambda d: np.concatenate([np.full(d - 3, 20.0), [1e3, 2e3, 4e3]]),
    "falling": lambda d: 2e3 / np.arange(1, d + 1),
}


@pytest.mark.parametrize("true", SPECTRA.values(), ids=SPECTRA)
def test_denoised_eigenvalues_are_nearer_to_the_truth(true):
    d, s_xx, better = 50, 20.0, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        A = Q @ np.diag(true(d)) @ Q.T
        found, U = np.linalg.eigh(A + gaussian_orthogonal(d, s_xx, rng))
        errors = [np.linalg.norm(U @ np.diag(np.maximum(a, 0)) @ U.T - A) for a in (denoise(found, s_xx), found)]
        better.append(errors[0] < errors[1])
    assert all(better)


@pytest.mark.parametrize("d", [1, 2, 7, 50])
def test_denoising_keeps_the_trace_and_the_order(d):
    rng = np.random.default_rng(d)
    for s_xx in (0.0, 0.3, 30.0):
        found = np.sort(rng.normal(0, 50, d))
        a = denoise(found, s_xx)
        assert a.sum() == pytest.approx(found.sum(), abs=1e-9 * np.abs(found).sum())
        assert (np.diff(a) >= 0).all()
        assert np.ptp(a) <= np.ptp(found) + 1e-9
    np.testing.assert_allclose(denoise(found, 0.0), found)
