"""Rows of rare groups do not lie far out: gaps of levels and of numbers at the ends of their range, and their cap."""

import numpy as np
import pytest

from discreet.solve.axes import Axes, capped, rare_gaps


def along_columns(means, variances):
    """Axes along columns of these means and variances, after a constant."""
    scale = 1 / np.sqrt(variances)
    P = np.diag([1.0, *scale])
    P[0, 1:] = -np.array(means) * scale
    return Axes(P, float(len(means)))


def test_the_gap_of_a_level_leads_from_the_mean_row_to_its_own():
    p = np.array([0.7, 0.25, 0.05])
    axes = along_columns([0.2, *p], [0.3, *(p * (1 - p))])
    gaps = rare_gaps(axes, [(2, 3, 4)])
    assert gaps == pytest.approx(np.column_stack([np.zeros((3, 2)), np.eye(3) - p]))


def test_shares_that_noise_makes_impossible_are_mended():
    """Negative ones are 0, and all add up to 1 at most."""
    axes = along_columns([-0.1, 0.9, 0.6], [0.2, 0.2, 0.2])
    p = np.array([0.0, 0.6, 0.4])
    assert rare_gaps(axes, [(1, 2, 3)])[:, 1:] == pytest.approx(np.eye(3) - p)


@pytest.mark.parametrize(("mean", "gap"), [(0.9, -1.9), (-0.98, 1.98), (0.3, -1.3)])
def test_the_gap_of_a_number_at_the_ends_of_its_range_leads_to_the_rarer_end(mean, gap):
    axes = along_columns([mean, 0.1], [1 - mean**2, 0.3])
    assert rare_gaps(axes, []) == pytest.approx(np.array([[0.0, gap, 0.0]]))


def test_numbers_within_their_range_have_no_gap():
    assert rare_gaps(along_columns([0.0, 0.5], [1 / 3, 0.2]), []).shape == (0, 3)


def test_no_group_lies_further_out_than_one_and_a_half_typical_rows():
    """However many groups there are: shortening one lengthens none of the others."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = int(rng.integers(3, 12))
        P = rng.normal(size=(d, d)) * np.exp(rng.normal(0, 2, d))
        gaps = rng.normal(size=(int(rng.integers(1, 9)), d))
        axes, typical = Axes(P, 1.0), float(np.exp(rng.normal()))
        found = capped(axes, gaps, typical)
        sizes, before = (np.linalg.norm(gaps @ own.P, axis=1) for own in (found, axes))
        assert (sizes <= 1.5 * typical * (1 + 1e-9)).all()
        assert (sizes <= before * (1 + 1e-9)).all()
        assert found.known == axes.known
        if (before <= 1.5 * typical).all():
            assert np.array_equal(found.P, P)


def test_a_capped_group_is_shortened_along_its_own_direction_alone():
    axes = along_columns([0.0, 0.01, 0.99], [1.0, 0.0099, 0.0099])
    gaps = np.array([[0.0, 0.0, 0.99, -0.99]])
    found = capped(axes, gaps, 2.0)
    assert np.linalg.norm(gaps @ found.P) == pytest.approx(3.0)
    assert found.P[:, :2] == pytest.approx(axes.P[:, :2])
    t = gaps[0] @ axes.P
    across = np.eye(4) - np.outer(t, t) / (t @ t)
    assert found.P @ across == pytest.approx(axes.P @ across)


def test_without_groups_nothing_changes():
    axes = along_columns([0.0], [1.0])
    assert np.array_equal(capped(axes, np.zeros((0, 2)), 1.0).P, axes.P)
