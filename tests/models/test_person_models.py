"""Models of persons with many rows and of weighted rows: fits, standard errors, losses, words and refusals."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.base import is_classifier
from tables import encode
from typer.testing import CliRunner

import discreet
from discreet import (
    SSP,
    AdaSSP,
    Budget,
    ConstSSP,
    Domain,
    DPElasticNet,
    DPLasso,
    DPLinearRegression,
    DPLogisticRegression,
    DPRidge,
    Ledger,
    Moments,
    PrivateMoments,
    ReuseCov,
    per_instance,
    plan,
    release,
)
from discreet.cli import app
from discreet.core.placeholders import Unavailable
from discreet.domain.coordinates import CoordinateMap
from discreet.errors import DataError, DiscreetWarning, DomainError, FileFormatError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.mechanisms import registry
from discreet.models.private_coordinates import PrivateCoordinatesModel
from discreet.privacy import gdp

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)}
PERSONS = Domain(COLUMNS, person="id", rows_per_person=4)
WEIGHTED = Domain(COLUMNS, weights="w", largest_weight=8)
PROVEN = [DPLinearRegression, DPRidge, DPLasso, DPElasticNet, SSP, ConstSSP, AdaSSP, ReuseCov]
BOTH = PERSONS.with_unit(weights="w", largest_weight=8)


def panel(rng, people=500, most=4, correlation=0.0):
    """Rows of people; their errors are correlated, and so are their features."""
    ids = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    own = rng.normal(size=(people, 3))
    x = np.clip(0.3 * (np.sqrt(0.5) * own[ids, :2] + np.sqrt(0.5) * rng.normal(size=(len(ids), 2))), -1, 1)
    e = np.sqrt(correlation) * own[ids, 2] + np.sqrt(1 - correlation) * rng.normal(size=len(ids))
    y = 0.5 + x @ [1.0, -0.5] + 0.4 * e
    frame = pd.DataFrame({"id": ids, "x": x[:, 0], "z": x[:, 1], "y": y, "w": rng.uniform(0, 8, len(ids))})
    return frame.sample(frac=1, random_state=0)


def on_lattice(frame):
    """The same table with values and weights that no rounding changes, so that fits can be compared to 1e-10."""
    grid = {"x": 2.0**-20, "z": 2.0**-20, "y": 2.0**-18, "w": 2.0**-17}
    return frame.assign(**{name: np.rint(frame[name] / step) * step for name, step in grid.items()})


# ---------------------------------------------------------------- fits without noise


def counts(frame, domain):
    """What rows count, from the words of the documentation."""
    n = frame.groupby("id")["id"].transform("size")
    own = np.floor(frame["w"] / 8 * 2**20) if domain.unit.weights else 2.0**20
    return np.where((n > 4) & (domain.unit.person is not None), np.floor(own * 4 / n), own)


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
@pytest.mark.parametrize("domain", [PERSONS, WEIGHTED, BOTH])
def test_weighted_fits_are_those_of_statsmodels_without_noise(domain):
    frame = on_lattice(panel(np.random.default_rng(1), 400, 8))
    weighted = sm.WLS(frame["y"], sm.add_constant(frame[["x", "z"]]), weights=counts(frame, domain))
    given = {"epsilon": 100, "delta": 1e-2, "targets": ["y"], "stages": 1, "random_state": NO_NOISE}
    found = release(frame, domain=domain, **given).fit("y", model="ols")
    np.testing.assert_allclose([found.intercept, *found.coef], weighted.fit().params, rtol=0, atol=1e-10)


@pytest.mark.parametrize("domain", [PERSONS, WEIGHTED, BOTH])
@pytest.mark.parametrize("cls", PROVEN)
def test_every_method_of_moments_has_persons_and_weights(cls, domain):
    frame = panel(np.random.default_rng(3), 2000)
    frame = frame if domain.unit.person else frame.drop(columns="id")
    fitted = cls(**PROMISE | {"epsilon": 8.0}, domain=domain, random_state=0).fit_source(frame, "y")
    assert np.abs(np.ravel(fitted.coef_) - [1.0, -0.5]).max() < 0.5
    certificate = fitted.certificate_
    assert certificate.domain.unit == domain.unit
    assert all(finding.ok for finding in certificate.check() if not finding.what.startswith("status"))


def test_many_outcomes_of_persons():
    frame = panel(np.random.default_rng(4), 2000).assign(u=lambda t: -t["y"])
    domain = Domain(COLUMNS | {"u": (-4, 4)}, person="id", rows_per_person=4)
    given = {"domain": domain, "random_state": 0}
    fitted = DPLinearRegression(epsilon=4, delta=1e-6, **given).fit_source(frame, ["y", "u"], ["x", "z"])
    np.testing.assert_allclose(fitted.coef_, [[1, -0.5], [-1, 0.5]], atol=0.25)
    assert not isinstance(fitted.results_.std_err, Unavailable)
    one_stage = ReuseCov(**PROMISE, **given).fit_source(frame, ["y", "u"], ["x", "z"])
    assert isinstance(one_stage.results_.std_err, Unavailable)


@pytest.mark.parametrize("method", [m for m in registry.METHODS if m.estimator is not discreet.TrivialRegressor])
def test_methods_that_are_not_proven_for_persons_refuse_them_with_a_reason(method):
    cls, frame = method.estimator, panel(np.random.default_rng(5), 50)
    options, supported = {"rows": 500}, not cls.one_row_each
    assert supported == (cls in PROVEN or issubclass(cls, PrivateCoordinatesModel))
    domain = Domain(COLUMNS | {"y": bool if is_classifier(cls()) else (0, 9)}, person="id", rows_per_person=4)
    frame = frame.assign(y=frame["y"] > 0) if is_classifier(cls()) else frame
    if not supported:
        with pytest.raises(ParameterError, match="does not go with persons with many rows: its promise is proven for"):
            cls(**PROMISE, domain=domain, **options).fit_source(frame, "y")
    for paper in cls.papers if supported else ():
        neighbors = cls.paper_neighbors
        with pytest.raises(ParameterError, match="one a person"):
            cls(**PROMISE, domain=domain, published=paper, neighbors=neighbors, **options).fit_source(frame, "y")


def test_samples_and_public_outcomes_refuse_persons():
    frame = panel(np.random.default_rng(6), 50)
    for options in ({"subsample": 0.5}, {"association": "projection", "neighbors": "replace-one"}):
        with pytest.raises(ParameterError, match="subsample= and public outcomes"):
            ReuseCov(**PROMISE, domain=PERSONS, **options).fit_source(frame, ["y"])


# ---------------------------------------------------------------- scikit-learn's interface


def test_arrays_are_told_of_persons_and_weights_beside_them():
    frame = panel(np.random.default_rng(7), 1500)
    X, y = frame[["x", "z"]].to_numpy(), frame["y"].to_numpy()
    given = {"bounds_X": (-1, 1), "bounds_y": (-4, 4), "random_state": 0} | PROMISE
    model = DPLinearRegression(**given, rows_per_person=4, largest_weight=8)
    fitted = model.fit(X, y, sample_weight=frame["w"], person=frame["id"])
    assert fitted.certificate_.domain.unit.to_dict() == {
        "person": "person", "rows_per_person": 4, "weights": "sample_weight", "largest_weight": 8.0
    }  # fmt: skip
    assert fitted.predict(X).shape == y.shape
    named = DPLinearRegression(**PROMISE, domain=BOTH, random_state=0).fit(frame[["id", "w", "x", "z"]], frame["y"])
    np.testing.assert_array_equal(named.coef_, fitted.coef_)
    beside = DPLinearRegression(**PROMISE, domain=BOTH, random_state=0).fit(
        frame[["x", "z"]], frame["y"], sample_weight=frame["w"], person=frame["id"]
    )
    np.testing.assert_array_equal(beside.coef_, fitted.coef_)
    assert named.predict(frame[["x", "z"]]).shape == y.shape


def test_ones_are_the_weights_of_rows_without_any():
    frame = panel(np.random.default_rng(8), 300)
    X, y = frame[["x", "z"]].to_numpy(), frame["y"].to_numpy()
    model = SSP(**PROMISE, bounds_X=(-1, 1), bounds_y=(-4, 4), largest_weight=2, random_state=0)
    np.testing.assert_array_equal(model.fit(X, y).coef_, model.fit(X, y, sample_weight=np.ones(len(y))).coef_)


@pytest.mark.parametrize(
    ("options", "given", "error", "words"),
    [
        ({}, {"sample_weight": np.ones(4)}, ParameterError, "largest_weight="),
        ({}, {"person": np.arange(4)}, DomainError, "go together"),
        ({"largest_weight": 2}, {"sample_weight": np.ones(3)}, DataError, "one for each row"),
        ({"largest_weight": 2}, {"sample_weight": np.zeros(4)}, DataError, "weights are zero"),
        ({"largest_weight": 2}, {"sample_weight": np.full(4, np.nan)}, DataError, "NaN"),
        ({"rows_per_person": 2}, {}, ParameterError, "needs person="),
        ({"rows_per_person": 2}, {"person": np.arange(3)}, DataError, "different lengths"),
        ({"rows_per_person": 2}, {"person": np.arange(4.0)}, DataError, "whole numbers or text"),
    ],
)
def test_what_fit_is_told_is_checked(options, given, error, words):
    X = np.zeros((4, 1))
    with pytest.raises(error, match=words):
        SSP(**PROMISE, bounds_X=(-1, 1), bounds_y=(-1, 1), **options).fit(X, X[:, 0], **given)


def test_facts_that_have_no_use_are_refused():
    frame = panel(np.random.default_rng(9), 50)
    with pytest.raises(ParameterError, match="declare weights="):
        SSP(**PROMISE, domain=Domain(COLUMNS), largest_weight=2).fit_source(frame, "y")
    with pytest.raises(DomainError, match="declares largest_weight already"):
        SSP(**PROMISE, domain=WEIGHTED, largest_weight=2).fit(frame[["x", "z", "w"]], frame["y"])
    with pytest.raises(DataError, match="arrays do not have"):
        SSP(**PROMISE, domain=WEIGHTED).fit(np.zeros((4, 2)), np.zeros(4))


# ---------------------------------------------------------------- standard errors


def test_standard_errors_are_clustered_by_person():
    """Without noise that matters, they are statsmodels' clustered ones; unclustered ones are too small."""
    rng = np.random.default_rng(10)
    frame = panel(rng, 20_000, 4, correlation=0.8)
    design = sm.add_constant(frame[["x", "z"]])
    wanted = sm.OLS(frame["y"], design).fit(cov_type="cluster", cov_kwds={"groups": frame["id"]}).bse.to_numpy()
    plain = sm.OLS(frame["y"], design).fit().bse.to_numpy()
    fitted = DPLinearRegression(epsilon=500, delta=1e-3, domain=PERSONS, random_state=1).fit_source(frame, "y")
    found = np.array(list(fitted.results_.std_err))
    np.testing.assert_allclose(found, wanted, rtol=0.08)
    assert (found > 1.15 * plain).all()
    assert "clustered by 'id'" in str(fitted.results_.summary())


