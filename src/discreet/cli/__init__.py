"""The command line, with one file for each command."""

import discreet.cli.starting  # noqa: F401

# isort: split
from discreet.cli.commands import app, main

__all__ = ["app", "main"]
