"""Models of classes and counts of persons with many rows and of weighted rows: fits, standard errors and refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.special import expit

from discreet import Budget, Domain, DPLinearSVC, DPLogisticRegression, DPPoissonRegression, plan
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.privacy.events.coordinates import StageEvent
from discreet.results.saved import check_file

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
PROMISE = {"epsilon": 2.0, "delta": 1e-6}
PERSONS = {"person": "id", "rows_per_person": 3}
WEIGHTED = {"weights": "w", "largest_weight": 8}
UNITS = {"persons": PERSONS, "weights": WEIGHTED, "both": PERSONS | WEIGHTED}
MODELS = {"y": (DPLogisticRegression, bool), "s": (DPLinearSVC, bool), "c": (DPPoissonRegression, (0, 12))}
LINES = {"y": (-0.4, 1.5, -1.0), "c": (0.2, 1.0, -0.6)}


def panel(rng, people, most=3, correlation=0.0):
    """Rows of people, whose latent errors and features are correlated."""
    ids = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    n, own = len(ids), rng.normal(size=(people, 3))
    x = np.clip(0.35 * (np.sqrt(0.6) * own[ids, :2] + np.sqrt(0.4) * rng.normal(size=(n, 2))), -1, 1)
    frame = pd.DataFrame({"id": ids, "x": x[:, 0], "z": x[:, 1], "w": rng.uniform(0, 8, n)})
    line = {name: a + x @ [b, c] for name, (a, b, c) in LINES.items()}
    logistic = np.sqrt(3) / np.pi * np.log(1 / rng.random(n) - 1)
    noise = np.sqrt(correlation) * own[ids, 2] + np.sqrt(1 - correlation) * logistic
    frame["y"] = line["y"] + np.pi / np.sqrt(3) * noise > 0
    frame["s"] = frame["y"]
    gamma = rng.gamma(2, 0.5, people)[ids] if correlation else 1.0
    frame["c"] = rng.poisson(np.exp(line["c"]) * gamma).clip(0, 12)
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


def of(name, unit, **options):
    cls, column = MODELS[name]
    return cls(domain=Domain({"x": (-1, 1), "z": (-1, 1), name: column}, **unit), **PROMISE | options)


def without(frame, unit):
    return frame.drop(columns=[name for name in ("id", "w") if name not in unit.values()])


# ---------------------------------------------------------------- fits


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_persons_and_weights(name, unit, tmp_path):
    frame, own = panel(np.random.default_rng(1), 4000), UNITS[unit]
    model = of(name, own, random_state=2).fit_source(without(frame, own), name)
    a, b, c = LINES.get(name, LINES["y"])
    slopes = np.ravel(model.coef_)
    if name == "s":
        assert slopes[0] > 0.5 > -0.3 > slopes[1]
    else:
        np.testing.assert_allclose([*np.ravel(model.intercept_), *slopes], [a, b, c], atol=0.4)
    certificate = model.certificate_
    assert certificate.domain.unit.to_dict() == own
    assert all(finding.ok for finding in certificate.check() if not finding.what.startswith("status"))
    assert certificate.mismatch(model.release_.values) is None
    scored = [event for event in certificate.of(StageEvent) if event.radii]
    assert len(scored) == (name != "s")
    model.release_.save(tmp_path / "m.json", simulation=True)
    loaded, findings = check_file(tmp_path / "m.json")
    assert all(finding.ok for finding in findings if not finding.what.startswith("status"))
    np.testing.assert_array_equal(loaded.coef, model.coef_)
    assert ("Protected", certificate.domain.unit.short) in model.results_.summary().facts


@pytest.mark.parametrize("name", ["y", "c"])
def test_weighted_fits_follow_the_weights_not_the_rows(name):
    """Rows of weight 0 have the opposite slope, and one person has half of all rows with the opposite slope, too."""
    rng = np.random.default_rng(3)
    right, wrong = panel(rng, 5000, 1), panel(rng, 5000, 1)
    flipped = wrong.assign(x=-wrong["x"], z=-wrong["z"])
    unweighted = flipped.assign(w=0.0, id=flipped["id"] + 10_000)
    one = flipped.assign(w=8.0, id=-1)
    for other, unit in ((unweighted, WEIGHTED), (one, PERSONS), (pd.concat([unweighted, one]), PERSONS | WEIGHTED)):
        frame = without(pd.concat([right.assign(w=8.0), other]), unit)
        model = of(name, unit, random_state=NO_NOISE).fit_source(frame, name)
        np.testing.assert_allclose(np.ravel(model.coef_), LINES[name][1:], atol=0.25)


def test_arrays_are_told_of_persons_and_weights_beside_them():
    frame = panel(np.random.default_rng(4), 1500)
    X, y, given = frame[["x", "z"]].to_numpy(), frame["y"].to_numpy(), {"random_state": 0} | PROMISE
    own = DPLogisticRegression(bounds_X=(-1, 1), classes=[False, True], rows_per_person=3, largest_weight=8, **given)
    own.fit(X, y, sample_weight=frame["w"], person=frame["id"])
    assert own.certificate_.domain.unit.person == "person"
    named = of("y", PERSONS | WEIGHTED, random_state=0).fit(frame[["id", "w", "x", "z"]], frame["y"])
    beside = of("y", PERSONS | WEIGHTED, random_state=0).fit(
        frame[["x", "z"]], frame["y"], sample_weight=frame["w"], person=frame["id"]
    )
    np.testing.assert_array_equal(named.coef_, beside.coef_)
    np.testing.assert_allclose(own.coef_, named.coef_, atol=0.5)


def test_rows_in_a_ball_have_persons_too():
    """In one stage they would be refused, so that "auto" takes stages."""
    frame = panel(np.random.default_rng(5), 3000)
    model = DPLogisticRegression(data_norm=1.5, classes=[False, True], rows_per_person=3, random_state=0, **PROMISE)
    model.fit(frame[["x", "z"]].to_numpy(), frame["y"].to_numpy(), person=frame["id"].to_numpy())
    assert model.certificate_.of(StageEvent)


# ---------------------------------------------------------------- standard errors


@pytest.mark.parametrize("name", ["y", "c"])
def test_standard_errors_are_clustered_by_person(name):
    """Without noise that matters they are statsmodels' clustered ones; others are too small."""
    frame = panel(np.random.default_rng(6), 20_000, 3, correlation=0.7)
    family = sm.families.Binomial() if name == "y" else sm.families.Poisson()
    glm = sm.GLM(frame[name].astype(float), sm.add_constant(frame[["x", "z"]]), family=family)
    wanted = glm.fit(cov_type="cluster", cov_kwds={"groups": frame["id"]})
    model = of(name, PERSONS, epsilon=500, delta=1e-3, random_state=1).fit_source(frame.drop(columns="w"), name)
    np.testing.assert_allclose(model.results_.std_err, wanted.bse, rtol=0.1)
    assert (np.array(list(model.results_.std_err)) > 1.1 * glm.fit(cov_type="HC0").bse.to_numpy())[0]
    off = np.array([*np.ravel(model.intercept_), *np.ravel(model.coef_)]) - wanted.params.to_numpy()
    assert (np.abs(off) < 2 * wanted.bse).all()
    assert "clustered by 'id'" in str(model.results_.summary())
    assert isinstance(model.results_.dispersion, Unavailable)


