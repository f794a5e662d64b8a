"""What the tests with old and new versions rest on."""

import re
import tomllib

import pytest
from tools import versions

PROJECT = tomllib.loads((versions.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_package_that_tests_need_has_a_minimum():
    needed = [*PROJECT["dependencies"], *versions._extra(PROJECT, versions.EXTRA)]
    assert len(versions.minimums(PROJECT)) == len(set(needed))
    assert {"numpy", "pyarrow", "duckdb", "hypothesis"} <= {text.split("==")[0] for text in versions.minimums(PROJECT)}


def test_the_files_that_are_run_are_there():
    assert all((versions.ROOT / name).exists() for name in (*versions.TESTS, *versions.MORE))


def test_there_is_a_python():
    found = dict(versions.pythons())
    least = int(PROJECT["requires-python"].removeprefix(">=3."))
    assert max(found) >= least
    assert list(found) == sorted(found, reverse=True)


def test_another_python_can_be_asked_for():
    found = {13: "python3.13", 12: "python3.12", 10: "python3.10"}
    assert versions.chosen("newest", None, found, 11) == 13
    assert versions.chosen("oldest", None, found, 11) == 12
    assert versions.chosen("newest", "3.12", found, 11) == 12
    for version in ("3.10", "3.14", "12"):
        with pytest.raises(SystemExit, match=r"It has 3\.12, 3\.13"):
            versions.chosen("newest", version, found, 11)


def test_classifiers_name_no_python_that_is_not_allowed():
    named = [int(found[1]) for text in PROJECT["classifiers"] if (found := re.search(r"Python :: 3\.(\d+)", text))]
    assert named == sorted(named)
    assert named[0] == int(PROJECT["requires-python"].removeprefix(">=3."))
