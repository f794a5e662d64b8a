"""The command line: what each command does, prints and returns, and what it refuses."""

import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_table import people

from discreet import DPLinearRegression, PrivateMoments
from discreet.core.files import digest
from discreet.results.report import report

SCHEMA = """\
[columns]
age    = { low = 18, high = 90, unit = "year" }
region = { levels = ["north", "south", "west"] }
hours  = { low = 0, high = 80 }
income = { low = 0, high = 200000, unit = "EUR" }
"""
PROMISE = ["--epsilon", 1, "--delta", 1e-6]
FIT = ["fit", "people.parquet", "--schema", "people.toml", "--target", "income", *PROMISE]
RELEASE = ["release", "people.parquet", "--schema", "people.toml", *PROMISE]


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.Table.from_pandas(people(2000), preserve_index=False), tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text(SCHEMA)
    return tmp_path


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# -------------------------------------------------------------------- the way through


def test_from_a_file_to_a_schema_to_a_release_to_models(run, folder):
    (folder / "people.toml").unlink()
    assert run("schema", "init", "people.parquet").code == 0
    form = (folder / "people.toml").read_text()
    assert [line.split()[0] for line in form.splitlines()[-4:]] == ["age", "region", "hours", "income"]
    unfilled = run(*FIT)
    assert unfilled.code == 2
    assert "'age' still says FILL IN" in unfilled.said

    (folder / "people.toml").write_text(SCHEMA)
    assert "fits the file" in run("schema", "check", "people.toml", "people.parquet").said
    fitted = run(*FIT, "--features", "age,hours", "--out", "fit.json")
    assert fitted.code == 0
    for words in ("income", "age", "hours", "EUR/year", "Certificate", "epsilon = 1", "fit.json"):
        assert words in fitted.said
    assert "region" not in PrivateMoments.load(folder / "fit.json").domain.columns

    assert run(*RELEASE, "--out", "all.json").code == 0
    assert "region[south]" in run("model", "all.json", "--target", "income").said
    assert "hours" not in run("model", "all.json", "--target", "income", "--features", "age", "--model", "ols").said
    assert "age" in run("select", "all.json", "--target", "income").said
    checked = run("check", "all.json")
    assert (checked.code, "FAILS" in checked.said) == (0, False)


@pytest.mark.parametrize("outcome", ["log1p(income)", "region[south]"])
def test_outcomes_that_are_made_and_levels_go_all_the_way(run, folder, outcome):
    text, table = f"{outcome} ~ age + hours", ["people.parquet", "--schema", "people.toml", *PROMISE]
    assert run("fit", *table, "--formula", text, "--out", "fit.json").code == 0
    assert run("release", *table, "--formula", text, "--out", "all.json").code == 0
    for name in ("fit.json", "all.json"):
        assert PrivateMoments.load(folder / name).stages
        assert run("check", name).code == 0
    assert "age" in run("select", "all.json", "--formula", text).said
    assert "age" in run("model", "all.json", "--formula", text).said
    planned = run(
        "plan", "--schema", "people.toml", "--rows", 2000, "--formula", text, "--epsilon", 1, "--draws", 2,
        "--methods", "DPLinearRegression",
    )  # fmt: skip
    assert (planned.code, "std err" in planned.said or "standard errors" in planned.said) == (0, True)


MACHINE_READABLE = {
    "fit": (FIT, {"target", "params", "guarantee", "release", "certificate"}),
    "release": (RELEASE, {"release", "certificate"}),
    "model": (["model", "all.json", "--target", "income"], {"target", "params", "guarantee"}),
    "compare": (["compare", "all.json", "all.json", "--target", "income"], {"models", "difference", "conf_int"}),
    "select": (["select", "all.json", "--target", "income"], {"target", "probability", "verdict", "guarantee"}),
    "check": (["check", "all.json"], {"ok", "epsilon", "findings", "guarantee"}),
    "methods": (["methods"], None),
}


