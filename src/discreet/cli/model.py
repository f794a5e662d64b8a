"""`discreet model`: models of a release, without the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import console
from discreet.cli.arguments import (
    Features,
    Force,
    Formula,
    Json,
    ModelName,
    ReleaseFile,
    Report,
    Target,
    all_outcomes,
    fit_release,
    free,
    free_report,
    refuse_fitting,
    refuse_for_many,
    split,
)
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.results.private_moments import PrivateMoments
from discreet.results.saved import load_saved

EPILOG = "Example: discreet model people.release.json --target income --features age,sex"


def model(
    release: ReleaseFile,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: ModelName = "noise-aware",
    penalty: Annotated[
        str | None, typer.Option(help="Instead of --model, by the kind of its penalty: l1, l2 or elasticnet.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Strength of the penalty, of penalised models; by default chosen for you.")
    ] = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Of the elastic net: 0 is ridge, 1 is lasso.")] = None,
    estimand: Annotated[
        str | None,
        typer.Option(help="What intervals are about: declared (least squares), bounded (far rows count less)."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The class that others are compared with, of a model of several classes.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the model.")] = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a model to a release: free, without the data. Without --target, to its outcome, or to all that it has.

    A file that holds a model, saved or released as it is, is shown, and written to a report.
    """
    if reference is not None and out is not None:
        raise ParameterError("--reference is about what is shown; a file has all classes. Leave out --out.")
    place = None if out is None else free(out, force, inputs=[release])
    page = free_report(report, force, place or release, [release])
    given = {"--penalty": _kind(penalty), "--alpha": alpha, "--l1-ratio": l1_ratio, "--estimand": estimand}
    saved: Any = load_saved(release)
    moments = saved if isinstance(saved, PrivateMoments) else None
    if (moments is None and saved.several) or (moments and all_outcomes(moments, target, formula, model)):
        refuse_for_many(given | {"--report": report})
    if moments is None:
        refuse_fitting(target, features, formula, model, **given | {"--estimand": None})
        fitted = saved if estimand is None else saved.about(estimand)
    else:
        fitted = _fitted(moments, target, features, formula, model, given)
    fitted = fitted if reference is None else fitted.against_class(reference)
    if place is not None:
        fitted.save(place, overwrite=force)
    if page is not None:
        fitted.save_report(page, moments)
    if json:
        named = {"out": place, "report": page}
        console.print_json(fitted.to_dict() | {name: str(path) for name, path in named.items() if path is not None})
        return
    console.summary(fitted.summary())
    if moments is not None:
        _say_left_out(moments.domain, [*fitted.names, *fitted.targets])
    if place is not None:
        console.say(f"The model is in {place}. It is public, too; `discreet compare` puts it beside others.")
    console.say_where(page)


def _kind(penalty: str | None) -> str | float | None:
    """Return the kind of a penalty, or a number in the option's old form, of which `PrivateMoments.fit` warns."""
    try:
        return penalty if penalty is None else float(penalty)
    except ValueError:
        return penalty


def _fitted(
    released: PrivateMoments, target: str | None, features: str | None, formula: str | None, model: str, given: Any
) -> Any:
    """Fit the models of a release that options describe."""
    if all_outcomes(released, target, formula, model):
        return released.fit_many(features=split(features) or None)
    options = {name[2:].replace("-", "_"): value for name, value in given.items() if value is not None}
    return fit_release(released, target, features, formula, model, **options)


def _say_left_out(domain: Domain, names: Sequence[str]) -> None:
    """Name the columns that the model does not use but whose missing values removed rows from the release."""
    columns = {domain.entries[domain.target(name)].column for name in names}
    used = set().union(*map(domain.made_of, columns))
    others = [name for name in domain.inputs if name not in used]
    if domain.missing == "drop" and others:
        console.say(
            f"This release has no rows that lack a value of {', '.join(others)}, which this model does not use. A "
            "release that names its models (--formula) leaves out rows for their columns alone."
        )
