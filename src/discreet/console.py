"""Tables and words for the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.many_results import ManyResults
from discreet.privacy.certificate import Certificate, Finding
from discreet.results import Results


class _Console(Console):
    """A console whose closed pipe has an exit code of its own: 1 means that a check failed."""

    def on_broken_pipe(self) -> None:
        raise SystemExit(output_closed())


out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


def output_closed() -> int:
    """Drop what is still to be printed once nobody reads it; returns the exit code for that."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def print_json(body: Any) -> None:
    """Machine-readable output, and nothing else, on standard output."""
    sys.stdout.write(json.dumps(body, indent=2, allow_nan=False) + "\n")


def say(text: str) -> None:
    """Print a line as it is, for the terminal to wrap."""
    out.print(text, markup=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[int] = ()) -> None:
    """Print a plain table under its title; `numeric` columns are aligned to the right."""
    say(title)
    grid = Table(header_style="bold")
    for i, column in enumerate(columns):
        grid.add_column(column, justify="right" if i in numeric else "left", overflow="fold", no_wrap=i == 0)
    for row in rows:
        grid.add_row(*map(Text, row))
    out.print(grid)


def coefficients(fitted: Results, beside: Mapping[str, float] | None = None, label: str = "") -> None:
    """Print the coefficients in the user's units, with others beside them where given."""
    g = fitted.certificate.guarantee
    title = f"{fitted.target}, by {fitted.model}: epsilon {g.epsilon:g}, delta {g.delta:g}, {g.status}"
    columns = ["", "private coef", *([label] if beside else []), "unit"]
    rows = [
        [name, f"{value:,.6g}", *([f"{beside[name]:,.6g}"] if beside else []), fitted.unit(name)]
        for name, value in fitted.params.items()
    ]
    table(title, columns, rows, numeric=range(1, len(columns) - 1))


def many(fitted: ManyResults, *, json: bool) -> None:
    """Print the models of many outcomes: all of them as JSON, or those coefficients that stand out."""
    if json:
        print_json(fitted.to_dict())
    else:
        say(str(fitted.summary()))


def findings(found: Sequence[Finding]) -> None:
    """Print what a check of a certificate found."""
    table("Check", ["what", "", "detail"], [[f.what, "ok" if f.ok else "FAILS", f.detail] for f in found])


def certificate(certified: Certificate) -> None:
    """Print a certificate in plain words."""
    out.print("\n[bold]Certificate[/bold]")
    for statement in certified.words().splitlines():
        out.print(Text(f"- {statement}"))
