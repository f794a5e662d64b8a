"""The ledger on the command line, as a custodian uses it."""

import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from discreet.cli.demo import SCHEMA, people

OLD = Path(__file__).parents[1] / "files" / "ledger.0.2.0.zip"
INIT = ("ledger", "init", "people.ledger", "--account", "clinic", "--epsilon", 3, "--delta", 1e-6, "--others", "1,5e-7")
FIT = ("fit", "people.csv", "--schema", "people.toml", "--target", "income", "--delta", 1e-7, "--n-jobs", 1)
RELEASE = ("release", "people.csv", "--schema", "people.toml", "--epsilon", 0.2, "--delta", 1e-7, "--n-jobs", 1)


@pytest.fixture
def here(run, tmp_path, monkeypatch):
    """A folder with a table, its schema and a ledger."""
    for name in ("DISCREET_LEDGER", "DISCREET_ACCOUNT", "DISCREET_PURPOSE"):
        monkeypatch.delenv(name, raising=False)
    pacsv.write_csv(pa.table(people(2000)), tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    assert run(*INIT).code == 0
    return tmp_path


def spent(run, account="clinic"):
    told = json.loads(run("ledger", "show", "people.ledger", "--json").out)
    return next(one for one in told["accounts"] if one["account"] == account)


def test_every_release_of_the_command_line_is_counted(run, here):
    ledger = ("--ledger", "people.ledger")
    ran = run(*FIT, "--epsilon", 0.5, *ledger, "--purpose", "yearly report")
    assert "Counted in people.ledger, account 'clinic'" in ran.said
    assert "Counted as entry 2 of ledger" in ran.said
    ran = run(*RELEASE, *ledger, "--formula", "income ~ age + age:hours", "--json")
    assert json.loads(ran.out)["certificate"]["ledger"][0]["entry"] == 4
    logistic = (*FIT[:4], "--target", "sex", "--method", "DPLogisticRegression", "--epsilon", 0.5, "--delta", 1e-7)
    assert run(*logistic, *ledger, "--out", "sex.json").code == 0
    assert spent(run)["others_left"] == [1.0, 5e-7]  # its noise is Gaussian
    other = (*FIT, "--method", "ObjectivePerturbation", "--epsilon", 0.5, "--out", "other.json")
    assert run(*other, *ledger).code == 0
    told = spent(run)
    assert told["releases"] == 4
    assert told["others_left"] == [0.5, pytest.approx(4e-7)]
    words = run("ledger", "history", "people.ledger").said
    for word in ("yearly report", "income ~ age + age:hours", "DPLogisticRegression", "released"):
        assert word in words
    assert json.loads(run("ledger", "history", "people.ledger", "--json").out)[0]["purpose"] == "yearly report"
    assert run("ledger", "verify", "people.ledger", "--witness", "sex.json").code == 0


def test_what_does_not_fit_is_refused_and_writes_nothing(run, here):
    assert run(*FIT, "--epsilon", 1.5, "--ledger", "people.ledger").code == 0
    before = spent(run)
    ran = run(*FIT, "--epsilon", 1.9, "--ledger", "people.ledger", "--out", "more.json")
    assert ran.code == 2
    assert "would exceed the account 'clinic' of the ledger people.ledger" in ran.said
    assert not (here / "more.json").exists()
    assert spent(run) == before


def test_the_environment_names_the_ledger(run, here, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", "people.ledger")
    monkeypatch.setenv("DISCREET_PURPOSE", "nightly")
    assert "Counted in" in run(*RELEASE).said
    assert "nightly" in run("ledger", "history").said
    assert "1 release paid for" in run("ledger", "show").said
    ran = run("pdp", "people.csv", "--release", "people.release.json", "--out", "pdp.parquet")
    assert ran.code == 0, ran.said
    assert spent(run)["releases"] == 1


def test_the_demo_spends_nothing(run, here, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", "people.ledger")
    monkeypatch.setattr("discreet.cli.demo.ROWS", 2000)
    assert run("demo").code == 0
    monkeypatch.setenv("DISCREET_LEDGER", "people.ledger")
    assert spent(run)["releases"] == 0


def test_without_a_ledger_that_is_said_once(run, here):
    ran = run(*RELEASE)
    assert ran.said.count("Not counted together") == 1
    assert "Not counted" not in run(*RELEASE, "--json", "--force").said
    assert run(*RELEASE, "--request", "r", "--force").code == 2


def test_a_request_is_made_once(run, here):
    asked = (*RELEASE, "--ledger", "people.ledger", "--request", "nightly")
    assert run(*asked).code == 0
    ran = run(*asked, "--force")
    assert ran.code == 2
    assert "was paid for already, as entry 2" in ran.said
    assert spent(run)["releases"] == 1


def test_tables_are_charged_with_their_population(run, here):
    ran = run("ledger", "init", "people.ledger", "--account", "clinic/visits", "--rows-per-person", 2)
    assert "2 rows a person (the limits of clinic)" in ran.said
    assert "Name the account" in run(*RELEASE, "--ledger", "people.ledger").said
    assert run(*RELEASE, "--ledger", "people.ledger", "--account", "clinic/visits").code == 0
    assert spent(run)["spent"] == spent(run, "clinic/visits")["spent"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--account", "lab"), "epsilon is required"),
        (("--account", "lab/visits"), "needs the account of its population first"),
        (("--account", "lab", "--epsilon", 1, "--delta", 1e-6, "--others", "1"), "give an epsilon and a delta"),
        (("--account", "lab", "--epsilon", 1, "--delta", 1e-6, "--neighbors", "twins"), "neighbors must be one of"),
        (("--account", "lab", "--epsilon", 1, "--delta", 1e-6, "--public-outcomes", "y"), "needs neighbors"),
    ],
)
def test_bad_accounts_make_no_file(run, tmp_path, options, said):
    ran = run("ledger", "init", "new.ledger", *options)
    assert ran.code == 2
    assert said in ran.said
    assert list(tmp_path.iterdir()) == []


def test_an_account_is_opened_once(run, here):
    ran = run(*INIT)
    assert ran.code == 2
    assert "its limits are fixed" in ran.said


def test_what_is_exported_tells_that_an_older_file_was_put_back(run, here):
    older = (here / "people.ledger").read_bytes()
    assert run(*RELEASE, "--ledger", "people.ledger").code == 0
    assert run("ledger", "export", "people.ledger", "--head", "--out", "head.json").code == 0
    assert run("ledger", "export", "people.ledger", "--out", "all.json").code == 0
    witnesses = ("--witness", "head.json", "--witness", "all.json", "--witness", "people.release.json")
    ran = run("ledger", "verify", "people.ledger", *witnesses)
    assert ran.code == 0
    assert "is as it was written" in ran.said
    for name in here.glob("people.ledger*"):
        name.unlink()
    (here / "people.ledger").write_bytes(older)
    assert run("ledger", "verify", "people.ledger").code == 0
    ran = run("ledger", "verify", "people.ledger", *witnesses, "--json")
    assert ran.code == 1
    assert sum("an older copy was put back" in flaw for flaw in json.loads(ran.out)["flaws"]) == 3


def test_what_a_plan_says_still_fits_does(run, here):
    assert run(*RELEASE, "--ledger", "people.ledger").code == 0
    told = json.loads(run("ledger", "plan", "people.ledger", "--delta", 1e-7, "--releases", "1,3", "--json").out)
    one, three = (each["epsilon"] for each in told["gaussian"])
    assert three < one
    for i in range(3):
        given = ("--epsilon", three, "--ledger", "people.ledger", "--out", f"{i}.json")
        assert run(*RELEASE[:4], "--delta", 1e-7, *given).code == 0
    assert (
        run(*RELEASE[:4], "--epsilon", 0.1, "--delta", 1e-7, "--ledger", "people.ledger", "--out", "x.json").code == 2
    )


def test_a_plan_tells_how_good_models_would_be(run, here):
    plan = ("ledger", "plan", "people.ledger", "--schema", "people.toml", "--rows", 2000, "--target", "income")
    ran = run(*plan, "--features", "age", "--releases", "1")
    assert ran.code == 0, ran.said
    assert "income" in ran.said
    assert "epsilon of each" in ran.said


def test_the_page_is_whole_and_escapes_names(run, here):
    assert run(*RELEASE, "--ledger", "people.ledger", "--purpose", "<script>alert(1)</script>").code == 0
    ran = run("ledger", "show", "people.ledger", "--html", "page.html")
    assert ran.code == 0
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert page.count("<svg") == 1
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert run("ledger", "show", "people.ledger", "--html", "page.html").code == 2
    assert run("ledger", "show", "people.ledger", "--account", "lab").code == 2


@pytest.mark.parametrize("command", ["show", "history", "verify", "plan"])
def test_a_ledger_that_is_not_there_is_told(run, tmp_path, command):
    ran = run("ledger", command, "none.ledger")
    assert ran.code in (1, 2)
    assert "There is no ledger none.ledger" in ran.said
    assert list(tmp_path.iterdir()) == []


def test_what_a_restored_and_a_migrated_ledger_cannot_tell_is_said(run, here):
    assert run("ledger", "backup", "people.ledger", "--out", "copy").code == 0
    ran = run("ledger", "restore", "copy", "new.ledger")
    assert ran.code == 0
    assert "charge this one alone" in ran.said
    with zipfile.ZipFile(OLD) as archive:
        for name in ("people.ledger", "people.ledger-wal"):
            (here / name.replace("people", "old")).write_bytes(archive.read(name))
    ran = run("ledger", "migrate", "old.ledger")
    assert ran.code == 0
    assert "only a witness can tell" in ran.said
