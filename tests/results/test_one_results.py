"""One kind of results object for all models: the same attributes, files, commands and comparisons."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.pipeline import Pipeline

from discreet import (
    NAPP,
    OPS,
    Domain,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    NoisySGD,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateMoments,
    ReleasedModel,
    Results,
    compare,
)
from discreet.core.placeholders import Unavailable
from discreet.errors import FileFormatError, GuaranteeError, ParameterError
from discreet.results.glm_results import GLMResults
from discreet.results.report import report
from discreet.results.saved import check_saved, load_saved

DATA = Path(__file__).parents[1] / "files" / "models"
EXPECTED = json.loads((DATA / "expected.json").read_text())
ROWS = 2_000
FEATURES = ["age", "sex"]
DOMAIN = Domain(
    {"age": (18, 90), "sex": ["F", "M"], "bought": bool, "visits": (0, 15), "region": ["north", "south", "west"]}
)
PROMISE = {"epsilon": 3, "delta": 1e-6, "domain": DOMAIN}
MODELS = {
    "linear": (DPLinearRegression, "visits", {}),
    "lasso": (DPLasso, "visits", {}),
    "posterior sample": (OPS, "visits", {"rows": ROWS}),
    "output": (OutputPerturbation, "visits", {"rows": ROWS}),
    "gradients": (NoisySGD, "visits", {"rows": ROWS, "steps": 16}),
    "objective": (ObjectivePerturbation, "visits", {}),
    "adaptive": (ObjectivePerturbation, "visits", {"adaptive": True}),
    "napp": (NAPP, "visits", {}),
    "logistic": (DPLogisticRegression, "bought", {}),
    "one stage": (DPLogisticRegression, "bought", {"stages": 1}),
    "several classes": (DPLogisticRegression, "region", {}),
    "machine": (DPLinearSVC, "bought", {}),
    "counts": (DPPoissonRegression, "visits", {}),
}
LINEAR = ("linear", "lasso", "posterior sample", "output", "gradients", "objective", "adaptive", "napp")
NUMBERS = ("debiased", "std_err", "bse", "privacy_noise", "tvalues", "pvalues", "rsquared", "residual_sd", "df_resid")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(18, 90, ROWS), "sex": rng.choice(["F", "M"], ROWS)})
    table["bought"] = rng.random(ROWS) < expit((table["age"] - 50) / 10)
    table["visits"] = rng.poisson(np.exp(table["age"] / 60)).clip(max=15)
    return table.assign(region=rng.choice(["north", "south", "west"], ROWS))


@pytest.fixture(scope="module")
def fits(people):
    return {
        name: cls(**PROMISE, random_state=1, **options).fit_source(people, target, FEATURES)
        for name, (cls, target, options) in MODELS.items()
    }


def told(value):
    """A number, or numbers, or a reason."""
    return bool(value.reason) if isinstance(value, Unavailable) else value is not None


# -------------------------------------------------------------------- one object


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_the_same_attributes(name, fits, people):
    model, few = fits[name], people[FEATURES][:4]
    r = model.results_
    assert isinstance(r, Results)
    assert set(dir(r)) >= set(dir(fits["linear"].results_))
    assert np.array_equal(r.coef, model.coef_)
    assert np.array_equal(r.intercept, model.intercept_)
    assert list(r.params) == list(r.coefficients.values())
    assert r.predict(few).tolist() == pytest.approx(list(model.predict(few)))
    assert all(told(getattr(r, number)) for number in NUMBERS)
    for asked in (r.conf_int, r.cov_params, r.ratios, r.effects, r.marginal_effects):
        assert told(asked())
    for asked in (r.predict_proba, r.predict_interval, lambda X: r.predict_interval(X, of="mean")):
        assert told(asked(few))
    assert {row["name"] for row in r.selection()} == set(r.names)
    assert next(iter(r.predictions(few))) == "prediction"
    assert r.kind in report(r)
    assert set(r.to_dict()) >= set(fits["linear"].results_.to_dict())
    assert [r.unit(one) for one in r.coefficients] == list(r.to_frame()["unit"])


@pytest.mark.parametrize("name", MODELS)
def test_the_release_and_the_results_are_two_things(name, fits, tmp_path):
    model = fits[name]
    assert isinstance(model.release_, PrivateMoments | ReleasedModel)
    assert isinstance(model.results_, Results)
    assert model.release_.certificate is model.certificate_ is model.results_.certificate
    model.release_.save(tmp_path / "release.json", simulation=True)
    again = type(model.release_).load(tmp_path / "release.json")
    assert again.digest == model.release_.digest == model.results_.release
    if isinstance(again, ReleasedModel):
        model.results_.save(tmp_path / "results.json", simulation=True)
        assert (tmp_path / "results.json").read_bytes() == (tmp_path / "release.json").read_bytes()
        assert str(again.results()) == str(model.results_)
        assert all(finding.ok for finding in check_saved(again)) == all(
            finding.ok for finding in check_saved(model.results_)
        )
        assert "epsilon=3" in repr(again)


def test_what_only_some_models_have_says_why(fits, people):
    few = people[FEATURES][:4]
    for name, model in fits.items():
        r = model.results_
        has = {
            "ratios": name in ("logistic", "several classes", "counts"),
            "dispersion": name == "counts",
            "proba": name in ("logistic", "one stage", "several classes"),
            "outcome": name in ("linear", "lasso"),
            "mean": name in ("linear", "lasso", "logistic", "counts"),
        }
        found = {
            "ratios": r.ratios(),
            "dispersion": r.dispersion,
            "proba": r.predict_proba(few),
            "outcome": r.predict_interval(few),
            "mean": r.predict_interval(few, of="mean"),
        }
        assert {key: not isinstance(value, Unavailable) for key, value in found.items()} == has, name
        assert r.about("bounded").coefficients == r.about("declared").coefficients == r.coefficients
        assert r.about("bounded").release == r.about("declared").release == r.release


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_of_any_method_are_told_alike(name, fits):
    r, default = fits[name].results_, fits["linear"].results_
    assert (r.kind, r.link, r.classes) == (default.kind, default.link, default.classes)
    assert (r.coef.shape, type(r.intercept)) == (default.coef.shape, float)
    assert list(r.coefficients) == list(default.coefficients)
    assert r.summary().title == default.summary().title
    assert [label for label, _ in r.summary().facts][:2] == ["Method", "Guarantee"]
    assert r.estimand.endswith("towards zero") == (name in ("objective", "adaptive", "napp"))


def test_intervals_of_expected_outcomes_are_those_of_the_line(fits, people):
    few = people[FEATURES][:4]
    for name, mean in {"logistic": expit, "counts": np.exp}.items():
        r = fits[name].results_
        low, high = r.predict_interval(few, of="mean")
        rows = np.column_stack([np.ones(4), few["age"], few["sex"] == "M"])
        centre = mean(rows @ r.debiased.to_numpy())
        assert ((low < centre) & (centre < high)).all()
        sides = [mean(end) for end in r.t_test(rows).conf_int().to_numpy().T]
        np.testing.assert_allclose([low, high], sides, rtol=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_pipelines_survive_pickles(name, fits, people):
    again, few = pickle.loads(pickle.dumps(Pipeline([("model", fits[name])]))), people[FEATURES][:4]
    assert list(again.predict(few)) == list(fits[name].predict(few))
    assert str(again[-1].results_) == str(fits[name].results_)


# -------------------------------------------------------------------- files


@pytest.mark.parametrize("name", MODELS)
def test_what_was_saved_is_the_same_model(name, fits, people, tmp_path):
    r, few = fits[name].results_, people[FEATURES][:4]
    r.save(tmp_path / "model.json", simulation=True)
    again = Results.load(tmp_path / "model.json")
    assert (again.coefficients, again.release, again.rows) == (r.coefficients, r.release, r.rows)
    assert str(again) == str(Results.summary(r))
    assert again.inference == r.inference or again.intervals(0.9) == r.intervals(0.9)
    assert again.predict(few).tolist() == r.predict(few).tolist()
    assert check_saved(load_saved(tmp_path / "model.json")) == r.certificate.check()
    with pytest.raises(ParameterError, match="exists already"):
        r.save(tmp_path / "model.json", simulation=True)
    with pytest.raises(GuaranteeError, match="simulation"):
        r.save(tmp_path / "other.json")
    again.save(tmp_path / "again.json", simulation=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "rows"])
def test_files_of_before(name, tmp_path):
    """Written when linear models and others had two kinds of results."""
    path, expected = DATA / f"{name}.json", EXPECTED[name]
    r = GLMResults.load(path)
    assert type(r) is Results
    assert r.predicting == expected["coefficients"]
    reported = r.predicting if isinstance(r.inference, Unavailable) else r.known("estimate")
    assert r.coefficients == reported
    assert r.release == expected["release"]
    found = r.predict(EXPECTED["rows"]).tolist()
    assert found == (pytest.approx(expected["predict"], rel=1e-12) if r.classes is None else expected["predict"])
    if "proba" in expected:
        np.testing.assert_allclose(r.predict_proba(EXPECTED["rows"]), expected["proba"], rtol=1e-12)
    if "intervals" in expected:
        pairs = r.intervals(0.95)
        assert all(pairs[one] == pytest.approx(pair, rel=1e-9) for one, pair in expected["intervals"].items())
    assert all(finding.ok for finding in check_saved(r))
    r.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_other_files_are_refused_by_name(fits, tmp_path):
    fits["linear"].release_.save(tmp_path / "release.json", simulation=True)
    with pytest.raises(FileFormatError, match="It holds a release"):
        Results.load(tmp_path / "release.json")


# -------------------------------------------------------------------- comparisons and commands


def test_any_two_models_can_be_compared(fits):
    for one in fits.values():
        alone = compare(one, one)
        assert all(value == 0 for value in alone.differences.values())
        assert "one release" in str(alone)
    other = compare(fits["linear"], fits["counts"])
    assert not other.shared or isinstance(other.differences, Unavailable)
    assert "Kind: linear regression in A, Poisson regression in B." in other.differs()
    assert isinstance(compare(fits["linear"], fits["output"]).differences, Unavailable)
    real = [Results.load(DATA / f"{name}.json") for name in ("ops.model", "linear.results")]
    assert compare(*real).together is None
    assert "inf" not in str(compare(*real)).split()
    classes = compare(fits["several classes"], fits["several classes"])
    assert "south: age" in classes.shared
    turned = fits["several classes"].results_.against_class("west")
    assert compare(fits["several classes"].results_, turned).shared == ()


def test_counts_of_two_releases_differ_with_intervals(fits, people):
    again = DPPoissonRegression(**PROMISE, random_state=2).fit_source(people, "visits", FEATURES)
    found = compare(fits["counts"], again)
    low, high = found.conf_int().loc["age"]
    assert low < found.difference["age"] < high


@pytest.mark.parametrize("name", ["linear", "objective", "posterior sample", "logistic", "several classes", "counts"])
def test_commands_read_any_model(name, fits, people, run, tmp_path):
    r = fits[name].results_
    r.save(tmp_path / "m.json", simulation=True)
    people[FEATURES][:5].to_csv(tmp_path / "new.csv", index=False)
    shown = run("model", "m.json", "--report", "m.html")
    assert shown.code == 0
    assert r.summary().title in shown.said
    assert (tmp_path / "m.html").read_text() == report(Results.load(tmp_path / "m.json"))
    assert json.loads(run("model", "m.json", "--json").out)["release"] == r.release
    assert run("predict", "m.json", "new.csv", "--out", "p.csv").code == 0
    assert len(pd.read_csv(tmp_path / "p.csv")) == 5
    assert "one release" in run("compare", "m.json", "m.json").said
    refused = run("model", "m.json", "--target", "visits", "--model", "lasso")
    assert refused.code == 2
    assert "used as it is: leave out --target, --model" in refused.said
    assert run("model", "m.json", "--estimand", "declared").code == 0
