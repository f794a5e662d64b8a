"""Summaries of results: one description, as text, as HTML and as a frame."""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import pyarrow as pa

from discreet.domain import Domain
from discreet.errors import printable
from discreet.privacy.guarantee import Guarantee
from discreet.released.certificate import Certificate
from discreet.results.export import csv_table, latex_table, markdown_table

SIMULATION = "SIMULATION: these numbers promise no privacy."
WITHIN = (
    "Persons are absorbed: coefficients, R-squared and the residual sd are about changes within persons. Who has one "
    "row tells nothing of these, and adds to the number of rows only."
)


@dataclass(frozen=True)
class Summary:
    """A title, facts, one table and notes. `str` shows it as text, Jupyter as HTML; both hold the same words.

    Invisible characters are escaped once, here, so every way to show a summary is safe.

    `columns`: headings; the first is that of the names.
    `rows`: one cell a column.
    `keys`: number of leading columns that identify a row; they are repeated in each part of a divided table.
    `foot`: rows below a rule, about whole columns.

    Examples
    --------
    >>> print(Summary("income ~ age", (("Rows", "1000"),), ("", "coef"), (("age", "2.5"),), ("A note.",)))
    income ~ age
    ============
    Rows  1000
    ------------
         coef
    age   2.5
    ------------
    A note.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    keys: int = 1
    foot: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        for name in ("title", "facts", "columns", "rows", "notes", "foot"):
            object.__setattr__(self, name, _printable(getattr(self, name)))

    def with_fact(self, name: str, text: str) -> Summary:
        """Add a fact."""
        return replace(self, facts=(*self.facts, (name, text)))

    def with_column(self, heading: str, cells: Sequence[str], at: int) -> Summary:
        """Add a column, of a table without a foot."""
        rows = [(*row[:at], cell, *row[at:]) for row, cell in zip(self.rows, cells, strict=True)]
        columns = (*self.columns[:at], heading, *self.columns[at:])
        return replace(self, columns=columns, rows=tuple(rows))

    def without(self, *left_out: int) -> Summary:
        """Leave out some columns."""
        places = [i for i in range(len(self.columns)) if i not in left_out]
        rows, foot = (tuple(tuple(row[i] for i in places) for row in part) for part in (self.rows, self.foot))
        return replace(self, columns=tuple(self.columns[i] for i in places), rows=rows, foot=foot)

    def __str__(self) -> str:
        table = self._table()
        label = max((len(name) for name, _ in self.facts), default=0)
        width = max(len(line) for line in table)
        width = max(width, min(len(self.title), 72))
        title = textwrap.wrap(self.title, max(width, 72), break_on_hyphens=False)
        facts = [
            line
            for name, text in self.facts
            for line in textwrap.wrap(
                f"{name:<{label}}  {text}", max(width, 72), subsequent_indent=" " * (label + 2), break_on_hyphens=False
            )
        ]
        notes = [line for note in self.notes for line in textwrap.wrap(note, max(width, 72), break_on_hyphens=False)]
        body = 1 + len(self.rows)
        foot = ["-" * width, *table[body:]] if self.foot else []
        parts = [[*title, "=" * width], [*facts, "-" * width] if facts else [], table[:body], foot]
        parts.append(["-" * width, *notes] if notes else [])
        return "\n".join(line for part in parts for line in part)

    __repr__ = __str__

    def as_text(self) -> str:
        """The summary as text."""
        return str(self)

    def as_markdown(self) -> str:
        """The summary as Markdown, with a table of pipes."""
        return markdown_table(self)

    def as_latex(self) -> str:
        """The summary for LaTeX; the rules of the table are those of booktabs."""
        return latex_table(self)

    def as_csv(self) -> str:
        """The table as CSV, with the digits that are shown; a model's `to_frame` has all of them."""
        return csv_table(self)

    def _table(self) -> list[str]:
        lines = [self.columns, *self.rows, *self.foot]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        numeric = [self.is_numeric(i) for i in range(len(self.columns))]
        return [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, right, width in zip(line, numeric, widths, strict=True)
            ).rstrip()
            for line in lines
        ]

    def is_numeric(self, i: int) -> bool:
        """Whether a column holds numbers, which are aligned to the right."""
        return i > 0 and any(is_number(row[i]) for row in self.rows)

    def _repr_html_(self) -> str:
        return f'<div class="discreet">{self.html()}</div>'

    def html(self) -> str:
        """The title, the facts, the table and the notes as HTML, without a page around them."""
        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.facts)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<h3>{escape(self.title)}</h3>"
            f'<table class="facts">{facts}</table>{self.html_table()}<div class="notes">{notes}</div>'
        )

    as_html = html

    def html_table(self) -> str:
        """The table alone."""
        numeric = [self.is_numeric(i) for i in range(len(self.columns))]

        def cells(line: Sequence[str], tag: str) -> str:
            row = ""
            for i, cell in enumerate(line):
                kind, side = "th" if i == 0 else tag, "right" if numeric[i] else "left"
                label = f' data-label="{escape(self.columns[i])}"' if kind == "td" else ""
                row += f'<{kind}{label} style="text-align:{side}">{escape(cell)}</{kind}>'
            return f"<tr>{row}</tr>"

        body, foot = ("".join(cells(row, "td") for row in part) for part in (self.rows, self.foot))
        foot = f"<tfoot>{foot}</tfoot>" if foot else ""
        return f'<table class="values"><thead>{cells(self.columns, "th")}</thead><tbody>{body}</tbody>{foot}</table>'


