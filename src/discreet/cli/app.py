"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import __version__
from discreet.cli import check, console, pdp, plan, reproduce, schema
from discreet.cli.arguments import (
    Data,
    Delta,
    Epsilon,
    Features,
    Force,
    Formula,
    Jobs,
    Json,
    ModelName,
    Out,
    Relation,
    ReleaseFile,
    Report,
    Rows,
    SchemaOption,
    Settings,
    Target,
    Targets,
    all_outcomes,
    chosen,
    default_place,
    fit_release,
    free,
    free_report,
    method_settings,
    open_models,
    outcomes_of,
    refuse_for_many,
    refuse_several,
    split,
    two_names,
)
from discreet.core.checks import neighbors as relation
from discreet.data.moments import Moments
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.gate.moments import promised
from discreet.gate.moments import release as release_moments
from discreet.papers.registry import DEFAULT, METHODS, find
from discreet.released.moments import PrivateMoments
from discreet.results.comparison import compare as compare_models
from discreet.results.glm_results import GLMResults

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Differentially private regression with guarantees that can be checked.\n\n"
    "Start with [bold]discreet demo[/bold], or with [bold]discreet schema init people.parquet[/bold].",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(schema.app, name="schema")


@app.command(epilog="Example: discreet fit people.csv --schema people.toml --target income --epsilon 1 --delta 1e-6")
def fit(
    data: Data,
    schema: SchemaOption,
    epsilon: Epsilon,
    target: Targets = None,
    delta: Delta = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    method: Annotated[str, typer.Option(help="See `discreet methods`.")] = DEFAULT,
    published: Annotated[str | None, typer.Option(help="Use a paper's printed constants: 000 to 004.")] = None,
    settings: Settings = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
) -> None:
    """Fit a private model to a table and save its certified release."""
    estimator = find(method).estimator
    options = method_settings(settings, estimator) | ({} if published is None else {"published": published})
    if published is not None and not estimator.papers:
        raise ParameterError(f"{estimator.__name__} is not from a paper: leave out --published.")
    asked = chosen(Domain.from_file(schema), target, split(features), formula)
    domain, outcomes = asked.domain, outcomes_of(asked)
    if len(outcomes) > 1:
        refuse_several(estimator, report)
    options |= {"domain": domain, "fit_intercept": domain.intercept, "neighbors": relation(neighbors)}
    model: Any = estimator(epsilon=epsilon, delta=delta, rows=rows, n_jobs=n_jobs, **options)
    one = outcomes[0] if len(outcomes) == 1 else None
    path = free(out or default_place(data, one or "outcomes", "release.json"), force, inputs=[data, schema])
    page = free_report(report, force, path, [data, schema])
    model.fit_source(data, one or outcomes, asked.features or None, progress=_progress(quiet=json))
    model.release_.save(path)
    if page is not None:
        with console.saved_before(path):
            model.results_.save_report(page, model.release_ if isinstance(model.release_, PrivateMoments) else None)
    if json:
        places = {"release": str(path)} | ({} if page is None else {"report": str(page)})
        console.print_json(model.results_.to_dict() | places | {"certificate": model.certificate_.to_dict()})
        return
    console.summary(model.results_.summary())
    console.certificate(model.certificate_)
    console.say_public(path, model.certificate_, models=not isinstance(model.release_, GLMResults))
    console.say_where(page)


@app.command(epilog="Example: discreet release people.parquet --schema people.toml --epsilon 1 --delta 1e-6")
def release(
    data: Data,
    schema: SchemaOption,
    epsilon: Epsilon,
    delta: Delta = None,
    targets: Annotated[str | None, typer.Option(help="Outcomes, separated by commas; any column by default.")] = None,
    features: Features = None,
    formula: Formula = None,
    rows: Rows = None,
    neighbors: Relation = "add-remove",
    out: Out = None,
    force: Force = False,
    json: Json = False,
    n_jobs: Jobs = None,
) -> None:
    """Release the noisy moments of a table once, to fit any number of models to them later."""
    promised(epsilon, delta, rows, neighbors)
    domain = chosen(Domain.from_file(schema), None, split(features), formula)[0]
    outcomes = split(targets)
    if features is not None:
        columns = [domain.entries[domain.target(name)].column for name in outcomes]
        domain = domain.select(dict.fromkeys([*split(features), *columns]))
    path = free(out or default_place(data, "release.json"), force, inputs=[data, schema])
    moments = Moments.from_source(data, domain, targets=outcomes or None, n_jobs=n_jobs, progress=_progress(quiet=json))
    released = release_moments(
        moments, epsilon=epsilon, delta=delta, targets=outcomes or None, rows=rows, neighbors=relation(neighbors)
    )
    released.save(path)
    if json:
        console.print_json({"release": str(path), "certificate": released.certificate.to_dict()})
        return
    console.certificate(released.certificate)
    console.say("", f"The release is in {path}. Fit models to it with: discreet model {path} --target NAME")


