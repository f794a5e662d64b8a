"""The command line: one file a command."""

from discreet.cli.app import app, main

__all__ = ["app", "main"]
