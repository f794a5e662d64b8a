"""Every way in, with persons and weights declared: the promise is about them and the estimate counts them, or it is
refused before anything is spent.

Engines are in tests/data/engines/test_units_of_engines.py, the service and its client in
tests/service/test_units_served.py. The tables of ways are held against what there is: methods, commands, functions,
kinds of requests.
"""

import html
import inspect
import json

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from panel import COLUMNS, PANEL, PROMISE, SCHEMA, SHORT, UNIT, check_slope, panel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet
from discreet import Budget, Domain, DPLinearRegression, Ledger, Moments, PrivateMoments, plan, release
from discreet.cli.commands import COMMANDS
from discreet.data.counts import Histogram, first_pass
from discreet.data.reading import Table
from discreet.domain.schema import filled_schema
from discreet.errors import DiscreetError, DomainError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.mechanisms.registry import METHODS
from discreet.models.base import Classifier, PrivateEstimator
from discreet.models.private_coordinates import PrivateCoordinatesModel
from discreet.per_instance import losses
from discreet.planning.synthetic import synthetic
from discreet.results.report import report
from discreet.results.saved import check_saved, load_saved

pytestmark = pytest.mark.filterwarnings("ignore")
FRAME = panel()
X, Y, WHO, WEIGHT = FRAME[["x", "z"]], FRAME["y"], FRAME["patient"], FRAME["w"]
NUMBERS = PANEL.select(["x", "z", "y"])
TWO = Domain({"x": (-1, 1), "y": (0, 4), "g": ["a", "b"]}, **UNIT)
STAGED = [method.estimator for method in METHODS if issubclass(method.estimator, PrivateCoordinatesModel)]
"""Classes and counts have persons in stages (tests/models/test_persons_of_models.py), and none in one stage."""

PROVEN = [method.estimator for method in METHODS if not method.estimator.one_row_each]
COUNTED = [estimator for estimator in PROVEN if estimator not in STAGED]
REFUSING = [method.estimator for method in METHODS if method.estimator not in COUNTED]


def check_told(certificate):
    """All that a certificate says names the unit that was declared."""
    assert certificate.domain.unit.short == SHORT
    assert "'patient'" in certificate.words()
    assert "'w'" in certificate.words()
    assert "one row is one person" not in certificate.words()
    assert certificate.to_dict()["unit"] == SHORT
    assert certificate.domain.format_version == 5


# ---------------------------------------------------------------- methods

FITS = {
    "fit": lambda model: model.fit(FRAME[["x", "z", "patient", "w"]], Y),
    "fit, beside X": lambda model: model.fit(X, Y, sample_weight=WEIGHT, person=WHO),
    "fit, arrays": lambda model: model.set_params(domain=NUMBERS).fit(
        X.to_numpy(), Y.to_numpy(), sample_weight=WEIGHT.to_numpy(), person=WHO.to_numpy()
    ),
    "fit_source": lambda model: model.fit_source(FRAME, "y", ["x", "z"]),
    "fit_formula": lambda model: model.fit_formula("y ~ x + z", FRAME),
    "fit_moments": lambda model: model.fit_moments(Moments.from_source(FRAME, PANEL), "y", ["x", "z"]),
}


def test_the_fits_are_all_that_there_are():
    found = {name for method in METHODS for name in dir(method.estimator) if name.startswith("fit")}
    assert found - {"fit_intercept"} == {name.partition(",")[0] for name in FITS}
    assert {estimator.__name__ for estimator in COUNTED} == {
        "DPLinearRegression", "DPRidge", "DPLasso", "DPElasticNet", "AdaSSP", "ConstSSP", "ReuseCov", "SSP",
    }  # fmt: skip
    assert all(issubclass(estimator, PrivateEstimator) for estimator in (*COUNTED, *REFUSING))


