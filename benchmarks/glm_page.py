"""The tables of ``docs/results/glm.md``, from the stored figures: ``python -m benchmarks.glm_page`` writes them anew.

Each table stands between ``<!-- NAME -->`` and ``<!-- end -->``; the words around them are written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.declared_glm import MULTINOMIAL, NOT_PRIVATE, ONE_VS_REST

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/results/glm.md"

Lines = list[dict[str, Any]]


def stored(path: str) -> Lines:
    """The rows of a file of figures."""
    found: Lines = json.loads((ROOT / path).read_text(encoding="utf-8"))["rows"]
    return found


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def _chosen(lines: Lines, **facts: Any) -> Lines:
    return [line for line in lines if all(line[key] == value for key, value in facts.items())]


def _apart(lines: Lines, name: str, form: str) -> str:
    """One figure of several lines, beside each other."""
    return " / ".join(form.format(line[name]) for line in lines)


def _percent(lines: Lines, name: str) -> str:
    return " / ".join(f"{100 * line[name]:.1f}" for line in lines) + " %"


def classes(lines: Lines) -> str:
    head = [
        *("epsilon", "k", "one stage", "default", "over one stage, all sets", "16 sets with 900 rows or more"),
        *("fitted rows, all sets", "16 sets", "known coordinates, all / 16 sets"),
    ]
    rows = []
    for line in sorted(lines, key=lambda line: (-line["epsilon"], line["k"])):
        figures = [f"{line[name]:.3f}" for name in ("one stage", "stages")]
        figures += [f"{line[f'stages, {part}']:.2f}" for part in ("test", "test, large", "fitted", "fitted, large")]
        known = " / ".join(f"{line[f'known coordinates, {part}']:.2f}" for part in ("test", "test, large"))
        rows.append([f"{line['epsilon']:g}", f"{line['k']:g}", *figures, known])
    return markdown(head, rows)


def several(lines: Lines) -> str:
    head = ["table", "rows", "epsilon", "multinomial", "one-vs-rest", "one-vs-rest, not private"]
    rows = []
    for data in dict.fromkeys(line["data"] for line in lines):
        own = _chosen(lines, data=data)
        figures = [_apart(own, name, "{:.4f}") for name in (MULTINOMIAL, ONE_VS_REST)]
        rows.append([data, f"{own[0]['rows']:,}", _apart(own, "epsilon", "{:g}"), *figures])
        rows[-1].append(f"{own[0][NOT_PRIVATE]:.4f}")
    return markdown(head, rows)


def counts(lines: Lines) -> str:
    rows = []
    for kind, n in dict.fromkeys((line["kind"], line["rows"]) for line in lines):
        own = _chosen(lines, kind=kind, rows=n)
        rows.append([kind, f"{n:,}", *(_apart(own, name, "{:.2f}") for name in ("Poisson", "one stage", "linear"))])
    return markdown(["counts", "rows", "Poisson, epsilon 0.3 / 1 / 3", "one stage", "linear"], rows)


def coverage(lines: Lines) -> str:
    rows = []
    for population, n in dict.fromkeys((line["population"], line["rows"]) for line in lines):
        own = _chosen(lines, population=population, rows=n)
        classes = population == "logistic" or population.endswith("classes")
        name = population if classes else f"counts, {population}"
        rows.append([name, f"{n:,}", _percent(own, "coverage"), _percent(own, "given")])
    return markdown(["population", "rows", "coverage, epsilon 1 / 3", "intervals given"], rows)


def widths(lines: Lines) -> str:
    rows = []
    for line in _chosen(lines, measure="width"):
        width = line["width over HC1"]
        shown = [f"{width:.2f}" if width else "none", f"{100 * line['given']:.0f} %", f"{100 * line['holds']:.0f} %"]
        rows.append([line["model"], f"{line['epsilon']:g}", *shown])
    return markdown(["model", "epsilon", "width over HC1, median", "given", "given and holds the truth"], rows)


def losses(lines: Lines) -> str:
    rows = []
    found = _chosen(lines, measure="loss")
    for model, kind, n in dict.fromkeys((line["model"], line["kind"], line["rows"]) for line in found):
        own = _chosen(found, model=model, kind=kind, rows=n)
        figures = [_apart(own, name, "{:.5f}") for name in ("stages", "one stage")]
        rows.append([model, kind, f"{n:,}", *figures, _apart(own, "ratio", "{:.2f}"), f"{own[0]['sampling']:.5f}"])
    head = ["model", "column", "rows", "default, epsilon 0.3 / 1 / 3", "one stage", "ratio", "sampling"]
    return markdown(head, rows)


def adult(lines: Lines) -> str:
    methods = {"default": "logistic"} | {name: f"logistic, {name}" for name in ("one stage", "adaptive", "l1")}
    own = [line for line in lines if "epsilon" in line]
    rows = []
    for epsilon in dict.fromkeys(line["epsilon"] for line in own):
        rows.append([f"{epsilon:g}"])
        for name in methods.values():
            rows[-1].append(_percent(_chosen(own, epsilon=epsilon, method=name), "error"))
    return markdown(["epsilon", *methods], rows)


def speed(lines: Lines) -> str:
    rows = []
    for ours, theirs in zip(lines[::2], lines[1::2], strict=True):
        size = f"{ours['rows']:,} x {ours['columns']}"
        seconds = [f"{line['seconds']:.2g}" for line in (ours, theirs)]
        rows.append([size, ours["method"], seconds[0], theirs["method"], seconds[1], f"{theirs['ratio']:.2g}"])
    return markdown(["rows x columns", "ours", "seconds", "theirs", "seconds", "ratio"], rows)


SOURCES = {
    "classes": (classes, "benchmarks/results/glm-classes.json"),
    "several": (several, "benchmarks/results/glm-several.json"),
    "counts": (counts, "benchmarks/results/glm-counts.json"),
    "coverage": (coverage, "experiments/results/coverage_models.json"),
    "widths": (widths, "experiments/results/rare_models.json"),
    "losses": (losses, "experiments/results/rare_models.json"),
    "adult": (adult, "experiments/results/adult.json"),
    "speed": (speed, "benchmarks/results/logistic.json"),
}


def filled(page: str) -> str:
    """The page with every table as the stored figures have it."""
    for name, (table, path) in SOURCES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        new = table(stored(path))
        page, found = pattern.subn(lambda match, new=new: f"{match[1]}{new}\n{match[2]}", page)  # type: ignore[misc]
        if found != 1:
            raise ValueError(f"The page has {found} places for the table {name!r}.")
    return page


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.glm_page", description=__doc__).parse_args()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
