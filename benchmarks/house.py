"""Figures of the code base: files, lines, names, duplicated decisions, modules of one fit; now and at a revision.

``python -m benchmarks.house --before REV``. One fit is ``DPLinearRegression.fit`` on a pandas frame: the figures are
the modules of the package whose functions it calls, and the number of calls from one module to another. Questions about
events and columns are calls of ``isinstance``, and patterns of ``match``, that name their classes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import at_revision

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "architecture.md"
"""The page that shows the figures, between two comments."""


def layout(src: Path) -> dict[str, Any]:
    """Figures that the files alone tell."""
    files = sorted(src.rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    sizes = [len(text.splitlines()) for text in texts.values()]
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = sum(
        isinstance(node, defined) and not node.name.startswith("_") for tree in trees.values() for node in tree.body
    )
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    imports = sum(len(lines_of(tree, is_import)) for tree in trees.values())
    top = [path for path in src.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))]
    return {
        "names at the top": len([path for path in top if not path.name.startswith("__")]),
        "files": len(files),
        "lines": sum(sizes),
        "of code": sum(code_lines(texts[file], tree) for file, tree in trees.items()),
        "of docstrings": sum(len(lines_of(tree, is_docstring)) for tree in trees.values()),
        "median file": int(statistics.median(sizes)),
        "largest file": max(sizes),
        "median function": int(statistics.median(functions)),
        "public functions and classes": public,
        "lines that import, %": round(100 * imports / sum(sizes), 1),
    }


def lines_of(tree: ast.Module, wanted: Callable[[ast.AST], bool]) -> set[int]:
    """The lines of the statements that are wanted."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and wanted(node)]
    return {line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def is_docstring(node: ast.AST) -> bool:
    """Whether a statement is the docstring of a module, a class, a function or a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def code_lines(text: str, tree: ast.Module) -> int:
    """The number of lines that are no docstring, no import, no comment and not blank."""
    written = {i for i, line in enumerate(text.splitlines(), start=1) if line.strip() and line.strip()[0] != "#"}
    return len(written - lines_of(tree, is_docstring) - lines_of(tree, is_import))


# ---------------------------------------------------------------- what is told more than once


def named(node: ast.expr) -> set[str]:
    """The names of the classes in a union, a tuple or a single name."""
    if isinstance(node, ast.BinOp):
        return named(node.left) | named(node.right)
    if isinstance(node, ast.Tuple):
        return set().union(*map(named, node.elts))
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {node.id} if isinstance(node, ast.Name) else set()


def questions(tree: ast.AST) -> Iterator[set[str]]:
    """The classes that each ``isinstance`` and each pattern of ``match`` asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield named(node.args[1])
        elif isinstance(node, ast.MatchClass):
            yield named(node.cls)


def aliases(trees: list[ast.Module], names: Callable[[str], bool]) -> set[str]:
    """Names that modules give to unions and tuples of such classes alone."""
    found = set()
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Tuple):
                parts = named(node.value)
                if parts and all(map(names, parts)):
                    found |= set().union(*map(named, node.targets))
    return found


def sequences() -> int:
    """The strings that list what a complete release of some method consists of."""
    try:
        steps = importlib.import_module("discreet.privacy.steps").STEPS
    except ImportError:
        return 0
    return sum(map(len, steps.values()))


