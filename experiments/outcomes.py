"""Error against the number of outcomes: ``python -m experiments.outcomes [--data DIR]``.

Every method keeps the same promise, for replace-one neighbours, with noise that is exactly calibrated; the seed makes
each release a simulation. The error is the mean squared difference of predictions from those of least squares without
privacy, over that of predicting the mean: 0 is as good as without privacy, 1 is as good as nothing.

* independent: one regression for each outcome at mu/sqrt(l); a few of the outcomes are run, for they are exchangeable.
* gaussian, projection: `ReuseCov` with private and with public outcomes, solved noise-aware.
* ridge: the same releases solved with 004's lambda.

Writes experiments/results/outcomes.json, docs/outcomes.png and the table in docs/outcomes.md.
"""

from __future__ import annotations

import argparse
import math
import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import report

from discreet import DiscreetWarning, Domain
from discreet.many_models import many_equations, many_results
from discreet.multi import independent_runs
from discreet.multi.wiring import projected, split_budget, with_squares
from discreet.public_outcomes import PublicOutcomes
from discreet.release import promised
from discreet.release_many import release_many
from discreet.sensitivity import norm as norm_of
from discreet.solve.many import Solve, solve_many
from experiments import study, uci
from experiments.outcomes_data import KINDS, UCI_SETS, Problem, genotype_chunks, problem, uci_chunks

GRID = [1, 4, 16, 64, 256, 1024, 4096]
DRAWS = {1: 12, 4: 8, 16: 6, 64: 4, 256: 3, 1024: 2, 4096: 1}
RUNS = 6
PRODUCTS = {20_000: 4096, 200_000: 256}
"""The projection needs Y'Y, which for 200,000 rows is formed for this many outcomes only, to save time."""

EPSILON = 1.0


def load(cell: study.Cell) -> tuple[Problem, list[int], int]:
    """The table of a cell, the numbers of outcomes, and up to which one there is a projection."""
    if cell["data"] in KINDS:
        n, d, grid = cell["n"], 100, GRID
        products, chunks = PRODUCTS[n], genotype_chunks(n, d, GRID[-1], cell["data"], seed=0)
        bounds: dict[str, Any] = {"bounds_X": (0, 2)}
    else:
        grid, products = GRID[:-1], GRID[-2]
        chunks = uci_chunks(cell["data"], Path(cell["folder"]), products)
        first = next(chunks)
        d, chunks = first[0].shape[1], uci_chunks(cell["data"], Path(cell["folder"]), products)
        bounds = {"data_norm": 1.0}
    names = [f"x{i}" for i in range(d)], [f"y{j}" for j in range(grid[-1])]
    domain = Domain.from_bounds(*names, bounds_y=(-1, 1), **bounds)
    windows = [(draw * count, draw * count + count) for count in grid for draw in draws(count, grid)]
    return problem(chunks, domain, grid[-1], windows, products), grid, products


