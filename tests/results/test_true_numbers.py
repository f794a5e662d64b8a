"""Rows, residual sd, R^2 and mean outcome of a summary are those of the table, or are named for what they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discreet import Domain, DPLinearRegression
from discreet.core.placeholders import Unavailable
from discreet.results.coefficient_table import interval_cell
from discreet.results.residual_tail import SHARES, residual_tail
from discreet.results.results import Results

ROWS = 10_000


def table(kind, seed):
    """Medical spending, 30 % zeros and a log-normal rest; or normal outcomes."""
    rng = np.random.default_rng(seed)
    age, chronic = rng.uniform(18, 90, ROWS), rng.random(ROWS) < 0.25
    if kind == "normal":
        y = 200 + 3 * age + 80 * chronic + rng.normal(0, 100, ROWS)
    else:
        y = np.exp(3.6 + 0.02 * (age - 50) + chronic + rng.normal(0, 1.4, ROWS)) * (rng.random(ROWS) < 0.7)
    return pd.DataFrame({"age": age, "chronic": chronic, "y": y.clip(0, 20_000)})


def fitted(people, seed=0, epsilon=3, **options):
    domain = Domain({"age": (18, 90), "chronic": bool, "y": {"low": 0, "high": 20_000, "unit": "dollar"}})
    model = DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=domain, random_state=seed, **options)
    return model.fit_source(people, "y")


def truth(people):
    X = np.column_stack([np.ones(ROWS), people["age"], people["chronic"]])
    y = people["y"].to_numpy()
    r = y - X @ np.linalg.lstsq(X, y)[0]
    return np.sqrt(r @ r / (ROWS - 3)), 1 - r @ r / np.sum((y - y.mean()) ** 2), y.mean()


@pytest.fixture(scope="module")
def spending():
    return fitted(table("spending", 1)).results_


@pytest.mark.parametrize("epsilon", [1, 3, 10])
@pytest.mark.parametrize("kind", ["spending", "normal"])
def test_intervals_hold_the_numbers_of_least_squares_of_the_table(kind, epsilon):
    inside, width = [], []
    for seed in range(20):
        people = table(kind, seed)
        results, (sd, share, mean) = fitted(people, seed, epsilon).results_, truth(people)
        asked = results.residual_sd_interval(), results.rsquared_interval(), results.mean_outcome_interval()
        inside.append([low <= own <= high for own, (low, high) in zip((sd, share, mean), asked, strict=True)])
        width.append(asked[0][1] / asked[0][0])
    assert (np.sum(inside, axis=0) >= 17).all()
    assert kind == "spending" or np.median(width) < 1.2


def far(seed, bound):
    """Three rows in a thousand lie far out along a, and least squares explains more of the outcome by them."""
    rng = np.random.default_rng(seed)
    a, c = rng.standard_normal((2, ROWS))
    out = rng.random(ROWS) < 0.003
    a = np.where(out, 10 * a, a)
    people = pd.DataFrame({"a": a, "c": c, "y": a + 0.5 * c + rng.standard_normal(ROWS)}).clip(-bound, bound)
    X = np.column_stack([np.ones(ROWS), people[["a", "c"]]])
    y = people["y"].to_numpy()
    r = y - X @ np.linalg.lstsq(X, y)[0]
    return people, Domain(dict.fromkeys("acy", (-bound, bound))), 1 - r @ r / np.sum((y - y.mean()) ** 2)


@pytest.mark.parametrize("epsilon", [1, 3, 10, 100])
def test_r_squared_allows_for_rows_that_are_shortened(epsilon):
    for seed in range(5):
        people, domain, share = far(seed, bound=40)
        model = DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=domain, random_state=seed)
        results = model.fit_source(people, "y").results_
        low, high = results.rsquared_interval()
        assert low < share < high
        assert epsilon < 100 or high < share + 0.15


def test_nobs_is_the_released_number_of_rows_with_the_noise_of_its_release(spending):
    certificate = spending.certificate
    sd = next(block.sd for block in certificate.blocks if block.statistic == "sums")
    assert spending.nobs_sd == sd
    assert abs(spending.nobs - ROWS) < 4 * sd
    assert f"(sd {float(f'{sd:.2g}'):g})" in dict(spending.summary().facts)["Rows"]
    assert spending.nobs == fitted(table("spending", 1)).release_.rows()


def test_only_declared_rows_are_called_declared():
    results = fitted(table("normal", 1), rows=9_800).results_
    assert (results.nobs, results.nobs_sd) == (9_800, 0)
    assert dict(results.summary().facts)["Rows"] == "9,800, declared"


def test_cut_residuals_are_named_beside_what_is_known_of_the_table(spending):
    facts = dict(spending.summary().facts)
    low, high = spending.residual_sd_interval()
    assert facts["Residual sd"].startswith(f"{interval_cell(low, high)} dollar (95 % interval); ")
    assert facts["Residual sd"].endswith(f"if residuals are cut at {spending.cut_at:.5g} dollar")
    cut = spending.about("bounded").rsquared
    assert facts["R-squared"].endswith(f"(95 % interval); {cut:.3f} if residuals are cut")
    assert spending.residual_sd < high
    mean = spending.mean_outcome_interval()
    assert mean[0] < table("spending", 1)["y"].mean() < mean[1]
    assert f"{interval_cell(*mean)} dollar (95 % interval); " in facts["Mean outcome of the table"]
    assert facts["Mean outcome of the table"].endswith(" if residuals are cut")
    for own in ("declared", "bounded"):
        assert dict(spending.about(own).summary().facts) == facts


def test_where_nothing_is_cut_there_is_one_number():
    facts = dict(fitted(table("normal", 1), epsilon=10).results_.summary().facts)
    assert "cut" not in facts["Residual sd"] + facts["R-squared"]
    assert "Mean outcome of the table" not in facts


def test_a_model_about_the_declared_bounds_does_not_pass_on_numbers_of_cut_residuals(spending):
    declared = spending.about("declared")
    assert isinstance(declared.rsquared, Unavailable)
    assert isinstance(declared.residual_sd, Unavailable)
    assert declared.rsquared_interval() == spending.rsquared_interval()
    low, high = declared.rsquared_interval()
    assert dict(declared.summary().facts)["R-squared"].startswith(f"{low:.3f} to {high:.3f}")
    assert declared.to_dict()["rsquared_interval"] == [low, high]


def test_saved_models_keep_all_of_it(spending, tmp_path):
    spending.save(tmp_path / "m.json", simulation=True)
    again = Results.load(tmp_path / "m.json")
    assert str(again.summary()) == str(spending.summary())
    assert again.to_dict() == spending.to_dict()
    assert (again.nobs, again.nobs_sd) == (spending.nobs, spending.nobs_sd)


def test_where_counts_are_noise_the_residuals_still_vary():
    """100,000 rows are declared and seven are there: counts may say that all residuals are cut."""
    domain = Domain({"x": bool, "y": (0, 1)}, intercept=False)
    people = pd.DataFrame({"x": [True, False] * 3 + [True], "y": np.linspace(0.2, 0.8, 7)})
    given = {"epsilon": 0.2, "delta": 1e-6, "domain": domain, "fit_intercept": False, "rows": 100_000}
    for seed in range(8):
        results = DPLinearRegression(**given, random_state=seed).fit_source(people, "y").results_
        assert results.inference.spread.sigma > 0
        assert 0 < results.residual_sd_interval()[0] < results.residual_sd_interval()[1]
        low, high = results.rsquared_interval()
        assert 0 <= low <= high <= 1
        assert np.isfinite(results.predict_interval(people[["x"]])).all()


def test_bounds_that_were_narrowed_leave_the_table_unknown():
    results = fitted(table("spending", 1), stages=1).results_
    assert results.certificate.declared is not None
    assert "narrowed" in results.residual_sd_interval().reason


@pytest.mark.parametrize("law", [stats.norm(), stats.t(3), stats.lognorm(1.4)], ids=["normal", "t", "log-normal"])
def test_the_tail_is_found_from_exact_counts(law):
    edges, most = 2.0 ** np.arange(-4, 9, 0.5), 256.0
    counts = 1e6 * np.diff([0, *(law.cdf(edges) - law.cdf(-edges)), 1])
    b = edges[14]
    found = residual_tail(counts, 3.0, edges, 14, most, 1e6)
    r = np.linspace(b, most, 400_001)
    density = law.pdf(r) + law.pdf(-r)
    for quantiles, excess in ((found.squares, r**2 - b**2), (found.sizes, r - b)):
        true = np.trapezoid(density * excess, r)
        low, high = np.interp([0.025, 0.975], SHARES, quantiles)
        assert 0.9 * low <= true + 1e-6
        assert true <= 1.1 * high


def test_a_group_far_out_is_counted_where_it_shows():
    edges = 2.0 ** np.arange(-4, 9, 0.5)
    counts = 1e4 * np.diff([0, *(2 * stats.norm.cdf(edges) - 1), 1])
    counts[22] += 500  # of residuals between 91 and 128
    low, high = np.interp([0.025, 0.975], SHARES, residual_tail(counts, 10.0, edges, 12, 256.0, 1e4).squares)
    assert low < 0.05 * 110**2 < high
    assert high < 3 * low


def test_the_mean_of_the_line_is_at_the_means_of_the_columns():
    """Not at those of the weighted rows of the last stage: a skewed column has a smaller mean there."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"w": rng.exponential(1, 20_000)})
    frame["y"] = 5 + 2 * frame["w"] + rng.standard_normal(20_000)
    domain = Domain({"w": (0, 15), "y": (-10, 60)})
    results = DPLinearRegression(epsilon=3, delta=1e-6, domain=domain, random_state=0).fit_source(frame, "y").results_
    cut = results.joint.spread.cut
    assert abs(cut.mean - frame["y"].mean()) < 4 * cut.mean_error
    low, high = results.mean_outcome_interval()
    assert low < frame["y"].mean() < high