@pytest.mark.parametrize("name", ["y", "c"])
def test_standard_errors_of_weighted_rows_are_robust(name):
    frame = panel(np.random.default_rng(7), 20_000, 3).drop(columns="id")
    family = sm.families.Binomial() if name == "y" else sm.families.Poisson()
    design, weights = sm.add_constant(frame[["x", "z"]]), frame["w"]
    fitted = sm.GLM(frame[name].astype(float), design, family=family, freq_weights=weights).fit()
    X, mean = design.to_numpy(), fitted.fittedvalues.to_numpy()
    slope = mean * (1 - mean) if name == "y" else mean
    bread = np.linalg.inv(X.T @ (X * (weights * slope).to_numpy()[:, None]))
    S = X * (weights * (frame[name] - mean)).to_numpy()[:, None]
    wanted = np.sqrt(np.diag(bread @ (S.T @ S) @ bread))
    model = of(name, WEIGHTED, epsilon=500, delta=1e-3, random_state=1).fit_source(frame, name)
    np.testing.assert_allclose(model.results_.std_err, wanted, rtol=0.1)


@pytest.mark.parametrize("unit", UNITS)
def test_classical_errors_of_persons_are_not_given(unit):
    frame, own = panel(np.random.default_rng(8), 2000), UNITS[unit]
    model = of("y", own, covariance="classical", random_state=1).fit_source(without(frame, own), "y")
    assert isinstance(model.results_.std_err, Unavailable)
    assert "go together" in model.results_.std_err.reason


