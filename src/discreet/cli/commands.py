"""The commands of `discreet`; each has its own file, which is imported when the command runs."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet import __version__
from discreet.cli import console

COMMANDS = {
    "fit": "Fit a private model to a table and save its certified release.",
    "release": "Release what models need of a table once, to fit any number of them later.",
    "bounds": "Search for the bounds of columns that nobody knows, privately, and write a schema with them.",
    "model": "Fit a model to a release: free, without the data. "
    "Without --target, to its outcome, or to all that it has.",
    "predict": "Predict the outcome of each row of a table: free. To a release the model is fitted first.",
    "compare": "Put models side by side: free, without the data. To releases the same model is fitted first.",
    "select": "Tell which variables belong to a model, and how sure that is: free, without the data.",
    "check": "Recompute the privacy loss of a release from its noise and compare it with the promise.",
    "sign": "Sign a file, so that others can tell who made it and that nobody changed it: `discreet check FILE --key`.",
    "ledger": "Count what is spent on the people of a table, over all releases.",
    "audit": "Attack a method, and tell how much of its promise the attack uses up. The tables are made up.",
    "methods": "List the methods and the status of their guarantees.",
    "demo": "Make up a table of 100,000 people and fit income privately, beside the non-private fit.",
    "plan": "Tell how good models will be before any budget is spent: from public facts, without the data.",
    "pdp": "CONFIDENTIAL: tell how much a release revealed about each person in the table.",
    "reproduce": "Make the papers' tables and figures again. A run that was stopped goes on where it was.",
    "schema": "Write, show and check schemas: the public facts about a table.",
    "serve": "Serve private models of tables to analysts who may not see the data.",
}
"""The summary of each command, as in its own help."""


class Commands(TyperGroup):
    """Commands that are listed by their summaries alone, and imported when they run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a placeholder of a command, for the list."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to run."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(command.name or ""), rest


def load(name: str) -> Any:
    """Import a command, or a group of them, from its file."""
    file = importlib.import_module(f"discreet.cli.{name}")
    if hasattr(file, "app"):
        return typer.main.get_command(file.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(name, epilog=file.EPILOG)(getattr(file, name))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Differentially private regression with guarantees that can be checked.\n\n"
    "Start with [bold]discreet demo[/bold], or with [bold]discreet schema init people.parquet[/bold].",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Differentially private regression with guarantees that can be checked."""
    if show:
        console.say(f"discreet {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit code 0 done, 1 a check failed, 2 bad input, 130 stopped, 141 output closed."""
    sys.exit(console.guarded(lambda: app(standalone_mode=False)))