def test_standard_errors_of_weighted_rows_are_robust():
    frame = panel(np.random.default_rng(11), 20_000, 4).drop(columns="id")
    model = sm.WLS(frame["y"], sm.add_constant(frame[["x", "z"]]), weights=frame["w"])
    wanted = model.fit(cov_type="HC0").bse.to_numpy()
    fitted = DPLinearRegression(epsilon=500, delta=1e-3, domain=WEIGHTED, random_state=1).fit_source(frame, "y")
    np.testing.assert_allclose(np.array(list(fitted.results_.std_err)), wanted, rtol=0.08)


def test_without_scores_no_standard_errors_are_given():
    frame = panel(np.random.default_rng(12), 1000)
    fitted = DPLinearRegression(epsilon=9, delta=1e-6, domain=PERSONS, stages=1, random_state=0).fit_source(frame, "y")
    assert isinstance(fitted.results_.std_err, Unavailable)
    assert "go together" in fitted.results_.std_err.reason


def test_a_survey_mean_is_a_regression_on_a_constant():
    frame = panel(np.random.default_rng(13), 5000).drop(columns="id")
    domain = Domain({"y": (-4, 4)}, weights="w", largest_weight=8)
    found = release(frame, domain=domain, epsilon=500, delta=1e-3, targets=["y"], features=[], random_state=0).fit("y")
    wanted = sm.WLS(frame["y"], np.ones(len(frame)), weights=frame["w"]).fit(cov_type="HC0")
    assert found.intercept == pytest.approx(wanted.params.iloc[0], abs=0.02)
    assert float(next(iter(found.std_err))) == pytest.approx(wanted.bse.iloc[0], rel=0.2)
    total = re.search(r"weights of about ([\d,.]+)", str(found.summary()))
    assert float(total[1].replace(",", "")) == pytest.approx(frame["w"].sum(), rel=0.02)