@pytest.mark.parametrize("command", MACHINE_READABLE)
def test_json_is_the_only_thing_on_standard_output(command, run, folder):
    run(*RELEASE, "--out", "all.json")
    arguments, keys = MACHINE_READABLE[command]
    ran = run(*arguments, "--json")
    body = json.loads(ran.out)
    assert ran.code == 0
    assert keys is None or keys <= set(body)


def test_what_is_printed_is_what_is_saved(run, folder):
    printed = json.loads(run(*FIT, "--json").out)
    released = PrivateMoments.load(folder / printed["release"])
    assert released.fit("income").coefficients == printed["params"]
    assert printed["pvalues"].keys() == printed["units"].keys() == printed["params"].keys()
    assert 0 < printed["rsquared"] < 1
    assert released.certificate.to_dict() == printed["certificate"]
    assert printed["guarantee"]["status"] == "verified"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--method", "adassp"], "verified"),
        (["--method", "AdaSSP", "--published", "wang2018"], "claimed"),
        (["--method", "SSP", "--neighbors", "replace-one"], "verified"),
        (["--rows", 2000], "verified"),
        (["--method", "OPS", "--rows", 2000], "verified"),
        (["--method", "adaops"], "verified"),
        (["--method", "AdaOPS", "--published", "wang2018"], "claimed"),
        (["--method", "NAPP", "--set", "penalty=l2", "--set", "alpha=3"], "verified"),
        (["--method", "NAPP", "--published", "li2021", "--set", "alpha=3", "--set", "selection=VS+"], "claimed"),
        (["--method", "NoisyGradientDescent", "--rows", 2000, "--neighbors", "replace-one"], "verified"),
    ],
)
def test_options_reach_the_certificate(options, status, run, folder):
    certificate = json.loads(run(*FIT, *options, "--json").out)["certificate"]
    assert certificate["guarantee"]["status"] == status
    assert certificate["guarantee"]["neighbors"] == ("replace-one" if "replace-one" in options else "add-remove")
    assert certificate["rows"] == (2000 if "--rows" in options else None)


@pytest.mark.parametrize(("method", "code"), [("AdaOPS", 0), ("OutputPerturbation", 0), ("SubsampleAggregate", 0)])
def test_released_coefficients_are_checked_like_any_release(method, code, run, folder):
    assert run(*FIT, "--method", method, "--rows", 2000, "--out", "model.json").code == 0
    checked = run("check", "model.json", "--json")
    assert checked.code == code
    assert json.loads(checked.out)["epsilon"] <= 1


def test_a_narrow_terminal_shows_what_a_check_found(run, folder, monkeypatch):
    """Long names of what was released must not push the verdict out of the picture."""
    from discreet.cli import console

    run(*FIT, "--method", "AdaOPS", "--rows", 2000, "--out", "model.json")
    monkeypatch.setattr(console.out, "_width", 80)
    words = run("check", "model.json").out.split()
    assert words.count("ok") == 3
    assert "promised" in words


def test_only_what_is_vouched_for_is_recommended_for_publication(run, folder):
    assert "publish it" in run(*FIT).out.splitlines()[-1]
    claimed = run(*FIT, "--method", "SSP", "--published", "wang2018", "--out", "claimed.json").out.splitlines()[-1]
    assert "we do not vouch for it" in claimed


def test_a_paper_by_its_old_name_is_told_its_new_one(run, folder):
    ran = run(*FIT, "--method", "SSP", "--published", "000", "--json")
    assert json.loads(ran.out)["certificate"]["guarantee"]["status"] == "claimed"
    assert 'published="000" is the old name of published="wang2018"' in ran.said


def test_printed_constants_that_bound_nothing_fail_the_check(run, folder):
    assert run(*FIT, "--method", "AdaOPS", "--published", "wang2018", "--out", "model.json").code == 0
    checked = run("check", "model.json", "--json")
    assert checked.code == 1
    assert json.loads(checked.out)["epsilon"] is None


