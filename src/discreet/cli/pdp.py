"""`discreet pdp`: the privacy loss of each person under a release, for the curator only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.files import reads_files
from discreet.core import checks
from discreet.data.tables import written
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.per_instance.measurement import certificate_of, losses
from discreet.per_instance.result import NOTE, Losses, place
from discreet.released.certificate import Certificate

EPILOG = (
    "Example: discreet pdp people.parquet --schema people.toml --release people.release.json --out confidential.parquet"
)


@reads_files
def pdp(
    data: Annotated[Path, typer.Argument(help="The Parquet, CSV or Excel file, or folder, that was released.")],
    release: Annotated[Path, typer.Option("--release", help="The release or model file.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="New .parquet file, confidential.", show_default=False)],
    file: dict[str, Any],
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema, to check it against the release.")] = None,
    picture: Annotated[Path | None, typer.Option(help="New .png or .svg file; by default beside --out.")] = None,
    delta: Annotated[float | None, typer.Option(help="The certificate's by default.")] = None,
    largest: Annotated[int, typer.Option(min=1, help="How many rows with the largest loss to list.")] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")] = False,
    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Threads; all cores by default.")] = None,
) -> None:
    """CONFIDENTIAL: tell how much a release revealed about each person in the table.

    The result is computed from the data without noise. It is for the curator, not for publication.
    """
    certificate = certificate_of(release)
    if delta is not None:
        checks.fraction("delta", delta)
    if schema is not None:
        _agree(Domain.from_file(schema), certificate)
    out = place(out, ".parquet")
    picture = place(picture or out.with_suffix(".png"), ".png", ".svg")
    found = losses(written(data, **file), certificate, n_jobs=n_jobs, progress=console.progress(quiet=json))
    facts = _facts(found, delta, largest)
    found.save(out)
    found.plot(picture, delta)
    if json:
        console.print_json(facts | {"out": str(out), "picture": str(picture)})
        return
    _show(facts, found)
    console.say("", f"Written, readable by you alone: {out}, {picture}. {NOTE}")


def _agree(schema: Domain, certificate: Certificate) -> None:
    """Refuse a schema that is not the one of the release."""
    declared = certificate.searched or certificate.declared or certificate.domain
    for name, column in declared.inputs.items():
        if name not in schema.columns:
            raise ParameterError(f"Column {name!r} of the release is not in the schema: it belongs to another table.")
        if schema.columns[name] != column:
            raise ParameterError(f"Column {name!r} has other bounds or levels in the schema than in the release.")
    if schema.unit != declared.unit:
        raise ParameterError(
            f"The schema and the release do not protect the same. The schema: {schema.unit.short}. The release: "
            f"{declared.unit.short}."
        )


def _facts(found: Losses, delta: float | None, largest: int) -> dict[str, Any]:
    promised = found.certificate.guarantee
    return {
        "confidential": True,
        "about": found.about,
        "exact": found.exact,
        "bounds": found.notes,
        "given": found.given,
        "delta": promised.delta if delta is None else delta,
        "promised": {"epsilon": promised.epsilon, "delta": promised.delta},
        "for_all": found.for_all(delta),
        "quantiles": {f"{level:g}": value for level, value in found.quantiles(delta=delta).items()},
        "largest": [{_who(found): one, "epsilon": value} for one, value in found.largest(largest, delta)],
    }


def _show(facts: dict[str, Any], found: Losses) -> None:
    console.say(f"CONFIDENTIAL. Loss of {facts['about']}: {'exact' if facts['exact'] else 'some parts are bounds'}.")
    for note in [*facts["bounds"], *facts["given"]]:
        console.say(f"- {note}")
    rows = [[_name(level), f"{value:.4g}"] for level, value in facts["quantiles"].items()]
    rows += [["anybody, given this table (pDP for all)", f"{facts['for_all']:.4g}"]]
    rows += [[f"promised to everybody, delta {facts['promised']['delta']:g}", f"{facts['promised']['epsilon']:.4g}"]]
    console.table(
        f"epsilon at delta {facts['delta']:g}", [f"share of {_who(found)}s up to", "epsilon"], rows, numeric=[1]
    )
    who = _who(found)
    title = "Rows with the largest loss, counted from 0" if who == "row" else "Persons with the largest loss"
    rows = [[str(entry[who]), f"{entry['epsilon']:.4g}"] for entry in facts["largest"]]
    console.table(title, [who, "epsilon"], rows, numeric=[0, 1] if who == "row" else [1])


def _who(found: Losses) -> str:
    return "row" if found.names is None else "person"


def _name(level: str) -> str:
    return {"0.5": "median", "1": "all of the table"}.get(level, f"{float(level):.0%}")
