"""`discreet demo`: 100,000 made-up people, from a Parquet file to a certified model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from discreet.cli import console
from discreet.domain import CONSTANT, Domain
from discreet.errors import ParameterError
from discreet.ledger.charging import LEDGER
from discreet.mechanisms.registry import DEFAULT, find
from discreet.results.summary import number

EPILOG = "Example: discreet demo"
ROWS = 100_000
SCHEMA = """\
# Public facts, known without looking at the table.
[columns]
age       = { low = 18, high = 90, unit = "year" }
education = { levels = ["basic", "secondary", "tertiary"] }
sex       = { levels = ["F", "M"] }
hours     = { low = 0, high = 60, unit = "hour" }
region    = { levels = ["north", "east", "south", "west"] }
income    = { low = 0, high = 150000, unit = "EUR" }
"""


def people(rows: int = ROWS, seed: int = 2026) -> pa.Table:
    """Make a table of made-up people.

    Examples
    --------
    >>> people(3).column_names
    ['age', 'education', 'sex', 'hours', 'region', 'income']
    """
    rng = np.random.default_rng(seed)
    age = 18 + 72 * rng.beta(1.6, 2.2, rows)
    education = rng.choice(3, rows, p=[0.25, 0.45, 0.30])
    sex = rng.integers(0, 2, rows)
    hours = np.clip(rng.normal(36 + 3 * sex, 8, rows), 0, 80)
    region = rng.choice(4, rows, p=[0.3, 0.2, 0.35, 0.15])
    income = 3_000 + 220 * age + np.array([0, 6_000, 17_000])[education] + 2_500 * sex + 450 * hours
    income += np.array([0, 1_500, -1_000, 3_000])[region] + rng.normal(0, 9_000, rows)
    return pa.table(
        {
            "age": np.floor(age),
            "education": np.array(["basic", "secondary", "tertiary"])[education],
            "sex": np.array(["F", "M"])[sex],
            "hours": np.round(hours),
            "region": np.array(["north", "east", "south", "west"])[region],
            "income": np.maximum(np.round(income, -1), 0.0),
        }
    )


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the table and the release.")] = Path("discreet-demo"),
) -> None:
    """Make up a table of 100,000 people and fit income privately, beside the non-private fit."""
    os.environ.pop(LEDGER, None)  # nobody in this table exists, so nothing is spent on anybody
    folder.mkdir(parents=True, exist_ok=True)
    data, schema = folder / "people.parquet", folder / "people.toml"
    release, report = folder / "people.release.json", folder / "people.report.html"
    if data.exists() and not (schema.exists() and schema.read_text(encoding="utf-8") == SCHEMA):
        raise ParameterError(f"{data} is there already and not from this demo. Name another place with --folder.")
    table = people()
    pq.write_table(table, data)
    schema.write_text(SCHEMA, encoding="utf-8")

    domain = Domain.from_file(schema)
    model: Any = find(DEFAULT).estimator(epsilon=1, delta=1e-6, domain=domain).fit_source(data, "income")
    model.release_.save(release, overwrite=True)
    model.results_.save_report(report, model.release_)

    plain = non_private(table, domain)
    cells = [number(plain[name]) for name in model.results_.coefficients]
    console.summary(model.results_.summary().with_column("non-private", cells, at=2))
    console.certificate(model.certificate_)
    console.say("", f"The table is in {data}, its schema in {schema}.")
    console.say(f"The release is in {release}. Check it with: discreet check {release}")
    console.say_where(report)


def non_private(table: pa.Table, domain: Domain, target: str = "income") -> dict[str, float]:
    """Fit ordinary least squares to the unclipped table: not private, for comparison only."""
    features = [name for name in domain.columns if name != target]
    entries = [domain.entries[i] for i in domain.design(features)]
    columns = [np.ones(table.num_rows)]
    for entry in entries[1:]:
        values = table.column(entry.column).to_numpy()
        level = None if entry.level is None else domain.columns[entry.column].to_dict()["levels"][entry.level]
        columns.append(values if level is None else (values == level).astype(float))
    solution = np.linalg.lstsq(np.column_stack(columns), table.column(target).to_numpy())[0]
    return dict(zip([CONSTANT, *(entry.name for entry in entries[1:])], solution.tolist(), strict=True))
