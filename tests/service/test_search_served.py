"""A table with columns whose bounds nobody knows: each paid request searches for them."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import SCHEMA, Town, set_up

from discreet import Domain, check
from discreet.service.catalogue import checked
from discreet.service.settings import Settings

AGE = 'age    = { low = 18, high = 90, unit = "year" }'
INCOME = '{ low = 0, high = 100000, unit = "EUR" }'


@pytest.fixture(scope="module")
def unknown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    config = set_up(folder)
    schema = SCHEMA.replace(INCOME, '{ type = "number", unit = "EUR" }').replace(AGE, "age = { low = 0 }")
    (folder / "people.toml").write_text(schema, encoding="utf-8")
    return Town(config)


def files_of(town, job):
    return {name: town("ada", "GET", f"/jobs/{job['id']}/files/{name}").text for name in job["files"]}


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 0.8},
        {"epsilon": 0.5, "formula": "sex ~ age + income", "method": "DPLogisticRegression"},
        {"epsilon": 0.4, "formulas": ["income ~ age + region"], "formula": None, "kind": "release"},
    ],
    ids=lambda asked: asked.get("method", asked.get("kind", "fit")),
)
def test_a_paid_request_searches_and_its_file_passes_check(unknown, asked, tmp_path):
    body = {key: value for key, value in ({"formula": "income ~ age", "kind": "fit"} | asked).items() if value}
    job = unknown("ada", "POST", "/jobs", json={"table": "people"} | body).json()
    unknown.work()
    job = unknown("ada", "GET", f"/jobs/{job['id']}").json()
    assert job["state"] == "done", job["answer"]
    files = files_of(unknown, job)
    certificate = json.loads(files["certificate.json"])
    assert certificate["searched"]
    saved = tmp_path / "saved.json"
    saved.write_text(files.get("release.json") or files["results.json"], encoding="utf-8")
    assert check(saved).ok


def test_free_requests_take_made_up_bounds_and_guesses(unknown):
    assert unknown.done(kind="try", epsilon=0.5)["state"] == "done"
    refused = unknown.done(kind="plan", epsilon=0.5)
    assert "needs a guess of the spread of each column without bounds" in refused["answer"]
    about = ["age.mean=50", "age.sd=18", "income.mean=40000", "income.sd=20000"]
    assert unknown.done(kind="plan", epsilon=0.5, about=about)["state"] == "done"
    assert unknown.browser("ada").get("/tables/people/synthetic.csv").status_code == 200
    assert "searched for" in unknown.browser("ada").get("/tables/people").text


def test_what_needs_bounds_is_refused_before_anything_is_spent(unknown):
    before = unknown.service.jobs.claim("test")
    asked = unknown.ask(formula="log(income) ~ age", epsilon=0.5)
    assert asked.status_code == 422
    assert "no declared bounds" in asked.json()["detail"]
    assert before is None


def test_settings_take_such_a_table(unknown):
    assert Settings.from_file(unknown.config).domains["people"].searched == ("age", "income")


def test_a_check_of_the_table_notices_changes_and_bad_values():
    domain = Domain({"a": "number", "b": "date", "g": ["u", "v"]})
    rows = pd.DataFrame({"a": [1.0, 2e6, -3.0], "b": pd.to_datetime(["2020-01-01", "1950-02-03", "2001-07-09"])})
    rows["g"] = ["u", "v", "u"]

    def read(frame):
        return checked(lambda: frame, domain, "t")

    problem, digest = read(rows)
    assert problem is None
    assert read(rows)[1] == digest
    for column, value in (("a", 2.5), ("a", 7e8), ("b", pd.Timestamp("2020-01-02"))):
        changed = rows.copy()
        changed.loc[0, column] = value
        assert read(changed)[1] != digest
    rows.loc[1, "a"] = np.inf
    assert read(rows)[0] is not None
