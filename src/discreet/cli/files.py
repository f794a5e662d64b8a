"""Options for the format of a file and for the unit of privacy, shared by all commands that read a table."""

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
"""The options of `FileFormat`; each overrides the schema."""


UNITS: dict[str, Any] = {
    "person": Annotated[str | None, typer.Option(help="The column that tells whose a row is.")],
    "rows_per_person": Annotated[int | None, typer.Option(help="How many rows a person counts for at most.")],
    "weights": Annotated[str | None, typer.Option(help="The column of weights.")],
    "largest_weight": Annotated[float | None, typer.Option(help="A public bound on the weights.")],
}
"""The options of `Unit`; each overrides the schema."""

Command = Callable[..., None]


def told_by(name: str, options: dict[str, Any]) -> Callable[[Command], Command]:
    """Replace the named parameter of a command, a mapping, by options.

    Examples
    --------
    >>> @told_by("file", OPTIONS)
    ... def show(data: str, file: dict[str, Any]) -> None:
    ...     print(data, file)
    >>> show(data="people.csv", sep=";", na=[])
    people.csv {'sep': ';'}
    >>> list(inspect.signature(show).parameters)
    ['data', 'sep', 'decimal', 'thousands', 'na', 'date_format', 'sheet']
    """

    def decorated(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            told = {option: given.pop(option, None) for option in options}
            command(**given, **{name: {option: value for option, value in told.items() if value or value == 0}})

        own = inspect.signature(command, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [parameter.replace(kind=keyword) for parameter in own if parameter.name != name]
        more = options.items()
        parameters += [inspect.Parameter(key, keyword, default=None, annotation=kind) for key, kind in more]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorated


reads_files, names_units = told_by("file", OPTIONS), told_by("unit", UNITS)
