"""The way of a request: asked for, priced, paid for once, answered; for programs, in SQLite and in PostgreSQL."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import write_people

from discreet.ledger import audit
from discreet.privacy import gdp
from discreet.results.saved import check_saved
from discreet.service.steps import load_release

pytestmark = pytest.mark.more


@pytest.fixture(params=["sqlite", "postgres"])
def place(request):
    return request.getfixturevalue("town" if request.param == "sqlite" else "team")


def paid(town):
    """How many releases the ledger counts."""
    return sum(entry.facts["kind"] == "reserve" for entry in town.service.ledger.entries())


def test_from_the_schema_to_a_certified_model(place):
    assert place("ada", "GET", "/me").json() == {"name": "ada", "role": "analyst"}
    table = place("ada", "GET", "/tables/people").json()
    assert table["schema"]["columns"]["sex"] == {"levels": ["F", "M"]}
    assert place("ada", "GET", "/tables/people/synthetic?rows=7").text.count("\n") == 8
    asked = {"kind": "fit", "table": "people", "formula": "income ~ age + sex", "epsilon": 0.5}
    quote = place("ada", "POST", "/quote", json=asked).json()
    assert quote["fits"]
    assert quote["serves"] == []
    assert 0 < quote["share"] < 1
    job = place.done(formula="income ~ age + sex", purpose="a test")
    assert job["state"] == "done"
    assert set(job["files"]) == {"release.json", "results.json", "certificate.json", "report.html"}
    assert paid(place) == 1
    content = place("ada", "GET", f"/jobs/{job['id']}/files/release.json").text
    assert all(finding.ok for finding in check_saved(load_release(content)))
    certificate = place("ada", "GET", f"/jobs/{job['id']}/files/certificate.json").json()
    assert certificate["guarantee"]["epsilon"] == 0.5
    assert certificate["ledger"][0]["account"] == "town/people"
    (entry,) = [e.facts for e in place.service.ledger.entries() if e.facts["kind"] == "reserve"]
    assert (entry["who"], entry["purpose"], entry["formula"]) == ("ada", "a test", "income ~ age + sex")
    spent = place("ada", "GET", "/tables/people").json()["budget"]
    assert spent["epsilon_spent"] > 0
    assert not audit.chain_flaws(place.service.ledger.entries())


def test_what_costs_nothing_is_not_charged(town):
    for kind in ("plan", "try"):
        job = town.done(kind=kind)
        assert (job["state"], job["price"]) == ("done", None)
    plan = json.loads(town("ada", "GET", f"/jobs/{town.done(kind='plan')['id']}/files/plan.json").text)
    assert {found["epsilon"] for found in plan["expected"]} == {0.25, 0.5, 1.0}
    assert paid(town) == 0


def test_a_plan_tells_standard_errors_if_it_is_told_how_much_columns_vary(town):
    def planned(**guesses):
        job = town.done(kind="plan", formula="income ~ age", **guesses)
        return json.loads(town("ada", "GET", f"/jobs/{job['id']}/files/plan.json").text)

    assert planned()["expected"][0]["std_err"] == [None, None]
    about = ["age.mean=50", "age.sd=18", "income.sd=12000"]
    assert all(value > 0 for value in planned(about=about, r_squared=0.5)["expected"][-1]["std_err"])
    wrong = town.done(kind="plan", formula="income ~ age", about=["age=50"])
    assert wrong["state"] == "refused"
    assert "give COLUMN.mean=" in wrong["answer"]


def test_a_model_that_a_release_serves_is_free(place):
    first = place.done(formula="income ~ age + sex")
    smaller = place.done("bob", formula="income ~ sex")
    assert (smaller["kind"], smaller["price"], smaller["state"]) == ("model", None, "done")
    assert smaller["asked"]["release"] == first["id"]
    ridge = place.done("bob", formula="income ~ sex", method="DPRidge")
    assert (ridge["kind"], ridge["asked"]["model"]) == ("model", "ridge")
    assert paid(place) == 1
    more = place.done("bob", formula="income ~ sex", epsilon=0.6)
    assert more["kind"] == "fit"  # the release is less accurate than what was asked for
    other = place.done("bob", formula="income ~ sex", reuse=False)
    assert other["kind"] == "fit"
    assert paid(place) == 3


def test_a_release_of_rows_that_have_changed_is_not_taken_for_one_of_those_that_are_there(town, tmp_path):
    first = town.done(formula="income ~ age + sex")
    town.service.catalogue.close("people", "a test", "test")
    town.service.catalogue.check("people", "test")  # the same rows: nothing changed
    assert town.done("bob", formula="income ~ sex")["kind"] == "model"
    write_people(tmp_path / "people.csv", rows=1500)
    town.service.catalogue.check("people", "test")
    assert town.done("bob", formula="income ~ sex")["kind"] == "fit"
    listed = {one["release"]: one["current"] for one in town("ada", "GET", "/tables/people/releases").json()}
    assert not listed[first["id"]]
    assert sorted(listed.values()) == [False, True]


def test_a_release_for_several_models(town):
    asked = {"kind": "release", "table": "people", "formulas": ["income ~ age", "income ~ sex"], "epsilon": 0.5}
    job = town("ada", "POST", "/jobs", json=asked).json()
    town.work()
    listed = town("bob", "GET", "/tables/people/releases").json()
    assert [one["release"] for one in listed] == [job["id"]]
    both = {"kind": "model", "table": "people", "release": job["id"], "formula": "income ~ age + sex"}
    made = town("bob", "POST", "/jobs", json=both).json()
    town.work()
    assert town("bob", "GET", f"/jobs/{made['id']}").json()["state"] == "done"
    none = both | {"formula": "income ~ region"}
    made = town("bob", "POST", "/jobs", json=none).json()
    town.work()
    told = town("bob", "GET", f"/jobs/{made['id']}").json()
    assert told["state"] == "refused"
    assert "region" in told["answer"]


def test_classes_are_gaussian_releases_and_draw_on_the_common_pot(town):
    job = town.done(formula="sex ~ age", method="DPLogisticRegression", epsilon=0.3)
    assert job["state"] == "done"
    assert job["files"] == ["results.json", "certificate.json", "report.html"]
    assert town.ask(formula="sex ~ income", method="DPLogisticRegression", epsilon=0.3).status_code == 202


def test_several_classes_are_one_model_from_the_request_to_the_report(town):
    job = town.done(formula="region ~ age + sex", method="DPLogisticRegression", epsilon=0.5)
    assert (job["state"], job["price"][:11]) == ("done", "epsilon 0.5")
    files = {name: town("ada", "GET", f"/jobs/{job['id']}/files/{name}").text for name in job["files"]}
    results = json.loads(files["results.json"])
    assert (results["link"], results["classes"]) == ("softmax", ["north", "south", "west"])
    assert "south: age" in files["report.html"]
    page = town.browser("ada").get(f"/jobs/{job['id']}")
    assert page.status_code == 200
    assert "region ~ age + sex" in page.text


def test_a_model_of_classes_is_priced_as_a_gaussian_release(town):
    asked = {"table": "people", "kind": "fit", "formula": "region ~ age", "method": "DPLogisticRegression"}
    price = town("ada", "POST", "/quote", json=asked | {"epsilon": 0.5}).json()["price"]
    assert price["mu"] == pytest.approx(gdp.mu(epsilon=0.5, delta=1e-7))


def test_a_plan_for_several_classes_says_that_there_is_none(town):
    job = town.done(kind="plan", formula="region ~ age", method="DPLogisticRegression")
    assert job["state"] == "refused"
    assert "three or more classes" in job["answer"]
    page = town.browser("ada").get(f"/jobs/{job['id']}").text
    assert "No plan" in page
    assert "Spend, and fit it" in page


def test_a_request_over_budget_is_refused_and_costs_nothing(town):
    assert town.done(epsilon=2.0)["state"] == "done"
    refused = town.ask(formula="income ~ region", epsilon=2.0)
    assert refused.status_code == 409
    assert "would exceed the account 'town'" in refused.json()["detail"]
    assert paid(town) == 1


def test_a_race_for_the_rest_of_a_budget_is_decided_by_the_ledger(place):
    """Both fit when they are asked for; the ledger refuses the second, in words, and the job says so."""
    jobs = [place.ask(formula=f, epsilon=2.0).json()["id"] for f in ("income ~ age", "income ~ region")]
    place.work()
    states = [place("ada", "GET", f"/jobs/{job}").json() for job in jobs]
    assert [job["state"] for job in states] == ["done", "refused"]
    assert "would exceed" in states[1]["answer"]
    assert paid(place) == 1


def test_the_same_reference_is_the_same_job(town):
    one = town.ask(reference="nightly").json()
    assert town.ask(reference="nightly").json()["id"] == one["id"]
    town.work()
    assert town.ask(reference="nightly").json()["id"] == one["id"]  # though a release would serve it now
    assert paid(town) == 1
    assert town.ask(reference="nightly", epsilon=0.7).status_code == 422
    assert town.ask("bob", reference="nightly", reuse=False).json()["id"] != one["id"]


def test_the_same_reference_from_many_threads_at_once(place):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: place.ask(reference="at once"), range(16)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_the_custodian_approves_or_refuses(place):
    waiting = place.ask(table="asked").json()
    assert waiting["state"] == "waiting"
    place.work()
    assert place("ada", "GET", f"/jobs/{waiting['id']}").json()["state"] == "waiting"
    listed = place("carl", "GET", "/custody/waiting").json()
    assert [(job["id"], job["person"]) for job in listed] == [(waiting["id"], "ada")]
    assert listed[0]["price"].startswith("epsilon 0.5, delta 1e-07")
    assert place("carl", "POST", f"/custody/jobs/{waiting['id']}", json={"approve": True}).status_code == 200
    place.work()
    assert place("ada", "GET", f"/jobs/{waiting['id']}").json()["state"] == "done"
    again = place("carl", "POST", f"/custody/jobs/{waiting['id']}", json={"approve": True})
    assert again.status_code == 409
    other = place.ask(table="asked", formula="income ~ region").json()
    refusal = {"approve": False, "why": "ask for less"}
    place("carl", "POST", f"/custody/jobs/{other['id']}", json=refusal)
    told = place("ada", "GET", f"/jobs/{other['id']}").json()
    assert (told["state"], told["answer"]) == ("refused", "The custodian refused: ask for less")
    assert paid(place) == 1
    log = [event["what"] for event in place("carl", "GET", "/custody/log").json()]
    assert {"approved a request", "refused a request", "asked for a fit"} <= set(log)


def test_a_request_that_did_not_begin_can_be_cancelled(town):
    job = town.ask().json()
    assert town("ada", "DELETE", f"/jobs/{job['id']}").json()["state"] == "cancelled"
    assert town("ada", "DELETE", f"/jobs/{job['id']}").status_code == 409
    town.work()
    assert paid(town) == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"formula": "income ~ agee"}, "Did you mean 'age'?"),
        ({"formula": "~ age"}, "name the outcome"),
        ({"formula": "region ~ age"}, "or take DPLogisticRegression"),
        ({"formula": "region ~ age", "method": "DPPoissonRegression"}, "or take DPLogisticRegression"),
        ({"formula": "region ~ age", "kind": "plan"}, "or take DPLogisticRegression"),
        ({"formula": "region ~ poly(age, 9)", "method": "DPLogisticRegression"}, "at most 20 coefficients"),
        ({"epsilon": 4.0}, "at most 3"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"formula": "income ~ (age + sex + region)**3 + poly(age, 9) + bs(age, df=9)"}, "at most 20 coefficients"),
        ({"method": "NAPP"}, "method"),
        ({"table": "no-such"}, "no such table"),
        ({"kind": "steal"}, "kind"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(shared_town, wrong, words):
    answer = shared_town.ask(**wrong)
    assert answer.status_code in (404, 422)
    assert words in answer.json()["detail"]


def test_what_only_a_rehearsal_finds_is_told_in_full(town):
    """The outcome of a logistic regression must be a category: made-up people show it, before any row is read."""
    job = town.done(formula="income ~ age", method="DPLogisticRegression", epsilon=0.2)
    assert job["state"] == "refused"
    assert "income" in job["answer"]
    assert paid(town) == 0
    assert town.service.catalogue.is_open("people")


def test_many_unfinished_requests_are_too_many(town):
    answers = [town.ask(formula="income ~ age", epsilon=0.1, kind="plan") for _ in range(21)]
    assert [answer.status_code for answer in answers] == [202] * 20 + [429]
    assert town.ask("bob", kind="plan").status_code == 202


def test_the_openapi_document_lists_every_path(shared_town):
    document = shared_town.http.get("/v1/openapi.json").json()
    assert {"/v1/jobs", "/v1/quote", "/v1/tables/{table}/synthetic", "/v1/custody/keys"} <= set(document["paths"])
    assert all(path.startswith("/v1/") for path in document["paths"])
    assert document["components"]["schemas"]["FitRequest"]["additionalProperties"] is False
