"""Standard errors, intervals and tests: equal to least squares without noise, and right with it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from experiments.coverage import intervals as coverage
from experiments.coverage.populations import Population, population
from scipy import stats

from discreet import AdaSSP, Domain, DPLinearRegression, Moments, Results, release
from discreet.core.placeholders import Later, Unavailable
from discreet.errors import FileFormatError, NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.released.units import user_units
from discreet.results import inference
from discreet.results.inference import OLD_FILE, JointInference
from discreet.solve.debiased import debiased, through_noise

EXACT = {"epsilon": 1e6, "delta": 1e-6, "random_state": NO_NOISE, "rows": 3000}
DATA = Path(__file__).parents[1] / "files"

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


def numbers(n=3000):
    """A frame with two numbers and a category, and the design that statsmodels gets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.uniform(0, 4, n), "b": rng.uniform(-1, 1, n), "kind": rng.choice(["p", "q", "r"], n)}
    )
    frame["y"] = 1 + 0.5 * frame.a - frame.b + 0.3 * (frame.kind == "r") + 2 * rng.standard_normal(n)
    return frame


def domain(*, intercept=True, categories=True):
    kinds = {"kind": ["p", "q", "r"]} if categories else {}
    return Domain({"a": (0, 4), "b": (-1, 1), **kinds, "y": (-12, 14)}, intercept=intercept)


def fitted(frame, public, **promise):
    return release(Moments.from_source(frame, public), targets=["y"], **(promise or EXACT)).fit("y", model="ols")


def digits(p):
    return np.log10(np.maximum(p, 1e-200))


CASES = {
    "numbers": {"categories": False},
    "numbers, no intercept": {"categories": False, "intercept": False},
    "categories": {},
    "categories, no intercept": {"intercept": False},
}


@pytest.fixture(params=CASES)
def both(request):
    """The same model by us, without noise, and by statsmodels."""
    frame, public = numbers(), domain(**CASES[request.param])
    ours = fitted(frame, public)
    X = np.column_stack([frame.a, frame.b, *(frame.kind == level for level in "pqr")]).astype(float)
    named = dict(zip(["a", "b", "kind[p]", "kind[q]", "kind[r]"], X.T, strict=True)) | {"(intercept)": np.ones(len(X))}
    theirs = sm.OLS(frame.y.to_numpy(), np.column_stack([named[name] for name in ours.coefficients])).fit()
    return ours, theirs, frame


# ---------------------------------------------------------------- without noise


def test_without_noise_the_table_is_that_of_statsmodels(both):
    ours, theirs, _ = both
    close = {"rel": 1e-4, "abs": 1e-6}
    assert list(ours.params) == pytest.approx(theirs.params, **close)
    assert list(ours.debiased) == pytest.approx(theirs.params, **close)
    assert list(ours.std_err) == pytest.approx(theirs.bse, rel=1e-4)
    assert ours.conf_int().to_numpy() == pytest.approx(theirs.conf_int(), **close)
    assert ours.conf_int(0.8).to_numpy() == pytest.approx(theirs.conf_int(0.2), **close)
    assert digits(list(ours.pvalues)) == pytest.approx(digits(theirs.pvalues), rel=1e-3, abs=1e-4)
    assert ours.inference.spread.explained == pytest.approx(theirs.rsquared, rel=1e-4)
    assert ours.inference.spread.sigma == pytest.approx(theirs.scale**0.5, rel=1e-4)
    assert max(ours.privacy_noise[name] / ours.std_err[name] for name in ours.coefficients) < 0.01


def test_without_noise_wald_tests_are_f_tests(both):
    ours, theirs, _ = both
    for places in ([0], list(range(1, len(ours.params))), [0, len(ours.params) - 1]):
        found = ours.wald_test([list(ours.coefficients)[i] for i in places])
        R = np.eye(len(ours.params))[places]
        expected = theirs.f_test(R)
        assert found.statistic == pytest.approx(float(expected.fvalue), rel=1e-3)
        assert found.df[0] == expected.df_num
        assert found.df[1] == pytest.approx(expected.df_denom, rel=1e-4)
        assert digits(found.p_value) == pytest.approx(digits(expected.pvalue), rel=1e-3, abs=1e-4)


