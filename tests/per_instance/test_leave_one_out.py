"""Leverages, residuals and eigenvalues without a row, against n refits, to 1e-10."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_table import DOMAIN, people
from tables import unit_rows

from discreet import Moments
from discreet.per_instance import leave_one_out
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.leverage import LeverageRidge

FIELDS = ("leverage", "residual", "second", "norm2", "shift", "coef_norm_without", "coef_norm_with")


def by_refitting(X, y, X0, y0, x, t, penalty, A):
    """The quantities of one row from two fits: X, y with it and X0, y0 without."""
    H1, H0 = (Z.T @ Z + penalty * np.eye(X.shape[1]) for Z in (X, X0))
    with_row, without = np.linalg.solve(H1, X.T @ y), np.linalg.solve(H0, X0.T @ y0)
    u = np.linalg.solve(H0, x)
    gap = with_row - without
    shift = np.sqrt(gap @ A @ gap)
    return x @ u, t - x @ without, u @ u, x @ x, shift, np.linalg.norm(without), np.linalg.norm(with_row)


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_rows_of_the_table_against_n_refits(penalty):
    frame = people(150)
    moments = Moments.from_source(frame, DOMAIN)
    Z = unit_rows(DOMAIN, {name: frame[name].to_numpy() for name in frame})
    X, y = Z[:, DOMAIN.design(["age", "region", "hours"])], Z[:, DOMAIN.target("income")]
    A = np.diag(np.arange(1.0, X.shape[1] + 1)) + 0.1
    found = leave_one_out(frame, moments, "income", alpha=penalty, A=A)
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        exact = by_refitting(X, y, X[kept], y[kept], X[i], y[i], penalty, A)
        for field, value in zip(FIELDS, exact, strict=True):
            assert getattr(found, field)[i] == pytest.approx(value, rel=1e-10, abs=1e-10)


def test_targets_outside_against_refits():
    frame, targets = people(100), people(12, seed=4)
    moments = Moments.from_source(frame, DOMAIN)
    Z, T = (unit_rows(DOMAIN, {name: f[name].to_numpy() for name in f}) for f in (frame, targets))
    places, y = DOMAIN.design(["age", "hours"]), DOMAIN.target("income")
    A = np.eye(len(places))
    found = leave_one_out(frame, moments, "income", ["age", "hours"], alpha=0.3, targets=targets)
    for i, z in enumerate(T):
        X1, y1 = np.vstack([Z, z])[:, places], np.append(Z[:, y], z[y])
        exact = by_refitting(X1, y1, Z[:, places], Z[:, y], z[places], z[y], 0.3, A)
        for field, value in zip(FIELDS, exact, strict=True):
            assert getattr(found, field)[i] == pytest.approx(value, rel=1e-10, abs=1e-10)


def test_a_row_that_alone_spans_a_direction_needs_a_penalty():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.ones(3)
    with pytest.raises(ValueError, match="penalty"):
        LeverageRidge(X.T @ X, X.T @ y, 0.0).without(X, y)
    with pytest.raises(ValueError, match="penalty"):
        LeverageRidge(np.zeros((2, 2)), np.zeros(2), 0.0)


ENTRIES = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 1e-6]), st.floats(-1, 1))


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 5).flatmap(lambda d: st.lists(st.lists(ENTRIES, min_size=d, max_size=d), min_size=1, max_size=9)))
@example([[0.0, 1e-162]])
def test_eigenvalue_updates_on_adversarial_rows(rows):
    """Zeros, repeated rows, multiple eigenvalues, fewer rows than columns."""
    Z = np.array(rows)
    A = Z.T @ Z
    spectrum, least = Spectrum(A), np.linalg.eigvalsh(A)[0]
    fall = [least - np.linalg.eigvalsh(A - np.outer(z, z))[0] for z in Z]
    rise = [np.linalg.eigvalsh(A + np.outer(z, z))[0] - least for z in Z]
    assert spectrum.fall(Z) == pytest.approx(fall, abs=1e-10)
    assert spectrum.rise(Z) == pytest.approx(rise, abs=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_eigenvalue_updates_of_many_rows(scale):
    """In large tables the reference itself is good to the rounding error of |A| only."""
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (400, 12)) * np.geomspace(1, 0.05, 12)
    A = Z.T @ Z * scale
    spectrum, least = Spectrum(A), np.linalg.eigvalsh(A)[0]
    fall = [least - np.linalg.eigvalsh(A - np.outer(z, z))[0] for z in Z[:60]]
    assert spectrum.fall(Z[:60]) == pytest.approx(fall, abs=1e-13 * scale * 400)