@pytest.mark.parametrize("way", FITS)
@pytest.mark.parametrize("estimator", COUNTED)
def test_a_method_counts_weighted_persons(estimator, way):
    model = FITS[way](estimator(**PROMISE, domain=PANEL, random_state=NO_NOISE))
    check_slope(model.coef_[0])
    check_told(model.certificate_)
    if way == "fit_formula":
        assert SHORT in html.unescape(report(model.results_, None))
        assert ("Protected", SHORT) in model.results_.summary().facts


@pytest.mark.parametrize("way", FITS)
@pytest.mark.parametrize("estimator", REFUSING)
def test_a_method_that_has_no_persons_says_so_and_spends_nothing(estimator, way):
    """With what it needs else: two classes, counts, a number of rows."""
    if not hasattr(estimator, way.partition(",")[0]):
        pytest.skip("it has no such way")
    target = "g" if issubclass(estimator, Classifier) else "y"
    domain = TWO.select(["x", target])
    more = ({} if "OPS" in estimator.__name__ else {"delta": 1e-6}) | ({"stages": 1} if estimator in STAGED else {})
    model = estimator(epsilon=1, domain=domain, rows=10_000, **more)
    beside = {"sample_weight": WEIGHT, "person": WHO}
    ways = {
        "fit": lambda: model.fit(FRAME[["x", "patient", "w"]], FRAME[target]),
        "fit, beside X": lambda: model.fit(FRAME[["x"]], FRAME[target], **beside),
        "fit, arrays": lambda: model.fit(FRAME[["x"]].to_numpy(), FRAME[target].to_numpy(), **beside),
        "fit_source": lambda: model.fit_source(FRAME, target),
        "fit_formula": lambda: model.fit_formula(f"{target} ~ x", FRAME),
        "fit_moments": lambda: model.fit_moments(Moments.from_source(FRAME, domain), target),
    }
    with Budget(epsilon=5, delta=1e-3, adding=True) as budget:
        with pytest.raises(ParameterError, match=f"{estimator.__name__} does not go with (persons|weights)"):
            ways[way]()
        assert budget.others_left == (5, 1e-3)


@pytest.mark.parametrize("given", [{"subsample": 0.5}, {"association": "projection", "neighbors": "replace-one"}])
def test_samples_and_public_outcomes_refuse_persons(given):
    for way in ("fit", "fit_source", "fit_formula"):
        model = discreet.ReuseCov(epsilon=1, delta=1e-6, domain=PANEL, **given)
        with pytest.raises(ParameterError, match="do not go with persons and weights"):
            FITS[way](model)


@pytest.mark.parametrize("method", [method for method in METHODS if method.estimator.papers])
def test_printed_constants_refuse_persons(method):
    estimator = method.estimator
    target = "g" if issubclass(estimator, Classifier) else "y"
    for paper in estimator.papers:
        model = estimator(epsilon=0.5, delta=1e-6, rows=10_000, domain=TWO.select(["x", target]))
        more = {"li2021": {"alpha": 1.0}, "wang2017": {"variant": "kappa"}}.get(paper, {})
        more = {name: value for name, value in more.items() if name in model.get_params()}
        model.set_params(published=paper, neighbors=estimator.paper_neighbors, **more)
        with pytest.raises(ParameterError, match="does not go with persons with many rows"):
            model.fit_formula(f"{target} ~ x", FRAME)


def test_arrays_say_whose_rows_are_and_what_they_count_or_are_refused():
    A, y = X.to_numpy(), Y.to_numpy()
    model = DPLinearRegression(**PROMISE, domain=NUMBERS, random_state=NO_NOISE)
    for given in ({}, {"person": WHO}, {"sample_weight": WEIGHT}):
        with pytest.raises(DiscreetError, match=r"person|'w'|'patient'"):
            model.fit(A, y, **given)
    bounds = {"bounds_X": (-1, 1), "bounds_y": (-4, 4), "rows_per_person": 2, "largest_weight": 4}
    plain = DPLinearRegression(**PROMISE, **bounds, random_state=NO_NOISE).fit(A, y, person=WHO, sample_weight=WEIGHT)
    check_slope(plain.coef_[0])
    assert plain.certificate_.domain.unit.person == "person"