def test_without_noise_prediction_intervals_are_those_of_statsmodels(both):
    ours, theirs, frame = both
    few, X = frame.head(7), theirs.model.exog[:7]
    expected = theirs.get_prediction(X).summary_frame(alpha=0.1)
    for of, kind in (("mean", "mean"), ("outcome", "obs")):
        low, high = ours.predict_interval(few.drop(columns="y"), 0.9, of=of)
        assert low == pytest.approx(expected[f"{kind}_ci_lower"].to_numpy(), rel=1e-4, abs=1e-5)
        assert high == pytest.approx(expected[f"{kind}_ci_upper"].to_numpy(), rel=1e-4, abs=1e-5)
    assert ours.predict(few.drop(columns="y")).to_numpy() == pytest.approx(expected["mean"].to_numpy(), rel=1e-4)


# ---------------------------------------------------------------- with noise: coverage

SIMULATIONS = 400


def tally(design, n, epsilon, simulations):
    """Releases of many tables: the tally of the study."""
    people = population(design, 3)
    found = coverage.Tally(4)
    for i in range(simulations):
        rng = np.random.default_rng([77, n, i])
        table = coverage.EncodedTable(*people.sample(n, rng), people.domain)
        released = release(table.moments(table.domain), epsilon=epsilon, delta=1e-6, targets=["y"], random_state=rng)
        results = released.fit("y", model="ols")
        found.add(people, released, results, coverage.without_noise(table), people.sample(20, rng))
    return found


def allowed(shown, level):
    """Counts of covered truths that happen with probability 0.9998 at this level."""
    return stats.binom.ppf([1e-4, 1 - 1e-4], shown, level)


@pytest.fixture(scope="module")
def usual():
    return tally("independent", 2000, 1.0, SIMULATIONS)


def test_intervals_cover_at_their_level(usual):
    found = usual
    assert found.available == SIMULATIONS
    low, high = allowed(SIMULATIONS, 0.95)
    assert low <= found.covered.min() <= found.covered.max() <= high
    assert found.new / (20 * SIMULATIONS) >= 0.94


def test_intervals_that_ignore_the_noise_do_not(usual):
    found = usual
    low, _ = allowed(SIMULATIONS, 0.95)
    assert found.naive.max() < 0.9 * low


LUCKY = 0.155
"""The limit of these tests."""


def lucky(limit, draws=9000):
    """Inference from one table under draws of noise whose first slope passes a limit that few do; and the truth."""
    people = population("correlated", 3)
    X, y = people.sample(1000, np.random.default_rng(11))
    table = coverage.EncodedTable(X, y, people.domain)
    released = release(table.moments(table.domain), epsilon=3, delta=1e-6, targets=["y"], random_state=0)
    e, rng = released.equations("y"), np.random.default_rng(12)
    gram = table.moments(table.domain).floats(list(range(5)))
    A, v, yy = gram[:4, :4], gram[:4, 4], gram[4, 4]
    for _ in range(draws):
        N = rng.normal(0, e.s_xx, (4, 4))
        V, squares = (v + rng.normal(0, e.s_xy, 4))[:, None], np.array([yy + rng.normal(0, e.s_yy)])
        drawn = replace(e, S=A + (N + N.T) / 2, V=V, squares=squares, n=1000.0)
        found = inference.infer(released, drawn, user_units(released, drawn, unclip=False))
        if isinstance(found, JointInference) and found.noise[1] <= limit:
            yield found
    units = user_units(released, e, unclip=False)
    coef, intercept = units.params(np.linalg.solve(A, v))
    yield np.concatenate([[intercept], coef])