@app.command(epilog="Example: discreet model people.release.json --target income --features age,sex")
def model(
    release: ReleaseFile,
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: ModelName = "noise-aware",
    penalty: Annotated[float | None, typer.Option(help="Of penalised models; by default chosen for you.")] = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Of the elastic net: 0 is ridge, 1 is lasso.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the model.")] = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit a model to a release: free, as often as wanted, without the data. Without --target, to all its outcomes."""
    place = None if out is None else free(out, force, inputs=[release])
    page = free_report(report, force, place or release, [release])
    options = {name: v for name, v in (("penalty", penalty), ("l1_ratio", l1_ratio)) if v is not None}
    released = PrivateMoments.load(release)
    if all_outcomes(released, target, formula, model):
        refuse_for_many({"--report": report, "--penalty": penalty, "--l1-ratio": l1_ratio})
        fitted: Any = released.fit_many(features=split(features) or None)
    else:
        fitted = fit_release(released, target, features, formula, model, **options)
    if place is not None:
        fitted.save(place)
    if page is not None:
        fitted.save_report(page, released)
    if json:
        named = {"out": place, "report": page}
        console.print_json(fitted.to_dict() | {name: str(path) for name, path in named.items() if path is not None})
        return
    console.summary(fitted.summary())
    if place is not None:
        console.say(f"The model is in {place}. It is public, too; `discreet compare` puts it beside others.")
    console.say_where(page)


@app.command(epilog="Example: discreet compare 2024.release.json 2025.release.json --target income --features age,sex")
def compare(
    a: Annotated[Path, typer.Argument(help="A release file, or a saved model.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    target: Target = None,
    features: Features = None,
    formula: Formula = None,
    model: ModelName = "noise-aware",
    json: Json = False,
) -> None:
    """Put two models side by side: free, without the data. To releases the same model is fitted first."""
    one, other = open_models((a, b), target, features, formula, model)
    found = compare_models(one, other, two_names(a, b))
    if json:
        console.print_json(found.to_dict())
    else:
        console.summary(found.summary())


@app.command(epilog="Example: discreet select people.release.json --target income")
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


@app.command(epilog="Example: discreet methods --json")
def methods(json: Json = False) -> None:
    """List the methods and the status of their guarantees."""
    if json:
        facts = [{"name": m.name, "source": m.source, "status": m.status, "summary": m.summary} for m in METHODS]
        return console.print_json(facts)
    rows = [[m.name, m.summary, ", ".join(m.estimator.papers)] for m in METHODS]
    console.table("Methods", ["method", "what it does", "--published"], rows)
    console.say(
        "All are verified: proven, tested and exactly accounted. With the constants that a paper prints (--published), "
        "what it promises is only claimed. Where methods come from: --json, or the README."
    )


@app.command(epilog="Example: discreet demo")
def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the table and the release.")] = Path("discreet-demo"),
) -> None:
    """Make up a table of 100,000 people and fit income privately, beside the non-private fit."""
    from discreet.cli.demo import run

    run(folder)


app.command(epilog=check.EPILOG)(check.check)
app.command(epilog=check.SIGN_EPILOG)(check.sign)
app.command(epilog=plan.EPILOG)(plan.plan)
app.command(epilog=pdp.EPILOG)(pdp.pdp)
app.command(epilog=reproduce.EPILOG)(reproduce.reproduce)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Differentially private regression with guarantees that can be checked."""
    if show:
        console.say(f"discreet {__version__}")
        raise typer.Exit


def _progress(*, quiet: bool) -> bool:
    return not quiet and sys.stderr.isatty()


def main() -> None:
    """Run the command line: exit code 0 done, 1 a check failed, 2 bad input, 130 stopped, 141 output closed."""
    sys.exit(console.guarded(lambda: app(standalone_mode=False)))
