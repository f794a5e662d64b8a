"""Two fits that intervals can be about: which is first, when both are shown, and of which models."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, Results, check
from discreet.core.placeholders import Later, Unavailable
from discreet.errors import ParameterError
from discreet.results.estimands import ALIKE, MOST_WIDER, preferred, second, times_as_wide

DOMAIN = Domain({"age": (18, 80), "dose": (0, 5), "spend": (0, 300), "cost": (0, 400), "visits": (0, 30), "ill": bool})
MODELS = {
    "number": (DPLinearRegression, "spend"),
    "class": (DPLogisticRegression, "ill"),
    "count": (DPPoissonRegression, "visits"),
    "two numbers": (DPLinearRegression, ["spend", "cost"]),
}


@pytest.fixture(scope="module")
def fits():
    rng, n = np.random.default_rng(0), 8_000
    table = pd.DataFrame({"age": rng.uniform(18, 80, n), "dose": rng.gamma(1.0, 0.5, n).clip(0, 5)})
    eta = -1.5 + 0.02 * table.age + 0.3 * table.dose
    table["ill"] = rng.random(n) < 1 / (1 + np.exp(-eta))
    table["visits"] = rng.poisson(np.exp(eta)).clip(max=30)
    table["spend"] = (20 + 2 * table.age + 5 * table.dose + rng.normal(0, 20, n)).clip(0, 300)
    table["cost"] = (table.spend + rng.gamma(1.0, 10, n)).clip(0, 400)
    given = {"epsilon": 3, "delta": 1e-6, "domain": DOMAIN, "random_state": 1}
    return {
        name: cls(**given).fit_source(table, target, ["age", "dose"]).results_ for name, (cls, target) in MODELS.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model_has_intervals_about_both_fits(name, fits):
    r = fits[name]
    low, high = (np.asarray(r.conf_int(0.9, estimand=own)) for own in ("bounded", "declared"))
    assert np.all(np.ptp(high, axis=-1) > np.ptp(low, axis=-1))
    assert np.array_equal(np.asarray(r.about("declared").params), np.asarray(r.about("bounded").params))
    with pytest.raises(ParameterError, match="estimand"):
        r.about("all")


@pytest.mark.parametrize("name", MODELS)
def test_the_first_fit_follows_a_public_rule(name, fits):
    found = fits[name].inference
    assert found.estimand == preferred(found) == fits[name].about("auto").inference.estimand
    ratio = float(np.median(found.about("declared").std_err / found.about("bounded").std_err))
    assert times_as_wide(found) == pytest.approx(ratio)
    assert (found.estimand == "declared") == (ratio <= MOST_WIDER)


def charged(found, factor):
    """The inference with so many times the charge for far rows and for far residuals."""
    return replace(found, tails=factor * found.tails, cut=factor * found.cut)


def test_a_large_charge_puts_the_bounded_fit_first(fits):
    found = fits["number"].inference
    for factor, first in ((1e-6, "declared"), (1.0, preferred(found)), (1e3, "bounded")):
        assert preferred(charged(found, factor)) == first
    assert preferred(charged(found, 0.0)) == "bounded"
    for none in ("tails", "cut"):  # far rows alone, far residuals alone
        assert preferred(replace(charged(found, 1e-6), **{none: 0.0})) == "declared"
        assert preferred(replace(charged(found, 1e3), **{none: 0.0})) == "bounded"


def test_fits_that_are_alike_have_one_interval(fits):
    r = fits["number"]
    alike = r._inferred(charged(r.inference, 1e-9))
    assert second(alike.inference) is None
    assert "least squares" not in alike.summary().columns
    assert "declared_low" not in alike.to_frame()
    ratios = r.inference.about("declared").std_err / r.inference.about("bounded").std_err
    assert (ratios.max() > ALIKE) == (second(r.inference) is not None)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("first", ["bounded", "declared"])
def test_both_intervals_stand_in_one_table(name, first, fits):
    found = fits[name].inference
    r = replace(fits[name], inference_later=Later.of(replace(found, estimand=first, tails=30 * found.tails)))
    other = "declared" if first == "bounded" else "bounded"
    plain = "least squares" if "number" in name else "max. likelihood"
    heading = {"bounded": "bounded fit", "declared": plain}[other]
    assert heading in r.summary().columns
    frame, ends = r.to_frame(0.9), np.asarray(r.conf_int(0.9, estimand=other)).reshape(-1, 2)
    np.testing.assert_allclose(frame[[f"{other}_low", f"{other}_high"]], ends)
    text = " ".join(str(r).split())
    assert ("times as wide" in text) == (first == "bounded")
    assert text.count("Intervals are about") == 1


def test_outcomes_that_widen_differently_are_told_as_a_range(fits):
    r = fits["two numbers"]
    found = r.inference
    wide = np.square(np.outer([1.0, 6.0], np.ones(3)) * found.bounded_errors)
    both = r._inferred(replace(found, estimand="bounded", tails=wide))
    assert "all rows are 1.4 to 6.1 times as wide." in " ".join(str(both).split())
    alike = r._inferred(replace(found, estimand="bounded", tails=wide[:1]))
    assert "all rows are 1.4 times as wide." in " ".join(str(alike).split())


@pytest.mark.parametrize("name", ["number", "two numbers"])
def test_predictions_are_spoken_of_where_they_visibly_differ(name, fits):
    r = fits[name].about("bounded")
    errors = np.atleast_2d(np.asarray(r.std_err))
    params, line = np.atleast_2d(np.asarray(r.params)), "Predictions use other coefficients"
    for share, said in ((0.0, False), (0.05, False), (0.2, True)):
        moved = params + share * errors
        coef, intercept = (moved[:, 1:], moved[:, 0]) if r.several else (moved[0, 1:], float(moved[0, 0]))
        for own in ("bounded", "declared"):  # the error about least squares is larger, and does not count
            one = replace(r, coef=coef, intercept=intercept).about(own)
            assert str(one).count(line) == said
    withheld = replace(r.inference, **({"noise": np.ones(3)} if r.several else {"W": 1e6 * r.inference.W}))
    assert not withheld.given.any()
    assert line not in str(replace(r, coef=coef, intercept=intercept)._inferred(withheld))


def test_json_has_both_intervals_and_both_estimates(fits):
    facts = json.loads(fits["number"].to_json())
    assert facts["conf_int"] == facts["conf_int_about"][facts["estimand"]]
    assert set(facts["conf_int_about"]) == {"bounded", "declared"}
    assert facts["coef"] == fits["number"].predicting
    assert facts["params"] == facts["debiased"] == fits["number"].coefficients


@pytest.mark.parametrize("name", MODELS)
def test_files_keep_the_fit_and_one_release_keeps_one_digest(name, fits, tmp_path):
    for own in ("bounded", "declared"):
        r = fits[name].about(own)
        r.save(tmp_path / f"{own}.json", simulation=True)
        again = Results.load(tmp_path / f"{own}.json")
        assert again.inference.estimand == own
        assert again.release == fits[name].release
        assert np.array_equal(np.asarray(again.conf_int()), np.asarray(r.conf_int()))
        assert str(again) == str(r)
        wrong = [finding.what for finding in check(tmp_path / f"{own}.json") if not finding.ok]
        assert wrong == [finding.what for finding in check(r.certificate) if not finding.ok]


def test_old_models_of_classes_have_one_fit(fits):
    r = fits["class"]
    old = r._inferred(replace(r.inference, tails=0.0, estimand="bounded"))
    assert old.second is None
    with pytest.raises(ParameterError, match="older version"):
        old.about("declared")
    assert old.about("auto").inference.estimand == "bounded"


def test_models_without_intervals_stay_as_they_are(fits):
    r = fits["class"]._inferred(Unavailable("not available", "No reason."))
    assert isinstance(r.about("declared").inference, Unavailable)
    assert r.coefficients == r.predicting