@pytest.mark.more
def test_intervals_cover_where_only_lucky_releases_have_any(monkeypatch):
    """One release in twenty passes. For one table the truth is its own fit, and errors are only noise."""
    monkeypatch.setattr(JointInference, "largest_noise", LUCKY)
    *passed, truth = lucky(LUCKY)
    noise_only = [replace(found, sampling=0 * found.sampling) for found in passed]
    low, _ = allowed(len(passed), 0.95)
    assert 200 < len(passed) < 900

    def covered(found):
        ends = np.array([inside.interval(0.95)[1] for inside in found])
        return np.sum((ends[:, 0] <= truth[1]) & (truth[1] <= ends[:, 1]))

    assert covered(noise_only) >= low
    monkeypatch.setattr(JointInference, "largest_noise", 1e9)  # as if there had been no limit to pass
    assert covered([replace(found) for found in noise_only]) < low


def zeros(people, n, noise, draws):
    """p-values of the test of the coefficients that are zero, with and without its change of the covariance."""
    names = people.names[1:]
    for i in range(draws):
        rng = np.random.default_rng([78, i])
        table = coverage.EncodedTable(*people.sample(n, rng), people.domain)
        moments = table.moments(table.domain)
        results = release(moments, **noise, targets=["y"], random_state=rng).fit("y", model="ols")
        found = results.inference
        plain = replace(results, inference_later=Later.of(replace(found, W=0 * found.W)))
        tests = [fitted.wald_test(names) for fitted in (results, plain)]
        if not isinstance(tests[0], Unavailable):
            yield [test.p_value for test in tests]


@pytest.mark.more
def test_joint_tests_reject_at_their_level():
    """Where the noise is large, that of the estimates themselves makes the textbook's test too cautious."""
    found = np.array(list(zeros(Population("independent", 10, 9), 1000, {"epsilon": 3, "delta": 1e-6}, 800)))
    for level in (0.05, 0.2):
        low, high = allowed(len(found), level)
        assert low <= np.sum(found[:, 0] < level) <= high
        assert np.sum(found[:, 1] < level) < low


@pytest.mark.parametrize("intercept", [True, False])
def test_a_joint_test_uses_the_covariance_at_its_hypothesis(intercept):
    """F from the definition, in the units of the rotated equations; the spread of its denominator from draws."""
    moments = Moments.from_source(numbers(), domain(intercept=intercept))
    public = release(moments, targets=["y"], rows=3000, epsilon=2, delta=1e-6, random_state=5)
    results, e = public.fit("y"), public.equations("y")
    assert (e.L is not None) == intercept  # a category, whose first level is released too
    fit, T = debiased(e.rotated()), user_units(public, e, unclip=False).after(e.rotation).T
    names = list(results.coefficients)
    at = [1, len(names) - 1]
    R, b = T[[i + (not intercept) for i in at]], np.array([results.debiased[names[i]] for i in at])

    def covariance(theta):
        fixed = fit.sampling + e.s_xy**2 * fit.G @ fit.G
        return fixed + fit.G @ through_noise(fit.W, np.outer(theta, theta), fit.L) @ fit.G

    def constrained(C):
        return fit.theta - C @ R.T @ np.linalg.solve(R @ C @ R.T, b)

    theta_0 = constrained(covariance(constrained(fit.sampling + fit.privacy)))
    C_0 = covariance(theta_0)
    S = R @ C_0 @ R.T
    found = results.wald_test([names[i] for i in at])
    assert found.statistic == pytest.approx(b @ np.linalg.solve(S, b) / 2, rel=1e-9)
    assert np.abs(R @ theta_0).max() < 1e-9 * np.abs(b).max()
    assert (
        np.abs(constrained(C_0) - theta_0).max()
        < 0.01 * np.abs(constrained(fit.sampling + fit.privacy) - fit.theta).max()
    )

    V = C_0 - C_0 @ R.T @ np.linalg.solve(S, R @ C_0)
    values, U = np.linalg.eigh(V)
    small = 0.01  # of the errors of theta_0, so that the first order is all
    drawn = (np.random.default_rng(0).standard_normal((4000, len(V))) * np.sqrt(np.maximum(values, 0))) @ U.T
    sizes = [np.trace(np.linalg.solve(S, R @ covariance(theta_0 + small * v) @ R.T)) / 2 for v in drawn]
    spread = np.var(sizes) / small**2
    assert 2 / found.df[1] - 2 / results.inference.df == pytest.approx(spread, rel=0.1)
    assert found.df[0] == 2


