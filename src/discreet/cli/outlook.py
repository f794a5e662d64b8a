"""The word before a release that will hardly give intervals, and the choice to stop."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from discreet.cli import console
from discreet.errors import NoIntervalWarning

T = TypeVar("T")

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask where no interval is likely: go on.")]


def with_word(release: Callable[[], T], *, yes: bool) -> T:
    """Release; where no interval is likely, ask first on a terminal, and else say so and go on.

    The word comes before anything is read or charged, so the release can be started again.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        try:
            return release()
        except NoIntervalWarning as warning:
            word = str(warning)
    console.warn(word)
    if not yes and sys.stdin.isatty() and not typer.confirm("Spend the budget all the same?", default=False, err=True):
        console.say_error("Stopped. Nothing was spent.")
        raise typer.Exit(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoIntervalWarning)
        return release()