def test_a_frame_without_the_columns_of_the_unit_is_refused():
    for way in (lambda m: m.fit(X, Y), lambda m: m.fit_source(FRAME.drop(columns="patient"), "y")):
        with pytest.raises(DiscreetError, match="'patient'"):
            way(DPLinearRegression(**PROMISE, domain=PANEL))
    with pytest.raises(DiscreetError, match="'w'"):
        DPLinearRegression(**PROMISE, domain=PANEL).fit_formula("y ~ x", FRAME.drop(columns="w"))


def test_a_person_is_told_once():
    """A column of the frame and an array beside it could contradict each other."""
    for given in ({"person": np.arange(len(FRAME))}, {"sample_weight": np.ones(len(FRAME))}):
        with pytest.raises(DiscreetError, match="stands twice"):
            DPLinearRegression(**PROMISE, domain=PANEL).fit(FRAME[["x", "z", "patient", "w"]], Y, **given)


def test_a_pipeline_hands_persons_and_weights_on():
    own = DPLinearRegression(**PROMISE, domain=NUMBERS, random_state=NO_NOISE)
    pipeline = make_pipeline(FunctionTransformer(), own)
    pipeline.fit(X, Y, dplinearregression__person=WHO, dplinearregression__sample_weight=WEIGHT)
    check_slope(pipeline[-1].coef_[0])
    check_told(pipeline[-1].certificate_)
    with pytest.raises(DiscreetError):
        pipeline.fit(X, Y)


def test_nobody_counts_for_more_than_their_rows():
    """Somebody with 1,000 rows moves the sums by those of 2 rows at most, as somebody with 600 does."""
    fewer = FRAME.drop(FRAME.index[FRAME["patient"] == 1000][200:1000:2])
    others = FRAME[FRAME["patient"] != 1000]
    many, some, none = (Moments.from_source(frame, PANEL).floats([0, 1, 2]) for frame in (FRAME, fewer, others))
    assert none[:2, :2].tolist() == [[200.0, 0.0], [0.0, 125.0]]  # those of weight 0 count for nothing
    assert many[:2, :2] == pytest.approx(np.array([[202.0, 0.0], [0.0, 127.0]]), abs=1e-3)  # m/n is rounded down
    for change in (many - none, some - none):
        assert np.abs(change).max() <= 2


# ---------------------------------------------------------------- containers


def parquet(folder):
    pq.write_table(pa.Table.from_pandas(FRAME), folder / "panel.parquet")
    return folder / "panel.parquet"


def parts(folder):
    for i in range(3):
        pq.write_table(pa.Table.from_pandas(FRAME.iloc[i::3]), folder / f"part{i}.parquet")
    return folder


def csv(folder):
    FRAME.to_csv(folder / "panel.csv", index=False)
    return folder / "panel.csv"


def excel(folder):
    FRAME.to_excel(folder / "panel.xlsx", index=False)
    return folder / "panel.xlsx"


CONTAINERS = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_pandas(FRAME),
    "lazy polars": lambda folder: pl.from_pandas(FRAME).lazy(),
    "Arrow": lambda folder: pa.Table.from_pandas(FRAME),
    "a stream": lambda folder: pa.Table.from_pandas(FRAME).to_reader(100),
    "DuckDB": lambda folder: duckdb.from_arrow(pa.Table.from_pandas(FRAME)),
    "a pair": lambda folder: (FRAME.drop(columns="y"), Y),
    "Parquet": parquet,
    "a folder": parts,
    "a list of files": lambda folder: sorted(parts(folder).glob("*.parquet")),
    "CSV": csv,
    "Excel": excel,
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container(kind, tmp_path):
    released = release(
        CONTAINERS[kind](tmp_path), domain=PANEL, models=["y ~ x + z"], **PROMISE, stages=1, random_state=NO_NOISE
    )
    check_told(released.certificate)
    check_slope(released.fit("y ~ x + z").coef[0])


