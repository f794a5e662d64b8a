"""All commands, from the help that they print."""

from __future__ import annotations

import re

import typer
from typer.cli import get_docs_for_click

from discreet.cli.commands import COMMANDS, load


def helps() -> str:
    """One section a command."""
    parts = []
    for name, words in COMMANDS.items():
        command = load(name)
        text = get_docs_for_click(obj=command, ctx=typer.Context(command), indent=1, name=f"discreet {name}")
        parts.append(_plain(text if words.split(".")[0] in text else text.replace("`\n", f"`\n\n{words}\n", 1)))
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Without the marks of colours."""
    return re.sub(r"\[/?(?:bold|dim|italic|cyan|yellow|red|green)\]", "", text)
