"""`discreet select`: which variables belong to a model."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import console
from discreet.cli.arguments import Features, Json, ReleaseFile, split
from discreet.results.private_moments import PrivateMoments

EPILOG = "Example: discreet select people.release.json --target income"


def select(
    release: ReleaseFile,
    target: Annotated[str, typer.Option(help="The outcome.", show_default=False)],
    features: Features = None,
    json: Json = False,
) -> None:
    """Tell which variables belong to a model, and how sure that is: free, without the data."""
    selection = PrivateMoments.load(release).select(target, split(features) or None)
    if json:
        console.print_json(selection.to_dict())
    else:
        console.say(*selection.summary().split("\n"))
