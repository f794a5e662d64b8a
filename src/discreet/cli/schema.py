"""`discreet schema`: the public facts about a table, as a file to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import Data, Json, default_place, free
from discreet.cli.asking import Interview
from discreet.cli.files import reads_files
from discreet.core.files import atomic_write
from discreet.data.sources.paths import column_kinds
from discreet.data.tables import open_source
from discreet.domain import Domain, FileFormat
from discreet.domain.schema import KINDS, blank_schema, filled_schema

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
    written = FileFormat.of(file, {})
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
    schema: Annotated[Path, typer.Argument(help="TOML or JSON schema.")], data: Data, file: dict[str, Any]
) -> None:
    """Check a schema, and that a file has its columns and types (CSV and Excel: names only); no row is read."""
    open_source(data, Domain.from_file(schema).with_file(**file))
    console.say("The schema is complete and fits the file's columns and types.")
