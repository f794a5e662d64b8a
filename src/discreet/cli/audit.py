"""`discreet audit`: an attack on a method, compared with its guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.audit import PATHS, Audit, subject_of
from discreet.audit import audit as attack
from discreet.audit.one_run import OneRun, one_run
from discreet.audit.page import answer, facts, facts_of_one
from discreet.cli import console
from discreet.cli.arguments import Force, Json, Relation, Settings, free, method_settings
from discreet.core import checks
from discreet.core.files import atomic_write
from discreet.errors import ParameterError
from discreet.mechanisms.registry import find
from discreet.results.plots.style import style

EPILOG = "Example: discreet audit DPLinearRegression --epsilon 1 --fits 2000 --report audit.html"

_FITS = 2000

_ONE_FIT = (
    "--canaries is one fit to a table in memory, for add-remove neighbours, and gives figures alone: leave out --fits, "
    "--path, --neighbors, --picture and --report, or --canaries."
)


def audit(
    method: Annotated[str, typer.Argument(help="A method; see `discreet methods`.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="The promise to attack.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Its failure probability; 0 for a promise of pure epsilon.")] = 1e-6,
    neighbors: Relation = "add-remove",
    path: Annotated[str, typer.Option(help=f"How rows reach the method: {', '.join(PATHS)}.")] = "memory",
    fits: Annotated[int, typer.Option(help="How many fits; more come closer.")] = _FITS,
    confidence: Annotated[float, typer.Option(help="Of the bound.")] = 0.95,
    canaries: Annotated[
        int | None, typer.Option(help="Instead, one fit to a table with so many canaries; it proves less.")
    ] = None,
    published: Annotated[str | None, typer.Option(help="The paper whose printed constants to use.")] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option(help="To repeat an audit.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the figures, as JSON.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Where to draw it: a .png, .svg or .pdf file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write a page for the privacy officer, as HTML.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Attack a method, and tell how much of its promise the attack uses up. The tables are made up."""
    estimator = find(method).estimator
    options = {"neighbors": checks.neighbors(neighbors)} | method_settings(settings, estimator)
    if published is not None:
        if not estimator.papers:
            raise ParameterError(f"{estimator.__name__} is no paper's method: leave out --published.")
        options["published"] = published
    places = _places(out, picture, report, force)
    if canaries is None:
        found: Audit | OneRun = attack(
            subject_of(method, epsilon, delta or None, **options),
            path=path,
            fits=fits,
            confidence=confidence,
            seed=seed,
            progress=console.progress(quiet=json),
        )
    elif picture or report or (path, neighbors, fits) != ("memory", "add-remove", _FITS):
        raise ParameterError(_ONE_FIT)
    else:
        found = one_run(
            estimator, epsilon, delta or None, canaries=canaries, confidence=confidence, seed=seed, **options
        )
    _write(found, *places)
    if json:
        console.print_json(found.to_dict())
    else:
        _show(found, [place for place in places if place is not None])
    if found.broken:
        raise typer.Exit(1)


def _places(out: Path | None, picture: Path | None, report: Path | None, force: bool) -> list[Path | None]:
    if picture is not None and picture.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError("--picture must name a .png, .svg or .pdf file.")
    named = {"--out": out, "--picture": picture, "--report": report}
    given = [place.resolve() for place in named.values() if place is not None]
    if len(set(given)) < len(given):
        raise ParameterError("--out, --picture and --report must name different files.")
    return [None if place is None else free(place, force, option) for option, place in named.items()]


def _write(found: Audit | OneRun, out: Path | None, picture: Path | None, report: Path | None) -> None:
    if out is not None:
        with atomic_write(out) as file:
            file.write(console.as_json(found.to_dict()).encode())
    if isinstance(found, OneRun):
        return
    if picture is not None:
        with atomic_write(picture) as file, style():
            found.plot().savefig(file, format=picture.suffix[1:].lower(), dpi=200)
    if report is not None:
        with atomic_write(report) as file:
            file.write(found.report().encode())


def _show(found: Audit | OneRun, places: list[Path]) -> None:
    console.say(answer(found))
    if isinstance(found, OneRun):
        rows = facts_of_one(found)
    else:
        rows = [*facts(found), ("Attack", found.statistic), ("Tables", found.tables), ("Rows came by", found.path)]
    console.table(found.subject, ["what", "figure"], rows)
    for place in places:
        console.say(f"Written: {place}.")