# ---------------------------------------------------------------- losses of persons


@pytest.mark.parametrize(
    "options",
    [*({"stages": k} for k in (1, 2, 3)), *({"stages": k, "neighbors": "replace-one"} for k in (1, 3))],
)
def test_the_losses_of_persons_are_theirs_and_within_the_promise(options):
    frame = panel(np.random.default_rng(14), 200, 6)
    released = release(frame, domain=PERSONS, **PROMISE, targets=["y"], **options)
    found = per_instance.losses(frame, released)
    losses = dict(zip(found.names, found.epsilon(), strict=True))
    assert set(losses) == set(map(str, frame["id"].unique()))
    assert max(losses.values()) <= 1 + 1e-9
    if "neighbors" in options:
        assert not found.exact
        return
    assert found.exact
    few = frame.groupby("id")["id"].transform("size") <= 4
    for name in frame.loc[few, "id"].unique()[:5]:
        rows = frame[frame["id"] == name].drop(columns="id")
        plain = PERSONS.of_rows()
        if options["stages"] == 1:
            events = released.certificate.events
            own = discreet.release(frame.drop(columns="id"), domain=plain, **PROMISE, targets=["y"], stages=1)
            event = type(events[0])(events[0].mu, events[0].blocks)
            bare = type(own.certificate)(**{**vars_of(own.certificate), "events": (event,)})
            assert per_instance.household(rows, bare) == pytest.approx(losses[str(name)], rel=1e-6)
    assert all(losses[str(name)] > 0 for name in frame["id"])
    assert found.largest(1)[0][0] in losses


