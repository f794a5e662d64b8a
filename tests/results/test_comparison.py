"""Two models side by side: what is compared, what is not, and why."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted import SCHEMA, case, people_model
from scipy import stats
from small_table import people

from discreet import Domain, DPLinearRegression, Moments, PrivateMoments, compare, release
from discreet.core.placeholders import Later, Unavailable
from discreet.errors import NotReleasedError, ParameterError
from discreet.privacy import gdp
from discreet.results.comparison import SAME_RELEASE, UNKNOWN_RELEASE


@pytest.fixture(scope="module")
def years():
    return [people_model(seed=seed).results_ for seed in (1, 2)]


@pytest.fixture(scope="module")
def pair(years):
    return compare(*years, names=("2024", "2025"))


def released(schema=SCHEMA, **options):
    given = {"epsilon": 2, "delta": 1e-6} | options
    return release(Moments.from_source(people(4000), Domain(schema)), **given)


# -------------------------------------------------------------------- numbers


def test_differences_and_their_errors(pair):
    a, b = pair.a, pair.b
    for name in a.coefficients:
        assert pair.difference[name] == b.debiased[name] - a.debiased[name]
        variance = sum(f.std_err[name] ** 2 for f in (a, b))
        assert pair.std_err[name] == pytest.approx(math.sqrt(variance))
        place = list(a.coefficients).index(name)
        parts = [(f.std_err[name] ** 2, f.inference.degrees(np.eye(len(a.coefficients)))[place]) for f in (a, b)]
        df = variance**2 / sum(part**2 / own for part, own in parts)
        half = stats.t.ppf(0.95, df) * math.sqrt(variance)
        assert tuple(pair.conf_int(0.9).loc[name]) == pytest.approx(
            (pair.difference[name] - half, pair.difference[name] + half)
        )


def test_the_standard_error_is_the_spread_of_differences():
    """Two tables and two noises drawn anew each time: the errors are those that the comparison states."""
    domain = Domain({"x": (0, 1), "y": (-1, 2)})
    rng = np.random.default_rng(3)
    differences, errors = [], []
    for seed in range(150):
        fits = []
        for k in range(2):
            x = rng.uniform(0, 1, 800)
            table = {"x": x, "y": np.clip(0.2 + 0.5 * x + rng.normal(0, 0.2, 800), -1, 2)}
            given = {"epsilon": 2, "delta": 1e-5, "targets": ["y"], "random_state": 2 * seed + k}
            fits.append(release(Moments.from_source(pd.DataFrame(table), domain), **given).fit("y"))
        found = compare(*fits)
        differences.append(found.difference["x"])
        errors.append(found.std_err["x"])
    assert np.std(differences) == pytest.approx(np.mean(errors), rel=0.2)
    assert abs(np.mean(differences)) < 4 * np.std(differences) / math.sqrt(150)


def test_epsilons_are_composed_exactly(pair):
    mu = gdp.mu(epsilon=1, delta=1e-6)
    assert pair.together == pytest.approx(gdp.epsilon(mu=mu * math.sqrt(2), delta=1e-6), rel=1e-6)
    assert "epsilon = 1.455 for" in dict(pair.summary().facts)["Together"]
    assert compare(case("claimed")[0], pair.a).together is None
    assert compare(case("simulation")[0], pair.a).together is None
    assert compare(case("replace-one")[0], pair.a).together is None


# -------------------------------------------------------------------- where no interval is honest


def test_one_release_gives_no_interval_and_says_why():
    public = released()
    found = compare(public.fit("income", ["age"]), public.fit("income", ["age", "hours"]))
    assert found.std_err is SAME_RELEASE
    assert found.conf_int() is SAME_RELEASE
    assert set(found.differences) == {"(intercept)", "age"}
    assert SAME_RELEASE.reason in found.summary().notes[-1]
    assert dict(found.summary().facts)["Together"].startswith("one release")
    assert found.together is None
    with pytest.raises(NotReleasedError, match="share its people"):
        float(found.std_err)


def test_a_loaded_release_is_still_the_same_release(tmp_path):
    public = released()
    public.save(tmp_path / "r.json")
    loaded = PrivateMoments.load(tmp_path / "r.json")
    assert compare(public.fit("income"), loaded.fit("income")).std_err is SAME_RELEASE


def test_without_digests_no_interval_is_given(years):
    assert compare(years[0], replace(years[1], release_later=Later.of(""))).std_err is UNKNOWN_RELEASE


@pytest.mark.parametrize(
    ("names", "reason"),
    [(("verified", "noisy"), "Only one"), (("claimed", "from a release"), "Sampling error")],
)
def test_a_model_without_intervals_takes_them_from_the_difference(names, reason):
    found = compare(*(case(name)[0] for name in names))
    assert isinstance(found.std_err, Unavailable)
    assert reason in found.std_err.reason
    assert found.std_err.reason in found.summary().notes[-1]


def test_models_own_coefficients_are_compared_where_neither_has_others():
    a, b = (people_model(epsilon=0.01, seed=seed).results_ for seed in (1, 2))
    found = compare(a, b)
    assert found.difference["age"] == b.params["age"] - a.params["age"]
    assert isinstance(found.std_err, Unavailable)


# -------------------------------------------------------------------- what differs


def other(**columns):
    return compare(people_model().results_, people_model(schema=SCHEMA | columns).results_)


def test_other_bounds_are_told():
    found = other(age={"low": 18, "high": 100, "unit": "year"})
    assert any("Bounds of age: (18, 90) in A, (18, 100) in B" in words for words in found.differs())
    assert "age" in found.difference


def test_other_units_and_other_first_levels_have_no_difference():
    found = other(age={"low": 18, "high": 90, "unit": "month"})
    assert "age" not in found.difference
    assert "hours" in found.difference
    assert any("In other units" in words and "age" in words for words in found.differs())
    assert dict(zip(found.coefficients, found.summary().rows, strict=True))["age"][-1] == "EUR/year or EUR/month"
    found = other(region=["west", "south", "north"])
    assert "region[south]" not in found.difference
    assert "region[north]" in found.coefficients


def test_other_outcomes_have_no_differences():
    public = released()
    found = compare(public.fit("income", ["age"]), public.fit("hours", ["age"]))
    assert isinstance(found.difference, Unavailable)
    assert found.summary().title == "A (income) and B (hours)"
    assert "Outcome: income in A, hours in B." in found.differs()


def test_what_is_in_one_model_only_is_shown_as_such():
    public = released()
    found = compare(public.fit("income", ["age"]), public.fit("income", ["hours"], model="ols"), ("a", "b"))
    rows = {row[0]: row for row in found.summary().rows}
    assert rows["age"][3] == "not in it"
    assert rows["hours"][1] == "not in it"
    assert rows["age"][5] == rows["hours"][5] == ""
    said = " ".join(found.differs())
    for words in ("Only in a: age.", "Only in b: hours.", "Method: noise-aware in a, ols in b."):
        assert words in said


def test_equal_models_differ_in_nothing():
    results = case("from a release")[0]
    assert compare(results, results).differs() == []


# -------------------------------------------------------------------- faces


def test_text_and_html_hold_the_same_cells(pair):
    text, html = str(pair), pair._repr_html_()
    assert repr(pair) == text
    for row in pair.summary().rows:
        assert all(cell in text and cell in html for cell in row)
    for words in ("2024 95 % interval", "2025 - 2024", "verified", pair.a.release[:12]):
        assert words in text
        assert words in html
    assert "<th" in html
    assert "&lt;b&gt;" in compare(pair.a, pair.b, ("<b>", "c"))._repr_html_()


def test_frames_and_json(pair):
    frame = pair.to_frame(0.9)
    assert list(frame.index) == list(pair.coefficients)
    np.testing.assert_allclose(frame["difference"], pair.difference)
    np.testing.assert_allclose(frame[["difference_low", "difference_high"]], pair.conf_int(0.9))
    np.testing.assert_allclose(frame[["b_low", "b_high"]], pair.b.conf_int(0.9).to_numpy().tolist())
    body = json.loads(json.dumps(pair.to_dict(), allow_nan=False))
    assert body["difference"] == pair.differences
    assert body["models"][1]["params"] == pair.b.coefficients
    lacking = compare(case("verified")[0], case("noisy")[0])
    assert lacking.to_frame()["std_err"].isna().all()
    assert list(lacking.to_dict()["std_err"]) == ["not available"]


def test_pictures_show_both_on_one_scale():
    found = other(age={"low": 18, "high": 100, "unit": "year"})
    axes = found.plot().axes[0]
    shown = [container.lines[0].get_xdata()[0] for container in axes.containers]
    assert shown == pytest.approx([72 * f.debiased["age"] for f in (found.a, found.b)])


def test_estimators_can_be_compared(pair):
    model = people_model()
    other = pair.a.about(model.results_.inference.estimand)
    assert compare(model, other).a is model.results_
    assert pickle.loads(pickle.dumps(pair)).differences == pair.differences


@pytest.mark.parametrize("wrong", [("A",), ("A", "A"), "AB", ("A", ""), ("A", 2), ("A", "B", "C")])
def test_names_must_be_two_texts(wrong, pair):
    with pytest.raises(ParameterError, match="two different texts"):
        compare(pair.a, pair.b, wrong)


@pytest.mark.parametrize("wrong", [None, 3, {}, DPLinearRegression()])
def test_only_fitted_models_are_compared(wrong, pair):
    with pytest.raises(ParameterError, match="two fitted models"):
        compare(pair.a, wrong)


def test_the_level_is_checked(pair):
    for call in (pair.conf_int, pair.summary, pair.to_frame, pair.plot):
        with pytest.raises(ParameterError, match="level"):
            call(95)
