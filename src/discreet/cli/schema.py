"""`discreet schema`: the public facts about a table, as a file to fill in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import Data, Json, default_place, free
from discreet.cli.asking import Interview
from discreet.cli.files import reads_files
from discreet.core.files import atomic_write
from discreet.data.row_check import CONFIDENTIAL, RowFit, check_rows
from discreet.data.sources.paths import by_first_line, column_kinds
from discreet.data.tables import open_source
from discreet.domain import Domain, FileFormat
from discreet.domain.schema import KINDS, blank_schema, filled_schema
from discreet.errors import ParameterError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Write, show and check schemas: the public facts about a table."
)


@app.command("init", epilog="Example: discreet schema init people.parquet --out people.toml")
@reads_files
def schema_init(
    data: Data,
    file: dict[str, Any],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the schema.")] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Go through the columns with questions.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a schema to fill in, from the names and types of the columns only, never from values."""
    written = by_first_line(data, FileFormat.of(file, {}))
    columns = column_kinds(data, written)
    known = [(name, kind) for name, kind in columns if kind in KINDS]
    path = free(out or default_place(data, "toml"), force, inputs=[data])
    if ask:
        console.say(f"From {data.name} the names of the columns, and types if it has any, are read; no row.")
        interview = Interview(known, written)
        domain = interview.domain()
        _write(path, filled_schema(domain.to_dict()))
        console.say("", f"Wrote {path}. Look at it again: `discreet schema check {path} {data}`.")
        interview.tell(domain)
    else:
        _write(path, blank_schema(known, written))
        console.say(f"Wrote {path}. Fill in the bounds from public knowledge, not from the data; --ask asks for them.")
    if any(kind == "any" for _, kind in columns):
        console.say("Names were taken from the first line of the file, which must not be a person's.")
    for name in sorted({name for name, _ in columns} - {name for name, _ in known}):
        console.say_error(f"Left out: column {name!r}, whose type cannot be used.")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as form:
        form.write(text.encode())


@app.command("show", epilog="Example: discreet schema show people.toml")
def schema_show(
    schema: Annotated[Path, typer.Argument(help="TOML or JSON schema.", show_default=False)], json: Json = False
) -> None:
    """Show what a schema says: the columns, what becomes of missing values, and who is protected."""
    domain = Domain.from_file(schema)
    if json:
        console.print_json({"schema": domain.to_dict(), "unit": domain.unit.short})
        return
    rows = [[name, *column.words] for name, column in domain.columns.items()]
    console.table(schema.name, ["column", "kind", "may hold"], rows)
    console.say(f"Unit of privacy: {domain.unit.short}.")
    console.say("Rows that lack a value are left out." if domain.missing == "drop" else "Missing values are refused.")
    if domain.data_norm is not None:
        console.say(f"The norm of {', '.join(domain.norm_columns)} is at most {domain.data_norm:g}.")
    if not domain.intercept:
        console.say("Models have no intercept.")


@app.command("check", epilog="Example: discreet schema check people.toml people.parquet")
@reads_files
def schema_check(
    schema: Annotated[Path, typer.Argument(help="TOML or JSON schema.", show_default=False)],
    data: Data,
    file: dict[str, Any],
    rows: Annotated[bool, typer.Option("--rows", help="Read all rows; needs --confidential.")] = False,
    confidential: Annotated[
        bool, typer.Option("--confidential", help="Print exact counts, which are not private.")
    ] = False,
    json: Json = False,
) -> None:
    """Check a schema, and that a file has its columns and types (CSV and Excel: names only); no row is read.

    With --rows --confidential all rows are read, and exact counts of what a fit would refuse, drop or clip are printed,
    for the custodian alone: they are not private. Exit code 1: a fit would refuse these rows.
    """
    if rows != confidential:
        raise ParameterError(
            "Counts of rows are exact and no release: give --rows --confidential together, or neither of them."
        )
    domain = Domain.from_file(schema).with_file(**file)
    if not rows:
        open_source(data, domain)
        if json:
            console.print_json({"fits": True})
        else:
            console.say("The schema is complete and fits the file's columns and types.")
        return
    fit = check_rows(data, domain)
    if json:
        console.print_json(fit.to_dict())
    else:
        _tell(data.name, fit)
    if fit.refusals:
        raise typer.Exit(1)


def _tell(name: str, fit: RowFit) -> None:
    """Print the counts of what does not fit."""
    share = partial(_share, rows=fit.rows)
    told = [
        [column, share(own.missing), share(own.below), share(own.above), own.remarks]
        for column, own in fit.columns.items()
    ]
    console.say(CONFIDENTIAL, "")
    console.table(f"{name}: {fit.rows:,} rows", ["column", "missing", "below", "above", "remarks"], told, (1, 2, 3))
    for line in fit.unit_words:
        console.say(line)
    dropped = "dropped" if fit.domain.missing == "drop" else "refused"
    console.say(f"Rows with a missing value are {dropped}; values beyond a bound are moved to it.")
    if fit.refusals:
        console.say("", "A fit would refuse these rows:", *(f"  {text}" for text in fit.refusals))


def _share(count: int, rows: int) -> str:
    return f"{count:,} ({count / rows:.1%})" if count else ""