def test_row_norms_alone_cost_a_person_what_its_rows_add_to_them():
    frame = panel(np.random.default_rng(14), 200, 6)
    released = release(frame, domain=PERSONS, **PROMISE, targets=["y"], stages=4)
    event, found = released.norms.event, per_instance.losses(frame, released)
    assert event.of_norms
    costs = dict(zip(found.names, found.parts()["counts of row norms of a stage"], strict=True))
    for name, rows in frame.groupby("id"):
        A = encode(PERSONS.of_rows(), {column: rows[column].to_numpy() for column in PERSONS.columns})
        own = replace(event.coordinates, most=1)
        coordinate_map = CoordinateMap(own, PERSONS.of_rows(), len(rows))
        counts = coordinate_map.row_norms(coordinate_map.rotate(A).row_norms)
        share = min(1.0, PERSONS.most / len(rows))
        assert costs[str(name)] == pytest.approx(share**2 * float(counts @ counts) / event.blocks[0].sd ** 2, rel=1e-5)
    assert max(costs.values()) <= event.mu**2 * (1 + 1e-9)


def vars_of(certificate):
    return {name: getattr(certificate, name) for name in certificate.__dataclass_fields__}


def test_losses_of_persons_cover_dropped_rows_and_weights(tmp_path):
    frame = panel(np.random.default_rng(15), 100)
    frame.loc[frame.index[:40], "x"] = np.nan
    domain = Domain(COLUMNS, person="id", rows_per_person=4, weights="w", largest_weight=8, missing="drop")
    released = release(frame, domain=domain, **PROMISE, targets=["y"], stages=2)
    found = per_instance.losses(frame, released)
    assert len(found.names) == frame["id"].nunique() == len(found.epsilon())
    assert found.epsilon().max() <= 1 + 1e-9
    found.save(tmp_path / "confidential.parquet")
    assert set(pd.read_parquet(tmp_path / "confidential.parquet")["person"]) == set(found.names)
    with pytest.raises(ParameterError, match="count alike"):
        per_instance.losses(frame, released, moments=Moments.from_source(frame, domain))


