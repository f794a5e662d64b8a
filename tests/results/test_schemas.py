"""Files of every kind are as their JSON schema says; files of every method are held against it in test_forgeries."""

import json
import shutil
import subprocess
import tomllib
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from described import SCHEMA, assert_described, validator
from jsonschema import Draft202012Validator
from replayed import by_rules
from small_table import DOMAIN, people
from small_table import SCHEMA as TABLE_SCHEMA

from discreet import Domain, DPLinearRegression, DPLogisticRegression, ReuseCov, formula, release
from discreet.cli.demo import SCHEMA as DEMO
from discreet.core.files import KINDS
from discreet.domain.schema import KNOWN, filled_schema
from discreet.privacy.events import kinds
from discreet.recipes.rules import NEWEST
from discreet.released.certificate import VERSIONS
from discreet.results.documents import FORMAT_VERSIONS

DATA = Path(__file__).parents[1] / "files"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_every_kind_version_and_mechanism_is_described():
    defs = SCHEMA["$defs"]
    assert set(SCHEMA["properties"]["kind"]["enum"]) == set(KINDS)
    for kind in ("release", "results", "many_results"):
        assert defs[kind]["properties"]["format_version"]["enum"] == list(VERSIONS)
    assert defs["model"]["properties"]["format_version"]["enum"] == list(FORMAT_VERSIONS["model"])
    assert SCHEMA["$id"].endswith(f":{VERSIONS[-1]}")
    named = [one["$ref"].rpartition("/")[2] for one in defs["event"]["oneOf"]]
    assert {defs[name]["properties"]["mechanism"]["const"] for name in named} == set(kinds._MECHANISMS)


@pytest.mark.parametrize(
    "path", [p for p in sorted(DATA.glob("*.json")) if "expected" not in p.name], ids=lambda p: p.name
)
def test_files_of_version_1(path):
    assert assert_described(path)["format_version"] == 1


def saved(model, tmp_path):
    model.release_.save(tmp_path / "release.json")
    model.results_.save(tmp_path / "results.json")
    return [assert_described(tmp_path / name) for name in ("release.json", "results.json")]


def test_a_release_in_stages_and_its_model(tmp_path):
    public, fitted = saved(DPLinearRegression(**PROMISE, domain=DOMAIN).fit_source(people(2000), "income"), tmp_path)
    assert (public["format_version"], fitted["format_version"]) == (6, 6)
    assert fitted["release"] == public["sha256"]
    assert public["certificate"]["recipe"]["rules"] == NEWEST


def test_a_release_by_the_first_rules_is_readable_by_older_programs(tmp_path):
    with by_rules(1):
        bodies = saved(DPLinearRegression(**PROMISE, domain=DOMAIN).fit_source(people(2000), "income"), tmp_path)
    assert [body["format_version"] for body in bodies] == [3, 3]
    assert all("rules" not in body["certificate"]["recipe"] for body in bodies)


def test_functions_of_columns(tmp_path):
    asked = formula("income ~ log(hours + 1) + age:region", DOMAIN)
    with by_rules(1):
        model = DPLinearRegression(**PROMISE, domain=asked.domain).fit_source(people(2000), "income", asked.features)
    assert [body["format_version"] for body in saved(model, tmp_path)] == [4, 4]


def test_persons_weights_and_files(tmp_path):
    frame = people(2000).assign(id=np.arange(2000) // 2, w=1.0)
    unit = {"person": "id", "rows_per_person": 2, "weights": "w", "largest_weight": 2}
    domain = Domain(DOMAIN.columns, **unit, missing="drop", file={"decimal": ",", "na": ["?"]})
    with by_rules(1):
        model = DPLinearRegression(**PROMISE, domain=domain).fit_source(frame, "income")
    assert [body["format_version"] for body in saved(model, tmp_path)] == [5, 5]


def test_columns_within_a_ball_and_dates(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.uniform(-0.5, 0.5, 500), "b": rng.uniform(-0.5, 0.5, 500), "y": rng.uniform(0, 1, 500)}
    )
    frame["born"] = pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, 999, 500), "D")
    free = (-np.inf, np.inf)
    columns = {"a": free, "b": free, "born": ("1970-01-01", "1990-12-31"), "y": (0, 1)}
    domain = Domain(columns, data_norm=1.0, norm_columns=["a", "b"])
    release(frame, domain=domain, **PROMISE).save(tmp_path / "release.json")
    assert_described(tmp_path / "release.json")


def test_models_of_several_outcomes_and_of_classes(tmp_path):
    model = ReuseCov(**PROMISE, domain=DOMAIN).fit_source(people(2000), ["income", "hours"])
    assert [body["kind"] for body in saved(model, tmp_path)] == ["release", "many results"]
    frame = people(2000)
    frame["rich"] = frame["income"] > 60_000
    domain = Domain({"age": (18, 90), "rich": bool})
    model = DPLogisticRegression(epsilon=5, delta=1e-6, domain=domain).fit_source(frame, "rich", ["age"])
    model.release_.save(tmp_path / "model.json")
    assert assert_described(tmp_path / "model.json")["kind"] == "model"


