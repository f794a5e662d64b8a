"""Tables for other programs: LaTeX, CSV and Excel."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.files import atomic_write
from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    from discreet.results.summary import Summary


def latex(text: str) -> str:
    """Escape text for BibTeX and LaTeX, in one line."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}"}
    return "".join(special.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in printable(text))


def latex_table(summary: Summary) -> str:
    """A summary for LaTeX: the facts, the table and the notes, with the rules of the package booktabs."""
    numeric = [summary.is_numeric(i) for i in range(len(summary.columns))]
    facts = [f"{latex(name)} & {latex(text)} \\\\" for name, text in summary.facts]
    rows = [" & ".join(map(latex, row)) + r" \\" for row in summary.rows]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{center}",
        rf"\textbf{{{latex(summary.title)}}}\\[1ex]",
        *([r"\begin{tabular}{lp{0.7\linewidth}}", *facts, r"\end{tabular}\\[1ex]"] if facts else []),
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        " & ".join(map(latex, summary.columns)) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{center}",
        *(rf"{{\footnotesize {latex(note)}\par}}" for note in summary.notes),
    ]
    return "\n".join(lines) + "\n"


def csv_table(summary: Summary) -> str:
    """Return the table of a summary as CSV; numbers without thousands separators."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(summary.columns)
    numeric = [summary.is_numeric(i) for i in range(len(summary.columns))]
    for row in summary.rows:
        writer.writerow([cell.replace(",", "") if right else cell for cell, right in zip(row, numeric, strict=True)])
    return text.getvalue()


def excel_file(path: str | Path, frame: Any, summary: Summary) -> None:
    """Write a workbook: the numbers of a frame, unrounded, and the rest of a summary."""
    try:
        from openpyxl import Workbook
    except ImportError:
        raise ParameterError("An Excel file needs openpyxl: pip install 'discreet[excel]'.") from None
    book = Workbook()
    numbers: Any = book.active
    words: Any = book.create_sheet("about")
    numbers.title = "coefficients"
    _write(numbers, [("", *frame.columns), *frame.itertuples(name=None)])
    _write(words, [("", summary.title), *summary.facts, *(("", note) for note in summary.notes)])
    for sheet, widths in ((numbers, [28, *[16] * len(frame.columns)]), (words, [22, 110])):
        for i, width in enumerate(widths, 1):
            sheet.column_dimensions[sheet.cell(1, i).column_letter].width = width
    with atomic_write(path) as file:
        book.save(file)


def _write(sheet: Any, rows: list[tuple[Any, ...]]) -> None:
    """Fill a sheet from the top; text that begins like a formula stays text."""
    for i, row in enumerate(rows, 1):
        for j, value in enumerate(row, 1):
            if value is None or (isinstance(value, float) and math.isnan(value)):
                continue
            cell = sheet.cell(i, j, printable(value) if isinstance(value, str) else value)
            if isinstance(value, str):
                cell.data_type = "s"
