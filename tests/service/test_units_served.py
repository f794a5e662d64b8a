"""A service whose table has persons and weights: every kind of request, every page, the ledger and the client."""

import json
import time
from typing import get_args

import pytest
from conftest import Running, Town, token_of
from panel import PANEL, SCHEMA, SHORT, check_slope, panel

from discreet import DPLinearRegression
from discreet.client import Client
from discreet.ledger import Ledger
from discreet.results.saved import check_saved, load_saved
from discreet.service.limited import SentText
from discreet.service.requests import OFFERED, Request
from discreet.service.steps import load_release, saved

pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]
CONFIG = """\
[service]
port = 0
step = 0.05
workers = 1

[tables.panel]
data = "panel.parquet"
schema = "panel.toml"
account = "town/panel"
rows = 1400
delta = 1e-6
most_epsilon = 60
about = "Visits"
"""
METHODS = {
    "DPLinearRegression": True, "DPRidge": True, "DPLasso": True, "DPElasticNet": True,
    "DPLogisticRegression": False, "DPPoissonRegression": False, "DPLinearSVC": False,
}  # fmt: skip
"""Those that a service offers, and whether they are for numbers."""


def set_up(folder):
    panel().to_parquet(folder / "panel.parquet")
    (folder / "panel.toml").write_text(SCHEMA, encoding="utf-8")
    (folder / "service.toml").write_text(CONFIG, encoding="utf-8")
    ledger = Ledger.create(folder / "people.ledger")
    ledger.open("town", epsilon=400, delta=1e-4, others=(60, 1e-5), person="patient")
    ledger.open("town/panel", person="patient")
    return folder / "service.toml"


@pytest.fixture
def clinic(tmp_path):
    town = Town(set_up(tmp_path))
    ask = town.ask
    town.ask = lambda who="ada", reference=None, **asked: ask(
        who, reference, **({"table": "panel", "epsilon": 50, "formula": "y ~ x + z"} | asked)
    )
    return town


def file(town, job, name):
    assert job["state"] == "done", job
    return town("ada", "GET", f"/jobs/{job['id']}/files/{name}").text


def model_of(content, folder):
    (folder / "model.json").write_text(content, encoding="utf-8")
    return load_saved(folder / "model.json")


def check_certificate(facts):
    assert facts["unit"] == SHORT
    assert facts["domain"]["person"] == "patient"
    assert facts["domain"]["weights"] == "w"


def reserved(town):
    return [entry.facts for entry in town.service.ledger.entries() if entry.facts["kind"] == "reserve"]


def test_the_kinds_of_requests_are_all_that_are_tried():
    assert {kind.model_fields["kind"].default for kind in get_args(Request)} == {
        "fit",
        "release",
        "model",
        "plan",
        "try",
    }
    assert set(METHODS) == set(OFFERED)


@pytest.mark.parametrize("method", [name for name, knows in METHODS.items() if knows])
def test_a_fit_is_about_weighted_persons(clinic, method, tmp_path):
    job = clinic.done(method=method, reuse=False)
    check_certificate(json.loads(file(clinic, job, "certificate.json")))
    check_slope(model_of(file(clinic, job, "results.json"), tmp_path).coef[0])
    released = load_release(file(clinic, job, "release.json"))
    assert released.domain.unit == PANEL.unit
    assert all(finding.ok for finding in check_saved(released))
    assert "patient" in file(clinic, job, "report.html")
    (entry,) = reserved(clinic)
    assert (entry["cost"]["person"], entry["times"]) == ("patient", 1)


@pytest.mark.parametrize("method", [name for name, number in METHODS.items() if not number])
def test_classes_and_counts_are_about_weighted_persons(clinic, method, tmp_path):
    counts = method == "DPPoissonRegression"
    job = clinic.done(method=method, formula="exp(y) ~ x" if counts else "g ~ x", reuse=False)
    check_certificate(json.loads(file(clinic, job, "certificate.json")))
    model = model_of(file(clinic, job, "results.json"), tmp_path)
    if counts:
        check_slope(model.coef[0])
    assert all(finding.ok for finding in check_saved(model))
    assert "patient" in file(clinic, job, "report.html")
    (entry,) = reserved(clinic)
    assert (entry["cost"]["person"], entry["times"]) == ("patient", 1)
    for kind in ("try",) if counts else ("try", "plan"):  # a made outcome has no plan
        asked = {"kind": kind, "method": method, "formula": "exp(y) ~ x" if counts else "g ~ x"}
        assert clinic.done(**asked)["state"] == "done"
    assert len(reserved(clinic)) == 1