def test_plans_ledgers_and_signatures(run, tmp_path):
    people(500).assign(member=True).to_parquet("people.parquet")
    Path("people.toml").write_text(TABLE_SCHEMA + "member = { type = 'bool' }\n")
    given = ["--schema", "people.toml", "--rows", 500, "--epsilon", 1, "--draws", 2, "--delta", 1e-6]
    classes = ["--target", "member", "--features", "age"]
    assert run("plan", *given, "--target", "income", "--out", "plan.json").code == 0
    assert run("plan", *given, *classes, "--out", "model.plan.json").code == 0
    assert run("ledger", "init", "l.ledger", "--account", "us", "--epsilon", 3, "--delta", 1e-5).code == 0
    asked = ["--schema", "people.toml", "--epsilon", 1, "--delta", 1e-6, "--ledger", "l.ledger", "--out", "r.json"]
    assert run("release", "people.parquet", *asked).code == 0
    assert run("ledger", "export", "l.ledger", "--out", "all.json").code == 0
    assert run("ledger", "export", "l.ledger", "--head", "--out", "head.json").code == 0
    assert run("sign", "--new-key", "us").code == 0
    assert run("sign", "r.json", "--key", "us.private.pem").code == 0
    names = ("plan.json", "model.plan.json", "r.json", "all.json", "head.json", "r.json.sig")
    found = {name: assert_described(tmp_path / name) for name in names}
    for entry in found["all.json"]["entries"]:
        validator("ledger_entry").validate(json.loads(entry["body"]))


def test_what_is_no_file_of_discreet_is_refused(tmp_path):
    release(people(500), domain=DOMAIN, **PROMISE).save(tmp_path / "release.json")
    body = json.loads((tmp_path / "release.json").read_text())
    loose = validator(strict=False)
    assert loose.is_valid(body | {"a field of tomorrow": 1})
    for wrong in (
        {"kind": "letter"},
        {"format_version": 9},
        {"values": [[{"exponent": 1, "integers": [1]}]]},
        {"sha256": "x"},
    ):
        assert not loose.is_valid(body | wrong)
    body["certificate"]["domain"]["person"] = "id"
    assert not loose.is_valid(body), "persons are of version 5"


# ---------------------------------------------------------------- schemas of tables

TABLE = json.loads((resources.files("discreet") / "schemas" / "table.json").read_text(encoding="utf-8"))


def read(text):
    """A schema as JSON has it: dates are texts."""
    return json.loads(json.dumps(tomllib.loads(text), default=str))


def test_schemas_of_tables_are_described():
    Draft202012Validator.check_schema(TABLE)
    assert set(TABLE["properties"]) == KNOWN
    domain = Domain(
        DOMAIN.columns | {"born": ("1920-01-01", "2010-12-31"), "member": bool, "grade": [1, 2, 3]},
        **{"missing": "drop", "person": "id", "rows_per_person": 2, "weights": "w", "largest_weight": 2},
        file={"decimal": ",", "na": ["?"]},
    )
    table = Draft202012Validator(TABLE)
    for text in (filled_schema(domain.to_dict()), TABLE_SCHEMA, DEMO):
        table.validate(read(text))
    for wrong in ("person = 'id'", "[columns]\nage = { low = 18, hihg = 90 }", "[columns]\nage = 'FILL IN'"):
        assert not table.is_valid(read(wrong))


# ---------------------------------------------------------------- the page


def test_every_field_of_releases_and_models_is_on_the_page():
    page, defs = PAGE.read_text(encoding="utf-8"), SCHEMA["$defs"]
    shown = (
        "release",
        "results",
        "many_results",
        "model",
        "certificate",
        "guarantee",
        "domain",
        "block",
        "stage",
        "coordinates",
    )
    fields = {field for name in shown for field in defs[name]["properties"]}
    assert not [field for field in sorted(fields) if f"`{field}`" not in page]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed: apt-get install r-cran-jsonlite")
def test_r_finds_the_same_coefficients(tmp_path):
    """The block of R code on the page, run on a release and a model."""
    code = PAGE.read_text(encoding="utf-8").split("```r\n")[1].split("```")[0]
    public = release(people(2000), domain=DOMAIN, **PROMISE)
    public.save(tmp_path / "people.release.json")
    fitted = DPLinearRegression(epsilon=5, delta=1e-6, domain=DOMAIN).fit_source(people(2000), "income").results_
    fitted.save(tmp_path / "people.model.json")
    of_formula = DPLinearRegression(epsilon=5, delta=1e-6, domain=DOMAIN)
    of_formula.fit_formula("income ~ log(age) + region + hours", people(2000))
    (tmp_path / "people.json").write_text(of_formula.results_.to_json())
    told = "line = line, coef = model$coef, errors = errors, predicted = predicted"
    ends = f"\ncat(toJSON(list({told}), digits = NA))\n"
    (tmp_path / "read.R").write_text(code + ends)
    done = subprocess.run(["Rscript", "read.R"], cwd=tmp_path, capture_output=True, text=True)
    if "there is no package" in done.stderr:
        pytest.skip("jsonlite is not installed: apt-get install r-cran-jsonlite")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    ours = public.fit("income", ["age", "hours"], model="ols")
    assert found["line"] == pytest.approx(list(ours.predicting.values()), rel=1e-6)
    assert found["coef"] == pytest.approx(fitted.coef.tolist())
    assert found["errors"] == pytest.approx(fitted.inference.std_err.tolist(), rel=1e-6)
    new = pd.DataFrame({"age": [40, 120], "hours": [38, 10], "region": ["south", "north"]})
    assert found["predicted"] == pytest.approx(of_formula.results_.predict(new).tolist(), rel=1e-6)