@pytest.mark.parametrize("person", [{}, {"person": "id", "rows_per_person": 4}])
@pytest.mark.parametrize("columns", [1, 4])
def test_the_residual_sd_without_an_intercept_is_that_of_the_table(columns, person):
    rng = np.random.default_rng(columns)
    X = rng.normal(0, 1, (ROWS, columns))
    people = pd.DataFrame(X, columns=[f"x{i}" for i in range(columns)]).assign(id=np.arange(ROWS) // 4)
    people["y"] = (X.sum(axis=1) + rng.normal(0, 1, ROWS)).clip(-50, 50)
    r = people["y"] - X @ np.linalg.lstsq(X, people["y"])[0]
    true = np.sqrt(r @ r / (ROWS - columns))
    domain = Domain({f"x{i}": (-5, 5) for i in range(columns)} | {"y": (-50, 50)}, **person)
    for epsilon, close in ((1, 0.25), (1e3, 0.03)):
        model = DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=domain, fit_intercept=False, random_state=1)
        results = model.fit_source(people, "y", [f"x{i}" for i in range(columns)]).results_
        found = results.inference.spread.sigma
        assert found == pytest.approx(true, rel=close)
        low, high = results.residual_sd_interval()
        assert low <= true * 1.01
        assert high >= true * 0.99