# ---------------------------------------------------------------- releases, and what is made of them

RELEASES = {
    "all products": {},
    "outcomes": {"targets": ["y"]},
    "one stage": {"targets": ["y"], "stages": 1},
    "outcomes and features": {"targets": ["y"], "features": ["x", "z"]},
    "a model": {"models": "y ~ x + z"},
    "models": {"models": ["y ~ x + z", "y ~ g + x:z + exp(x)", 'y ~ C(g, Treatment("a"))']},
    "without an intercept": {"models": ["y ~ x + z - 1"]},
}


@pytest.mark.parametrize("way", RELEASES)
def test_releases_and_all_that_is_fitted_to_them(way, tmp_path):
    asked = RELEASES[way]
    released = release(FRAME, domain=PANEL, **asked, **PROMISE, random_state=NO_NOISE)
    check_told(released.certificate)
    released.save(tmp_path / "r.json", simulation=True)
    loaded = PrivateMoments.load(tmp_path / "r.json")
    assert loaded.domain.unit == PANEL.unit
    text = "y ~ x + z - 1" if way == "without an intercept" else "y ~ x + z"
    for model in ("noise-aware", "ridge", "lasso", "elastic-net", "ols"):
        fitted = loaded.fit(text, model=model)
        check_slope(fitted.coef[0])
        check_told(fitted.certificate)
    fitted.save(tmp_path / "m.json", simulation=True)
    check_told(load_saved(tmp_path / "m.json").certificate)
    noisy = release(FRAME, domain=PANEL, **asked, **PROMISE, random_state=5)
    assert all(finding.ok or "status" in finding.what for finding in check_saved(noisy))


def test_moments_keep_their_unit_and_are_not_added():
    moments = Moments.from_source(FRAME, PANEL)
    check_told(release(moments, **PROMISE, random_state=NO_NOISE).certificate)
    assert Moments.from_bytes(moments.to_bytes()).domain.unit == PANEL.unit
    with pytest.raises(ParameterError, match="somebody may have rows in both parts"):
        moments + moments
    (histogram,), _ = first_pass(Table.of(FRAME, PANEL), ["y"])
    assert Histogram.from_bytes(histogram.to_bytes()).domain.unit == PANEL.unit
    with pytest.raises(ParameterError, match="somebody may have rows in both parts"):
        histogram + histogram
    with pytest.raises(ParameterError, match="without persons and weights"):
        Moments.from_batch(np.zeros((3, len(PANEL.entries))), PANEL)


def test_selection_and_comparison_are_of_releases_that_name_the_unit():
    released = release(FRAME, domain=PANEL, models=["y ~ x + z + g"], **PROMISE, random_state=NO_NOISE)
    assert "x" in released.select("y ~ x + z + g").chosen(0.9)
    one, other = released.fit("y ~ x"), released.fit("y ~ x + z")
    assert discreet.compare(one, other).a.certificate.domain.unit == PANEL.unit


def test_losses_of_a_release_by_formula_are_those_of_persons():
    released = release(FRAME, domain=PANEL, models=["y ~ x"], epsilon=1, delta=1e-6, random_state=1)
    found = losses(FRAME, released)
    assert len(found.names) == 401


# ---------------------------------------------------------------- plans and made-up tables


@pytest.mark.parametrize("asked", [("y", ["x"]), ("y ~ x", None), ("y ~ x + z:g - 1", None)])
def test_plans_price_persons(asked):
    """Noise is twice that for rows, so a plan for rows of half the noise is another one."""
    given = {"rows": 2000, "epsilon": [1], "delta": 1e-6, "draws": 2, "methods": ["SSP"], "tighter": False}
    found, rows = plan(PANEL, *asked, **given), plan(Domain(COLUMNS), *asked, **given)
    assert dict(found.summary().facts)["Protected"] == SHORT
    assert found.at(1.0).mse != rows.at(1.0).mse
    with pytest.raises(ParameterError, match="cannot be simulated"):
        plan(PANEL, *asked, **(given | {"methods": ["OPS"]}))


