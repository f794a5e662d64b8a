"""`discreet bounds`: the bounds of columns that nobody knows, found privately, as a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    AccountOption,
    Data,
    Delta,
    Epsilon,
    Force,
    Jobs,
    Json,
    LedgerOption,
    Purpose,
    Relation,
    Request,
    Rows,
    counted,
    default_place,
    free,
)
from discreet.cli.files import names_units, reads_files
from discreet.core.checks import neighbors as relation
from discreet.core.files import atomic_write
from discreet.data.sources.paths import column_kinds
from discreet.domain import Domain, FileFormat
from discreet.domain.schema import filled_schema
from discreet.drivers.bounds import bounds as search
from discreet.errors import ParameterError, printable
from discreet.gate.session import promised
from discreet.released.search import Outside, outside
from discreet.results.private_moments import PrivateMoments
from discreet.results.summary import promise

EPILOG = "Example: discreet bounds people.parquet --epsilon 0.1 --delta 1e-6"


@names_units
@reads_files
def bounds(
    data: Data,
    epsilon: Epsilon,
    file: dict[str, Any],
    unit: dict[str, Any],
    schema: Annotated[
        Path | None,
        typer.Option("--schema", help="TOML or JSON schema; by default all numbers and dates are searched."),
    ] = None,
    delta: Delta = None,
    rows: Rows = None,
    neighbors: Relation = "add-remove",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the schema.")] = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    purpose: Purpose = "",
    request: Request = None,
) -> None:
    """Search for the bounds of columns that nobody knows, privately, and write a schema with them."""
    promised(epsilon, delta, rows, neighbors)
    domain = _declared(data, schema, file, unit)
    path = free(out or default_place(data, "bounds.toml"), force, inputs=[data, *([schema] if schema else [])])
    release = free(path.with_suffix(".json"), force, inputs=[data])
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rows": rows, "neighbors": relation(neighbors)}
    with counted(ledger, account, purpose, request, None) as charged:
        found = search(data, domain=domain, **promise, n_jobs=n_jobs, progress=console.progress(quiet=json))
    found.save(release, overwrite=force)
    beyond = outside(found)
    with atomic_write(path) as form:
        form.write((_remarks(found, beyond, release) + filled_schema(found.domain.to_dict())).encode())
    if json:
        ends = {name: found.domain.columns[name].to_dict() | beyond[name]._asdict() for name in domain.searched}
        console.print_json({"schema": str(path), "release": str(release), "bounds": ends})
        return
    lines = [[name, found.domain.columns[name].short(), own.words] for name, own in beyond.items()]
    console.table("Bounds that were found", ["column", "bounds", "rows beyond"], lines)
    console.certificate(found.certificate)
    console.say_counted(charged)
    console.say("", f"The schema is in {path}, and the release that found its bounds in {release}. Both are public.")


def _remarks(found: PrivateMoments, beyond: dict[str, Outside], release: Path) -> str:
    """Write comments of a schema: which bounds were found, by which promise, and what remains outside."""
    lines = [
        "Bounds of these columns were found by a private search, for the whole promise, "
        f"{promise(found.certificate.guarantee)}; the release is {release.name}.",
        "How many rows lie beyond, by noisy counts:",
        *(f"  {name}: {own.words}" for name, own in beyond.items()),
    ]
    if blind := ", ".join(name for name, own in beyond.items() if not own.seen):
        lines.append(f"Declare {blind} from public knowledge, or delete: what stands below was not found.")
    return "".join(f"# {printable(line)}\n" for line in lines) + "\n"


def _declared(data: Path, schema: Path | None, file: dict[str, Any], unit: dict[str, Any]) -> Domain:
    """Return the columns of a schema, or all numbers and dates of a file, without bounds."""
    if schema is not None:
        return Domain.from_file(schema).with_file(**file).with_unit(**unit)
    own = {name for name in (unit.get("person"), unit.get("weights")) if name is not None}
    known = column_kinds(data, FileFormat.of(file, {}))
    columns = {name: {"type": kind} for name, kind in known if kind in ("number", "date") and name not in own}
    if not columns:
        raise ParameterError(
            f"{data.name} tells of no column that it holds numbers or dates. Name them in a schema, --schema, for "
            'example income = { type = "number" }.'
        )
    return Domain(columns).with_file(**file).with_unit(**unit)