def test_weighted_rows_lose_less_than_those_of_the_largest_weight():
    frame = panel(np.random.default_rng(16), 100).drop(columns="id")
    released = release(frame, domain=WEIGHTED, **PROMISE, targets=["y"], stages=1)
    heavy = per_instance.losses(frame.assign(w=8.0), released).mu()
    own = per_instance.losses(frame, released).mu()
    np.testing.assert_allclose(own, heavy * np.floor(frame["w"].to_numpy() / 8 * 2**20) / 2**20, rtol=1e-9)


# ---------------------------------------------------------------- words, files, budgets


def test_files_keep_the_unit_and_older_programs_refuse_them(tmp_path):
    frame = panel(np.random.default_rng(17), 1000)
    released = release(frame, domain=BOTH, **PROMISE, targets=["y"], stages=2)
    released.save(tmp_path / "r.json")
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["format_version"] == 6  # persons are of version 5, the rules of the stages of version 6
    assert body["certificate"]["unit"].startswith("a person with all rows ('id')")
    loaded = PrivateMoments.load(tmp_path / "r.json")
    assert loaded.certificate == released.certificate
    assert loaded.certificate.mismatch(loaded.values) is None
    words = released.certificate.words()
    assert "presence of one person, with all rows of that person ('id')" in words
    assert "counts for at most 4 rows" in words
    assert "weighted by 'w'" in words
    moments = Moments.from_source(frame, BOTH)
    moments.save(tmp_path / "m.npz")
    assert Moments.load(tmp_path / "m.npz") == moments
    results = released.fit("y")
    results.save_report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "a person with all rows" in page
    assert "One row is one person" not in page


def test_forged_units_are_found_out():
    frame = panel(np.random.default_rng(18), 1000)
    certificate = release(frame, domain=PERSONS, **PROMISE, targets=["y"], stages=2).certificate
    facts = certificate.to_dict()

    def forged(**changes):
        domain = facts["domain"] | changes
        unit = Domain.from_dict(domain).unit.short
        return type(certificate).from_dict(facts | {"domain": domain, "unit": unit})

    with pytest.raises(FileFormatError):
        forged(rows_per_person=8)  # the stages say otherwise
    with pytest.raises(FileFormatError):
        type(certificate).from_dict(facts | {"unit": "one row is one person"})
    one_stage = release(frame, domain=PERSONS, **PROMISE, targets=["y"], stages=1).certificate
    facts = one_stage.to_dict()
    assert not all(finding.ok for finding in forged(rows_per_person=8).check())
    assert not forged(rows_per_person=2).check()[0].ok, "it would cost half of what is listed"


def test_budgets_and_ledgers_charge_persons_once(tmp_path):
    frame = panel(np.random.default_rng(19), 300)
    with Budget(epsilon=1, delta=1e-6, person="id", rows_per_person=4) as budget:
        release(frame, domain=PERSONS, epsilon=0.2, delta=1e-6, targets=["y"], stages=1)
        assert budget.unit == "persons by 'id', at most 4 rows each"
        spent = budget.mu_spent
        assert spent == pytest.approx(gdp.mu(0.2, 1e-6), rel=1e-6)
        with pytest.warns(DiscreetWarning, match="person='id'"):
            release(frame, domain=Domain(COLUMNS), epsilon=0.05, delta=1e-6, targets=["y"], stages=1)
        assert budget.mu_spent**2 == pytest.approx(spent**2 + 16 * gdp.mu(0.05, 1e-6) ** 2, rel=1e-6)
        assert [one.get("times", 1) for one in budget.to_dict()["releases"]] == [1, 4]
        assert budget.to_dict()["releases"][0]["person"] == "id"
        assert "persons by 'id', at most 4 rows each" in repr(budget)
    ledger = Ledger.create(tmp_path / "l.sqlite") if hasattr(Ledger, "create") else Ledger(tmp_path / "l.sqlite")
    account = ledger.open("clinic", epsilon=1, delta=1e-6)
    visits = ledger.open("clinic/visits", person="id", rows_per_person=4)
    with visits:
        release(frame, domain=PERSONS, epsilon=0.2, delta=1e-6, targets=["y"], stages=1)
    assert account.balance().mu_spent == pytest.approx(spent, rel=1e-9)


