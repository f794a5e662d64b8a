"""The contract of a family: its loss has the derivatives and bounds that it states, and all else agrees with it."""

import numpy as np
import pytest
from tables import unit_rows

from discreet import Domain
from discreet.domain import Categorical
from discreet.errors import FileFormatError, ParameterError
from discreet.families import FAMILIES, QuadraticHinge, SmoothHinge, Squared, family_of, loss_from_dict

ETA = np.linspace(-12.0, 12.0, 4001)
MORE = [Squared(2.5), SmoothHinge(0.1), QuadraticHinge()]
"""Losses with other parameters than a family's default."""


def example(family):
    """A domain with an outcome of the family, and the outcome."""
    domain = Domain({"x": (-1, 1), "y": family.example})
    return domain, family.outcome(domain, "y", "The method")


def made_up(family):
    """Outcomes of the family's column, in the user's unit."""
    column = example(family)[0].columns["y"]
    return list(column.levels) if isinstance(column, Categorical) else np.linspace(column.low, column.high, 9)


def outcomes(family):
    """The values y that losses of the family take."""
    domain, outcome = example(family)
    given = made_up(family)
    codes = unit_rows(domain, {"x": np.zeros(len(given)), "y": given})[:, list(domain.positions["y"])]
    y = codes.argmax(axis=1).astype(float) if isinstance(domain.columns["y"], Categorical) else codes[:, 0]
    return family.labels(domain, outcome)[0](y)


def losses(family):
    """Losses of the family."""
    domain, outcome = example(family)
    return [family.loss(family.most(domain, outcome.column)), *(one for one in MORE if isinstance(one, family.losses))]


def parts(loss, y):
    return loss.parts(ETA, np.full(len(ETA), y))


def check_derivatives(loss, ys):
    """f' is the slope of f and f'' that of f', but for the few points where f'' jumps."""
    h = ETA[1] - ETA[0]
    for y in ys:
        f, slope, curvature = parts(loss, y)
        middle = (slope[1:] + slope[:-1]) / 2
        np.testing.assert_allclose(np.diff(f) / h, middle, atol=2 * h * loss.curvature)
        assert np.all(np.diff(slope) >= -1e-12)
        assert np.all(curvature >= 0)
        away = np.abs(np.diff(slope) / h - (curvature[1:] + curvature[:-1]) / 2)
        assert np.mean(away > 0.02 * loss.curvature) < 0.005


def check_bounds(loss, ys):
    """No outcome and no predictor exceed what privacy relies on, and some outcome comes close to the largest slope."""
    largest = 0.0
    for y in ys:
        _, slope, curvature = parts(loss, y)
        assert np.abs(slope).max() <= loss.slope + 1e-12
        assert slope.max() - slope.min() <= loss.span + 1e-12
        assert curvature.max() <= loss.curvature + 1e-12
        assert not loss.one_signed or np.all(slope <= 0) or np.all(slope >= 0)
        s = np.abs(slope) / loss.slope
        assert not loss.bell or np.all(curvature <= 4 * loss.curvature * s * (1 - s) + 1e-12)
        largest = max(largest, np.abs(slope).max())
    assert largest > 0.95 * loss.slope


def check_mean(family):
    """The mean and its slope agree, a value alone decides its bits, and where there are stages the loss agrees."""
    domain, outcome = example(family)
    most = family.most(domain, outcome.column)
    mean, slope = family.mean(ETA, most), family.slope(ETA, most)
    below = slice(0, int(np.argmax(mean >= most)) - 1) if family.sized else slice(None)
    h = ETA[1] - ETA[0]
    np.testing.assert_allclose(np.gradient(mean[below], h)[1:-1], slope[below][1:-1], rtol=1e-4, atol=1e-4)
    for part in (slice(7, 9), slice(100, 1777)):
        assert np.array_equal(family.mean(ETA[part].copy(), most), mean[part])
        assert np.array_equal(family.root(ETA[part].copy(), most), family.root(ETA, most)[part])
    if family.staged:
        loss = family.loss(most)
        _, pull, curvature = loss.parts(ETA, np.zeros(len(ETA)))
        np.testing.assert_allclose(mean, pull, rtol=1e-12)
        np.testing.assert_allclose(loss.curvature * family.root(ETA, most) ** 2, curvature, rtol=1e-12, atol=1e-15)
        assert mean.max() <= (most if family.largest is None else family.largest)


