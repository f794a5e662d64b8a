"""What a request costs the people whom a table's schema and its account name."""

import pytest
from conftest import SCHEMA, Town, set_up, write_people

from discreet.errors import BudgetError
from discreet.ledger import Ledger

PERSON = 'person = "patient"\nrows_per_person = 4\n'


def panel(folder, **terms):
    """A town whose table people has patients, charged to an account with some terms."""
    config = set_up(folder)
    Ledger(folder / "people.ledger").open("town/patients", **terms)
    text = config.read_text(encoding="utf-8").replace('account = "town/people"', 'account = "town/patients"')
    config.write_text(text, encoding="utf-8")
    (folder / "people.toml").write_text(PERSON + SCHEMA, encoding="utf-8")
    write_people(folder / "people.csv")
    lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    named = [f"{lines[0]},patient", *(f"{line},{i // 8}" for i, line in enumerate(lines[1:]))]
    (folder / "people.csv").write_text("\n".join([*named, ""]), encoding="utf-8")
    return config


@pytest.mark.parametrize(
    ("terms", "times"),
    [
        ({"person": "patient"}, 1),
        ({"person": "patient", "rows_per_person": 8}, 1),
        ({"person": "visit", "rows_per_person": 3}, 6),
        ({"rows_per_person": 8}, 16),
        ({}, 2),
    ],
)
def test_a_price_counts_as_the_ledger_will(tmp_path, terms, times):
    town = Town(panel(tmp_path, **terms))
    asked = {"table": "people", "kind": "fit", "epsilon": 0.05, "formula": "income ~ age"}
    price = town("ada", "POST", "/quote", json=asked).json()["price"]
    assert price["people"] == times
    assert ("counted" in price["words"]) == (times > 1)


def test_a_table_that_its_account_cannot_count_is_not_served(tmp_path):
    config = panel(tmp_path, person="visit")
    with pytest.raises(BudgetError, match=r"'patient'.*'visit'"):
        Town(config)


def test_pages_name_the_people(tmp_path):
    town = Town(panel(tmp_path, person="patient", rows_per_person=8))
    told = town.service.balances.told("town/patients")
    assert "persons by 'patient', at most 8 rows each" in told["promise"]
    assert "persons by &#39;patient&#39;" in town.browser("ada").get("/tables/people").text


@pytest.mark.parametrize(
    ("terms", "times"), [({"person": "patient", "rows_per_person": 8}, 1), ({"rows_per_person": 4}, 8)]
)
def test_what_was_quoted_is_what_is_charged(tmp_path, terms, times):
    town = Town(panel(tmp_path, **terms))
    assert town.done(table="people", epsilon=0.05)["state"] == "done"
    entry = [one.facts for one in Ledger(tmp_path / "people.ledger").entries() if one.facts["kind"] == "reserve"][-1]
    assert (entry["times"], entry["cost"]["person"]) == (times, "patient")


def test_persons_can_be_absorbed(tmp_path):
    """Nothing is told apart in the service: quotes, plans, rehearsals, fits, releases and models from releases."""
    town = Town(panel(tmp_path, person="patient", rows_per_person=8))
    within = {"table": "people", "epsilon": 0.05, "formula": "income ~ age + sex | patient"}
    assert town("ada", "POST", "/quote", json=within | {"kind": "fit"}).json()["price"]["people"] == 1
    refused = town("ada", "POST", "/quote", json=within | {"kind": "fit", "formula": "income ~ age | sex"})
    assert refused.status_code == 422
    assert "Only persons can be absorbed" in refused.json()["detail"]
    for kind in ("plan", "try", "fit"):
        done = town.done(kind=kind, **within)
        assert done["state"] == "done", (kind, done)
    asked = {"kind": "release", "table": "people", "epsilon": 0.05, "formulas": ["income ~ age + sex | patient"]}
    release = town("ada", "POST", "/jobs", json=asked).json()["id"]
    town.work()
    model = {"kind": "model", "table": "people", "release": release, "formula": "income ~ age | patient"}
    fitted = town("ada", "POST", "/jobs", json=model).json()["id"]
    town.work()
    for job in (release, fitted):
        assert town("ada", "GET", f"/jobs/{job}").json()["state"] == "done"