# ---------------------------------------------------------------- what is not available


def test_without_squares_there_is_privacy_noise_but_no_standard_error():
    frame = numbers()
    released = release(Moments.from_source(frame, domain()), targets=["y"], shares={"squares": 0}, **EXACT)
    results = released.fit("y")
    for gone in (
        results.std_err,
        results.conf_int(),
        results.pvalues,
        results.wald_test(["a"]),
        results.inference.spread,
    ):
        assert isinstance(gone, Unavailable)
        assert str(gone) == "not released"
        with pytest.raises(NotReleasedError, match="y'y"):
            float(gone)
        with pytest.raises(NotReleasedError, match="y'y"):
            gone["a"]
        with pytest.raises(NotReleasedError, match="y'y"):
            np.asarray(gone)
        assert not gone
    assert set(results.privacy_noise.index) == set(results.coefficients)
    assert isinstance(results.predict_interval(frame.drop(columns="y")), Unavailable)


def test_ada_ssp_tells_why_it_has_no_standard_errors():
    frame = numbers()
    model = AdaSSP(domain=domain(categories=False), **EXACT)
    results = model.fit(frame[["a", "b"]], frame["y"]).results_
    with pytest.raises(NotReleasedError, match="DPLinearRegression and release"):
        results.std_err["a"]
    assert "not released" in str(results)


def test_a_noisy_release_has_no_intervals_and_says_why():
    results = fitted(numbers(), domain(), epsilon=0.05, delta=1e-6, random_state=1)
    for gone in (results.inference, results.debiased, results.std_err, results.privacy_noise, results.conf_int()):
        assert isinstance(gone, Unavailable)
        assert gone.what == "not available"
        assert "about epsilon = " in gone.reason
    with pytest.raises(NotReleasedError, match="too few rows for 5 coefficients at this epsilon"):
        results.conf_int()["a"]
    assert np.isfinite(list(results.params)).all()
    assert results.to_frame()["std_err"].isna().all()
    assert "not available" in results.to_dict()["std_err"]


# ---------------------------------------------------------------- clipped outcomes


def test_intervals_are_about_the_clipped_population():
    """Where narrow bounds clip, `coef` undoes that and the reported estimates do not."""
    rng, n, d = np.random.default_rng(3), 8000, 20
    X = rng.uniform(-1, 1, (n, d))
    y = X[:, 0] + 0.3 * rng.standard_normal(n) + 9 * rng.choice([-1, 0, 1], n, p=[0.012, 0.976, 0.012])
    model = DPLinearRegression(
        epsilon=1, delta=1e-6, bounds_X=(-1, 1), bounds_y=(-12, 12), random_state=NO_NOISE, stages=1
    )
    results = model.fit(X, y).release_.fit("y", model="ols")
    used = results.certificate.domain.columns["y"]
    assert np.mean((y < used.low) | (y > used.high)) > 0.02
    slope = debiased(model.release_.equations("y")).theta[1] * (used.high - used.low) / 2
    assert results.inference.estimate[1] == pytest.approx(slope, rel=1e-12)
    clipped = np.linalg.lstsq(np.column_stack([np.ones(n), X]), y.clip(used.low, used.high))[0][1]
    assert abs(slope - clipped) < 0.03
    assert model.release_.unclip("y").factor > 1.05
    assert results.params["x0"] == results.inference.estimate[1]
    assert results.predicting["x0"] == results.coef[0] > 1.05 * slope
    assert "narrowed from" in str(results)


# ---------------------------------------------------------------- files, frames, bad input


def real():
    """A release with noise from the operating system, the only kind that is saved."""
    return fitted(numbers(), domain(), epsilon=50, delta=1e-6)


def test_results_are_saved_and_loaded_with_their_inference(tmp_path):
    results = real()
    results.save(tmp_path / "model.json")
    again = Results.load(tmp_path / "model.json")
    assert isinstance(again.inference, JointInference)
    assert again.inference.to_dict() == results.inference.to_dict()
    assert again.to_dict() == results.to_dict()
    assert again.conf_int(0.9).equals(results.conf_int(0.9))
    assert again.pvalues.equals(results.pvalues)
    assert (again.rows, again.release) == (results.rows, results.release)
    assert str(again) == str(results)


