"""`discreet compare`: two models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import Features, Formula, Json, ModelName, Target, open_models, two_names
from discreet.results.comparison import compare as compare_models

EPILOG = "Example: discreet compare 2024.release.json 2025.release.json --target income --features age,sex"


def compare(
    a: Annotated[Path, typer.Argument(help="A release file, or a saved model.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: ModelName = "noise-aware",
    json: Json = False,
) -> None:
    """Put two models side by side: free, without the data. To releases the same model is fitted first."""
    one, other = open_models((a, b), target, features, formula, model)
    found = compare_models(one, other, two_names(a, b))
    if json:
        console.print_json(found.to_dict())
    else:
        console.summary(found.summary())
