"""The page of all commands, from the help that they print."""

from __future__ import annotations

import re

import typer
from typer.cli import get_docs_for_click

from discreet.cli.commands import COMMANDS, load

HEAD = """# Commands

What `discreet COMMAND --help` prints. Exit code 0 means done, 1 that a check failed, 2 bad input, 130 that it was
stopped, 141 that whoever read the output closed it. An unexpected error hides its details, since they might quote data; the
curator can see them with `DISCREET_DEBUG=1`.

"""


def page() -> str:
    """One section a command."""
    parts = []
    for name, words in COMMANDS.items():
        command = load(name)
        text = get_docs_for_click(obj=command, ctx=typer.Context(command), indent=1, name=f"discreet {name}")
        parts.append(_plain(text if words.split(".")[0] in text else text.replace("`\n", f"`\n\n{words}\n", 1)))
    return HEAD + "\n".join(parts)


def _plain(text: str) -> str:
    """Without the marks of colours."""
    return re.sub(r"\[/?(?:bold|dim|italic|cyan|yellow|red|green)\]", "", text)
