"""`discreet release`: the noisy moments of a table, for any number of models."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    AccountOption,
    Delta,
    DeviceOption,
    Epsilon,
    Features,
    Force,
    Jobs,
    Json,
    LedgerOption,
    Out,
    Purpose,
    Relation,
    Request,
    Rows,
    SchemaOption,
    counted,
    default_place,
    free,
    split,
)
from discreet.cli.files import names_units, reads_files
from discreet.cli.outlook import Yes, with_word
from discreet.cli.rows import EngineOption, PushdownOption, RowsArgument, TableOption, given_rows
from discreet.core.checks import neighbors as relation
from discreet.domain import Domain
from discreet.drivers.release import release as release_table
from discreet.errors import ParameterError
from discreet.gate.session import promised

EPILOG = "Example: discreet release people.parquet --schema people.toml --epsilon 1 --delta 1e-6"


@names_units
@reads_files
def release(
    data: RowsArgument,
    schema: SchemaOption,
    epsilon: Epsilon,
    file: dict[str, Any],
    unit: dict[str, Any],
    delta: Delta = None,
    targets: Annotated[str | None, typer.Option(help="Outcomes, separated by commas; any column by default.")] = None,
    features: Features = None,
    formula: Annotated[
        list[str] | None, typer.Option(help="A model to come, as 'income ~ age + region'; may be repeated.")
    ] = None,
    stages: Annotated[str, typer.Option(help="Stages where outcomes are named: 1 to 4, or auto.")] = "auto",
    covariance: Annotated[
        str, typer.Option(help="What standard errors in stages are to be: robust, classical, or auto.")
    ] = "auto",
    rows: Rows = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
    device: DeviceOption = None,
    engine: EngineOption = None,
    table: TableOption = None,
    pushdown: PushdownOption = False,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    purpose: Purpose = "",
    request: Request = None,
    yes: Yes = False,
) -> None:
    """Release what models need of a table once, to fit any number of them later."""
    promised(epsilon, delta, rows, neighbors)
    domain = Domain.from_file(schema).with_file(**file).with_unit(**unit)
    if formula and features:
        raise ParameterError("Give either --formula, or --targets and --features.")
    asked: dict[str, Any] = {
        "targets": split(targets) or None,
        "features": split(features) or None,
        "models": formula or None,
    }
    given = given_rows(data, engine, table, pushdown)
    path = free(out or default_place(given.name, "release.json"), force, inputs=[*given.files, schema])
    progress = console.progress(quiet=json)
    promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rows": rows, "neighbors": relation(neighbors)}
    reading: dict[str, Any] = {"domain": domain, "n_jobs": n_jobs, "device": device, "progress": progress}
    way: dict[str, Any] = {"stages": int(stages) if stages.isdecimal() else stages, "covariance": covariance}
    with counted(ledger, account, purpose, request, "; ".join(formula or ()) or None) as charged:
        released = with_word(partial(release_table, given.source, **asked, **way, **promise, **reading), yes=yes)
    released.save(path, overwrite=force)
    if json:
        console.print_json({"release": str(path), "certificate": released.certificate.to_dict()})
        return
    console.certificate(released.certificate)
    console.say_counted(charged)
    console.say("", f"The release is in {path}. Fit models to it with: discreet model {path} --target NAME")