def test_releases_and_models_of_them(clinic, tmp_path):
    asked = {"table": "panel", "kind": "release", "epsilon": 50, "formulas": ["y ~ x + z", "y ~ g + x:z"]}
    job = clinic("ada", "POST", "/jobs", json=asked).json()
    clinic.work()
    job = clinic("ada", "GET", f"/jobs/{job['id']}").json()
    check_certificate(json.loads(file(clinic, job, "certificate.json")))
    for kind in ("noise-aware", "ridge", "lasso", "elastic-net", "ols"):
        asked = {"table": "panel", "kind": "model", "release": job["id"], "formula": "y ~ x + z", "model": kind}
        made = clinic("ada", "POST", "/jobs", json=asked).json()
        clinic.work()
        made = clinic("ada", "GET", f"/jobs/{made['id']}").json()
        check_certificate(json.loads(file(clinic, made, "certificate.json")))
        check_slope(model_of(file(clinic, made, "results.json"), tmp_path).coef[0])
    free = clinic.done(formula="y ~ x + z")
    assert free["kind"] == "model"  # which the release serves
    assert len(reserved(clinic)) == 1


def test_plans_and_trials_are_about_persons(clinic):
    plan = json.loads(file(clinic, clinic.done(kind="plan"), "plan.json"))
    assert plan["facts"]["domain"]["person"] == "patient"
    tried = clinic.done(kind="try")
    assert "patient" in file(clinic, tried, "report.html")
    assert reserved(clinic) == []


def test_a_quote_is_that_of_persons(clinic):
    asked = {"kind": "fit", "table": "panel", "formula": "y ~ x", "epsilon": 50}
    quote = clinic("ada", "POST", "/quote", json=asked).json()
    assert quote["price"]["person"] == "patient"
    assert "times for a person" not in quote["price"]["words"]


@pytest.mark.parametrize("text", ["y ~ patient", "y ~ w", "w ~ x", "y ~ x + I(w + x)"])
def test_the_columns_of_the_unit_are_no_terms(clinic, text):
    answer = clinic.ask(formula=text)
    assert answer.status_code == 422
    assert "cannot be part of a model" in answer.text


def test_a_release_of_rows_does_not_serve_a_table_of_persons(clinic):
    """As 0.2.0 made them of this table: whoever asks for persons again does not get rows."""
    first = clinic.done(formula="y ~ x + z")
    rows = DPLinearRegression(epsilon=50, delta=1e-6, domain=PANEL.of_rows()).fit_source(panel(), "y", ["x", "z"])
    content = saved(rows.release_)
    clinic.service._releases[first["id"]] = SentText(content)
    again = clinic.done(formula="y ~ x + z")
    assert again["kind"] == "fit"
    assert len(reserved(clinic)) == 2


def test_pages_and_replies_name_the_unit(clinic):
    assert clinic("ada", "GET", "/tables/panel").json()["unit"] == SHORT
    assert clinic("ada", "GET", "/tables").json()[0]["unit"] == SHORT
    http = clinic.browser("ada")
    page = http.get("/tables/panel").text.replace("&#39;", "'")
    assert "Unit of privacy" in page
    assert SHORT[1:] in page
    toml = http.get("/tables/panel/schema.toml").text
    assert 'person = "patient"' in toml
    assert 'weights = "w"' in toml
    header = http.get("/tables/panel/synthetic.csv").text.splitlines()[0]
    assert {"patient", "w"} <= set(header.replace('"', "").split(","))
    form = token_of(http.get("/tables/panel/model").text)
    asked = {"formula": "y ~ patient", "epsilon": "1", "method": "DPLinearRegression"}
    refused = http.post("/tables/panel/model", data=asked | {"form": form})
    assert "cannot be part of a model" in refused.text


def test_the_client_is_told_the_unit_and_gets_models_of_persons(tmp_path):
    running = Running(set_up(tmp_path)).start()
    try:
        client = Client(running.address, running.key("clara"))
        for _ in range(100):
            if client.tables()[0]["open"]:
                break
            time.sleep(0.1)
        assert client.domain("panel") == PANEL
        assert client.table("panel")["unit"] == SHORT
        assert {"patient", "w"} <= set(client.synthetic("panel", rows=10).column_names)
        assert client.quote("panel", "y ~ x", epsilon=50)["price"]["person"] == "patient"
        assert client.plan("panel", "y ~ x", epsilon=1)["facts"]["domain"]["person"] == "patient"
        assert "patient" in client.try_out("panel", "y ~ x", epsilon=1).report
        job = client.fit("panel", "y ~ x + z", epsilon=50)
        check_certificate(job.certificate)
        check_slope(job.results.coef[0])
        assert job.release.domain.unit == PANEL.unit
        assert client.release("panel", ["y ~ g"], epsilon=1).release.domain.unit == PANEL.unit
        check_certificate(client.model("panel", job.id, "y ~ x").certificate)
        assert {one.id for one in client.jobs()} >= {job.id}
    finally:
        running.stop()