def test_unavailable_inference_is_saved_and_loaded(tmp_path):
    results = fitted(numbers(), domain(), epsilon=0.1, delta=1e-6)
    results.save(tmp_path / "model.json")
    assert Results.load(tmp_path / "model.json").inference.to_dict() == results.inference.to_dict()


def test_inference_of_another_size_is_refused():
    facts = real().inference.to_dict()
    assert JointInference.from_dict(facts, 5).to_dict() == facts
    for name in ("estimate", "sampling", "privacy", "G", "G_all", "W", "T"):
        with pytest.raises(ValueError, match=name):
            JointInference.from_dict(facts | {name: facts[name][:-1]}, 5)


def test_a_file_whose_inference_does_not_fit_is_refused(tmp_path):
    results = real()
    results.save(tmp_path / "model.json")
    from discreet.core.files import write_document

    body = json.loads((tmp_path / "model.json").read_text())
    body = {key: value for key, value in body.items() if key != "sha256"}
    body["inference"]["G"] = [1.0]
    write_document(tmp_path / "other.json", body)
    with pytest.raises(FileFormatError, match="damaged"):
        Results.load(tmp_path / "other.json")


def test_an_old_file_has_no_standard_errors():
    results = Results.load(DATA / "v1.results.json")
    assert results.inference == OLD_FILE
    assert "older version" in results.std_err.reason


def test_frame_and_json_hold_what_the_summary_says():
    results = real()
    frame, facts = results.to_frame(0.9), json.loads(results.to_json())
    assert list(frame.index) == list(results.coefficients)
    assert frame["std_err"].to_dict() == facts["std_err"] == results.std_err.to_dict()
    assert frame["p_value"].to_dict() == facts["pvalues"] == results.pvalues.to_dict()
    assert frame[["low", "high"]].to_numpy().tolist() == results.conf_int(0.9).to_numpy().tolist()
    assert list(facts["conf_int"].values()) == results.conf_int().to_numpy().tolist()
    assert facts["debiased"] == results.debiased.to_dict()
    assert facts["rsquared"] == results.rsquared
    assert facts["units"] == frame["unit"].to_dict()
    assert facts["release"] == results.release


def test_a_noisy_y_y_leaves_few_degrees_of_freedom():
    public = release(Moments.from_source(numbers(), domain()), targets=["y"], epsilon=1, delta=1e-6, random_state=5)
    results, fit = public.fit("y"), debiased(public.equations("y"))
    found = results.inference
    assert fit.sigma2_error > 0.05 * fit.sigma2**2
    assert found.spread.df == pytest.approx(2 * fit.sigma2**2 / fit.sigma2_error, rel=0.05)
    low, high = results.predict_interval(numbers().head(1).drop(columns="y"))
    assert (high - low)[0] > 2 * stats.t.ppf(0.975, found.spread.df) * found.spread.sigma


def test_a_variable_stands_for_all_its_levels():
    results = real()
    assert results.wald_test("kind") == results.wald_test(["kind[q]", "kind[r]"])


def test_p_values_and_intervals_agree():
    results = fitted(numbers(), domain(), epsilon=8, delta=1e-6, random_state=5)
    for name, p in results.pvalues.items():
        for level in (0.5, 0.9, 0.99):
            low, high = results.conf_int(level).loc[name]
            assert (low <= 0 <= high) == (p >= 1 - level)
            assert low <= results.debiased[name] <= high
    assert any(0.001 < p < 0.999 for p in results.pvalues)


@pytest.mark.parametrize("names", [[], "", ["a", "nothing"], {"a"}])
def test_wald_tests_need_known_names(names):
    with pytest.raises(ParameterError, match="coefficient"):
        real().wald_test(names)


@pytest.mark.parametrize("level", [0, 1, 95, "high", None])
def test_levels_lie_between_0_and_1(level):
    results = real()
    for ask in (results.conf_int, results.summary, results.to_frame):
        with pytest.raises(ParameterError, match="level"):
            ask(level)
