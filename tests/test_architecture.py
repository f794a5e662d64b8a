"""The one-way flow: private data, one gate, public results; read off the imports in the source."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
LEVELS = {
    "base": r"errors|text|unavailable|grid|checks|laplace|losses|columns|arrow_columns|values|contrasts|derived|domain"
    r"|encoding|formula|parsing|schema|sensitivity|split|files|signing|progress|starting|digits|randomness|samplers|noise"
    r"|ball|issuing|later|blas|drawing|privacy(\..*)?|napp\.(asked|augmented|noise|regularizers)",
    "public": r"released|saved|equations|results|models|penalised|selection|design|inference|reading|summary|units"
    r"|solve(\..*)?|effects|plots(\..*)?|report(\..*)?|comparison|pairs|fitted|glm\.results|theory(\..*)?"
    r"|many_results|many_models|many_inference|many_reading|napp\.algorithm",
    "private": r"moments|summing|histogram|public_outcomes|rows|blocks|per_instance(\..*)?|sources(\..*)?",
    "gate": r"release|release_many|perturbed|drawn|descent|shaped|batches|napp\.gate",
    "top": r"|__main__|arguments|commands_(check|pdp|plan|reproduce|schema)|linear(\..*)?"
    r"|glm(\.(?!results).*)?|multi(\..*)?|sampling(\..*)?|planning(\..*)?|napp(\.(estimator|models))?|registry|cli|console|demo",
}
ALLOWED = {
    "base": {"base"},
    "public": {"base", "public"},
    "private": {"base", "private"},
    "gate": {"base", "moments", "histogram", "rows", "blocks", "released", "release", "solve.newton", "drawn"}
    | {"napp.algorithm"},
    "top": set(LEVELS),
}
LINES, FUNCTION_LINES = 300, 60


def module(path):
    """Name of a file's module without the package: '' for the package itself, 'solve' for solve/__init__.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module(path): path for path in sorted(ROOT.rglob("*.py"))}


def level(name):
    found = [where for where, pattern in LEVELS.items() if re.fullmatch(pattern, name)]
    assert len(found) == 1, f"discreet.{name} has no level: say in this test and in the design where it belongs"
    return found[0]


@cache
def tree(name):
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def own(name, imported, what):
    """The module of ours that `from imported import what` or `import imported` reaches, or None."""
    if imported.split(".")[0] != "discreet":
        return None
    inner = imported.removeprefix("discreet").lstrip(".")
    deeper = f"{inner}.{what}".lstrip(".") if what else inner
    if deeper in FILES:
        return deeper
    assert inner in FILES, f"discreet.{name} imports {imported}, which does not exist"
    return None if (inner, what) == ("", "__version__") else inner


@cache
def imports(name):
    """Modules of ours and of others that a module imports anywhere, inside functions too."""
    ours, others = set(), set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"discreet.{name} has a relative import"
            pairs = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            pairs = [(alias.name, None) for alias in node.names]
        else:
            continue
        for imported, what in pairs:
            mine = own(name, imported, what)
            if mine is not None:
                ours.add(mine)
            others.add(imported.split(".")[0])
    return frozenset(ours - {name}), frozenset(others)


def closure(name):
    """Every module of ours that a module reaches, by any number of steps; packages it lies in do not count."""
    reached, new = set(), {name}
    while new:
        reached |= new
        new = {other for known in new for other in imports(known)[0]} - reached
    return reached - {name}


@pytest.mark.parametrize("name", FILES)
def test_a_module_imports_only_what_its_level_may(name):
    allowed = ALLOWED[level(name)]
    for other in imports(name)[0]:
        assert level(other) in allowed or other in allowed, f"discreet.{name} must not import discreet.{other}"


@pytest.mark.parametrize("name", [name for name in FILES if re.fullmatch(LEVELS["public"], name)])
def test_the_public_side_never_reaches_the_private_side(name):
    reached = {other: level(other) for other in closure(name)}
    assert not {"private", "gate", "top"} & set(reached.values()), reached


@pytest.mark.parametrize("name", [name for name in FILES if re.fullmatch(LEVELS["private"], name)])
def test_the_private_side_reaches_neither_noise_nor_releases(name):
    reached = closure(name)
    assert not {"digits", "randomness", "laplace", "samplers", "noise", "ball", "issuing"} & reached
    assert not {"public", "gate", "top"} & {level(other) for other in reached}


def test_the_closure_sees_what_it_must():
    """The test above would be empty if imports inside functions, or second steps, went unseen."""
    assert "models" in imports("released")[0]
    assert "schema" in imports("domain")[0]
    assert {"released", "solve.equations", "domain", "files", "columns"} <= closure("results")
    assert {"moments", "sources.parquet", "randomness", "released"} <= closure("release")
    assert {level(name) for name in FILES} == set(LEVELS)


def test_only_the_gates_see_exact_statistics_or_rows_and_noise():
    private = {name for name in FILES if re.fullmatch(LEVELS["private"], name)}
    noise = {"digits", "randomness", "laplace", "samplers", "noise", "ball", "issuing"}
    both = [n for n in FILES if noise & imports(n)[0] and private & imports(n)[0]]
    assert both == ["batches", "descent", "drawn", "napp.gate", "perturbed", "release", "release_many", "shaped"]


OPTIONAL = {
    "pandas": [],
    "opendp": [],
    "polars": ["sources.polars"],
    "duckdb": ["sources.duckdb"],
    "dp_accounting": ["privacy.iterates"],
    "cryptography": ["signing"],
}


@pytest.mark.parametrize("package", OPTIONAL)
def test_packages_of_users_are_imported_by_one_file_at_most(package):
    assert [name for name in FILES if package in imports(name)[1]] == OPTIONAL[package]


def test_packages_of_users_are_imported_only_when_used():
    """Scikit-learn may import pandas."""
    packages = set(OPTIONAL) - {"pandas"}
    code = f"import sys, discreet.cli.app; sys.exit(bool({packages} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", FILES)
def test_files_and_functions_stay_small(name):
    path = FILES[name]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES
    for node in ast.walk(tree(name)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno - node.lineno < FUNCTION_LINES, f"{name}.{node.name} is too long"


def isort_style(name):
    """Constants, then classes, then functions, each in order of the alphabet."""
    return not name.isupper(), not name[0].isupper(), name


def test_exports_are_sorted_and_complete():
    exported = discreet.__all__
    assert exported == sorted(exported, key=isort_style)
    assert len(set(exported)) == len(exported)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree(""))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(exported) == {name for name in imported if not name.startswith("_")}
    assert all(hasattr(discreet, name) for name in exported)
