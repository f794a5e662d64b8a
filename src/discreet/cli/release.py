"""`discreet release`: the noisy moments of a table, for any number of models."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    Data,
    Delta,
    Epsilon,
    Features,
    Force,
    Formula,
    Jobs,
    Json,
    Out,
    Relation,
    Rows,
    SchemaOption,
    chosen,
    default_place,
    free,
    split,
)
from discreet.core.checks import neighbors as relation
from discreet.data.moments import Moments
from discreet.domain import Domain
from discreet.gate.moments import release as release_moments
from discreet.gate.session import promised

EPILOG = "Example: discreet release people.parquet --schema people.toml --epsilon 1 --delta 1e-6"


def release(
    data: Data,
    schema: SchemaOption,
    epsilon: Epsilon,
    delta: Delta = None,
    targets: Annotated[str | None, typer.Option(help="Outcomes, separated by commas; any column by default.")] = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
) -> None:
    """Release the noisy moments of a table once, to fit any number of models to them later."""
    promised(epsilon, delta, rows, neighbors)
    domain = chosen(Domain.from_file(schema), None, split(features), formula)[0]
    outcomes = split(targets)
    if features is not None:
        columns = [domain.entries[domain.target(name)].column for name in outcomes]
        domain = domain.select(dict.fromkeys([*split(features), *columns]))
    path = free(out or default_place(data, "release.json"), force, inputs=[data, schema])
    progress = console.progress(quiet=json)
    moments = Moments.from_source(data, domain, targets=outcomes or None, n_jobs=n_jobs, progress=progress)
    released = release_moments(
        moments, epsilon=epsilon, delta=delta, targets=outcomes or None, rows=rows, neighbors=relation(neighbors)
    )
    released.save(path)
    if json:
        console.print_json({"release": str(path), "certificate": released.certificate.to_dict()})
        return
    console.certificate(released.certificate)
    console.say("", f"The release is in {path}. Fit models to it with: discreet model {path} --target NAME")