def told(src: Path) -> dict[str, Any]:
    """How often one decision is told in several places."""
    files = sorted(src.rglob("*.py"))
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    events = aliases([*trees.values()], lambda name: name.endswith("Event")) | {"Event"}
    columns = {
        node.name
        for file, tree in trees.items()
        if file == src / "domain" / "columns.py" or file.is_relative_to(src / "domain" / "kinds")
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    asked = {file: list(questions(tree)) for file, tree in trees.items()}
    about_events = sum(
        any(name.endswith("Event") or name in events for name in names) for found in asked.values() for names in found
    )
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = Counter(node.name.lstrip("_") for node in nodes if isinstance(node, ast.ClassDef))
    alone = [node.value.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    docstrings = [text for text in alone if isinstance(text, str)]  # of constants, too
    return {
        "strings that list event sequences": sequences(),
        "isinstance on events": about_events,
        "files with isinstance on columns": sum(any(names & columns for names in found) for found in asked.values()),
        "class names used more than once": sum(count > 1 for count in classes.values()),
        'docstrings that begin with "What"': sum(text.startswith("What ") for text in docstrings),
    }


# ---------------------------------------------------------------- the way of a fit


def least(action: Callable[[], Any], repeats: int = 5) -> float:
    """CPU time of an action, the least of several."""
    found = []
    for _ in range(repeats):
        before = time.process_time()
        action()
        found.append(time.process_time() - before)
    return round(min(found), 3)


def way(src: Path) -> dict[str, Any]:
    """Modules, and changes of module, on the way of one fit; and what it takes to fit, and to check its release."""
    import numpy as np
    import pandas as pd

    import discreet

    rng = np.random.default_rng(0)

    def fitting(n: int, d: int) -> Callable[..., Any]:
        X = pd.DataFrame(rng.uniform(0, 1, (n, d)), columns=[f"x{j}" for j in range(d)])
        y = pd.Series(X.sum(axis=1), name="y")
        domain = discreet.Domain({**dict.fromkeys(X.columns, (0, 1)), "y": (0, d)})
        common: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "domain": domain, "n_jobs": 1}
        return lambda seed=1: discreet.DPLinearRegression(**common, random_state=seed).fit(X, y)

    fit, wide = fitting(500, 2), fitting(20_000, 60)
    fit()
    inside, seen, changes, last, calls = str(src), set(), 0, "", 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal changes, last, calls
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(inside):
            return
        calls += 1
        seen.add(file)
        changes += file != last
        last = file

    sys.setprofile(note)
    fit()
    sys.setprofile(None)
    found: dict[str, Any] = {"modules on the way of a fit": len(seen), "changes of module": changes, "calls": calls}
    for size, own in (("2 columns", fit), ("60 columns", wide)):
        found[f"CPU s, a fit of {size}"] = least(own)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "release.json"
            own(None).release_.save(place)
            found[f"CPU s, a check of {size}"] = least(partial(checked, place), 20)
    return found


def checked(place: Path) -> Any:
    """Check a file, at this revision or an earlier one."""
    from discreet.results.saved import check_saved, load_saved

    return check_saved(load_saved(place))


def seconds(*arguments: str) -> float:
    """CPU time of a command, the least of five."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(found), 2)


def figures(src: Path) -> dict[str, Any]:
    times = {
        "CPU s, discreet --help": seconds("-m", "discreet", "--help"),
        "CPU s, discreet --version": seconds("-m", "discreet", "--version"),
        "CPU s, import discreet": seconds("-c", "import discreet"),
        "CPU s, import of DPLinearRegression": seconds("-c", "from discreet import DPLinearRegression"),
        "CPU s, import sklearn.base": seconds("-c", "import sklearn.base"),
    }
    return layout(src) | told(src) | way(src) | times


def write(before: dict[str, Any], now: dict[str, Any], revision: str) -> None:
    """Keep the figures, and show them on the page."""
    body = {"before": before, "now": now}
    (ROOT / "benchmarks/results/house.json").write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    lines = [f"| | {revision} | now |", "|---|---:|---:|"]
    lines += [f"| {name} | {_shown(before.get(name, ''))} | {_shown(value)} |" for name, value in now.items()]
    text, shown = PAGE.read_text(encoding="utf-8"), "\n".join(lines)
    table = re.compile(r"(<!-- house -->\n).*?(\n<!-- end -->)", re.DOTALL)
    PAGE.write_text(table.sub(lambda found: f"{found[1]}{shown}{found[2]}", text), encoding="utf-8")


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="REV", help="beside this revision")
    parser.add_argument("--print", action="store_true", help="print JSON only")
    asked = parser.parse_args()
    import discreet

    now = figures(Path(discreet.__file__).parent)
    if asked.print:
        print(json.dumps(now))
        return
    before = at_revision(__file__, asked.before) if asked.before else {}
    print(f"{'':40} {'before':>10} {'now':>10}")
    for name, value in now.items():
        print(f"{name:40} {before.get(name, ''):>10} {value:>10}")
    if before:
        write(before, now, asked.before)


if __name__ == "__main__":
    main()
