"""Options that tell how a file is written, of every command that reads a table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

OPTIONS: dict[str, Any] = {
    "sep": Annotated[str | None, typer.Option(help="CSV: between values, as ';' or tab.")],
    "decimal": Annotated[str | None, typer.Option(help="The decimal mark: '.' or ','.")],
    "thousands": Annotated[str | None, typer.Option(help="Between groups of digits, as '.' in 1.234.567.")],
    "na": Annotated[list[str] | None, typer.Option(help="A word for a missing value; may be repeated.")],
    "date_format": Annotated[str | None, typer.Option(help="How dates are written, as '%d/%m/%Y'.")],
    "sheet": Annotated[str | None, typer.Option(help="The sheet of an Excel file; the first by default.")],
}
"""Those of `FileFormat`; each stands for what the schema's file says of it."""


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameter `file`, a mapping of what is told, is given by options.

    Examples
    --------
    >>> @reads_files
    ... def show(data: str, file: dict[str, Any]) -> None:
    ...     print(data, file)
    >>> show(data="people.csv", sep=";", na=[])
    people.csv {'sep': ';'}
    >>> list(inspect.signature(show).parameters)
    ['data', 'sep', 'decimal', 'thousands', 'na', 'date_format', 'sheet']
    """

    @functools.wraps(command)
    def run(**given: Any) -> None:
        told = {name: given.pop(name, None) for name in OPTIONS}
        command(**given, file={name: value for name, value in told.items() if value})

    own = inspect.signature(command, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [parameter.replace(kind=keyword) for parameter in own if parameter.name != "file"]
    parameters += [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in OPTIONS.items()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