def test_a_plan_tells_the_price_of_rows_a_person():
    found = plan(PERSONS, "y", rows=3000, epsilon=[1.0], delta=1e-6, draws=2, methods=["DPLinearRegression"])
    plain = plan(Domain(COLUMNS), "y", rows=3000, epsilon=[1.0], delta=1e-6, draws=2, methods=["DPLinearRegression"])
    assert set(found.people) == {1, 2, 4, 8}
    assert found.people[1] <= found.people[8]
    assert found.at(1.0).mse > plain.at(1.0).mse
    assert "noise is 4 times that for rows" in str(found)
    assert json.loads(found.to_json())["rows_per_person"].keys() == {"1", "2", "4", "8"}
    assert "does not" not in str(plain)
    with pytest.raises(ParameterError, match="cannot be simulated"):
        plan(PERSONS, "y", rows=3000, epsilon=1.0, methods=["OPS"])


def test_a_column_that_looks_like_an_identifier_is_warned_of(recwarn):
    frame = panel(np.random.default_rng(20), 50)
    Moments.from_source(frame.drop(columns="id"), Domain(COLUMNS))
    Moments.from_source(frame, PERSONS)
    assert not [w for w in recwarn if issubclass(w.category, DiscreetWarning)]
    for name in ("id", "patient_id", "Customer"):
        with pytest.warns(DiscreetWarning, match=f"person='{name}'"):
            Moments.from_source(frame.rename(columns={"id": name}), Domain(COLUMNS))


SCHEMA = """
person = "id"
rows_per_person = 4
[columns]
x = { low = -1, high = 1 }
z = { low = -1, high = 1 }
y = { low = -4, high = 4 }
"""


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, run = panel(np.random.default_rng(21), 1500), CliRunner()
    frame.to_parquet("visits.parquet")
    (tmp_path / "visits.toml").write_text(SCHEMA)
    (tmp_path / "plain.toml").write_text(SCHEMA.split("4\n", 1)[1])
    common = ["--epsilon", "1", "--delta", "1e-6"]
    for schema, options in (
        ("visits.toml", []),
        ("plain.toml", ["--person", "id", "--rows-per-person", "4"]),
        ("visits.toml", ["--weights", "w", "--largest-weight", "8", "--rows-per-person", "2"]),
    ):
        asked = ["visits.parquet", "--schema", schema, *common, *options, "--force"]
        done = run.invoke(app, ["fit", *asked, "--target", "y", "--out", "r.json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "person" in done.output
        done = run.invoke(app, ["release", *asked, "--targets", "y", "--out", "s.json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    done = run.invoke(app, ["check", "s.json", "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["unit"].startswith("a person with all rows ('id'), who counts for at most 2 rows")
    done = run.invoke(app, ["pdp", "visits.parquet", "--release", "s.json", "--out", "c.parquet"])
    assert done.exit_code == 0, done.output
    assert "Persons with the largest loss" in done.output
    done = run.invoke(
        app,
        ["plan", "--schema", "visits.toml", "--rows", "2000", "--target", "y", "--epsilon", "1", "--draws", "2"],
    )
    assert done.exit_code == 0, done.output
    assert "rows_per_person = 4" in done.output
    done = run.invoke(
        app, ["fit", "visits.parquet", "--schema", "visits.toml", *common, "--target", "y", "--weights", "w"]
    )
    assert "go together" in str(done.exception)


def test_logistic_models_in_one_stage_say_why_they_refuse():
    frame = panel(np.random.default_rng(22), 50).assign(y=lambda t: t["y"] > 0)
    domain = Domain(COLUMNS | {"y": bool}, person="id", rows_per_person=4)
    with pytest.raises(ParameterError, match="DPLogisticRegression does not go with persons"):
        DPLogisticRegression(**PROMISE, domain=domain, stages=1).fit_source(frame, "y")