def check_simulator(family):
    """Made-up outcomes have the means that they were asked for, and no prediction beats the truth on average."""
    law, rng = family.law, np.random.default_rng(0)
    truth = law.mean(rng.normal(0, 0.7, 200_000), np.e**9)
    found = law.simulate(truth, rng)
    assert found.mean() == pytest.approx(truth.mean(), abs=0.02)
    assert np.corrcoef(found, truth)[0, 1] > 0.1
    best = law.expected_loss(truth, truth)
    assert best < law.expected_loss(np.full(len(truth), truth.mean()), truth)
    assert best < law.expected_loss(0.9 * truth, truth)
    assert 0 < law.predictor_sd(0.2, 1.0) < law.predictor_sd(0.8, 1.0)


@pytest.mark.parametrize("family", [family for family in FAMILIES.values() if not family.joint], ids=repr)
class TestEveryFamily:
    """All that a family in the table must keep whose linear predictors have a mean each."""

    def test_its_place_in_the_table_and_its_words(self, family):
        assert FAMILIES[family.link] is family
        assert family.words.kind
        assert family.words.measure
        assert all(family_of(loss) is family for loss in losses(family))
        assert {type(loss) for loss in losses(family)} == set(family.losses)

    def test_losses_have_the_derivatives_that_they_state(self, family):
        for loss in losses(family):
            check_derivatives(loss, outcomes(family))

    def test_no_row_exceeds_the_bounds_that_privacy_relies_on(self, family):
        for loss in losses(family):
            check_bounds(loss, outcomes(family))

    def test_losses_are_saved(self, family):
        for loss in losses(family):
            assert loss_from_dict(loss.to_dict()) == loss

    def test_mean_and_slope_agree_with_the_loss(self, family):
        check_mean(family)

    def test_outcomes_become_what_the_loss_takes(self, family):
        expected = [0.0, 1.0] if family.classes else np.linspace(*((-1, 1) if family.linear else family.example), 9)
        np.testing.assert_allclose(outcomes(family), expected, atol=1e-5)

    def test_outcomes_of_another_kind_are_refused(self, family):
        other = Domain({"y": (0, 4) if family.classes else ["a", "b"]})
        with pytest.raises(ParameterError):
            family.outcome(other, "y", "The method")

    def test_made_up_outcomes_have_the_means_that_are_asked_for(self, family):
        check_simulator(family)


def test_two_exclusive_classes_have_the_probabilities_of_the_difference_of_their_predictors():
    joint, logistic = FAMILIES["softmax"], FAMILIES["logit"]
    eta = np.vstack([np.linspace(-800, 800, 4001), np.linspace(300, -300, 4001)])
    mean = joint.mean(eta, 1.0)
    np.testing.assert_allclose(mean[0], logistic.mean(eta[0] - eta[1], 1.0), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(mean.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(joint.probabilities(eta.T), mean.T)
    for part in (slice(7, 9), slice(100, 1777)):
        assert np.array_equal(joint.mean(eta[:, part].copy(), 1.0), mean[:, part])


def test_unknown_losses_are_refused():
    with pytest.raises(FileFormatError, match="newer discreet"):
        loss_from_dict({"name": "quantile"})


def test_three_classes_have_a_label_each_and_one_level_has_one():
    domain = Domain({"y": ["a", "b", "c"]})
    family, codes = FAMILIES["logit"], np.array([0.0, 1.0, 2.0])
    found = [label(codes).tolist() for label in family.labels(domain, family.outcome(domain, "y", ""))]
    assert found == np.eye(3).tolist()
    (label,) = family.labels(domain, family.outcome(domain, "y[c]", ""))
    assert label(codes).tolist() == [0.0, 0.0, 1.0]


def test_probabilities_add_up_to_1_and_scores_have_none():
    eta = np.random.default_rng(0).normal(size=(50, 3)) * 400
    for k in (1, 3):
        np.testing.assert_allclose(FAMILIES["logit"].probabilities(eta[:, :k]).sum(axis=1), 1.0)
    assert FAMILIES["sign"].probabilities(eta) is None