def test_parameters_of_a_method_are_set(run, folder):
    found = run(*FIT, "--method", "DPRidge", "--set", "alpha=0.25", "--json")
    assert json.loads(found.out)["alpha"] == 0.25
    assert run(*FIT, "--method", "OPS", "--rows", 2000, "--set", "calibration=balanced", "--out", "b.json").code == 0
    for wrong in ("alpha", "epsilon=9", "n_jobs=1", "radius=1"):
        refused = run(*FIT, "--method", "DPRidge", "--set", wrong, "--out", "never.json")
        assert refused.code == 2
        assert "NAME among alpha, covariance, estimand, narrow, stages." in refused.said
    assert not (folder / "never.json").exists()


def test_delta_follows_from_declared_rows(run, folder):
    arguments = [*FIT[:-2], "--rows", 2000, "--json"]
    assert json.loads(run(*arguments).out)["guarantee"]["delta"] == 1 / 2000**2


def test_methods_lists_every_method_with_its_status(run):
    for method in json.loads(run("methods", "--json").out):
        assert method["name"] in run("methods").said
        assert method["status"].startswith("verified")


# -------------------------------------------------------------------- reports and comparisons


def test_a_report_is_written_beside_the_release(run, folder):
    printed = json.loads(run(*FIT, "--report", "r.html", "--json").out)
    released = PrivateMoments.load(folder / printed["release"])
    assert printed["report"] == "r.html"
    assert (folder / "r.html").read_text() == report(released_results(folder, printed), released)


def released_results(folder, printed):
    fitted = PrivateMoments.load(folder / printed["release"]).fit("income")
    return replace(fitted, model=printed["model"])


def test_a_report_of_a_model_of_a_release(run, folder):
    run(*RELEASE, "--out", "all.json")
    arguments = [
        "model",
        "all.json",
        "--target",
        "income",
        "--features",
        "age",
        "--model",
        "lasso",
        "--report",
        "m.html",
    ]
    ran = run(*arguments)
    assert (ran.code, "The report is in m.html" in ran.said) == (0, True)
    page = (folder / "m.html").read_text()
    assert "<h1>income ~ age</h1>" in page
    assert "may be noise alone" not in page  # letters are outlines
    assert page.count("<svg") == 3
    again = run(*arguments)
    assert (again.code, "m.html exists already" in again.said, "--report" in again.said) == (2, True, True)
    assert run(*arguments, "--force").code == 0
    assert (folder / "m.html").read_text() == page


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("there.html", "there.html exists already"),
        ("absent/r.html", "--report"),
        ("r.json", "would replace the release"),
    ],
)
def test_a_report_without_a_place_is_refused_before_anything_is_read(place, words, run, folder, no_noise_yet):
    (folder / "there.html").write_text("mine")
    before = listing(folder)
    ran = run(*FIT, "--out", "r.json", "--report", place)
    assert (ran.code, words in ran.said) == (2, True)
    assert listing(folder) == before


def test_two_releases_are_compared(run, folder):
    for name in ("2024", "2025"):
        assert run(*RELEASE, "--out", f"{name}.release.json").code == 0
    ran = run("compare", "2024.release.json", "2025.release.json", "--target", "income", "--features", "age,region")
    assert ran.code == 0
    for words in ("income: 2024 and 2025", "2025 - 2024", "region[south]", "EUR/year", "Together epsilon = "):
        assert words in ran.said
    assert "hours" not in ran.said


def test_saved_models_are_compared_as_they_are(run, folder):
    run(*RELEASE, "--out", "all.json")
    released = PrivateMoments.load(folder / "all.json")
    released.fit("income", ["age"]).save(folder / "short.json")
    released.fit("income").save(folder / "long.json")
    ran = run("compare", "short.json", "long.json")
    assert ran.code == 0
    assert "one release, whose guarantee covers both" in ran.said
    assert "not in it" in ran.said
    refused = run("compare", "short.json", "long.json", "--target", "income")
    assert (refused.code, "saved model is used as it is" in refused.said) == (2, True)
    mixed = run("compare", "short.json", "all.json", "--formula", "income ~ age + hours", "--json")
    assert set(json.loads(mixed.out)["models"][1]["params"]) == {"(intercept)", "age", "hours"}
    assert run("compare", "short.json", "all.json").code == 2  # no outcome
    assert run("compare", "short.json", "people.toml").code == 2


