"""The manual page, from the commands' own help: ``python -m distribution.manual`` writes distribution/discreet.1."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from discreet import __version__
from discreet.cli.commands import COMMANDS, app, load

PAGE = Path(__file__).with_name("discreet.1")
CODES = {
    "0": "Done.",
    "1": "A check failed.",
    "2": "The input is wrong; nothing was released.",
    "130": "Stopped by Ctrl-C.",
    "141": "Whoever read the output closed it early.",
}


def escaped(text: str) -> str:
    r"""Text as roff has it.

    Examples
    --------
    >>> print(escaped(".5 [bold]or[/bold] --out C:\\"))
    \&.5 or \-\-out C:\e
    """
    plain = re.sub(r"\[/?bold\]", "", text).replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", plain, flags=re.MULTILINE)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text, a line each."""
    for part in filter(None, text.split("\n\n")):
        yield from (".PP", escaped(" ".join(part.split())))


def record(parameter: Any) -> tuple[str, str]:
    """An option or an argument, and what is to be known of it."""
    argument = parameter.param_type_name == "argument"
    flag = getattr(parameter, "is_flag", False)
    names = "" if argument else ", ".join(sorted(parameter.opts, key=len))
    names += "" if flag else f" {parameter.name.upper()}"
    notes = ["required"] if parameter.required else []
    told = isinstance(parameter.default, str | int | float | Path) and not flag and str(parameter.default)
    notes += [f"default: {parameter.default}"] if told else []
    notes += [f"environment: {parameter.envvar}"] if parameter.envvar else []
    return names.strip(), " ".join([*(parameter.help or "").split(), *(f"[{note}]" for note in notes)])


def entries(parameters: Iterable[Any]) -> Iterator[str]:
    """Options and arguments, each with its words."""
    for parameter in parameters:
        names, words = record(parameter)
        yield from (".TP", rf"\fB{escaped(names)}\fR", escaped(words))


def command(name: str, found: Any, parent: Any) -> Iterator[str]:
    """One command, or each of a group."""
    ctx = found.make_context(name, [], parent=parent, resilient_parsing=True)
    if getattr(found, "commands", None):
        for inner, one in found.commands.items():
            yield from command(inner, one, ctx)
        return
    parameters = [one for one in found.get_params(ctx) if "--help" not in one.opts]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    named = " ".join(one.name.upper() if one.required else f"[{one.name.upper()}]" for one in arguments)
    yield f".SS {escaped(ctx.command_path)} {named}".rstrip()
    yield from paragraphs(found.help or "")
    yield from entries(parameters)
    yield from paragraphs(found.epilog or "")


def page() -> str:
    """The whole page."""
    group = typer.main.get_command(app)
    ctx: Any = group.make_context("discreet", [], resilient_parsing=True)
    summary, _, start = (app.info.help or "").partition("\n\n")
    lines = [f'.TH DISCREET 1 "" "discreet {__version__}" "User Commands"', ".SH NAME"]
    lines += [rf"discreet \- {escaped(summary.rstrip('.').lower())}", ".SH SYNOPSIS"]
    lines += [r".B discreet", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]", ".SH DESCRIPTION", escaped(start)]
    lines += [".SH COMMANDS", *(line for name in COMMANDS for line in command(name, load(name), ctx))]
    own = ("--version", "--install-completion", "--show-completion", "--help")
    lines += [".SH OPTIONS", *entries(one for one in group.get_params(ctx) if {*one.opts} & {*own})]
    lines += [".SH EXIT STATUS"]
    for code, words in CODES.items():
        lines += [".TP", rf"\fB{code}\fR", escaped(words)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Written: {PAGE}")