class Summarised(ABC):
    """An object that is shown as its summary."""

    @abstractmethod
    def summary(self) -> Summary:
        """A table of it."""

    def __str__(self) -> str:
        return str(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _printable(words: Any) -> Any:
    """A text, or tuples of texts, escaped."""
    return printable(words) if isinstance(words, str) else tuple(map(_printable, words))


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, which may have stars or stand in parentheses.

    Examples
    --------
    >>> is_number("1,234.5***"), is_number("(0.02)"), is_number("withheld")
    (True, True, False)
    """
    try:
        float(cell.replace(",", "").strip("()*"))
    except ValueError:
        return False
    return True


def number(value: float) -> str:
    """Format a number with five significant digits.

    Examples
    --------
    >>> number(1234567.0), number(0.05071234), number(-0.0)
    ('1,234,567', '0.050712', '0')
    """
    if 1e4 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value + 0.0:.5g}"


_LONGEST = 300
"""Longer titles of models count the levels of categories."""


def formula_title(target: str, names: Sequence[str], domain: Domain) -> str:
    """Title of a model: its regressors, or its columns where there are too many regressors to read.

    Examples
    --------
    >>> levels = Domain({"occ": [f"occupation {i}" for i in range(302)], "age": (18, 90), "y": (0, 1)})
    >>> formula_title("y", [*(f"occ[occupation {i}]" for i in range(1, 302)), "age"], levels)
    'y ~ occ (302 levels) + age'
    >>> formula_title("y", ["age"], levels)
    'y ~ age'
    """
    absorbed = f" | {domain.unit.person}" if domain.deviates else ""
    title = f"{target} ~ {' + '.join(names) or '1'}{absorbed}"
    if len(title) <= _LONGEST:
        return title
    held = Counter(domain.column_of.get(name, name) for name in names)
    parts = []
    for name, times in held.items():
        levels = len(domain.columns[name].levels) if name in domain.columns else 0
        many = f" ({levels} levels)" if levels > 2 else f" ({times} columns)" if times > 1 else ""
        parts.append(name + many)
    shown = [part for i, part in enumerate(parts) if len(" + ".join(parts[: i + 1])) <= _LONGEST]
    more = [f"{len(parts) - len(shown)} more"] if len(shown) < len(parts) else []
    return f"{target} ~ {' + '.join([*shown, *more])}{absorbed}"


def to_pandas(table: dict[str, list[Any]]) -> Any:
    """A frame of numbers that may be missing, by name."""
    types = {key: pa.string() if key in ("name", "unit") else pa.float64() for key in table}
    arrow = pa.table({key: pa.array(column, types[key]) for key, column in table.items()})
    return arrow.to_pandas().set_index("name")


def closing_notes(remarks: Sequence[str], certificate: Certificate) -> list[str]:
    """The last notes of a summary: remarks of the release, and what its certificate says of all numbers."""
    said = {WITHIN: certificate.domain.deviates, SIMULATION: certificate.simulation}
    return [*remarks, *(note for note, holds in said.items() if holds)]


def promise(g: Guarantee) -> str:
    """Describe the guarantee in a line."""
    return f"epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}"


def row_count(certificate: Certificate, rows: float, sd: float | None = None) -> str:
    """The number of rows, and where it comes from; of weighted rows, the sum of their weights."""
    unit = certificate.domain.unit
    if unit.plain and certificate.rows is not None:
        return f"{certificate.rows:,}, declared"
    about = _about(unit.largest_weight * rows, sd and unit.largest_weight * sd)
    return about if unit.plain else f"{'weights of' if unit.weights else 'count as'} {about}"


def _about(value: float, sd: float | None) -> str:
    """Format a noisy number with the digits that its noise leaves.

    Examples
    --------
    >>> _about(20103.4, 85.2), _about(20103.4, None)
    ('about 20,100 (sd 85)', 'about 20,100, from noisy sums')
    """
    if not sd:
        return f"about {float(f'{value:.3g}'):,.6g}, from noisy sums"
    return f"about {round(value, -math.floor(math.log10(sd))):,.10g} (sd {float(f'{sd:.2g}'):,.6g})"
