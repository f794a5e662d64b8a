"""Every level of a category is released, and equations are fitted to all of them: the algebra, the noise, the gain."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.defaults import levels
from scipy import stats

from discreet import Domain, DPLinearRegression, Moments, ReuseCov, release
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.levels import every_level, lift
from discreet.gate.entropy import NO_NOISE
from discreet.solve.debiased import along_noise, debiased, resolvent, through_noise
from discreet.solve.lasso import made_up_rows
from discreet.solve.noise_aware import noise_aware, posterior

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
RESULTS = Path(__file__).parents[2] / "experiments" / "results"


@pytest.fixture(scope="module")
def table():
    return levels.people(3000, np.random.default_rng(1))[0]


@pytest.fixture(scope="module")
def moments(table):
    return Moments.from_source(table, levels.PEOPLE)


def names_of(domain, features):
    design = [domain.entries[i].name for i in domain.design(features)]
    return design, every_level(domain, features, design)


# ---------------------------------------------------------------- algebra


def test_released_coordinates_are_a_linear_function_of_the_regressors(table):
    domain = levels.PEOPLE
    encoder = Encoder(domain)
    A = encoder.empty(table.num_rows)
    for name in domain.columns:
        values = table[name].to_numpy(zero_copy_only=False)
        if name in levels.SHARES:
            values = np.searchsorted(domain.columns[name].levels, values)  # the names are in order
        encoder.write(name, {name: values}, A)
    encoder.finish(A)
    for features in (levels.NAMES, levels.NAMES[::-1], ["region"], ["age", "school"]):
        design, full = names_of(domain, features)
        assert len(full) == len(design) + sum(name in levels.SHARES for name in features)
        z, x = A[:, domain.indices(full)] / ONE, A[:, domain.indices(design)] / ONE
        assert np.array_equal(z, x @ lift(domain, full, design).T)


def test_models_without_a_constant_and_products_have_no_level_more():
    domain = Domain({"a": (0, 1), "k": ["p", "q"], "y": (0, 1)}, intercept=False)
    design, full = names_of(domain, ["a", "k"])
    assert list(full) == design


def test_the_norm_of_a_row_and_so_the_noise_is_the_same(moments):
    """The first levels come for nothing: the same sds, and the same cost."""
    all_levels = DPLinearRegression(**PROMISE).fit_moments(moments, "y").release_
    fewer = levels.EveryLevelButTheFirst(**PROMISE).fit_moments(moments, "y").release_
    assert "sex[sex0]" in all_levels.blocks[0].rows
    assert "sex[sex0]" not in fewer.blocks[0].rows
    assert [block.sds for block in all_levels.blocks] == [block.sds for block in fewer.blocks]
    assert all_levels.certificate.events[0].mu == fewer.certificate.events[0].mu


def test_without_noise_nothing_changes(moments):
    exact = {**PROMISE, "random_state": NO_NOISE}
    after = DPLinearRegression(**exact).fit_moments(moments, "y")
    before = levels.EveryLevelButTheFirst(**exact).fit_moments(moments, "y")
    e, plain = after.release_.equations("y"), before.release_.equations("y")
    assert e.L is not None
    assert plain.L is None
    assert pytest.approx(plain.S, rel=1e-9, abs=1e-6) == e.S
    assert e.v == pytest.approx(plain.v, rel=1e-9, abs=1e-6)
    tiny = {"s_xx": 1e-6, "s_V": np.array([1e-6]), "s_yy": 1e-6, "variances": 1e-12 * np.ones_like(e.variances)}
    plainly = {**tiny, "variances": 1e-12 * np.ones_like(plain.variances)}
    theta = np.linalg.solve(plain.S, plain.v)
    e, plain = replace(e, **tiny), replace(plain, **plainly)
    assert noise_aware(e)[:, 0] == pytest.approx(theta, abs=0.003)  # it shrinks a little for sampling error
    assert noise_aware(plain)[:, 0] == pytest.approx(theta, abs=0.003)
    fit = debiased(e.rotated())
    assert e.rotation @ fit.theta == pytest.approx(theta, rel=1e-6, abs=1e-9)
    assert e.rotation @ fit.sampling @ e.rotation.T == pytest.approx(debiased(plain).sampling, rel=1e-6)
    X, y = made_up_rows(e)
    assert pytest.approx(plain.S, rel=1e-9, abs=1e-6) == X.T @ X
    assert X.T @ y == pytest.approx(plain.v, rel=1e-9, abs=1e-6)
    P = posterior(e)
    assert P.U @ P.v == pytest.approx(plain.v, rel=1e-9, abs=1e-6)
    assert P.excess_error(theta + 0.1) == pytest.approx(0.01 * plain.S.sum(), rel=1e-3)


def test_fits_do_not_depend_on_which_level_is_the_first(moments):
    """The same noisy sums, with the levels of a category in another order: the same predictions."""
    public = release(moments, **PROMISE, targets=["y"], random_state=3)
    e = public.equations("y", ["age", "sex"])
    z = np.array([[1.0, 0.3, 0.0], [1.0, 0.3, 1.0]])
    first = noise_aware(e)[:, 0]
    other = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, -1.0]])  # x with the level sex1 left out
    second = noise_aware(replace(e, S=other @ e.S @ other.T, V=other @ e.V, L=e.L @ np.linalg.inv(other)))[:, 0]
    assert (z @ other.T) @ second == pytest.approx(z @ first, rel=1e-9)


# ---------------------------------------------------------------- noise


def lifted(rng):
    """L with orthonormal columns for two categories, and variances with known zeros."""
    design, full = names_of(levels.PEOPLE, ["age", "sex", "region"])
    L = lift(levels.PEOPLE, full, design)
    Q = np.linalg.solve(np.linalg.cholesky(L.T @ L), L.T).T
    assert pytest.approx(np.eye(len(design)), abs=1e-12) == Q.T @ Q
    known = levels.PEOPLE.exclusive(levels.PEOPLE.indices(full))
    W = np.where(known, 0.0, (np.eye(len(full)) + 1) / 2)
    M = np.triu(rng.standard_normal((100_000, *W.shape)))
    M = (M + np.triu(M, 1).transpose(0, 2, 1)) * np.sqrt(W)
    return Q, W, Q.T @ M @ Q


def test_expectations_over_lifted_noise():
    rng = np.random.default_rng(5)
    Q, W, N = lifted(rng)
    d = Q.shape[1]
    B = rng.standard_normal((d, d))
    B = B + B.T
    drawn = N @ B @ N
    error = drawn.std(axis=0) / len(N) ** 0.5
    assert np.all(np.abs(drawn.mean(axis=0) - through_noise(W, B, Q)) <= 5 * error)
    assert np.abs(drawn.mean(axis=0) - through_noise(W[:d, :d], B)).max() > 20 * error.max()
    b, x, y = rng.standard_normal((3, 1, d))
    assert along_noise(W, b, x, y, Q) == pytest.approx(
        b[0] @ through_noise(W, (np.outer(x, y) + np.outer(y, x)) / 2, Q) @ b[0], rel=1e-10
    )
    A = 500 * np.eye(d)
    G = resolvent(A, W, Q)
    assert G @ (A + through_noise(W, G, Q)) == pytest.approx(np.eye(d), abs=1e-9)


def test_equations_have_the_noise_that_they_state(moments):
    """S and v of many seeded releases: mean and covariance are those of least squares on the released coordinates."""
    exact = release(moments, **PROMISE, targets=["y"], random_state=NO_NOISE).equations("y", ["age", "sex"])
    drawn = [
        release(moments, **PROMISE, targets=["y"], random_state=i).equations("y", ["age", "sex"]) for i in range(600)
    ]
    e = drawn[0]
    v = np.array([other.v - exact.v for other in drawn])
    wanted = e.s_xy**2 * np.linalg.inv(e.L.T @ e.L)
    assert np.cov(v.T) == pytest.approx(wanted, abs=5 * wanted.max() * (2 / len(drawn)) ** 0.5)
    assert np.abs(v.mean(axis=0)).max() < 5 * (wanted.max() / len(drawn)) ** 0.5
    N = np.array([other.rotated().S - exact.rotated().S for other in drawn])
    squares = (N @ N).mean(axis=0)
    stated = through_noise(e.variances, np.eye(e.d), e.rotated().L)
    assert np.diag(squares) == pytest.approx(np.diag(stated), rel=5 * (2 / len(drawn)) ** 0.5)


# ---------------------------------------------------------------- what it is worth, and coverage

FITS = 250


@pytest.fixture(scope="module")
def simulated():
    cell = {"table": "people", "n": 4000, "epsilon": 1.5, "fits": FITS}
    return {row["levels"]: row for row in levels.simulated(cell)}


@pytest.mark.more
def test_intervals_cover_at_their_level(simulated):
    row = simulated["all"]
    assert row["given"] == FITS
    low, high = stats.binom.ppf([1e-4, 1 - 1e-4], FITS, 0.95)
    assert low <= min(row["covered"]) <= max(row["covered"]) <= high
    assert sum(row["covered"]) / (FITS * len(row["covered"])) == pytest.approx(0.95, abs=0.015)


def test_coefficients_are_clearly_better(simulated):
    after, before = simulated["all"], simulated["but the first"]
    assert after["excess error"] < 0.85 * before["excess error"]
    assert np.mean(np.log(np.array(after["of levels"]) / before["of levels"])) < np.log(0.7)
    assert before["given"] <= after["given"]


def test_many_outcomes_use_every_level_too(table):
    frame = table.append_column("y2", [np.asarray(table["y"]) / 2 - 1])
    domain = Domain({**levels.PEOPLE.columns, "y2": (-6, 6)})
    model = ReuseCov(epsilon=9.0, delta=1e-6, domain=domain, random_state=4).fit_source(
        frame, ["y", "y2"], levels.NAMES
    )
    assert "sex[sex0]" in model.release_.blocks[0].rows
    one, both = model.release_.fit("y2", levels.NAMES), model.release_.fit_many(["y", "y2"], levels.NAMES)
    assert model.coef_[1] == pytest.approx(one.coef, rel=1e-6, abs=1e-9)
    assert both.coef[1] == pytest.approx(one.coef, rel=1e-6, abs=1e-9)
    assert both.inference.estimate[1] == pytest.approx(one.inference.estimate, rel=1e-6, abs=1e-9)
    assert both.std_err[1] == pytest.approx(list(one.std_err), rel=1e-6)


def test_the_committed_study_holds_what_is_claimed():
    rows = json.loads((RESULTS / "levels.json").read_text())["rows"]
    after = [row for row in rows if row["levels"] == "all"]
    assert len(after) == 12
    assert np.exp(np.mean(np.log([row["ratio"] for row in after]))) < 0.9
    for row in after:
        if row["table"] == "people" and row["given"] > 0.9 * row["fits"]:
            assert 0.94 <= row["covered"][1] <= 0.96
