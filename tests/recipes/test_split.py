"""The split of the budget and the regimes: exact errors by simulation, limits, the paper's rows."""

import math

import numpy as np
import pytest

from discreet import Domain, Moments, ReuseCov, release
from discreet.errors import ParameterError
from discreet.planning.theory import paper_baseline, regime
from discreet.privacy import gdp
from discreet.privacy.split import Sizes, shares_of


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_errors_are_those_of_the_noise_that_is_added(relation):
    """One release's sds, put into the formulas by simulation."""
    d, l = 4, 6  # noqa: E741
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(-1, 1, (500, d - 1)), rng.uniform(-1, 1, (500, l))
    model = ReuseCov(epsilon=1, delta=1e-6, bounds_X=(-1, 1), bounds_y=(-1, 1), neighbors=relation, random_state=0)
    gram, cross, _ = model.fit(X, Y).release_.blocks
    sizes = Sizes(d, l, 2.0, math.sqrt(l), relation)
    ratio = sizes.covariance(1.0, 1.0) / sizes.association(1.0, 1.0)
    N = rng.standard_normal((20_000, d, d))
    N1 = gram.sd * (np.triu(N, 1) / math.sqrt(2) + np.triu(N, 1).transpose(0, 2, 1) / math.sqrt(2))
    N1 += gram.sd * np.eye(d) * N
    w = np.zeros(d)
    w[0] = sizes.coefficient_norm
    off = np.mean(np.sum((N1 @ w) ** 2, axis=1))
    assert off == pytest.approx((d + 1) / 2 * gram.sd**2 * w @ w, rel=0.02)
    g, mu = sizes.gram_share(), gdp.mu(epsilon=1, delta=1e-6)
    assert (g / (1 - g)) ** 2 == pytest.approx(ratio)
    if relation == "add-remove":  # there costs simply add up
        assert off == pytest.approx(sizes.covariance(mu, 0.95 * g), rel=0.02)
        assert d * cross.sd**2 == pytest.approx(sizes.association(mu, 0.95 * (1 - g)), rel=1e-6)


def test_the_share_is_the_minimum():
    for sizes in (Sizes(16, 1, 4.0, 1.0), Sizes(101, 500, 10.0, 22.0, "replace-one"), Sizes(5, 50, 1.0, 1.0)):
        best = sizes.gram_share()
        totals = [sizes.total(0.2, "gaussian", share) for share in (0.9 * best, best, best + 0.1 * (1 - best))]
        assert totals[1] < min(totals[0], totals[2])
        split = shares_of(sizes)
        assert math.fsum(split.values()) == pytest.approx(1)
        assert split["gram"] / split["cross"] == pytest.approx(best / (1 - best))


def test_it_depends_on_public_figures_only():
    """Two tables of the same shape and bounds get the same noise; more outcomes leave less for X'X."""
    rng = np.random.default_rng(0)
    sds, domain = [], Domain.from_bounds(["a"], [f"y{j}" for j in range(5)], bounds_X=(0, 1), bounds_y=(0, 1))
    for scale in (1.0, 1e-3):
        table = scale * rng.uniform(0, 1, (100, 1)), scale * rng.uniform(0, 1, (100, 5))
        model = ReuseCov(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1), random_state=0).fit(*table)
        public = release(Moments.from_source(table, domain, targets=[f"y{j}" for j in range(5)]), epsilon=1, delta=1e-6)
        sds.append([block.sd for block in model.release_.blocks])
        assert [block.sd for block in public.blocks] == sds[-1]
    assert sds[0] == sds[1]
    falling = [Sizes(10, l, 3.0, math.sqrt(l)).gram_share() for l in (1, 10, 100)]  # noqa: E741
    assert falling == sorted(falling, reverse=True)


def test_one_outcome_keeps_the_split_of_releases():
    X = np.random.default_rng(0).uniform(0, 1, (100, 2))
    domain = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    gram, cross, squares = release(
        Moments.from_source((X, X[:, 0]), domain), epsilon=1, delta=1e-6, targets=["y"], random_state=0
    ).blocks
    ratio = (3.0 / gram.sd) ** 2 / (math.sqrt(3) / cross.sd) ** 2
    assert ratio == pytest.approx(0.4 / 0.55, rel=1e-6)
    assert (1 / squares.sd) ** 2 / (math.sqrt(3) / cross.sd) ** 2 == pytest.approx(0.05 / 0.55, rel=1e-6)


def test_the_bound_of_the_projection_holds():
    """By simulation: the projected error is below both the bound and the Gaussian error."""
    from discreet.solve.projection import OutcomeSpectrum, project

    rng = np.random.default_rng(0)
    n, d, l, R = 60, 5, 40, 1.0  # noqa: E741
    X = rng.standard_normal((n, d))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    Y = rng.uniform(-1, 1, (n, l))
    T = np.linalg.norm(Y, axis=1).max()
    sizes = Sizes(d, l, R, T, "replace-one", n)
    mu, share = 0.5, 0.7
    s = 2 * R * T / (mu * math.sqrt(share))
    errors = []
    for _ in range(200):
        noise = s * rng.standard_normal((d, l))
        found = project((X.T @ Y + noise) / n, OutcomeSpectrum.of_gram(Y.T @ Y), n, R).G * n
        errors.append(np.sum((found - X.T @ Y) ** 2) / l)
    assert np.mean(errors) < sizes.projected(mu, share) < sizes.association(mu, share)


@pytest.mark.parametrize(
    ("n", "outcomes", "options", "winner", "row"),
    [
        (1e6, 1, {}, "gaussian", "row 3"),
        (1e6, 2000, {}, "gaussian", "row 4"),
        (1e4, 100_000, {"labels": "public"}, "projection", "row 2"),
        (100, 100_000, {"labels": "public", "norm_w": 30.0}, "projection", "row 1"),
        (1e4, 100_000, {}, "gaussian", "row 4"),
        (1e8, 5, {"labels": "public"}, "gaussian", "row"),
    ],
)
def test_regimes(n, outcomes, options, winner, row):
    found = regime(n, 100, outcomes, epsilon=1, delta=1e-8, **options)
    assert found.winner == winner
    assert found.paper_row.startswith(row)
    assert found.errors[winner] == min(error for name, error in found.errors.items() if name != "independent")
    assert found.errors["independent"] >= found.errors["gaussian"] * (1 - 1e-9)
    assert winner in str(found)
    assert ("labels" in options) == ("projection" in found.errors)


def test_independent_runs_lose_by_at_most_the_root_of_the_number():
    for outcomes in (1, 10, 1000):
        found = regime(1e6, 50, outcomes, epsilon=1, delta=1e-8)
        ratio = found.errors["independent"] / found.errors["gaussian"]
        assert 1 - 1e-9 <= ratio <= math.sqrt(outcomes) * (1 + 1e-9)
    assert ratio > 1.5


def test_hopeless_figures_are_called_so():
    assert "expect little" in regime(100, 100, 1000, epsilon=0.1, delta=1e-8).why
    assert "expect little" not in regime(1e8, 10, 10, epsilon=1, delta=1e-10).why


def test_the_papers_baseline():
    assert paper_baseline(1e4, 25, 16, 0.5, 2.0, 1.0, 3.0) == pytest.approx(math.sqrt(400) * (36 + 6) / 5e3)


def test_bad_figures():
    for wrong in ({"n": 0}, {"d": -1}, {"labels": "none"}, {"labels": "public", "neighbors": "add-remove"}):
        with pytest.raises(ParameterError):
            regime(**{"n": 100, "d": 3, "outcomes": 4, "epsilon": 1, "delta": 1e-6} | wrong)
