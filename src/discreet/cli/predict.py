"""`discreet predict`: predictions of a model for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv
import typer

from discreet.cli import console
from discreet.cli.arguments import (
    Features,
    Force,
    Formula,
    ModelName,
    Target,
    all_outcomes,
    default_place,
    fit_release,
    free,
    refuse_fitting,
    split,
)
from discreet.cli.files import reads_files
from discreet.core import checks
from discreet.core.files import atomic_write
from discreet.data.tables import written
from discreet.errors import ParameterError
from discreet.models.predictions import predictions, why_no_interval
from discreet.results.private_moments import PrivateMoments
from discreet.results.results import Results
from discreet.results.saved import load_saved

EPILOG = "Example: discreet predict people.income.release.json new.csv --out predicted.csv"


@reads_files
def predict(
    model: Annotated[Path, typer.Argument(help="A release file, or a saved model.", show_default=False)],
    data: Annotated[Path, typer.Argument(help="Parquet, CSV or Excel file with the columns it uses.")],
    file: dict[str, Any],
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    kind: ModelName = "noise-aware",
    level: Annotated[float, typer.Option(help="Of the intervals of new outcomes, where the model has them.")] = 0.95,
    clip: Annotated[
        bool,
        typer.Option(
            "--clip/--no-clip",
            help="Clip columns to their declared bounds, as the fit did, and outcomes to their declared range.",
        ),
    ] = True,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write the predictions: a .csv file.")
    ] = None,
    force: Force = False,
) -> None:
    """Predict the outcome of each row of a table: free. To a release the model is fitted first.

    One line for each row, in the same order, empty for a row that lacks a value. Columns and outcomes are clipped to
    what was declared, unless --no-clip is given. Predictions tell of the rows that they are for: they are as
    confidential as those.
    """
    level = checks.fraction("--level", level)
    path = free(out or default_place(data, "predictions.csv"), force, inputs=[model, data])
    chosen = _model(model, target, features, formula, kind)
    rows = predictions(chosen, written(data, **file), level, clip=clip)
    with atomic_write(path) as place:
        first = next(rows, None)
        if first is None:
            raise ParameterError(f"{data.name} has no rows to predict.")
        with pa.csv.CSVWriter(place, first.schema) as writer:
            writer.write_table(first)
            for table in rows:
                writer.write_table(table)
    console.say(
        f"Wrote {path}: {', '.join(first.column_names)}; a line for each row of {data.name}, in its order, empty where "
        "the row lacks a value."
    )
    if (why := why_no_interval(chosen)) is not None:
        console.say(f"Without intervals: {why.rstrip('.')}.")
    console.say("The predictions are as confidential as the rows that they are for.")


def _model(path: Path, target: str | None, features: str | None, formula: str | None, kind: str) -> Results:
    """Load a saved model, or fit the model that options describe to a release."""
    saved = load_saved(path)
    if isinstance(saved, PrivateMoments):
        if all_outcomes(saved, target, formula, kind):
            return saved.fit_many(features=split(features) or None)
        return fit_release(saved, target, features, formula, kind)
    refuse_fitting(target, features, formula, kind)
    return saved
