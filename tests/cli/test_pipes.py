"""What goes into a pipe or a file: lines as long as they are, each interval beside its coefficient."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, release

NAMES = ["the_age_of_the_person_in_years", "hours_of_work_in_the_last_week", "income_of_the_household"]
DOMAIN = Domain({name: {"low": 0, "high": 1, "unit": "unit"} for name in NAMES})


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipes") / "r.json"
    X = np.random.default_rng(0).random((3_000, 2))
    table = pd.DataFrame(np.column_stack([X, X.mean(axis=1)]), columns=NAMES)
    release(table, domain=DOMAIN, targets=NAMES[2:], epsilon=4, delta=1e-6).save(path)
    return path


def piped(*arguments, **environment):
    """What a command writes into a pipe."""
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR", "TERM")}
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=own | environment, timeout=120)
    return ran.stdout.splitlines()


def test_a_coefficient_has_its_interval_in_its_line(released):
    lines = piped("model", released)
    heads = [line for line in lines if "estimate" in line and "0.975]" in line]
    assert len(heads) == 1
    for name in NAMES[:2]:
        assert len([line for line in lines if line.strip().startswith(name)]) == 1
    row = next(line for line in lines if line.strip().startswith(NAMES[0])).split()
    assert len([cell for cell in row if cell.replace(".", "").replace("-", "").isdigit()]) >= 4


def test_paragraphs_are_one_line_each(released):
    lines = piped("check", released) + piped("model", released)
    assert max(map(len, lines)) > 100
    assert [line for line in lines if line.startswith(("Estimand: ", "Intervals are about ")) and line.endswith(".")]


def test_a_width_that_is_told_counts(released):
    assert max(map(len, piped("model", released, COLUMNS="60")[1:])) <= 60  # the title is for the terminal to wrap
