"""Bounds from noisy counts, and the way back from clipping, against generic solvers and samples."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.domain.cells import BINS
from discreet.solve.outcome import EDGES, clipped_share, narrow, shares, trusted, unclip

RNG = np.random.default_rng(0)
LITTLE_NOISE = 1e-6


def random_shares(rng, zeros=0.5):
    p = rng.exponential(size=BINS) * (rng.random(BINS) > zeros)
    p[rng.integers(BINS)] += 0.1
    return p / p.sum()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [2, 5, BINS])
def test_shares_are_the_nearest_point_of_the_simplex(seed, size):
    rng = np.random.default_rng([seed, size])
    counts, n = rng.normal(100 / size, 30, size), 100.0
    p = shares(counts, n)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    generic = minimize(
        lambda q: np.sum((q - counts / n) ** 2),
        np.full(size, 1 / size),
        jac=lambda q: 2 * (q - counts / n),
        bounds=[(0, 1)] * size,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(size)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(p, generic.x, atol=1e-6)
    assert np.sum((p - counts / n) ** 2) <= generic.fun + 1e-12


@pytest.mark.parametrize("counts", [np.full(BINS, -5.0), np.full(BINS, 1e12), np.eye(BINS)[3] * 1e12])
def test_shares_of_extreme_counts(counts):
    p = shares(counts, 1.0)
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1, abs=1e-2)
    assert p.argmax() == counts.argmax()


def exhaustive(p, clipped, symmetric):
    """Every union of neighbouring parts that leaves out little enough: the fewest parts, then the largest share."""
    best = None
    for i, j in itertools.combinations(range(BINS + 1), 2):
        if symmetric and i + j != BINS:
            continue
        inside = sum(p[k] for k in range(i, j))
        if inside >= 1 - clipped - 1e-9 and (best is None or (j - i, -inside) < (best[0], best[1] - 1e-9)):
            best = (j - i, -inside, i, j)
    return EDGES[best[2]], EDGES[best[3]]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("clipped", [0.0, 1e-3, 0.05, 0.3])
def test_narrow_finds_what_an_exhaustive_search_finds(clipped, symmetric):
    for _ in range(50):
        p = random_shares(RNG)
        assert narrow(p, clipped, symmetric=symmetric) == exhaustive(p, clipped, symmetric)


@pytest.mark.parametrize("symmetric", [False, True])
def test_narrow_leaves_all_outcomes_inside_when_none_may_be_clipped(symmetric):
    low, high = narrow(np.full(BINS, 1 / BINS), 0.0, symmetric=symmetric)
    assert (low, high) == (-1, 1)


def test_the_clipped_share_falls_with_rows_and_grows_with_noise_and_columns():
    assert clipped_share(10, 1e3, 0.1) == 0.3
    assert clipped_share(10, 1e6, 0.1) == pytest.approx(3 * 10 / 1e5)
    assert clipped_share(20, 1e6, 0.1) == 2 * clipped_share(10, 1e6, 0.1)
    assert 0 < clipped_share(1, 0.0, 0.1) <= 0.3


def sampled(p, rng, size=400_000):
    """Outcomes spread evenly within the parts, with these shares."""
    part = rng.choice(BINS, size, p=p)
    return EDGES[part] + rng.random(size) * (EDGES[1] - EDGES[0])


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize(("i", "j"), [(3, 13), (2, 11), (6, 10), (0, 16)])
def test_unclip_is_the_least_squares_line_of_a_sample(i, j, centred):
    rng = np.random.default_rng([i, j])
    p = random_shares(rng, zeros=0.0)
    y = sampled(p, rng)
    g = np.clip(y, EDGES[i], EDGES[j])
    line = unclip(p * 1e6, LITTLE_NOISE, 1e6, EDGES[i], EDGES[j], centred=centred)
    design = np.column_stack([g, np.full(len(g), float(centred))])
    slope, constant = np.linalg.lstsq(design, y)[0]
    assert line.factor == pytest.approx(min(slope, 2.0), abs=0.02)
    if slope < 2 and centred:
        assert line.mean_y - line.factor * line.mean_g == pytest.approx(constant, abs=0.01)
    if not centred:
        assert line.mean_y == line.mean_g == 0


@pytest.mark.parametrize("centred", [True, False])
def test_unclip_does_nothing_where_nothing_was_clipped(centred):
    line = unclip(random_shares(RNG) * 1e4, 1.0, 1e4, -1.0, 1.0, centred=centred)
    assert (line.factor, line.mean_y) == (1.0, line.mean_g)


@pytest.mark.parametrize("n", [1.0, 50.0, 1e4])
def test_unclip_stays_bounded_when_counts_are_noise(n):
    """Also where the noisy number of rows is next to nothing."""
    for _ in range(50):
        counts = RNG.normal(0, 200, BINS)
        line = unclip(counts, 200.0, n, EDGES[6], EDGES[9], centred=True)
        assert 1 <= line.factor <= 2
        assert abs(line.mean_y) <= 1
        assert abs(line.mean_g) <= 1


def test_counts_are_trusted_by_how_large_their_noise_is():
    assert trusted(1.0, 100.0)
    assert not trusted(10.0, 100.0)
    assert not trusted(10.0, 1.0)
