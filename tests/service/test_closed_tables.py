"""A closed table shows analysts one bit: that it is closed. Why it is, the custodian is told."""

import re

import pytest
from conftest import Town, set_up, write_people

from discreet.errors import DataError
from discreet.service.jobs import NEUTRAL
from discreet.service.steps import PublicTable

pytestmark = pytest.mark.more

ASKED = (
    {"formula": "income ~ age"},
    {"formula": "income ~ region"},
    {"formula": "income ~ age", "reuse": False},
    {"formula": "income ~ age", "kind": "try"},
    {"formula": "income ~ age", "kind": "plan"},
    {"formula": "income ~ agee"},
)


def cells(path):
    """A table whose second row has a cell that no number is."""
    write_people(path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], f"old,{lines[2].partition(',')[2]}", *lines[3:], ""]))


REASONS = {
    "a level that is not declared": lambda path: write_people(path, odd_region="Atlantis"),
    "a cell that is no number": cells,
    "no row": lambda path: path.write_text("age,sex,region,income\n"),
    "a missing column": lambda path: path.write_text("age,sex\n1,F\n"),
    "no file": lambda path: path.unlink(),
}


def anonymous(told):
    """What was seen, without ids and moments."""
    return re.sub(r"[0-9a-f]{32}|\d{4}-\d\d-\d\d( \d\d:\d\d)?|value=\"[\w-]{32,}\"|points=\"[^\"]*\"", "*", str(told))


def seen(town):
    """All that an analyst sees of a table: answers, pages, balances, releases, files."""
    told = []
    for who in ("ada", "bob"):
        for asked in ASKED:
            answer = town.ask(who, **asked)
            town.work()
            told.append((answer.status_code, answer.json().get("detail")))
            if answer.status_code == 202:
                job = town(who, "GET", f"/jobs/{answer.json()['id']}").json()
                told.append((job["state"], job["answer"], job["files"], job["price"]))
        quote = {"table": "people", "kind": "fit", "epsilon": 0.1, "formula": "income ~ age"}
        told.append(town(who, "POST", "/quote", json=quote).json())
        told += [town(who, "GET", f"/tables/people{more}").text for more in ("", "/releases")]
        browser = town.browser(who)
        told += [browser.get(path).text for path in ("/", "/tables/people", "/tables/people/model", "/jobs")]
    return anonymous(told)


def closed(folder, reason):
    """A service with one release, whose table is then replaced by one that does not fit."""
    folder.mkdir()
    town = Town(set_up(folder))
    assert town.done()["state"] == "done"
    reason(folder / "people.csv")
    return town


def test_whatever_closed_a_table_analysts_see_the_same(tmp_path):
    """In 0.2.0 a closed table also told whether its file had changed, and that a failed request had been charged."""
    towns = [closed(tmp_path / str(i), reason) for i, reason in enumerate(REASONS.values())]
    told = [seen(town) for town in towns]
    assert len(set(told)) == 1
    assert NEUTRAL in told[0]
    problems = {town("carl", "GET", "/custody/accounts").json()[0]["problem"] for town in towns}
    assert len(problems) == len(REASONS)  # which the custodian is told


def test_one_bit(tmp_path):
    """Asked for again, in any way, a closed table tells nothing more than that it is closed."""
    town = closed(tmp_path / "closed", REASONS["a level that is not declared"])
    seen(town)
    assert not town("ada", "GET", "/tables/people").json()["open"]
    assert [one["current"] for one in town("ada", "GET", "/tables/people/releases").json()] == [False]
    (release,) = town("ada", "GET", "/tables/people/releases").json()
    model = {"kind": "model", "table": "people", "release": release["release"], "formula": "income ~ age"}
    answer = town("ada", "POST", "/jobs", json=model)
    town.work()
    done = town("ada", "GET", f"/jobs/{answer.json()['id']}").json()
    assert done["state"] == "done"  # a release is public


def test_a_failure_after_the_check_has_the_same_words(town, monkeypatch):
    """Before the charge or after it; that it was charged, the balance says, and the custodian is told."""
    estimator = PublicTable.estimator

    def failing(self, *given, **named):
        model = estimator(self, *given, **named)
        fit = model.fit_formula

        def broken(*rows):
            fit(*rows)
            raise DataError("row 17 holds Atlantis")

        model.fit_formula = broken
        return model

    monkeypatch.setattr(PublicTable, "estimator", failing)
    told = town.done()
    assert (told["state"], told["answer"], told["files"]) == ("failed", NEUTRAL, [])
    assert "what it cost is spent" in town("carl", "GET", f"/jobs/{told['id']}").json()["problem"]


def test_a_package_that_is_missing_is_named(town, monkeypatch):
    """An ImportError quotes no data; the custodian was told its kind alone."""

    def missing(*given):
        raise ModuleNotFoundError("No module named 'parrots'", name="parrots")

    monkeypatch.setattr(town.service.catalogue, "data", missing)
    assert town.service.catalogue.check("people", "carl") == "No module named 'parrots'"
    monkeypatch.undo()
    assert town.service.catalogue.check("people", "carl") is None
    monkeypatch.setattr(PublicTable, "estimator", missing)
    told = town.done()
    assert (told["state"], told["answer"]) == ("failed", NEUTRAL)
    assert "parrots" not in str(told)
    assert town("carl", "GET", f"/jobs/{told['id']}").json()["problem"] == "No module named 'parrots'"
