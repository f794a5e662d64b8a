"""Other packages in comparison: ``python -m benchmarks.peers`` measures speed, ``--page`` writes docs/results/peers.md.

Speed: seconds of the processor for one fit to rows of norm 1 in memory, the least of several, each over that of plain
least squares in the same run. Accuracy and coverage on the page are from files that other commands wrote; OpenDP and
diffprivlib on declared bounds by ``python -m benchmarks.declared --methods "OpenDP SSP" diffprivlib --epsilon 0.1 1
--out benchmarks/results/declared-peers.json``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.comparison.contenders import BY_NAME, DEFAULT, NON_PRIVATE, Task
from experiments.comparison.peers import diffprivlib
from experiments.comparison.tallies import summary
from experiments.record import report
from experiments.reproduce import RESULTS, ROOT, stored

METHODS = (DEFAULT, "AdaSSP", "NoisySGD", "Boosted AdaSSP, 10 rounds", "TukeyEM", "OpenDP SSP", "diffprivlib")
EPSILONS = (0.1, 1.0)
WIDTHS = (1.0, 3.0, 10.0)
SIZES = ((1_000, 10), (100_000, 10), (100_000, 50))
NAMES = {
    DEFAULT: "**discreet**, the default",
    "AdaSSP": "discreet, AdaSSP",
    "NoisySGD": "discreet, NoisySGD",
    "Boosted AdaSSP, 10 rounds": "Boosted AdaSSP",
    "OpenDP SSP": "OpenDP",
    NON_PRIVATE: "least squares, not private",
    "least squares": "least squares, not private",
}
PAGE = ROOT / "docs" / "results" / "peers.md"
FIGURES = ROOT / "benchmarks" / "results"


# ---------------------------------------------------------------- speed


def table(rows: int, columns: int) -> Task:
    """Made-up rows of norm 1 at most, and outcomes of size 1 at most."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, columns)) / np.sqrt(columns)
    return Task(X, np.clip(X @ rng.normal(size=columns) / 2 + 0.1 * rng.normal(size=rows), -1, 1), 1.0, 1e-6)


def speed(sizes: Iterable[tuple[int, int]], repeats: int) -> list[dict[str, Any]]:
    """Milliseconds of each method that is there, at each size, and how many times those of least squares."""
    rows = []
    for n, d in sizes:
        found = {}
        for name in (NON_PRIVATE, *METHODS):
            if BY_NAME[name].ready():
                fits = (BY_NAME[name].fit(table(n, d), np.random.default_rng(i))[1] for i in range(repeats))
                found[name] = 1000 * min(fits)
        rows += [
            {"rows": n, "columns": d, "method": name, "ms": round(ms, 3), "ratio": round(ms / found[NON_PRIVATE], 2)}
            for name, ms in found.items()
        ]
    return rows


# ---------------------------------------------------------------- the page


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])


def named(method: str) -> str:
    """What the page calls a method."""
    return NAMES.get(method, method)


def shown(value: float | None) -> str:
    """Three digits, or a dash where nothing was measured."""
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def papers() -> dict[str, Any]:
    """Errors on the papers' protocol, and over how many sets."""
    found = stored("comparison", RESULTS)
    assert found is not None
    means = {(row["method"], row["epsilon"]): row for row in summary(found[0]).to_dict("records")}
    methods = [m for m in (*METHODS, NON_PRIVATE) if (m, 1.0) in means]
    rows = [[named(m), *(shown(means[m, e]["mean"]) for e in (0.1, 0.3, 1.0, 3.0))] for m in methods]
    return {"papers": markdown(["", "epsilon 0.1", "0.3", "1", "3"], rows), "sets": means[DEFAULT, 1.0]["sets"]}


def declared() -> dict[str, Any]:
    """Errors on declared bounds, one to ten times as wide as the data, and over how many sets."""
    files = [path for name in ("declared", "declared-peers") if (path := FIGURES / f"{name}.json").exists()]
    lines = [line for path in files for line in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    means = {(line["method"], line["k"], line["epsilon"]): line["ratio"] for line in lines}
    measured = {method for method, *_ in means}
    rows = [
        [named(m), *(shown(means.get((m, k, e))) for k in WIDTHS for e in EPSILONS)]
        for m in (*METHODS, "private mean", "least squares")
        if m in measured
    ]
    head = ["", *(f"k = {k:g}, epsilon {e:g}" for k in WIDTHS for e in EPSILONS)]
    return {"declared": markdown(head, rows), "tables": max(line["tables"] for line in lines)}


def coverage() -> str:
    """How often intervals hold the truth."""
    lines = json.loads((ROOT / "experiments" / "results" / "coverage.json").read_text(encoding="utf-8"))["rows"]
    rows = []
    for epsilon in sorted({line["epsilon"] for line in lines}):
        own = [line for line in lines if line["epsilon"] == epsilon]
        given = [line for line in own if line["given"] > 0.5]
        held, widths = [100 * line["coverage"] for line in given], [line["width"] for line in given]
        cells = [
            f"{epsilon:g}",
            f"{len(given)} of {len(own)}",
            f"{np.median(held):.1f} ({min(held):.1f} to {max(held):.1f})",
        ]
        rows.append([*cells, f"{np.median(widths):.2f}"])
    return markdown(["epsilon", "populations and sizes with intervals", "coverage, %", "width over non-private"], rows)


def times(lines: list[dict[str, Any]]) -> str:
    """Seconds over those of least squares."""
    sizes = list(dict.fromkeys((line["rows"], line["columns"]) for line in lines))
    found = {(line["method"], line["rows"], line["columns"]): line for line in lines}
    methods = dict.fromkeys(line["method"] for line in lines)
    told = {key: f"{shown(line['ratio'])} ({shown(line['ms'])} ms)" for key, line in found.items()}
    rows = [[named(m), *(told.get((m, *size), "-") for size in sizes)] for m in methods]
    return markdown(["", *(f"{n:,} rows, {d} columns" for n, d in sizes)], rows)


def page() -> str:
    """The whole page, from the files."""
    body = json.loads((FIGURES / "peers.json").read_text(encoding="utf-8"))
    machine = f"{body['cpu_count']}-core {body['cpu']}"
    parts = papers() | declared() | {"coverage": coverage(), "times": times(body["rows"])}
    peer = diffprivlib.PACKAGES[0].replace("==", " ")
    words = Path(__file__).with_name("peers.template.md").read_text(encoding="utf-8")
    return words.format(**parts, machine=machine, diffprivlib=peer, opendp=f"OpenDP {body['versions']['opendp']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from stored figures, and measure nothing")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FIGURES / "peers.json")
    given = parser.parse_args()
    if not given.page:
        rows = speed(SIZES, given.repeats)
        title = "One fit: milliseconds of the processor, and times those of least squares"
        report(title, ["rows", "columns", "method", "ms", "ratio"], rows, given.out)
        return
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
