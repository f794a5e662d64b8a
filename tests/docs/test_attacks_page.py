"""The table of attacks on docs/results/audit.md is that of the stored outcomes and of the tests that exist."""

import json

import pytest
from experiments import attacks, audit

FACTS = json.loads(attacks.OUT.read_text(encoding="utf-8"))


def test_the_page_shows_the_stored_outcomes():
    assert attacks.table(FACTS) in audit.PAGE.read_text(encoding="utf-8")


def test_every_attack_is_in_the_table_in_its_own_words():
    assert {row["file"]: row["attack"] for row in FACTS["rows"]} == {
        file.stem: attacks.sentence(file) for file in attacks.files()
    }


@pytest.mark.parametrize("row", FACTS["rows"], ids=lambda row: row["file"])
def test_an_attack_broke_the_earlier_version_and_does_not_break_this_one(row):
    assert row["before"].get("failed", 0) > 0
    assert row["now"].get("failed", 0) == 0
    assert row["now"].get("passed", 0) > 0