@pytest.mark.parametrize("method", ["DPLogisticRegression", "DPLinearSVC", "DPPoissonRegression"])
def test_plans_for_classes_and_counts_price_persons(method):
    target = "y" if method == "DPPoissonRegression" else "g"
    given = {"rows": 2000, "epsilon": [1], "delta": 1e-6, "draws": 2, "methods": [method]}
    found, rows = plan(TWO, target, ["x"], **given), plan(TWO.of_rows(), target, ["x"], **given)
    assert dict(found.summary().facts)["Protected"] == SHORT
    assert found.at(1.0).excess != rows.at(1.0).excess


def test_made_up_tables_have_persons_and_weights():
    for domain in (PANEL, PANEL.of_rows().with_unit(person="y'", rows_per_person=4096)):
        table = synthetic(domain, 300)
        assert set(table.column_names) == set(domain.reads)
        assert table.equals(synthetic(domain, 300))
        assert Moments.from_source(table, domain).count > 0
    weights = synthetic(PANEL, 300)["w"].to_numpy()
    assert 0 < weights.min() < weights.max() <= 4
    plain = synthetic(PANEL.of_rows(), 300)
    assert plain.equals(synthetic(PANEL, 300).select(plain.column_names))


# ---------------------------------------------------------------- budgets and ledgers


@pytest.mark.parametrize("way", ["fit_source", "fit_formula", "fit_moments"])
def test_budgets_and_ledgers_are_charged_for_persons(way, tmp_path):
    ledger = Ledger.create(tmp_path / "people.ledger")
    ledger.open("town", epsilon=200, delta=1e-3, person="patient")
    with Budget(epsilon=200, delta=1e-6) as budget, ledger.account("town"):
        model = FITS[way](DPLinearRegression(**PROMISE, domain=PANEL))
    check_slope(model.coef_[0])
    check_told(model.certificate_)
    assert all(finding.ok for finding in model.certificate_.check())
    assert budget.epsilon_spent == pytest.approx(50, rel=1e-6)
    (entry,) = [entry.facts for entry in ledger.entries() if entry.facts["kind"] == "reserve"]
    assert (entry["cost"]["person"], entry["times"]) == ("patient", 1)


# ---------------------------------------------------------------- the command line

OPTIONS = ["--person", "patient", "--rows-per-person", "2", "--weights", "w", "--largest-weight", "4"]
ASKED = {"by names": ["--target", "y", "--features", "x,z"], "by formula": ["--formula", "y ~ x + z"]}
NO_TABLE = {
    "audit": "attacks made-up tables of its own",
    "demo": "makes up a table whose people have one row each",
    "methods": "lists the methods",
    "reproduce": "makes the papers' figures from public and made-up tables",
    "sign": "signs files",
    "serve": "serves tables; see tests/service/test_units_served.py",
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "panel.toml").write_text(SCHEMA, encoding="utf-8")
    columns = SCHEMA.partition("\n\n")[2]
    (tmp_path / "rows.toml").write_text(columns, encoding="utf-8")
    parquet(tmp_path)
    return tmp_path


def check_file(run, path):
    """The words of `check`, and the slope of the model."""
    told = run("check", path)
    assert told.code == 0, told.said
    assert "'patient'" in told.said
    assert "one row is one person" not in told.said
    assert json.loads(run("check", path, "--json").out)["unit"] == SHORT
    check_told(load_saved(path).certificate)


