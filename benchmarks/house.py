"""The layout in numbers: names at the top, files, lines, public names, and the way of one fit; now and at a revision.

``python -m benchmarks.house --before REV``. The way of one fit is that of ``DPLinearRegression.fit`` from a pandas
frame: the modules of the package whose functions it calls, and how often a call leads from one module to another.
"""

from __future__ import annotations

import argparse
import ast
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import at_revision

ROOT = Path(__file__).parents[1]


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
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    )
    top = [path for path in src.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))]
    return {
        "names at the top": len([path for path in top if not path.name.startswith("__")]),
        "files": len(files),
        "lines": sum(sizes),
        "median file": int(statistics.median(sizes)),
        "largest file": max(sizes),
        "median function": int(statistics.median(functions)),
        "public functions and classes": public,
        "lines that import, %": round(100 * imports / sum(sizes), 1),
    }


def way(src: Path) -> dict[str, Any]:
    """Modules, and changes of module, on the way of one fit."""
    import numpy as np
    import pandas as pd

    import discreet

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (500, 2)), columns=["a", "b"])
    y = pd.Series(X.sum(axis=1), name="y")
    domain = discreet.Domain({"a": (0, 1), "b": (0, 1), "y": (0, 2)})

    def fit() -> None:
        discreet.DPLinearRegression(epsilon=1, delta=1e-6, domain=domain, n_jobs=1, random_state=1).fit(X, y)

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
    return {"modules on the way of a fit": len(seen), "changes of module": changes, "calls": calls}


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
    return layout(src) | way(src) | times


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
        (ROOT / "benchmarks/results/house.json").write_text(json.dumps({"before": before, "now": now}, indent=1) + "\n")


if __name__ == "__main__":
    main()