def test_wide_tables_are_divided_and_nothing_is_lost(run, folder, monkeypatch):
    from discreet.cli import console

    run(*RELEASE, "--out", "all.json")
    summary = PrivateMoments.load(folder / "all.json").fit("income").summary()
    monkeypatch.setattr(console.out, "_width", 60)
    ran = run("model", "all.json", "--target", "income")
    words = ran.out.split()
    assert max(map(len, ran.out.splitlines()[1:])) <= 60
    for row in summary.rows:
        assert all(word in words for cell in row for word in cell.split())
        assert words.count(row[0]) >= 2


# -------------------------------------------------------------------- exit codes of check


def saved(folder, **options):
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": (0, 1), "bounds_y": (0, 1)} | options
    rng = np.random.default_rng(0)
    model = DPLinearRegression(**given).fit(rng.uniform(0, 1, (300, 2)), rng.uniform(0, 1, 300))
    model.release_.save(folder / "r.json", simulation=True)
    return folder / "r.json"


def edited(path, *, sign):
    """A certificate that promises more than its noise keeps; signed anew or not."""
    body = json.loads(path.read_text())
    body["certificate"]["guarantee"]["epsilon"] = 0.5
    if sign:
        body["sha256"] = digest(body)
    path.write_text(json.dumps(body))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: saved(folder), 0),
        (lambda folder: saved(folder, random_state=0), 1),
        (lambda folder: edited(saved(folder), sign=True), 1),
        (lambda folder: edited(saved(folder), sign=False), 2),
        (lambda folder: saved(folder).write_text("{"), 2),
        (lambda folder: None, 2),
    ],
    ids=["sound", "simulation", "promises too much", "edited", "truncated", "absent"],
)
def test_exit_code_of_check(change, code, run, tmp_path):
    change(tmp_path)
    assert run("check", "r.json").code == code
    ran = run("check", "r.json", "--json")
    assert ran.code == code
    if code < 2:
        assert json.loads(ran.out)["ok"] is (code == 0)
    else:
        assert ran.out == ""


# -------------------------------------------------------------------- refusals


def cut(folder):
    path = folder / "people.parquet"
    path.write_bytes(path.read_bytes()[:-200])


def with_entry(old, new):
    return lambda folder: (folder / "people.toml").write_text(SCHEMA.replace(old, new))


def nothing(folder):
    pass


