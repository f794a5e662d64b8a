"""Every study, benchmark and tool can be imported: names that it takes from the library are there."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("experiments", "benchmarks", "tools", "distribution")
MODULES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for folder in FOLDERS
    for file in sorted((ROOT / folder).rglob("*.py"))
    if file.name != "__init__.py"
]


@pytest.mark.parametrize("name", MODULES)
def test_a_study_can_be_imported(name, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["study"])
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in ("discreet", *FOLDERS):
            raise
        pytest.skip(f"{error.name} is not installed")
