"""One of several classes as the outcome, by every way in: formulas, contrasts, intervals, files, commands."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import discreet
from discreet import (
    Budget,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    ObjectivePerturbation,
    formula,
    plan,
    release,
)
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.results.report import report
from discreet.results.results import Results

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")

CARE, N = ["home", "ward", "clinic"], 4000
COLUMNS = {"age": (18, 90), "region": ["north", "south", "west"], "care": CARE}
DOMAIN = Domain(COLUMNS)
PROMISE = {"epsilon": 3.0, "delta": 1e-6, "n_jobs": 1}
TEXT = "care ~ age + C(region)"


def people(n=N):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, n), "region": rng.choice(COLUMNS["region"], n)})
    west = 1.0 * (frame["region"] == "west")
    eta = np.column_stack([np.zeros(n), (frame["age"] - 50) / 20, 0.6 * west - 0.2])
    frame["care"] = np.array(CARE)[np.argmax(eta + rng.gumbel(size=(n, 3)), axis=1)]
    return frame


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fitted(frame):
    return DPLogisticRegression(**PROMISE, domain=DOMAIN, random_state=1).fit_formula(TEXT, frame)


# ---------------------------------------------------------------- ways in


def test_a_formula_is_the_fit_of_its_columns(fitted, frame):
    plain = DPLogisticRegression(**PROMISE, domain=DOMAIN, random_state=1).fit_source(frame, "care", ["age", "region"])
    assert fitted.coef_.tolist() == plain.coef_.tolist()
    assert fitted.classes_.tolist() == CARE
    assert fitted.predict_proba(frame[:50]).sum(axis=1) == pytest.approx(1.0)
    assert set(fitted.predict(frame)) <= set(CARE)
    assert fitted.score(frame, frame["care"]) > 0.4


def test_derived_features_and_a_reference_class_by_formula(frame):
    text = "C(care, Treatment('clinic')) ~ poly(age, 2) + region"
    model = DPLogisticRegression(**PROMISE, domain=DOMAIN, random_state=1).fit_formula(text, frame)
    assert model.classes_.tolist() == ["clinic", "home", "ward"]
    assert model.results_.reference_class == "clinic"
    assert model.results_.labels[0] == "home: (intercept)"
    svc = DPLinearSVC(**PROMISE, domain=DOMAIN, random_state=1).fit_formula("care ~ age", frame)
    assert set(svc.predict(frame)) <= set(CARE)


@pytest.mark.parametrize("text", ["care ~ age", "C(care) ~ age", "`care` ~ age", " care~age"])
def test_a_category_is_the_outcome_of_a_formula(text):
    model = formula(text, DOMAIN)
    assert (model.target, model.features, list(model.domain.columns)) == ("care", ["age"], ["age", "care"])


@pytest.mark.parametrize("text", ["care ~ care + age", "care ~ age:care", "C(care) ~ C(care)"])
def test_a_category_cannot_explain_itself(text):
    with pytest.raises(ParameterError, match="cannot explain itself"):
        formula(text, DOMAIN)


@pytest.mark.parametrize("text", ["care:region ~ age", "C(care):age ~ region"])
def test_a_product_is_no_category(text):
    with pytest.raises(ParameterError, match="The outcome is one number, a category, or one level of it"):
        formula(text, DOMAIN)


@pytest.mark.parametrize("model", [DPLinearRegression, DPPoissonRegression, ObjectivePerturbation])
def test_other_models_name_the_one_that_takes_classes(model, frame):
    with Budget(epsilon=9, delta=1e-3) as budget:
        with pytest.raises(ParameterError, match="or take DPLogisticRegression, which models all of them at once"):
            model(**PROMISE, domain=DOMAIN).fit_formula("care ~ age", frame)
        with pytest.raises(ParameterError, match="or take DPLogisticRegression"):
            model(**PROMISE, domain=DOMAIN).fit_source(frame, "care", ["age"])
        assert budget.epsilon_spent == 0


@pytest.mark.parametrize("models", [["care ~ age"], ["age ~ region", "care ~ age"], ["care ~ age", "age ~ care"]])
def test_releases_of_moments_name_the_model_that_takes_classes(models, frame):
    with Budget(epsilon=9, delta=1e-3) as budget:
        with pytest.raises(ParameterError, match="or take DPLogisticRegression"):
            release(frame, domain=DOMAIN, models=models, epsilon=1, delta=1e-6)
        assert budget.epsilon_spent == 0
    public = release(frame, domain=DOMAIN, epsilon=1, delta=1e-6, random_state=0)
    with pytest.raises(ParameterError, match="or take DPLogisticRegression"):
        public.fit("care ~ age")


@pytest.mark.parametrize("asked", [{}, {"methods": ["DPLogisticRegression"]}, {"methods": ["DPLinearSVC"]}])
def test_there_is_no_plan_for_several_classes(asked):
    with pytest.raises(ParameterError, match="no plan for three or more classes, and 'care' has 3"):
        plan(DOMAIN, "care ~ age", rows=1000, epsilon=1, **asked)


# ---------------------------------------------------------------- contrasts


def likelihood_fit(frame):
    """Contrasts to the first class and their standard errors, by maximum likelihood without noise."""
    X = np.column_stack([np.ones(len(frame)), frame["age"], *(frame["region"] == r for r in ("south", "west"))])
    scale = np.array([1.0, 50.0, 1.0, 1.0])
    y = frame["care"].map(CARE.index).to_numpy()

    def loss(flat):
        eta = X / scale @ np.column_stack([np.zeros(4), *flat.reshape(2, 4)])
        p = softmax(eta, axis=1)
        slope = (p - np.eye(3)[y]).T[1:] @ (X / scale)
        return float(np.sum(logsumexp(eta, axis=1) - eta[np.arange(len(y)), y])), slope.ravel()

    flat = minimize(loss, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    p = softmax(X / scale @ np.column_stack([np.zeros(4), *flat.reshape(2, 4)]), axis=1)[:, 1:]
    H = sum(np.kron(np.diag(q) - np.outer(q, q), np.outer(x, x)) for q, x in zip(p, X / scale, strict=True))
    return (flat.reshape(2, 4) / scale).ravel(), (np.sqrt(np.diag(np.linalg.inv(H))).reshape(2, 4) / scale).ravel()


def test_without_noise_intervals_are_those_of_maximum_likelihood(frame):
    model = DPLogisticRegression(**PROMISE, domain=DOMAIN, random_state=NO_NOISE).fit_formula(TEXT, frame)
    estimate, errors = likelihood_fit(frame)
    found = model.results_.about("bounded")
    assert found.params.to_numpy() == pytest.approx(estimate, abs=0.4 * errors.min(), rel=0.1)
    sampling = found.inference.combined(np.eye(8))
    alone = np.sqrt(np.diag(sampling.T @ sampling.sampling @ sampling.T.T))
    assert alone == pytest.approx(errors, rel=0.12)


def test_contrasts_are_differences_of_the_classes(fitted):
    r = fitted.results_
    home, ward, clinic = r.predictors
    assert r.labels == [f"{c}: {x}" for c in CARE[1:] for x in ("(intercept)", "age", "region[south]", "region[west]")]
    assert list(r.predicting.values()) == pytest.approx([*(ward - home), *(clinic - home)])
    assert np.abs(r.predictors.sum(axis=0)).max() < 1e-9
    other = r.against_class("clinic")
    assert other.labels[0] == "home: (intercept)"
    assert other.params["home: age"] == pytest.approx(-r.params["clinic: age"])
    assert other.std_err["home: age"] == pytest.approx(r.std_err["clinic: age"])
    low, high = r.conf_int().loc["clinic: age"]
    assert other.conf_int().loc["home: age"].tolist() == pytest.approx([-high, -low])
    assert other.params["ward: age"] == pytest.approx(r.params["ward: age"] - r.params["clinic: age"])
    assert other.release == r.release
    assert other.predict_proba({"age": [30], "region": ["west"]}).tolist() == (
        r.predict_proba({"age": [30], "region": ["west"]}).tolist()
    )
    with pytest.raises(ParameterError, match="Did you mean 'clinic'"):
        r.against_class("clinc")


def test_ratios_effects_and_tests(fitted):
    r = fitted.results_
    odds = r.ratios()
    assert list(odds.index) == [name for name in r.labels if "(intercept)" not in name]
    assert odds.loc["ward: age", "odds_ratio"] == pytest.approx(math.exp(r.params["ward: age"]))
    assert odds.loc["ward: age", "low"] > 1
    effects = r.effects()
    assert effects.effect["ward: age, 18 to 90"] == pytest.approx(72 * r.params["ward: age"])
    assert r.wald_test("region").df[0] == 4
    assert r.wald_test("age").p_value < 1e-6
    named = r.t_test(np.eye(8)[1] - np.eye(8)[5])
    assert named.effect.iloc[0] == pytest.approx(r.params["ward: age"] - r.params["clinic: age"])
    assert r.cov_params().shape == (8, 8)
    assert r.adjusted().isna().sum() == 2
    for told in (r.marginal_effects(), r.predict_interval({"age": [40], "region": ["west"]}, of="mean")):
        assert isinstance(told, Unavailable)
        assert "two classes" in told.reason


def test_two_classes_have_no_reference_class(frame):
    two = DPLogisticRegression(**PROMISE, domain=DOMAIN, random_state=1).fit_source(frame, "care[ward]", ["age"])
    assert two.results_.reference_class is None
    with pytest.raises(ParameterError, match="three or more classes"):
        two.results_.against_class("ward")


def test_a_model_without_intercept(frame):
    domain = Domain(COLUMNS, intercept=False)
    model = DPLogisticRegression(**PROMISE, domain=domain, fit_intercept=False, random_state=1)
    r = model.fit_formula("care ~ age + region - 1", frame).results_
    assert len(r.labels) == len(r.params) == len(r.std_err) == 8
    assert r.labels[0] == "ward: age"
    assert r.cov_params().shape == (8, 8)
    assert math.sqrt(r.cov_params().loc["clinic: age", "clinic: age"]) == pytest.approx(r.std_err["clinic: age"])
    assert r.t_test(np.eye(8)[4]).sd.iloc[0] == pytest.approx(r.std_err["clinic: age"])


# ---------------------------------------------------------------- when there are intervals


def test_robust_standard_errors_are_refused_before_anything_is_spent(frame):
    with Budget(epsilon=9, delta=1e-3) as budget:
        with pytest.raises(ParameterError, match="Standard errors of three or more classes"):
            DPLogisticRegression(**PROMISE, domain=DOMAIN, covariance="robust").fit_formula(TEXT, frame)
        assert budget.epsilon_spent == 0


@pytest.mark.parametrize(
    ("unit", "rows", "epsilon", "words"),
    [
        ({}, 300, 0.3, "too few rows for 8 coefficients"),
        ({"weights": "w", "largest_weight": 2.0}, N, 3.0, "of weighted rows"),
        ({"person": "id", "rows_per_person": 2}, N, 3.0, "persons"),
    ],
)
def test_where_there_are_none_the_model_says_why(unit, rows, epsilon, words, frame):
    table = frame[:rows].assign(w=1.0, id=range(rows))[[*COLUMNS, *[*unit.values()][:1]]]
    model = DPLogisticRegression(**PROMISE | {"epsilon": epsilon}, domain=Domain(COLUMNS, **unit), random_state=1)
    r = model.fit_formula(TEXT, table).results_
    assert isinstance(r.inference, Unavailable)
    assert words in r.inference.reason
    assert "odds ratio" in r.summary().columns
    assert isinstance(r.ratios(), Unavailable)


# ---------------------------------------------------------------- files, reports and commands


def test_a_file_holds_all_of_it(fitted, tmp_path):
    fitted.release_.save(tmp_path / "m.json", simulation=True)
    again = Results.load(tmp_path / "m.json")
    r = fitted.results_
    assert str(again.summary()) == str(r.summary())
    assert again.std_err.tolist() == r.std_err.tolist()
    assert again.against_class("ward").conf_int().equals(r.against_class("ward").conf_int())
    wrong = [finding.what for finding in discreet.check(tmp_path / "m.json").findings if not finding.ok]
    assert wrong == ["status is 'simulation'"]
    told = r.to_dict()
    assert (told["reference"], told["classes"]) == ("home", tuple(CARE))
    assert json.loads(r.to_json())["std_err"]["clinic: age"] == r.std_err["clinic: age"]
    page = report(r)
    assert "Each class of care is compared with home" in page
    assert "for this class of care against home" in page
    assert "clinic: region[west]" in page


def test_commands(run, frame, tmp_path):
    frame.to_csv(tmp_path / "people.csv", index=False)
    lines = [f"{name} = {{ levels = {json.dumps(list(c))} }}" for name, c in COLUMNS.items() if isinstance(c, list)]
    (tmp_path / "people.toml").write_text("\n".join(["[columns]", "age = { low = 18, high = 90 }", *lines]))
    asked = ("people.csv", "--schema", "people.toml", "--epsilon", "3", "--delta", "1e-6", "--formula", TEXT)
    refused = run("fit", *asked)
    assert refused.code == 2
    assert "or take DPLogisticRegression" in refused.said
    made = run("fit", *asked, "--method", "DPLogisticRegression", "--out", "m.json", "--report", "m.html")
    assert made.code == 0
    assert "Reference class" in made.said
    assert run("check", "m.json").code == 0
    assert "clinic: coefficients are log odds against it" in run("model", "m.json", "--reference", "clinic").said
    assert json.loads(run("model", "m.json", "--reference", "ward", "--json").out)["reference"] == "ward"
    for wrong, words in ((("--reference", "x"), "is no class of"), (("--reference", "ward", "-o", "n.json"), "--out")):
        found = run("model", "m.json", *wrong)
        assert found.code == 2
        assert words in found.said
    assert run("predict", "m.json", "people.csv", "--out", "p.csv").code == 0
    predicted = pd.read_csv(tmp_path / "p.csv")
    assert list(predicted.columns) == ["prediction", *(f"p[{level}]" for level in CARE)]
    assert predicted.iloc[:, 1:].sum(axis=1).to_numpy() == pytest.approx(1.0)