REFUSED = {
    "no such file": (nothing, ["fit", "absent.parquet", *FIT[2:]], "no file absent.parquet"),
    "no such schema": (nothing, [*FIT[:3], "absent.toml", *FIT[4:]], "absent.toml"),
    "truncated file": (cut, FIT, "people.parquet"),
    "unknown feature": (nothing, [*FIT, "--features", "age,shoe"], "'shoe' is not declared"),
    "unknown target": (nothing, [*FIT[:5], "shoe", *FIT[6:]], "'shoe' is not declared"),
    "column not in the file": (with_entry("hours ", "shoes "), FIT, "'shoes' is declared but not in the data"),
    "schema not filled in": (with_entry("80", '"FILL IN"'), FIT, "'hours' still says FILL IN"),
    "schema that is not TOML": (with_entry("= {", "={{"), FIT, "people.toml is not valid TOML"),
    "bounds inverted": (with_entry("high = 80", "high = -1"), FIT, "'hours'"),
    "level missing": (with_entry(', "west"', ""), FIT, "'region' holds a category that is not declared"),
    "unknown method": (nothing, [*FIT, "--method", "magic"], "no method 'magic'"),
    "unknown relation": (nothing, [*FIT, "--neighbors", "friends"], "neighbors must be one of"),
    "nothing published": (nothing, [*FIT, "--published", "wang2018"], "--published"),
    "epsilon 0": (nothing, [*FIT[:7], 0, *FIT[8:]], "epsilon must be"),
    "delta 1": (nothing, [*FIT[:-1], 1], "delta must lie"),
    "no delta": (nothing, FIT[:-2], "delta is required"),
    "no epsilon": (nothing, FIT[:6], "--epsilon"),
    "no folder": (nothing, [*FIT, "--out", "absent/r.json"], "--out"),
    "in a file": (nothing, [*FIT, "--out", "people.toml/r.json"], "--out"),
    "onto a folder": (lambda folder: (folder / "sub").mkdir(), [*FIT, "--out", "sub", "--force"], "--out"),
    "release, epsilon": (nothing, [*RELEASE[:5], -1, *RELEASE[6:]], "epsilon must be"),
    "release, target": (nothing, [*RELEASE, "--targets", "shoe"], "shoe"),
    "threads": (nothing, [*FIT, "--n-jobs", 0], "n_jobs must be"),
    "unknown command": (nothing, ["fti"], "fti"),
    "schema of nothing": (nothing, ["schema", "init", "absent.parquet"], "no file absent.parquet"),
    "schema in no folder": (nothing, ["schema", "init", "people.parquet", "--out", "absent/s.toml"], "--out"),
}
LATE = {"level missing"}
"""Found in the rows, so after the counts of the outcome; nothing is released all the same."""


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_with_exit_code_2_and_nothing_is_written(name, run, folder, request):
    if name not in LATE:
        request.getfixturevalue("no_noise_yet")
    prepare, arguments, words = REFUSED[name]
    prepare(folder)
    before = listing(folder)
    ran = run(*arguments)
    assert ran.code == 2
    assert words in ran.said
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert listing(folder) == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_read(run, folder, no_noise_yet):
    (folder / "locked").mkdir(mode=0o500)
    ran = run(*FIT, "--out", "locked/r.json")
    assert (ran.code, "--out" in ran.said) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (FIT, "people.income.release.json"),
        (RELEASE, "people.release.json"),
        (["schema", "init", "people.parquet"], "people.toml"),
    ],
    ids=["fit", "release", "schema init"],
)
def test_an_existing_file_is_replaced_only_by_force(arguments, place, run, folder, monkeypatch):
    (folder / place).write_text(SCHEMA)
    with monkeypatch.context() as patched:
        patched.setattr("discreet.data.sources.parquet.ParquetSource.parts", lambda *_: pytest.fail("rows were read"))
        ran = run(*arguments)
    assert ran.code == 2
    assert f"{place} exists already" in ran.said
    assert (folder / place).read_text() == SCHEMA
    assert run(*arguments, "--force").code == 0
    assert (folder / place).read_text() != SCHEMA


@pytest.mark.parametrize("command", [FIT, RELEASE], ids=["fit", "release"])
def test_a_disk_that_is_full_leaves_nothing_behind(command, run, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "r.json")

    monkeypatch.setattr("discreet.core.files.os.fsync", full)
    before = listing(folder)
    ran = run(*command)
    assert ran.code == 2
    assert "No space left on device" in ran.said
    assert listing(folder) == before


def test_many_outcomes_from_one_release(run, tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 2))
    frame = pd.DataFrame(np.hstack([X, X @ rng.uniform(0, 0.5, (2, 4))]), columns=["a", "b", "t0", "t1", "t2", "t3"])
    frame.to_parquet(tmp_path / "people.parquet")
    lines = "".join(f"{name} = {{ low = 0, high = 1 }}\n" for name in frame.columns)
    (tmp_path / "people.toml").write_text("[columns]\n" + lines)
    given = "people.parquet --schema people.toml --epsilon 5 --delta 1e-6 --targets t0,t1,t2,t3"
    assert run("release", *given.split()).code == 0
    shown = run("model", "people.release.json")
    assert shown.code == 0
    assert "4 outcomes ~ a + b" in shown.said
    facts = json.loads(run("model", "people.release.json", "--json", "--features", "a").out)
    assert list(facts["outcomes"]) == ["t0", "t1", "t2", "t3"]
    assert list(facts["outcomes"]["t2"]["params"]) == ["(intercept)", "a"]
    assert run("model", "people.release.json", "--target", "t1").code == 0
    assert run("check", "people.release.json").code == 0
    assert run("model", "people.release.json", "--model", "ridge").code == 2
    fit = run("fit", *given.replace("--targets t0,t1,t2,t3", "--target t0 --features a,b --method reusecov").split())
    assert fit.code == 0