def draws(count: int, grid: list[int]) -> range:
    """Repeats, each with outcomes of its own."""
    return range(min(DRAWS[count], grid[-1] // count))


def work(cell: study.Cell) -> study.Rows:
    """All methods on one table."""
    p, grid, products = load(cell)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for count in grid:
            for draw in draws(count, grid):
                rows += shared(p, draw * count, count, draw, products)
            rows += independent(p, count)
    return [row | {"rows": p.n} for row in rows]


def shared(p: Problem, start: int, count: int, draw: int, products: int) -> study.Rows:
    """ReuseCov with private outcomes, and with public ones where Y'Y is there."""
    domain = p.moments.domain
    targets = p.moments.targets[start : start + count]
    design = tuple(e.name for e in domain.entries[: len(p.A)])
    promise = promised(EPSILON, uci.delta(p.n), p.n, "replace-one")
    found = []
    for mechanism in ("gaussian", "projection") if start + count <= products else ("gaussian",):
        public = mechanism == "projection"
        facts = _public(p, start, count) if public else None
        split = split_budget(domain, design, targets, promise, float(p.n) if public else None)
        seed = [draw, count, int(public)]
        released = release_many(
            p.moments, design, targets, split, promise, "study", p.n, np.random.default_rng(seed),
            None if facts is None else facts.norm,
        )  # fmt: skip
        raw = many_equations(released, targets)
        e = raw if facts is None else projected(with_squares(raw, facts), facts, norm_of(design, domain))
        methods: dict[str, Solve] = {mechanism: "noise-aware", f"{mechanism}, ridge": "ridge"}
        for name, solve in methods.items():
            fitted = many_results(released, e, solve_many(e, solve), solve, raw)
            off = fitted.params - p.best[start : start + count]
            excess = np.einsum("ji,ik,jk->j", off, p.A, off)
            ratio = float(excess.sum() / p.explained(len(p.best))[start : start + count].sum())
            found.append({"method": name, "outcomes": count, "error": ratio})
    return found


def _public(p: Problem, start: int, count: int) -> PublicOutcomes:
    at = slice(start, start + count)
    gram = np.asarray(p.YY)[at, at]
    norm2 = math.ceil(p.norms[start, start + count] ** 2 * 2.0**40)
    return PublicOutcomes(p.n, norm2, p.sums[at], gram, None)


def independent(p: Problem, count: int) -> study.Rows:
    """A few of the runs that an outcome each would take."""
    names = [name for name in p.moments.domain.columns if name.startswith("x")]
    rows = []
    for j in range(min(RUNS, len(p.best))):
        rng = np.random.default_rng([j, count])
        given = {"epsilon": EPSILON, "delta": uci.delta(p.n), "rows": p.n, "neighbors": "replace-one", "runs": count}
        (fit,) = independent_runs(p.moments, [p.moments.targets[j]], names, random_state=rng, **given)
        off = np.array(list(fit.params.values())) - p.best[j]
        error = float(off @ p.A @ off / p.explained(len(p.best))[j])
        rows.append({"method": "independent", "outcomes": count, "error": error})
    return rows


# ---------------------------------------------------------------- the page


def table_of(rows: study.Rows) -> list[dict[str, Any]]:
    """Mean error by table, number of outcomes and method."""
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["rows"], row["outcomes"], row["method"]].append(row["error"])
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for (data, n, count, method), errors in groups.items():
        line = found.setdefault((data, n, count), {"data": data, "rows": n, "outcomes": count})
        line[method] = round(float(np.mean(errors)), 5)
        if len(errors) > 1:
            line[f"{method} +-"] = round(float(np.std(errors, ddof=1) / math.sqrt(len(errors))), 5)
    return list(found.values())


METHODS = ("independent", "gaussian", "projection", "gaussian, ridge", "projection, ridge")


def markdown(table: list[dict[str, Any]]) -> str:
    """The table for the page."""
    head = "| table | rows | outcomes | " + " | ".join(METHODS) + " |\n|---" + "|---:" * (len(METHODS) + 2) + "|\n"
    lines = [
        f"| {r['data']} | {r['rows']:,} | {r['outcomes']:,} | "
        + " | ".join(f"{r[m]:.3g}" if m in r else "" for m in METHODS)
        + " |"
        for r in table
    ]
    return head + "\n".join(lines) + "\n"


def draw(table: list[dict[str, Any]], path: Path) -> None:
    """One panel a table: error against the number of outcomes, both logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = list(dict.fromkeys((row["data"], row["rows"]) for row in table))
    columns = 2
    figure, axes = plt.subplots(
        math.ceil(len(panels) / columns), columns, figsize=(10, 3.1 * math.ceil(len(panels) / columns)),
        sharex=True, sharey=True, layout="constrained", squeeze=False,
    )  # fmt: skip
    styles = {
        "independent": "s-",
        "gaussian": "o-",
        "projection": "^-",
        "gaussian, ridge": "o:",
        "projection, ridge": "^:",
    }
    colors = {
        "independent": "C3",
        "gaussian": "C0",
        "projection": "C2",
        "gaussian, ridge": "C0",
        "projection, ridge": "C2",
    }
    for ax, (data, n) in zip(axes.flat, panels, strict=False):
        own = [row for row in table if (row["data"], row["rows"]) == (data, n)]
        for method in METHODS:
            points = [(row["outcomes"], row[method]) for row in own if method in row]
            ax.loglog(*zip(*points, strict=True), styles[method], color=colors[method], label=method, markersize=4)
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.set_title(f"{data}, n = {n:,}", fontsize=10)
        ax.set_ylim(8e-3, 2)
        ax.set_xlabel("outcomes")
        ax.set_ylabel("error / error of the mean")
    axes.flat[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)


def write_page(text: str, page: Path) -> None:
    """Put the table between its marks."""
    marks = "<!-- table -->", "<!-- end of table -->"
    content = page.read_text(encoding="utf-8")
    inside = re.compile(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), re.DOTALL)
    page.write_text(inside.sub(f"{marks[0]}\n\n{text}\n{marks[1]}", content), encoding="utf-8")


def sizes() -> None:
    """Print R^2 |w|^2/4, what X'X's noise costs over one outcome's X'y, for each kind of made-up outcomes."""
    names = [f"x{i}" for i in range(100)], [f"y{j}" for j in range(64)]
    domain = Domain.from_bounds(*names, bounds_X=(0, 2), bounds_y=(-1, 1))
    for kind in KINDS:
        w = problem(genotype_chunks(20_000, 100, 64, kind, seed=0), domain, 64, [], 0).best.copy()
        w[:, 0] += w[:, 1:].sum(axis=1)  # the intercept of columns that are mapped to [-1, 1]
        print(f"{kind}: {101 * np.mean(np.sum(w**2, axis=1)) / 4:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.outcomes", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path("experiments/results/log/outcomes.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("experiments/results/outcomes.json"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--sizes", action="store_true", help="only print R^2 |w|^2/4 of the made-up tables")
    given = parser.parse_args()
    if given.sizes:
        return sizes()
    cells: list[study.Cell] = [{"data": kind, "n": n} for n in (200_000, 20_000) for kind in KINDS]
    folder = uci.data_folder(given.data)
    cells += [{"data": name, "folder": str(folder)} for name in UCI_SETS if folder is not None]
    rows = study.run("outcomes", cells, work, given.log, given.jobs)
    table = table_of(rows)
    for row in table:
        row.pop("folder", None)
    report("Error against the number of outcomes", ("data", "rows", "outcomes", *METHODS), table, given.out)
    draw(table, given.docs / "outcomes.png")
    write_page(markdown(table), given.docs / "outcomes.md")


if __name__ == "__main__":
    main()
