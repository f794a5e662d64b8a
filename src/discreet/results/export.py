"""Tables for other programs: Markdown, LaTeX, CSV, Excel and Word."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
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


def _latex_cell(cell: str) -> str:
    """Escape a cell; numbers get a minus sign and stars above the line."""
    found = _NUMBER.fullmatch(cell)
    if found is None:
        return latex(cell)
    before, minus, digits, stars, behind = found.groups()
    above = rf"\textsuperscript{{{stars}}}" if stars else ""
    return before + ("$-$" if minus else "") + digits + above + behind


_NUMBER = re.compile(r"(\(?)(-?)([0-9][0-9,.e+-]*)(\**)(\)?)")


def latex_table(summary: Summary) -> str:
    """A summary for LaTeX: the facts, the table and the notes, with the rules of the package booktabs."""
    numeric = [summary.is_numeric(i) for i in range(len(summary.columns))]
    facts = [f"{latex(name)} & {latex(text)} \\\\" for name, text in summary.facts]
    rows, foot = ([" & ".join(map(_latex_cell, row)) + r" \\" for row in part] for part in (summary.rows, summary.foot))
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
        *([r"\midrule", *foot] if foot else []),
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
    for row in (*summary.rows, *summary.foot):
        writer.writerow([_digits(cell) if right else cell for cell, right in zip(row, numeric, strict=True)])
    return text.getvalue()


def _digits(cell: str) -> str:
    """A number without thousands separators."""
    return _SEPARATOR.sub("", cell)


_SEPARATOR = re.compile(r"(?<=[0-9]),(?=[0-9]{3})")


def markdown_table(summary: Summary) -> str:
    """A summary as Markdown: title, facts, table and notes."""
    numeric = [summary.is_numeric(i) for i in range(len(summary.columns))]
    lines = [f"**{_markdown(summary.title)}**", ""]
    lines += [f"* {_markdown(name)}: {_markdown(text)}" for name, text in summary.facts]
    lines += [""] if summary.facts else []
    lines += [_pipes(summary.columns), _pipes(["---:" if right else "---" for right in numeric], escape=False)]
    lines += [_pipes(row) for row in (*summary.rows, *summary.foot)]
    for note in summary.notes:
        lines += ["", _markdown(note)]
    return "\n".join(lines) + "\n"


def _pipes(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(map(_markdown, cells) if escape else cells) + " |"


def _markdown(text: str) -> str:
    """Escape text for Markdown, in one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", printable(text))


def excel_file(path: str | Path, frame: Any, summary: Summary) -> None:
    """Write a workbook: the numbers of a frame, unrounded, and the rest of a summary."""
    _workbook(path, {"coefficients": _numbers(frame), "about": (_about(summary), (22, 110))})


def excel_table(path: str | Path, frame: Any, summary: Summary) -> None:
    """Write a workbook: a summary's table as it is shown, the numbers of a frame, unrounded, and the notes."""
    shown = [(summary.title,), summary.columns, *summary.rows, *summary.foot]
    table = shown, (28, *[16] * (len(summary.columns) - 1))
    _workbook(path, {"table": table, "numbers": _numbers(frame), "about": (_about(summary), (22, 110))})


def _numbers(frame: Any) -> tuple[list[tuple[Any, ...]], tuple[int, ...]]:
    return [("", *frame.columns), *frame.itertuples(name=None)], (28, *[16] * len(frame.columns))


def _about(summary: Summary) -> list[tuple[Any, ...]]:
    return [("", summary.title), *summary.facts, *(("", note) for note in summary.notes)]


def _workbook(path: str | Path, sheets: dict[str, tuple[list[tuple[Any, ...]], tuple[int, ...]]]) -> None:
    """Write sheets of rows, with the widths of their columns."""
    try:
        from openpyxl import Workbook
    except ImportError:
        raise ParameterError("An Excel file needs openpyxl: pip install 'discreet[excel]'.") from None
    book: Any = Workbook()
    book.remove(book.active)
    for title, (rows, widths) in sheets.items():
        sheet = book.create_sheet(title)
        _write(sheet, rows)
        for i, width in enumerate(widths, 1):
            sheet.column_dimensions[sheet.cell(1, i).column_letter].width = width
    with atomic_write(path) as file:
        book.save(file)


def word_file(path: str | Path, summary: Summary) -> None:
    """Write a Word document: the table of a summary, with three rules, and its notes."""
    try:
        from docx import Document
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Pt
    except ImportError:
        raise ParameterError('A Word file needs python-docx: pip install "discreet[word]".') from None
    document: Any = Document()
    document.styles["Normal"].paragraph_format.space_after = Pt(0)
    document.add_paragraph().add_run(summary.title).bold = True
    lines = [summary.columns, *summary.rows, *summary.foot]
    grid = document.add_table(len(lines), len(summary.columns))
    last = len(lines) - 1
    ruled = {0: ("top", "bottom"), last: ("bottom",)} | ({len(summary.rows): ("bottom",)} if summary.foot else {})
    for i, line in enumerate(lines):
        for j, cell in enumerate(grid.rows[i].cells):
            paragraph = cell.paragraphs[0]
            paragraph.add_run(line[j])
            paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER if j else WD_ALIGN_PARAGRAPH.LEFT
            _rule(cell, ruled.get(i, ()))
    for note in summary.notes:
        document.add_paragraph().add_run(note).font.size = Pt(9)
    with atomic_write(path) as file:
        document.save(file)


def _rule(cell: Any, sides: Sequence[str]) -> None:
    """Draw a line on some sides of a cell of a Word table."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    borders = OxmlElement("w:tcBorders")
    for side in sides:
        line = OxmlElement(f"w:{side}")
        line.set(qn("w:val"), "single")
        line.set(qn("w:sz"), "6")
        borders.append(line)
    cell._tc.get_or_add_tcPr().append(borders)


def _write(sheet: Any, rows: list[tuple[Any, ...]]) -> None:
    """Fill a sheet from the top; text that begins like a formula stays text."""
    for i, row in enumerate(rows, 1):
        for j, value in enumerate(row, 1):
            if value is None or (isinstance(value, float) and math.isnan(value)):
                continue
            cell = sheet.cell(i, j, printable(value) if isinstance(value, str) else value)
            if isinstance(value, str):
                cell.data_type = "s"
