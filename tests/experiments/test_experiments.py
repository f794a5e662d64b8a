"""What the reproduced experiments compute besides the library: penalties, ratios, rules of agreement."""

import numpy as np
import pandas as pd
import pytest
from experiments.neel2023 import complexity as complexity_neel2023
from experiments.neel2023 import fig1 as fig1_004
from experiments.piazza2021 import budget as budget_piazza2021
from experiments.piazza2021 import synthetic as synthetic_piazza2021
from experiments.wang2018 import fig3 as fig3_000
from experiments.wang2018 import tables as tables_wang2018

from discreet import AdaSSP, Domain, Moments
from discreet.planning.theory import regime


def moments_of(X, y):
    names = [f"x{i}" for i in range(X.shape[1])]
    domain = Domain.from_bounds(names, ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    return Moments.from_source((X, y), domain, n_jobs=1)


@pytest.mark.parametrize(("gamma", "epsilon", "zero"), [(1 / 3, 1.0, False), (0.2, 30.0, True), (0.7, 0.1, False)])
def test_the_penalty_of_piazza2021_is_the_one_that_was_used(gamma, epsilon, zero):
    """The released equations, solved with lambda + 1, give the coefficients."""
    X, y, _ = synthetic_piazza2021.simulate(1280)
    delta = 1280**-1.1
    given = {
        "epsilon": epsilon,
        "delta": delta,
        "published": "piazza2021",
        "rho": budget_piazza2021.RHO,
        "random_state": 0,
    }
    model = AdaSSP(eigenvalue_share=gamma, **given).fit_moments(moments_of(X, y / np.abs(y).max()), "y")
    found = budget_piazza2021.penalty(model, gamma, epsilon, delta)
    assert (found == 0) == zero
    e = model.release_.equations("y")
    again = np.linalg.solve(e.S + (found + 1) * np.eye(e.d), e.v)
    np.testing.assert_allclose(again, model.coef_, rtol=5e-5)  # rounding makes row norms up to 1 + sqrt(d) 2^-21


def test_relative_efficiency_is_a_ratio_of_means():
    rows = pd.DataFrame(
        [
            {"n": 40, "epsilon": 1.0, "method": "non-private", "mse": 0.5},
            {"n": 40, "epsilon": 1.0, "method": "SSP", "mse": 2.0},
        ]
    )
    assert fig3_000.efficiency(rows).loc[(1.0, 40), "SSP"] == 4


def test_the_simulated_rows_of_wang2018_keep_the_bounds_and_chunks_add_up(monkeypatch):
    theta = np.full(fig3_000.D, 0.2)
    X, y = fig3_000.simulate(2000, theta, np.random.default_rng(0))
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    assert np.abs(y).max() < 1
    monkeypatch.setattr(fig3_000, "CHUNK", 700)
    moments, first, _ = fig3_000.summed(2000, theta, np.random.default_rng(1))
    assert len(first) == 700
    G = moments.floats(list(range(fig3_000.D + 2)))
    assert G[0, 0] == 2000
    assert np.trace(G[1 : fig3_000.D + 1, 1 : fig3_000.D + 1]) == pytest.approx(2000, rel=1e-5)


def test_agreement_is_within_two_printed_deviations():
    rows = pd.DataFrame({"mean": [1.0, 1.2, 1.3, None], "paper_mean": [1.0] * 4, "paper_sd": [0.1] * 4})
    assert tables_wang2018.agreeing(rows).tolist() == [True, True, False, False]


def test_the_error_over_trivial_is_a_geometric_mean():
    lines = [("a", "trivial", 1.0), ("a", "m", 0.5), ("b", "trivial", 2.0), ("b", "m", 4.0)]
    rows = pd.DataFrame(lines, columns=["data", "method", "mean"])
    assert tables_wang2018.over_trivial(rows)["m"] == pytest.approx(1)


@pytest.mark.parametrize("labels", ["private", "public"])
def test_the_regions_of_neel2023_are_those_of_the_library(labels):
    for n, l in ((200.0, 5), (200.0, 1000), (5e4, 50), (5e4, 1000), (5e4, 1e5)):  # noqa: E741
        found = regime(n, fig1_004.D, int(l), epsilon=1, delta=1e-8, labels=labels, norm_x=1.0, norm_w=fig1_004.W)
        assert found.paper_row.startswith(f"row {fig1_004.region(n, l, labels):.0f}")


def test_powers_are_read_off_times():
    size = np.array([100, 200, 400, 800])
    assert complexity_neel2023.exponent(pd.DataFrame({"size": size, "seconds": 1e-9 * size**2.0})) == pytest.approx(2)


def test_a_curve_that_is_not_flat_is_told():
    def rows(errors):
        gammas = (0.05, 1 / 3, 0.5, 0.99)
        return pd.DataFrame({"method": "adaSSPbudget", "n": 9, "epsilon": 1.0, "gamma": gammas, "prediction": errors})

    flat, worse = budget_piazza2021.flatness(rows([1.0, 1.1, 1.2, 5.0]), "prediction")
    assert flat.agrees
    assert worse.agrees
    assert not budget_piazza2021.flatness(rows([1.0, 3.0, 1.2, 1.0]), "prediction")[0].agrees
