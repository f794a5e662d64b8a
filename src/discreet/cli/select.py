"""`discreet select`: selection of the variables of a model."""

from __future__ import annotations

from discreet.cli import console
from discreet.cli.arguments import Features, Formula, Json, ReleaseFile, Target, asked_of, split
from discreet.results.private_moments import PrivateMoments

EPILOG = "Example: discreet select people.release.json --target income"


def select(
    release: ReleaseFile,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    json: Json = False,
) -> None:
    """Tell which variables belong to a model, and how sure that is: free, without the data."""
    released = PrivateMoments.load(release)
    outcome = asked_of(released, target, features, formula)
    selection = released.select(formula or outcome, split(features) or None)
    if json:
        console.print_json(selection.to_dict())
    else:
        console.say(*selection.summary().split("\n"))