@pytest.mark.parametrize("told", ["schema", "options"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("command", ["fit", "release"])
def test_commands_that_read_tables(run, place, command, asked, told):
    schema = ["--schema", "panel.toml"] if told == "schema" else ["--schema", "rows.toml", *OPTIONS]
    names = {"release": ["--targets", "y", "--features", "x,z"]}.get(command) if asked == "by names" else None
    given = [*schema, *(names or ASKED[asked]), "--epsilon", "50", "--delta", "1e-6", "--out", "out.json"]
    assert run(command, "panel.parquet", *given).code == 0
    check_file(run, place / "out.json")
    for more in ASKED.values():
        found = json.loads(run("model", "out.json", *more, "--json").out)
        check_slope(found["params"]["x"])
    assert "x" in run("select", "out.json", *ASKED[asked]).said
    assert run("compare", "out.json", "out.json", *ASKED[asked]).code == 0
    (place / "new.csv").write_text("x,z\n0.5,1\n", encoding="utf-8")  # nobody asks whose a row is that is predicted
    assert run("predict", "out.json", "new.csv", *ASKED[asked], "--out", "p.csv").code == 0
    pdp = ["pdp", "panel.parquet", "--release", "out.json", "--out", "c.parquet", "--json"]
    assert json.loads(run(*pdp, "--schema", "panel.toml").out)["largest"][0]["person"] is not None
    other = run("pdp", "panel.parquet", "--release", "out.json", "--out", "d.parquet", "--schema", "rows.toml")
    assert (other.code, "do not protect the same" in other.said) == (2, True)


@pytest.mark.parametrize("asked", ASKED)
def test_commands_that_plan(run, place, asked):
    given = ["--rows", "1400", *ASKED[asked], "--schema", "panel.toml"]
    found = run("plan", *given, "--epsilon", "1", "--methods", "SSP", "--draws", "2")
    assert "('patient')" in found.said
    ledger = ["people.ledger", "--account", "town", "--epsilon", "2", "--delta", "1e-6"]
    assert run("ledger", "init", *ledger).code == 0
    assert "('patient')" in run("ledger", "plan", "people.ledger", *given, "--releases", "1").said


def test_bounds_are_searched_for_persons(run, place):
    unknown = Domain({"x": "number", "y": (-4, 4)}, **UNIT)
    (place / "unknown.toml").write_text(filled_schema(unknown.to_dict()), encoding="utf-8")
    given = ["--schema", "unknown.toml", "--epsilon", "50", "--delta", "1e-6", "--out", "found.toml"]
    assert run("bounds", "panel.parquet", *given).code == 0
    assert Domain.from_file(place / "found.toml").unit == unknown.unit
    certificate = PrivateMoments.load(place / "found.json").certificate
    assert certificate.searched == unknown
    assert all(finding.ok for finding in certificate.check(PrivateMoments.load(place / "found.json").values))
    plain = discreet.bounds(FRAME, domain=unknown, epsilon=50, delta=1e-6, random_state=1)
    check_told(plain.certificate)


def test_commands_about_schemas_name_the_unit(run, place):
    assert SHORT in run("schema", "show", "panel.toml").said
    assert json.loads(run("schema", "show", "panel.toml", "--json").out)["unit"] == SHORT
    assert "one row is one person" in run("schema", "show", "rows.toml").said
    assert run("schema", "check", "panel.toml", "panel.parquet").code == 0
    FRAME.drop(columns="patient").to_parquet(place / "without.parquet")
    assert "'patient'" in run("schema", "check", "panel.toml", "without.parquet").said


@pytest.mark.parametrize("text", ["y ~ patient", "y ~ x + I(2*w)", "w ~ x"])
@pytest.mark.parametrize("command", ["fit", "release", "plan"])
def test_commands_refuse_the_columns_of_the_unit_as_terms(run, place, command, text):
    given = ["--schema", "panel.toml", "--formula", text, "--epsilon", "1", "--delta", "1e-6"]
    found = run(command, *(["--rows", "1400"] if command == "plan" else ["panel.parquet"]), *given)
    assert (found.code, "cannot be part of a model" in found.said) == (2, True)


def test_the_command_line_counts_in_a_ledger(run, place):
    opened = ["people.ledger", "--account", "town", "--epsilon", "200", "--delta", "1e-3", "--person", "patient"]
    assert run("ledger", "init", *opened).code == 0
    given = ["--schema", "panel.toml", "--formula", "y ~ x", "--epsilon", "50", "--delta", "1e-6"]
    assert run("fit", "panel.parquet", *given, "--ledger", "people.ledger", "--out", "out.json").code == 0
    (entry,) = [entry.facts for entry in Ledger("people.ledger").entries() if entry.facts["kind"] == "reserve"]
    assert (entry["cost"]["person"], entry["times"]) == ("patient", 1)


def test_the_commands_are_all_that_there_are():
    tried = {"fit", "release", "model", "select", "compare", "predict", "pdp", "check", "plan", "ledger", "schema"}
    tried |= {"bounds"}
    assert tried | set(NO_TABLE) == set(COMMANDS)
    assert not tried & set(NO_TABLE)


# ---------------------------------------------------------------- what there is besides

TRIED = {
    "Budget", "Ledger", "Moments", "PrivateMoments", "bounds", "compare", "formula", "plan", "release", "per_instance",
}  # fmt: skip
NOTHING_READ = {
    "BudgetError", "DiscreetError", "DiscreetWarning", "LedgerError",  # errors
    "Comparison", "Plan", "ReleasedModel", "Results", "Selection",  # results, whose certificates are looked at above
    "ModelTable", "table",  # of results
    "NappAugmentation", "NappConstants", "NappRecycling", "NappShape",  # groups of parameters
    "CheckReport", "check", "load",  # of saved files, whose units are looked at above
    "Domain", "FileFormat",  # public facts
    "Postgres",  # a source; see tests/data/engines/test_units_of_engines.py
    "TrivialRegressor",  # releases nothing
}  # fmt: skip


def test_the_package_has_no_other_way_in():
    methods = {method.name for method in METHODS}
    assert set(discreet.__all__) == methods | TRIED | NOTHING_READ
    sources = {name for name in dir(discreet) if "source" in _parameters(getattr(discreet, name))}
    assert sources == set()
    with_source = {name for name, own in inspect.getmembers(Moments) if "source" in _parameters(own)}
    assert with_source == {"from_source"}


def _parameters(what):
    return inspect.signature(what).parameters if inspect.isfunction(what) or inspect.ismethod(what) else {}


def test_a_domain_says_whom_it_protects():
    for role, value in UNIT.items():
        assert f"{role}={value!r}" in repr(PANEL).replace("4.0", "4")
    assert "person" not in repr(PANEL.of_rows())
    wide = Domain(dict.fromkeys("abcdefghijk", (0, 1)), person="id", rows_per_person=3)
    assert "person='id', rows_per_person=3" in repr(wide)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.select(["x", "y"]),
        lambda d: d.with_column("x", d.columns["z"]),
        lambda d: d.with_columns({"x": d.columns["x"], "k": (0, 9)}),
        lambda d: d.with_columns({"x": d.columns["x"]}, intercept=False),
        lambda d: d.with_intercept(False),
        lambda d: d.with_missing("drop"),
        lambda d: d.with_file(sep=";"),
        lambda d: Domain.from_dict(d.to_dict()),
    ],
)
def test_a_domain_that_is_changed_keeps_its_unit(change):
    assert change(PANEL).unit == PANEL.unit


def test_a_domain_is_not_given_columns_of_its_unit():
    for columns in ({"patient": (0, 1)}, {"x": (0, 1), "w": ["a", "b"]}):
        with pytest.raises(DomainError, match=r"cannot be (person|weights)="):
            PANEL.with_columns(columns)
    with pytest.raises(ParameterError, match="missing"):
        PANEL.with_missing("ignore")
