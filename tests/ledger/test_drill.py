"""The drill of a custodian's bad day, in short; docs/results/custody.md has the long one."""

import json
import subprocess
import sys

import pytest


@pytest.mark.more
@pytest.mark.parametrize("storage", [(), ("--postgres",)], ids=["sqlite", "postgres"])
def test_after_kills_and_a_lost_file_nothing_is_overspent_and_nothing_acknowledged_is_lost(storage, request):
    if storage:
        request.getfixturevalue("database_server")
    command = [sys.executable, "-m", "benchmarks.ledger_drill", "--rounds", "3", "--held", "120", *storage]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    assert found["wrong"] == []
    assert found["flaws"] == []
    assert (found["paid"], found["spent exactly"]) == (120, True)
    assert found["acknowledged"] <= 120
    assert found["restored"] == 3
