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
    refuse_for_many,
    split,
)
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.results.glm_results import GLMResults
from discreet.results.private_moments import PrivateMoments
from discreet.results.saved import load_saved

EPILOG = "Example: discreet model people.release.json --target income --features age,sex"


def model(
    release: ReleaseFile,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: ModelName = "noise-aware",
    penalty: Annotated[float | None, typer.Option(help="Of penalised models; by default chosen for you.")] = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Of the elastic net: 0 is ridge, 1 is lasso.")] = None,
    estimand: Annotated[
        str, typer.Option(help="What intervals are about: bounded (far rows count less), or declared.")
    ] = "bounded",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the model.")] = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a model to a release: free, without the data. Without --target, to its outcome, or to all that it has.

    A model of classes or counts is released as it is: it is shown, and written to a report.
    """
    place = None if out is None else free(out, force, inputs=[release])
    page = free_report(report, force, place or release, [release])
    options = {name: v for name, v in (("penalty", penalty), ("l1_ratio", l1_ratio)) if v is not None}
    saved = load_saved(release)
    if isinstance(saved, GLMResults):
        refused = {"--target": target, "--features": features, "--formula": formula, "--out": out} | options
        return _show(saved, page, [name for name, value in refused.items() if value is not None], json=json)
    released = saved if isinstance(saved, PrivateMoments) else PrivateMoments.load(release)
    if all_outcomes(released, target, formula, model):
        refuse_for_many({"--report": report, "--penalty": penalty, "--l1-ratio": l1_ratio})
        fitted: Any = released.fit_many(features=split(features) or None)
    else:
        fitted = fit_release(released, target, features, formula, model, estimand=estimand, **options)
    if place is not None:
        fitted.save(place)
    if page is not None:
        fitted.save_report(page, released)
    if json:
        named = {"out": place, "report": page}
        console.print_json(fitted.to_dict() | {name: str(path) for name, path in named.items() if path is not None})
        return
    console.summary(fitted.summary())
    _say_left_out(released.domain, [*fitted.names, *(getattr(fitted, "targets", None) or [fitted.target])])
    if place is not None:
        console.say(f"The model is in {place}. It is public, too; `discreet compare` puts it beside others.")
    console.say_where(page)


def _show(fitted: GLMResults, page: Path | None, refused: Sequence[str], *, json: bool) -> None:
    """Show a model that was released as it is."""
    if refused:
        raise ParameterError(
            f"This file holds one model, not a release that others can be fitted to: leave out {', '.join(refused)}."
        )
    if page is not None:
        fitted.save_report(page)
    if json:
        console.print_json(fitted.to_dict() | ({} if page is None else {"report": str(page)}))
        return
    console.summary(fitted.summary())
    console.say_where(page)


def _say_left_out(domain: Domain, names: Sequence[str]) -> None:
    """Say for which columns that a model does not use rows were left out."""
    columns = {domain.entries[domain.target(name)].column for name in names}
    used = set().union(*map(domain.made_of, columns))
    others = [name for name in domain.inputs if name not in used]
    if domain.missing == "drop" and others:
        console.say(
            f"This release has no rows that lack a value of {', '.join(others)}, which this model does not use. A "
            "release that names its models (--formula) leaves out rows for their columns alone."
        )
