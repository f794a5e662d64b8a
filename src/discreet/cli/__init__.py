"""The command line: one file a command."""

import discreet.cli.starting  # noqa: F401

# isort: split
from discreet.cli.commands import app, main

__all__ = ["app", "main"]
