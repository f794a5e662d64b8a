"""Run experiments in their declared form: find them, work off their cells, keep tidy rows and pictures.

A folder of results holds, for each experiment, NAME/rows.csv, NAME/run.json and pictures, and log/NAME.jsonl with the
finished cells. Where experiments share a study, rows, facts and log lie under its name, and NAME/run.json names it.
Findings, pictures and pages are made from what is stored, so they can be made again without running.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import rc_context

from discreet.core.citations import PAPERS, tell_old_key
from discreet.results.plots.style import PALE, style
from experiments import study
from experiments.record import environment
from experiments.reproduction import Reproduction, Size
from experiments.study import ROOT

MODULES = (
    *(f"wang2018.{name}" for name in ("fig1", "fig2", "fig3", "fig4", "fig5", "ssp", "table1", "table2", "tables")),
    "wang2017.figures",
    *(f"li2021.{name}" for name in ("fig1", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "readings")),
    *(f"piazza2021.{name}" for name in ("synthetic", "uci_sets")),
    *(f"neel2023.{name}" for name in ("fig1", "outcomes", "sample", "complexity")),
    "comparison.uci_sets",
)
"""Files that declare experiments."""

CHARTS = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.left": True,
    "grid.color": PALE,
    "text.parse_math": True,
    "ytick.major.size": 3,
}
"""What charts with two numeric axes need beyond the one style."""

RESULTS = ROOT / "experiments" / "results" / "reproduce"
"""The results that are committed, to which docs/results belongs."""


def catalogue() -> dict[str, Reproduction]:
    """All experiments by name."""
    found: dict[str, Reproduction] = {}
    for name in MODULES:
        module = importlib.import_module(f"experiments.{name}")
        for reproduction in getattr(module, "REPRODUCTIONS", None) or (module.REPRODUCTION,):
            found[reproduction.name] = reproduction
    return dict(sorted(found.items()))


def paper(name: str) -> str:
    """Which page an experiment belongs to.

    Examples
    --------
    >>> paper("wang2018-fig2"), paper("comparison")
    ('wang2018', 'comparison')
    """
    return name.split("-")[0]


def select(asked: str) -> list[Reproduction]:
    """The experiment of that name, those of a paper, or all; none where nothing has that name.

    A paper by its old mark is told what it is called now: "000-fig3" is "wang2018-fig3".
    """
    for known in PAPERS:
        if paper(asked) == known.mark:
            tell_old_key("paper", known.mark)
            asked = known.key + asked.removeprefix(known.mark)
    return [r for name, r in catalogue().items() if asked in ("all", name, paper(name))]


@dataclass(frozen=True)
class _Work:
    """A cell's work with the data folder at hand, so that cells and logs hold no path."""

    work: Callable[[study.Cell, Path | None], study.Rows]
    folder: Path | None

    def __call__(self, cell: study.Cell) -> study.Rows:
        return self.work(cell, self.folder)


def run(r: Reproduction, size: Size, folder: Path | None, out: Path, jobs: int = 2, *, fresh: bool = False) -> None:
    """Work off what is missing, and store rows, pictures and where they were made."""
    name = r.study or r.name
    log = out / "log" / f"{name}.jsonl"
    if fresh:
        log.unlink(missing_ok=True)
    cells = r.cells(size, folder)
    frame = pd.DataFrame(study.run(r.name, cells, _Work(r.work, folder), log, jobs))
    frame = frame if r.condense is None else r.condense(frame)
    (out / name).mkdir(parents=True, exist_ok=True)
    frame.to_csv(out / name / "rows.csv", index=False, float_format="%.6g", lineterminator="\n")
    facts = {"name": name, "size": size, "cells": len(cells), "seconds": round(study.seconds(cells, log), 1)}
    _write(out / name, facts | environment())
    if r.study:
        _write(out / r.name, {"name": r.name, "study": r.study})
    for one in (r, *_others(r)):
        pictures(one, out)


def _others(r: Reproduction) -> list[Reproduction]:
    """Experiments that share the rows of this one."""
    return [one for one in catalogue().values() if one.study == r.study and one.name != r.name] if r.study else []


def _write(place: Path, facts: dict[str, Any]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / "run.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _read(place: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((place / "run.json").read_text(encoding="utf-8"))
    return facts


def stored(name: str, out: Path) -> tuple[pd.DataFrame, dict[str, Any]] | None:
    """Rows of an experiment and the facts about its run, `rows` being their folder; None where it has not been run."""
    if not (out / name / "run.json").exists():
        return None
    own = _read(out / name)
    rows = own.get("study", name)
    facts = _read(out / rows) | own | {"rows": rows}
    return pd.read_csv(out / rows / "rows.csv", keep_default_na=False, na_values=[""]), facts


def pictures(r: Reproduction, out: Path) -> None:
    """Draw from the stored rows, as SVG; the same from run to run."""
    found = stored(r.name, out)
    if found is None:
        return
    rows, _ = found
    with style(), rc_context(CHARTS):
        drawn = r.draw(rows)
        for name, figure in drawn.items():
            figure.savefig(out / r.name / f"{name}.svg", metadata={"Date": None, "Creator": None})
    _write(out / r.name, _read(out / r.name) | {"pictures": list(drawn)})
