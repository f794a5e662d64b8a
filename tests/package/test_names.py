"""Names: one for each class, none of the old words, docstrings that begin with their subject, tests laid out as src."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import discreet

PACKAGE = Path(discreet.__file__).parent
TESTS = next(path for path in Path(__file__).parents if path.name == "tests")
FILES = sorted(PACKAGE.rglob("*.py"))
OLD = re.compile(
    r"\w*(meat|Meat|MEAT)\w*|Chart|Linked\w*|Turned\w*|turned|turned_norm|TURNED_\w+|Unread|unread|Want|OutcomesWant|wants|"
    r"Wish|wish|wishes|Asked|Sureness|parcels|LightPass|light|pots|POTS|pile_up|doors|"
    r"Course|Scouting|ScoutedModel|scouted|scouting|_?LENGTHS"
)
"""Identifiers that say nothing to an outsider, each of which has a name in the words of the field."""
FIELDS_OF_FILES = {"meat_noise"}
"""Fields of files of every version, whose names stay."""
BESIDE = {"attacks", "contracts", "docs", "experiments", "package", "tools"}
"""Folders of tests that are about more than one folder of src, or about none."""


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path):
    return str(path.relative_to(PACKAGE))


def test_every_class_name_is_used_once():
    found = defaultdict(list)
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(place(path))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize("path", FILES, ids=place)
def test_old_words_are_gone(path):
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    assert {name for name in names if OLD.fullmatch(name)} - FIELDS_OF_FILES == set()
    assert not OLD.fullmatch(path.stem)


@pytest.mark.parametrize("path", FILES, ids=place)
def test_docstrings_begin_with_their_subject(path):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree(path)) if isinstance(node, kinds)]
    assert [text.splitlines()[0] for text in texts if re.match(r"What\b", text)] == []


def test_tests_are_laid_out_as_src_is():
    folders = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    files = sorted(TESTS.rglob("test_*.py"))
    outside = [path for path in files if path.relative_to(TESTS).parts[0] not in folders | BESIDE]
    assert outside == []
    for path in files:
        first, *rest = path.relative_to(TESTS).parent.parts
        assert first in BESIDE or PACKAGE.joinpath(first, *rest).exists(), f"{path} has no folder in src"
