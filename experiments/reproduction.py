"""What one experiment of a paper declares: data, grid, work, pictures, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from experiments.study import Cell, Rows

Size = Literal["quick", "normal", "full"]


@dataclass(frozen=True)
class Finding:
    """A claim of the paper beside what came out; ``agrees`` is None where the two cannot be compared."""

    claim: str
    measured: str
    agrees: bool | None
    why: str = ""


@dataclass(frozen=True)
class Reproduction:
    """One table or figure.

    Parameters
    ----------
    name : str
        As on the command line: "wang2018-table3", "li2021-fig5", "comparison".
    title : str
        What the table or figure shows.
    says : str
        What the paper says of it, in a sentence or two.
    cells : callable
        From the size and the folder with the data (None without data) to the grid. A cell is a JSON-ready dict that
        holds all that its work depends on, the repeats and the seed included. "quick" takes seconds, "normal" has 100
        repeats where the paper has 500, "full" has the paper's own.
    work : callable
        A module-level function from a cell and the data folder to tidy rows; seeded by the cell.
    draw : callable
        From the tidy rows (the cell's entries and the work's) to pictures by name; no entry for a plain table.
    judge : callable
        From the same rows to findings.
    needs_data : bool
        Whether it cannot run without the folder with the data.
    note : str
        What differs from the paper's set-up, and why.
    table : callable, optional
        From the same rows to what the page shows beneath the findings: a table, or text in Markdown.
    study : str
        Name of the study behind it, where experiments with the same cells, work and `condense` share one: its rows are
        worked off and stored once. Its own name by default.
    condense : callable, optional
        From the rows of all cells to fewer ones, where there are too many to keep; these are stored, drawn and judged.
    """

    name: str
    title: str
    says: str
    cells: Callable[[Size, Path | None], list[Cell]]
    work: Callable[[Cell, Path | None], Rows]
    draw: Callable[[pd.DataFrame], Mapping[str, Figure]]
    judge: Callable[[pd.DataFrame], list[Finding]]
    needs_data: bool = False
    note: str = ""
    table: Callable[[pd.DataFrame], pd.DataFrame | str] | None = None
    study: str = ""
    condense: Callable[[pd.DataFrame], pd.DataFrame] | None = None
