"""Where a model of classes is expected: log odds from a line, and how far off they may be."""

import numpy as np
import pyarrow as pa
import pytest
from experiments.populations import COUNTS_BOUNDS, choices, counts

from discreet import Domain, DPLinearSVC, DPLogisticRegression, DPPoissonRegression
from discreet.domain.coordinates import Coordinates
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.released.working import prior_of

SLOPES = np.array([1.2, -0.6, 0.0])


def two_classes(n, rng):
    """Normal classes with the same covariance, whose log odds are a line."""
    y = rng.random(n) < 0.35
    X = rng.normal(size=(n, 3)) + np.outer(y, SLOPES)
    return X, y.astype(int)


def fitted(X, y, epsilon=1, **given):
    given = {"delta": 1e-6, "bounds_X": (-12, 20), "classes": [0, 1], "n_jobs": 1, "random_state": 0} | given
    return DPLogisticRegression(epsilon=epsilon, **given).fit(X, y)


def centre(model):
    """The centre of the penalty, as (intercept, slopes) in the user's units."""
    released = model.results_.released
    own = next(event.coordinates for event in released.certificate.events if isinstance(event, ObjectiveEvent))
    theta = own.P.floats @ prior_of(released).centre / own.radius
    c, h = np.array([released.domain.map(name) for name in own.design[1:]]).T
    slopes = theta[1:] / h
    return np.concatenate([[theta[0] - c @ slopes], slopes])


def test_without_noise_the_line_tells_the_log_odds_of_normal_classes():
    X, y = two_classes(40_000, np.random.default_rng(0))
    model = fitted(X, y, epsilon=100, delta=1e-3)
    truth = np.array([np.log(0.35 / 0.65) - SLOPES @ SLOPES / 2, *SLOPES])
    assert centre(model) == pytest.approx(truth, abs=0.3)  # far rows count less, and the line is bent there
    assert model.coef_[0] == pytest.approx(SLOPES, abs=0.1)


@pytest.mark.parametrize("levels", [["no", "yes"], [False, True]])
def test_a_level_is_a_line_like_a_number(levels):
    X, y = two_classes(20_000, np.random.default_rng(1))
    columns = {f"x{i}": X[:, i] for i in range(3)} | {"y": np.array(levels)[y]}
    domain = Domain(dict.fromkeys(("x0", "x1", "x2"), (-12, 20)) | {"y": levels if levels[1] == "yes" else bool})
    model = DPLogisticRegression(epsilon=10, delta=1e-6, domain=domain, random_state=0, n_jobs=1)
    model.fit_source(pa.table(columns), "y", ["x0", "x1", "x2"])
    assert centre(model)[1:] == pytest.approx(SLOPES, abs=0.25)


def test_slopes_that_the_line_does_not_see_are_penalised_more():
    rng = np.random.default_rng(2)
    X, y = two_classes(2000, rng)
    seen, unseen = prior_of(fitted(X, y).results_.released), prior_of(fitted(X, rng.permutation(y)).results_.released)
    assert unseen.expected[1:].mean() < seen.expected[1:].mean() / 2
    assert np.linalg.norm(unseen.centre[1:]) < np.linalg.norm(seen.centre[1:]) / 2


def test_the_line_is_a_part_of_the_first_and_of_the_certificate():
    X, y = two_classes(5000, np.random.default_rng(3))
    model = fitted(X, y, random_state=None)
    first = next(event for event in model.certificate_.events if isinstance(event, StageEvent))
    assert type(first.coordinates) is Coordinates
    assert [block.statistic for block in first.blocks] == ["lengths", "gram", "cross"]
    assert first.coordinates.outcomes == ("y",)
    assert all(finding.ok for finding in model.certificate_.check())


def test_others_have_no_line():
    rng = np.random.default_rng(4)
    X, y, _ = counts("plain", 3000, rng)
    many = DPPoissonRegression(epsilon=1, delta=1e-6, bounds_X=COUNTS_BOUNDS, bounds_y=(0, 100), n_jobs=1).fit(X, y)
    X, y = choices(3000, rng)
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": COUNTS_BOUNDS, "n_jobs": 1}
    margin = DPLinearSVC(**given, classes=[0, 1]).fit(X, y)
    through = DPLogisticRegression(**given, classes=[0, 1], fit_intercept=False).fit(X, y)
    for model in (many, margin, through):
        first = next(event for event in model.certificate_.events if isinstance(event, StageEvent))
        assert [block.statistic for block in first.blocks] == ["lengths", "gram"]


def test_the_score_that_the_objective_tells_is_about_the_centre():
    """At the minimiser of an objective without noise the score of the rows is the penalty's pull."""
    X, y = two_classes(20_000, np.random.default_rng(5))
    results = fitted(X, y, epsilon=50, delta=1e-3).results_
    assert results.debiased.to_numpy()[1:] == pytest.approx(SLOPES, abs=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_a_release_that_sees_no_rows_is_given_all_the_same(seed):
    rng = np.random.default_rng(0)
    X, exposure = rng.uniform(-1, 1, 200), rng.uniform(0.5, 2, 200)
    table = pa.table({"x": X, "days": exposure, "y": rng.poisson(2 * exposure)})
    domain = Domain({"x": (-3, 3), "days": (0.1, 4), "y": (0, 50)})
    model = DPPoissonRegression(epsilon=0.01, delta=1e-5, domain=domain, exposure="days", random_state=seed)
    assert np.isfinite(model.fit_source(table, "y", ["x"]).coef_).all()


def test_slopes_of_counts_without_an_effect_are_drawn_to_nothing():
    rng = np.random.default_rng(5)
    X, y, _ = counts("no effect", 1000, rng)
    given = {"delta": 1e-6, "bounds_X": COUNTS_BOUNDS, "bounds_y": (0, 100), "n_jobs": 1}
    sizes = []
    for seed in range(6):
        model = DPPoissonRegression(epsilon=0.3, **given, random_state=seed).fit(X, y)
        sizes.append(np.std(np.log(model.predict(X))))
    assert np.median(sizes) < 0.2
