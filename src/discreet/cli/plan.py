"""`discreet plan`: the expected accuracy of a model, from public facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    Delta,
    Features,
    Force,
    Formula,
    Json,
    Relation,
    SchemaOption,
    Target,
    chosen,
    free,
    outcome_of,
    split,
)
from discreet.cli.files import names_units
from discreet.core import checks
from discreet.core.files import atomic_write, write_document
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.planning import Plan
from discreet.planning import plan as make_plan
from discreet.planning.guesses import guesses
from discreet.planning.models import ModelPlan
from discreet.results.plots.style import style

EPILOG = (
    "Example: discreet plan --schema people.toml --rows 20000 --target income --epsilon 0.1,0.5,1,2 --r-squared 0.4"
)

Guesses = Annotated[
    list[str] | None,
    typer.Option(
        "--about",
        help="A guess, as age.mean=50, age.sd=18, born.mean=1980-01-31 or sex.shares=0.6,0.4; or, of a column without "
        "bounds, its range, as pay.low=0 and pay.high=90; may be repeated.",
    ),
]
Explained = Annotated[
    float | None, typer.Option("--r-squared", help="A guess: what the features explain; 0.5 is taken by default.")
]
Draws = Annotated[int | None, typer.Option(help="How many tables are made up; 24 by default, 12 for wide ones.")]
Correlations = Annotated[
    list[str] | None,
    typer.Option(
        "--correlation",
        help="A guess: of two features, typically, as 0.3; or of pairs, as age,tenure=0.8; may be repeated then.",
    ),
]
Widths = Annotated[
    list[str] | None, typer.Option("--want-width", help="An interval's largest width, as age=0.1; may be repeated.")
]


@names_units
def plan(
    schema: SchemaOption,
    rows: Annotated[int, typer.Option(help="About how many rows the table will have, as publicly known.")],
    unit: dict[str, Any],
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    epsilon: Annotated[str, typer.Option(help="Promises to compare, separated by commas.")] = "0.1,0.5,1,2",
    delta: Delta = None,
    r_squared: Explained = None,
    mean_square: Annotated[float | None, typer.Option(help="A guess: the outcome's mean square, in its unit.")] = None,
    correlation: Correlations = None,
    about: Guesses = None,
    methods: Annotated[str | None, typer.Option(help="Methods, separated by commas; see `discreet methods`.")] = None,
    stages: Annotated[
        str, typer.Option(help="In how many stages DPLinearRegression and its kin release: auto, or 1 to 4.")
    ] = "auto",
    want_width: Widths = None,
    want_error: Annotated[float | None, typer.Option(help="The largest typical error of a prediction.")] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    neighbors: Relation = "add-remove",
    draws: Draws = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the plan, as JSON.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Where to draw it: a .png, .svg or .pdf file.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Tell how good models will be before any budget is spent: from public facts, without the data."""
    asked = chosen(Domain.from_file(schema).with_unit(**unit), target, split(features), formula)
    saved = None if out is None else free(out, force, inputs=[schema])
    drawn = None if picture is None else free(_picture(picture, saved), force, "--picture", [schema])
    found = make_plan(
        asked.domain,
        outcome_of(asked),
        asked.features or None,
        rows=rows,
        epsilon=[_number("--epsilon", text) for text in split(epsilon)],
        delta=delta,
        r_squared=r_squared,
        mean_square=mean_square,
        correlation=_correlation(correlation),
        about=guesses(about or []),
        methods=split(methods) or None,
        stages=int(stages) if stages.isdecimal() else stages,
        want_width=dict(_pair("--want-width", text) for text in want_width or []) or None,
        want_error=want_error,
        level=level,
        neighbors=checks.neighbors(neighbors),
        draws=draws,
        progress=console.progress(quiet=json),
    )
    _write(found, saved, drawn)
    if json:
        console.print_json(found.to_dict())
        return
    console.summary(found.summary())
    console.summary(found.coefficients())
    for path in (saved, drawn):
        if path is not None:
            console.say(f"Written: {path}.")


def _write(found: Plan, saved: Path | None, drawn: Path | None) -> None:
    if saved is not None:
        write_document(saved, found.to_dict() | {"format_version": 1})
    if drawn is not None:
        if isinstance(found, ModelPlan):
            raise ParameterError("A plan for classes or counts has no picture: leave out --picture.")
        with atomic_write(drawn) as file, style():
            found.plot().savefig(file, format=drawn.suffix[1:].lower(), dpi=200)


def _picture(path: Path, saved: Path | None) -> Path:
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError("--picture must name a .png, .svg or .pdf file.")
    if saved is not None and path.resolve() == saved.resolve():
        raise ParameterError("The picture would replace the plan. Name another file with --picture.")
    return path


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option}: {text!r} is not a number.") from None


def _pair(option: str, text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise ParameterError(f"{option} {text}: give NAME=NUMBER, for example age=0.1.")
    return name, _number(option, value)


def _correlation(given: list[str] | None) -> float | dict[tuple[str, str], float] | None:
    """Parse one number, or numbers by pair of columns.

    Examples
    --------
    >>> _correlation(["0.3"]), _correlation(["age,tenure=0.8"])
    (0.3, {('age', 'tenure'): 0.8})
    """
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return _number("--correlation", given[0])
    pairs = [_pair("--correlation", text) for text in given]
    for names, _ in pairs:
        if names.count(",") != 1:
            raise ParameterError(f"--correlation {names}: give two columns, for example age,tenure=0.8.")
    return {(names.split(",")[0].strip(), names.split(",")[1].strip()): value for names, value in pairs}
