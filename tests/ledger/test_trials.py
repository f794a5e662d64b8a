"""Races for the last release and kill -9 at every step, in short; benchmarks.ledger_trials has the long run."""

import json
import subprocess
import sys

import pytest
from benchmarks.ledger_trials import RESULTS, STEPS


def tried(trial, place, rounds):
    """In a process of its own, which forks before it has any thread."""
    command = [sys.executable, "-m", "benchmarks.ledger_trials", trial, str(place), "--rounds", str(rounds)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.more
def test_of_all_who_race_for_the_last_release_one_wins(place):
    found = tried("race", place, 2)
    assert (found["least released in a round"], found["most released in a round"]) == (1, 1)
    assert found["processes"] * found["threads"] == 128
    assert found["flaws"] == []


@pytest.mark.more
def test_who_dies_at_any_step_has_spent_and_leaves_all_whole(place):
    found = tried("kill", place, 3)
    assert found["wrong"] == []
    assert found["flaws"] == []
    assert list(found["steps"]) == list(STEPS)
    assert found["steps"]["inside reserve"] == {"spent": 0, "file": False}
    assert found["steps"]["inside draw"] == {"spent": 1, "file": False}


@pytest.mark.skipif(not RESULTS.exists(), reason="the long run was not made here")
def test_the_long_run_that_is_kept_found_nothing():
    for name, found in json.loads(RESULTS.read_text(encoding="utf-8")).items():
        if name == "machine":
            continue
        assert found["flaws"] == []
        if "race" in name:
            assert found["released in all"] == found["rounds"] == 200
            assert found["most released in a round"] == 1
        else:
            assert found["wrong"] == []
