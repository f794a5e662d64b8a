"""The source of a command's rows: files, object storage, a database, or an engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from discreet.core import checks
from discreet.data.named import READERS, named_rows
from discreet.data.sources.postgres import is_address
from discreet.data.sources.stored import is_stored
from discreet.errors import ParameterError

RowsArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Parquet, CSV or Excel file, or a folder of them; s3://... for Parquet; postgresql://HOST/NAME.",
        show_default=False,
    ),
]
EngineOption = Annotated[str | None, typer.Option("--engine", help="Who reads the rows: spark or dask; else this one.")]
TableOption = Annotated[str | None, typer.Option("--table", help="Of a database: a table, or a query.")]
PushdownOption = Annotated[bool, typer.Option("--pushdown", help="Let the database sum up: no row leaves it.")]


@dataclass(frozen=True, repr=False)
class Given:
    """The rows that arguments name.

    Parameters
    ----------
    source : Any
        A source, as `fit_source` takes it.
    name : Path
        The path that results are named after.
    files : tuple of Path
        Files that must not be replaced.
    """

    source: Any
    name: Path
    files: tuple[Path, ...] = ()


def given_rows(data: str, engine: str | None, table: str | None, pushdown: bool) -> Given:
    """Find the rows that arguments name.

    Examples
    --------
    >>> given_rows("postgresql://db.example/clinic", None, "visits", True).name.name
    'clinic'
    >>> given_rows("s3://bucket/people.parquet?region=eu-west-1", None, None, False).name.name
    'people.parquet'
    """
    checks.choice("--engine", engine, (None, *READERS))
    if is_address(data):
        if table is None or engine is not None:
            raise ParameterError("A database needs --table, a table or a query, and goes without --engine.")
        name = Path(PurePosixPath(urlsplit(data).path).name or "rows")
        return Given(named_rows(data, None, table, pushdown), name)
    if table is not None or pushdown:
        raise ParameterError("--table and --pushdown are for databases: postgresql://HOST/NAME.")
    name = Path(PurePosixPath(urlsplit(data).path).name) if is_stored(data) else Path(data)
    files = () if is_stored(data) else (name,)
    return Given(named_rows(data, engine), name, files)