# ---------------------------------------------------------------- refusals


ONE_STAGE = [
    {"stages": 1},
    {"penalty": "l1"},
    {"penalty": "elasticnet"},
    {"alpha": 1.0},
    {"adaptive": True},
    {"noise": "laplace", "delta": None},
    {"neighbors": "replace-one"},
]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("options", ONE_STAGE, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_one_stage_refuses_persons_before_anything_is_spent(name, options, unit):
    frame, own = panel(np.random.default_rng(9), 100), UNITS[unit]
    frame = without(frame, own)
    beside = {"sample_weight": frame.get("w"), "person": frame.get("id")}
    plain = {"rows_per_person": own.get("rows_per_person"), "largest_weight": own.get("largest_weight")}
    ways = (
        lambda: of(name, own, **options).fit_source(frame, name),
        lambda: of(name, own, **options).fit_formula(f"{name} ~ x + z", frame),
        lambda: of(name, {}, **options, **plain).fit(frame[["x", "z"]], frame[name], **beside),
    )
    for way in ways:
        with Budget(epsilon=5, delta=1e-3) as budget:
            with pytest.raises(ParameterError, match=r"does not go with .* in one stage .* Stages need"):
                way()
            assert budget.epsilon_spent == 0


def test_what_cannot_be_read_again_refuses_persons_before_anything_is_spent():
    frame = panel(np.random.default_rng(10), 100).drop(columns="id")
    for source, features in ((pa.Table.from_pandas(frame).to_reader(50), ["x"]), (frame, [])):
        with Budget(epsilon=5, delta=1e-3) as budget:
            with pytest.raises(ParameterError, match="need stages"):
                of("y", WEIGHTED).fit_source(source, "y", features)
            assert budget.epsilon_spent == 0


def test_replaced_persons_have_stages_where_the_number_of_rows_is_declared():
    frame = panel(np.random.default_rng(11), 3000).drop(columns="w")
    model = of("y", PERSONS, neighbors="replace-one", rows=6000, random_state=1).fit_source(frame, "y")
    assert all(finding.ok for finding in model.certificate_.check() if not finding.what.startswith("status"))
    assert np.ravel(model.coef_)[0] > 0.5


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["y", "c"])
def test_norms_of_scores_that_do_not_follow_are_found(name):
    """They are no part of the cost, but of what standard errors are computed from."""
    frame = panel(np.random.default_rng(13), 4000).drop(columns="w")
    model = of(name, PERSONS, random_state=2).fit_source(frame, name)
    certificate, values = model.certificate_, model.release_.values
    assert certificate.mismatch(values) is None
    for radius in ([], [3.0], [1e-3]):
        events = [
            replace(event, radii=tuple(radius)) if getattr(event, "radii", ()) else event
            for event in certificate.events
        ]
        forged = replace(certificate, events=tuple(events))
        assert forged.mismatch(values) is not None or not all(finding.ok for finding in forged.check()[:-1])


# ---------------------------------------------------------------- plans


def test_a_plan_has_the_noise_of_persons():
    column, about = {"x": (-1, 1), "z": (-1, 1), "y": bool}, {"y": {"shares": [0.5, 0.5]}}
    given = {"rows": 4000, "epsilon": [1.0], "delta": 1e-6, "draws": 6, "about": about}
    found = {
        most: plan(Domain(column, **({"person": "id", "rows_per_person": most} if most else {})), "y", **given)
        for most in (0, 1, 8)
    }
    excess = {most: own.at(1.0).excess for most, own in found.items()}
    assert excess[1] == excess[0] < excess[8]
    assert "a person with all rows ('id'), who counts for at most 8 rows" in str(found[8].summary())
    weighted = plan(Domain(column, weights="w", largest_weight=8), "y", **given)
    assert weighted.at(1.0).excess == excess[0]


def test_the_law_of_the_panel_is_logistic():
    """The made-up outcomes have the coefficients that the tests expect."""
    frame = panel(np.random.default_rng(12), 50_000)
    x = frame[["x", "z"]].to_numpy()
    mean = expit(LINES["y"][0] + x @ LINES["y"][1:])
    assert abs(float((frame["y"] - mean).mean())) < 0.01
