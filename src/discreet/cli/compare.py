"""`discreet compare`: models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import Features, Force, Json, ModelName, Target, file_names, free, open_models
from discreet.core import checks
from discreet.errors import ParameterError
from discreet.results.comparison import compare as compare_models
from discreet.results.model_table import table as table_of

EPILOG = "Example: discreet compare 2024.release.json 2025.release.json --target income --features age,sex"

FORMS = ("text", "markdown", "latex", "html", "csv")


def compare(
    files: Annotated[list[Path], typer.Argument(help="Release files, or saved models.", show_default=False)],
    target: Target = None,
    features: Features = None,
    formula: Annotated[
        list[str] | None, typer.Option(help="Instead: 'income ~ age + sex'; with --table several, a column for each.")
    ] = None,
    model: ModelName = "noise-aware",
    table: Annotated[
        bool, typer.Option("--table", help="One table of any number of models, as papers print them.")
    ] = False,
    form: Annotated[str, typer.Option("--format", help="Of the table: text, markdown, latex, html or csv.")] = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to save the table: .txt, .md, .tex, .html, .csv, .docx or .xlsx."),
    ] = None,
    force: Force = False,
    below: Annotated[str, typer.Option(help="Below estimates: std-err, interval or p-value.")] = "std-err",
    stars: Annotated[bool, typer.Option("--stars", help="Stars at p < 0.1, 0.05 and 0.01.")] = False,
    omit: Annotated[str | None, typer.Option(help="Columns to leave out, by commas; a row tells of them.")] = None,
    exponentiate: Annotated[bool, typer.Option("--exponentiate", help="Odds ratios and ratios of rates.")] = False,
    json: Json = False,
) -> None:
    """Put models side by side: free, without the data. To releases the same model is fitted first."""
    formulas: list[str | None] = [*formula] if formula else [None]
    of_table: dict[str, Any] = {
        "--format": form != "text",
        "--out": out,
        "--below": below != "std-err",
        "--stars": stars,
    }
    of_table |= {"--omit": omit, "--exponentiate": exponentiate}
    if not table:
        if given := [name for name, value in of_table.items() if value]:
            raise ParameterError(f"Only a table of models takes {', '.join(given)}: add --table.")
        if len(files) != 2 or len(formulas) > 1:
            raise ParameterError("Two files and one model are compared. For one table of other numbers: add --table.")
    checks.choice("--format", form, FORMS)
    place = None if out is None else free(out, force, inputs=files)
    models = open_models(files, target, features, formulas, model)
    if not table:
        found: Any = compare_models(models[0], models[1], names=file_names(files))
    else:
        names = file_names(files) if len(models) == len(files) > 1 else None
        chosen: dict[str, Any] = {"stars": stars, "exponentiate": exponentiate}
        chosen |= {"below": below.replace("-", "_"), "omit": omit.split(",") if omit else ()}
        found = table_of(models, names, **chosen)
    if place is not None:
        found.save(place)
        console.say(f"The table is in {place}. It is public.")
    elif json:
        console.print_json(found.to_dict())
    elif form != "text":
        console.print_text(getattr(found, f"as_{form}")())
    else:
        console.summary(found.summary())
